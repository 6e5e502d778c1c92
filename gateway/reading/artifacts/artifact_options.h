/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of a thread's artifact and of its compiled body. */

#include <parley/message.h>

/* `at`, `diff`; then one without a name. */
extern const struct parley_option_help artifact_options[];
/* `at`; then one without a name. */
extern const struct parley_option_help compiled_options[];
