/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of a list of checkpoints. */

#include <parley/message.h>

/* `limit`, `cursor`; then one without a name. */
extern const struct parley_option_help checkpoint_options[];
#define CHECKPOINTS_LIMIT_MAX 1000u
