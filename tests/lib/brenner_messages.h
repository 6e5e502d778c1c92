/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Brenner messages made at random from whole ones, as JSON and as Markdown: members broken, front
 * matter in the styles of many hands, Markdown damaged. */

#include <parley/message.h>

#include "cases.h"
#include "random.h"

/* Appends one.  Returns: the codec that it is meant for. */
const struct parley_codec *brenner_message_make(struct random_source *source,
                                                const struct test_cases *cases,
                                                struct parley_buffer *out);
