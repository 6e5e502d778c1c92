/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A Brenner message as one Markdown document: its envelope in YAML front matter (libyaml), then its
 * body (docs/protocols/brenner.md#front-matter).
 *
 * The first line is `---` and so is the line that ends the front matter (blanks behind it and CRLF
 * are fine); what follows that line is the body, byte for byte. Where the first line is none, the
 * whole document is the body. A leading byte-order mark is skipped. */

#include <parley/message.h>

/* Reads message->sent (Markdown) and replaces it by the same message as JSON on one line, decoded
 * as JSON would be, its members in the order written and then "body_md"; or leaves a GW finding
 * with its place in the Markdown. Where members and body stand is kept in message->source.
 * `body_md` or `body` in the front matter is GW-003: the body stands below it.
 * What is certainly right is only seen to be so (json/json_accept.h). */
enum parley_status markdown_decode(struct parley_message *message) PARLEY_MUST_CHECK;

/* The same, however right the message is. */
enum parley_status markdown_decode_carefully(struct parley_message *message) PARLEY_MUST_CHECK;

/* A message that certainly keeps every rule has a text that is JSON yet without its body
 * (is_certain). These put it there: appending the whole as json_encode would, or making it the
 * message's text, for whoever reads that. Of other messages nothing is missing.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status markdown_encode(struct parley_message *message,
                                   struct parley_buffer *out) PARLEY_MUST_CHECK;
enum parley_status markdown_complete(struct parley_message *message) PARLEY_MUST_CHECK;

/* json_validate for a message that markdown_decode has read (and json_stamp may have filled):
 * findings have their places in the Markdown, and `body_at` becomes `at`. */
enum parley_status markdown_validate(struct parley_message *message) PARLEY_MUST_CHECK;

/* Whether a body that begins so is Markdown: anything but a JSON object or array. */
bool markdown_begins(struct parley_bytes head);

/* Appends a decoded message, however it was sent, as Markdown with front matter, such that reading
 * it gives the same message: the members in their order, numbers as they were spelled, and the body
 * last. What is derived is left out; of `body_md` and `body` the body is `body_md` where that is a
 * string.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status markdown_write(struct parley_message *message,
                                  struct parley_buffer *out) PARLEY_MUST_CHECK;

/* Whether a member of this name says again what the body says: `sections` and `deltas`, which
 * convert adds to JSON, and which no other form of the message has. */
bool markdown_is_derived(struct parley_bytes key);

/* Appends the document's Validation Error body for the errors among the findings of a message,
 * decoded or not. It is a good body of an INFO message.
 * Source: brenner-message-bodies.md, Error Responses.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status markdown_write_refusal(struct parley_message *message,
                                          struct parley_buffer *out) PARLEY_MUST_CHECK;
