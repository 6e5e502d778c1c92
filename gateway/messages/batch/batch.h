/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Many messages in one request, each with a result of its own; or one that is answered like that
 * (PARLEY_FRAMING_WHOLE). */

#include "body_handler.h"

extern const struct body_handler batch_handler;
