/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A Brenner message as one Markdown document: its envelope in YAML front matter (libyaml), then its
 * body (api.md, Sending; rules.md, Brenner, Decisions). */

#include <parley/message.h>

/* Reads message->text (Markdown) and replaces it by the same message as JSON on one line, decoded
 * as JSON would be; or leaves a GW finding with its place in the Markdown. Where members and body
 * stand in the Markdown is kept for markdown_place(). */
enum parley_status markdown_decode(struct parley_message *message);

/* The place in the Markdown of a top-level member's value ("subject"); of one that is missing, that
 * of the front matter; for "body_md", of the body's first byte. Only after markdown_decode. */
struct parley_position markdown_place(const struct parley_message *message,
                                      struct parley_bytes member);

/* Whether a body that begins so is Markdown: anything but a JSON object or array. */
bool markdown_begins(struct parley_bytes head);

/* Appends a decoded message as Markdown with front matter, such that reading it gives the same
 * message. */
enum parley_status markdown_write(struct parley_message *message, struct parley_buffer *out);

/* Appends the document's Validation Error body for the findings of a message. */
enum parley_status markdown_write_refusal(struct parley_message *message,
                                          struct parley_buffer *out);
