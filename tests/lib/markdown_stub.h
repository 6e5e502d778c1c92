/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A protocol of Markdown and JSON messages with next to no rules, so that reading and writing
 * Markdown can be tested without Brenner's. Its rules: `to` is text or an array of text (S-001);
 * `subject` is there (S-002); a body that holds "wrong" (S-003, with its place in the body). */

#include <parley/message.h>

extern const struct parley_codec markdown_stub_codec; /* text/markdown */
extern const struct parley_protocol markdown_stub;
