/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of the addresses of agents. */

#include <parley/message.h>

/* `state`, `limit`, `cursor`, `follow`, `since`; then one without a name. That of a protocol is in
 * its table. */
extern const struct parley_option_help agent_query_options[];
