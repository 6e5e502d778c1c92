/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A Brenner message as one Markdown document: its envelope in YAML front matter (libyaml), then its
 * body (docs/protocols/brenner.md#front-matter).
 *
 * The first line is `---` and so is the line that ends the front matter (spaces after it and CRLF
 * are allowed); the rest is the body, byte for byte. If the first line is not `---`, the whole
 * document is the body. A leading byte-order mark is skipped. */

#include <parley/message.h>

/* Reads message->sent (Markdown) and sets message->text to the same message as one line of JSON,
 * decoded like JSON, its members in the order written and then "body_md"; or adds a GW finding with
 * its place in the Markdown. The places of members and body are kept in message->source. `body_md`
 * or `body` in the front matter is GW-003: the body is below it. A message that is certainly valid
 * is not decoded further (json/json_accept.h). */
enum parley_status markdown_decode(struct parley_message *message) PARLEY_MUST_CHECK;

/* The same, always decoding the whole message. */
enum parley_status markdown_decode_carefully(struct parley_message *message) PARLEY_MUST_CHECK;

/* The text of a message that was accepted fast (accept.h) is JSON without the body.
 * These functions add the body: by appending the whole message as json_encode does, or by
 * completing message->text. The texts of other messages are complete.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status markdown_encode(struct parley_message *message,
                                   struct parley_buffer *out) PARLEY_MUST_CHECK;
enum parley_status markdown_complete(struct parley_message *message) PARLEY_MUST_CHECK;

/* json_validate for a message that markdown_decode has read (and json_stamp may have filled):
 * findings have their places in the Markdown, and `body_at` becomes `at`. */
enum parley_status markdown_validate(struct parley_message *message) PARLEY_MUST_CHECK;

/* Where the value at `path` of a message is, in the Markdown that was sent. The message has been
 * decoded carefully; otherwise, and for JSON, line 0. */
struct parley_position markdown_place(const struct parley_message *message, const char *path);

/* The same for a place within the body. */
struct parley_position markdown_body_place(const struct parley_message *message,
                                           struct parley_position in_body);

/* The edit of a fix in the Markdown that was sent: of its body, or of a member of the front matter
 * that is a scalar on one line (protocol->edit_of). */
enum parley_status markdown_edit_of(struct parley_message *message,
                                    const struct parley_finding *finding,
                                    const struct parley_fix *fix,
                                    struct parley_edit *out) PARLEY_MUST_CHECK;

/* Whether a body with these first bytes is Markdown: anything but a JSON object or array. */
bool markdown_begins(struct parley_bytes head);

/* Appends a decoded message, however it was sent, as Markdown with front matter, such that reading
 * it gives the same message: the members in their order, numbers as they were spelled, and the body
 * last. Derived members are left out; the body is `body_md` if that is a string, else `body`.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status markdown_write(struct parley_message *message,
                                  struct parley_buffer *out) PARLEY_MUST_CHECK;

/* Whether a member of this name is derived from the body: `sections` and `deltas`, which convert
 * adds to JSON, and which other encodings do not have. */
bool markdown_is_derived(struct parley_bytes key);

/* Appends the document's Validation Error body for the errors among the findings of a message,
 * decoded or not. It is a valid body of an INFO message.
 * Source: brenner-message-bodies.md, Error Responses.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status markdown_write_refusal(struct parley_message *message,
                                          struct parley_buffer *out) PARLEY_MUST_CHECK;
