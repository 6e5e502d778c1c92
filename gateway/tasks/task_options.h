/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The query options of a list of tasks; name NULL ends them. Apart from what serves it, for the
 * documents. */

#include <parley/message.h>

extern const struct parley_option_help task_list_options[];
