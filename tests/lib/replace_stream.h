/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <nats/nats.h>

/* Deletes the stream of config->Name and creates it as `config` says, though parley, which creates
 * a missing stream too, may be quicker in between. */
void replace_stream(jsCtx *context, jsStreamConfig *config);
