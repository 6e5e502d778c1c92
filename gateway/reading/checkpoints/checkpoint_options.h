/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of a list of checkpoints, and of a restore. */

#include <parley/message.h>

/* `limit`, `cursor`; then one without a name. */
extern const struct parley_option_help checkpoint_options[];
#define CHECKPOINTS_LIMIT_MAX 1000u
/* `checkpoint`; then one without a name. */
extern const struct parley_option_help restore_options[];
