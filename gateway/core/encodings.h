/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The encodings of a protocol by name, for requests and for error messages. */

#include <stdbool.h>

#include <parley/protocol.h>

/* Long enough for every list below. */
#define ENCODINGS_TEXT_MAX 256

/* Returns: NULL when the protocol has no encoding of that name. */
const struct parley_codec *encodings_find(const struct parley_protocol *protocol, const char *name);

/* Whether a body or file in it can contain several messages. (JSON can, as an array; it is written
 * as lines.) */
bool encodings_holds_many(const struct parley_codec *codec);

/* The codec to write several messages in: NDJSON instead of JSON, else `codec`. */
const struct parley_codec *encodings_for_many(const struct parley_codec *codec);

/* The one in which answers can be sent besides JSON.  Returns: NULL: there is none. */
const struct parley_codec *encodings_for_answers(const struct parley_protocol *protocol);

/* Writes "json, msgpack or frames"; with `is_for_many` only those for several messages. */
void encodings_list(const struct parley_protocol *protocol, bool is_for_many,
                    char out[ENCODINGS_TEXT_MAX]);

/* Writes the preferred media types: "application/json, application/x-ndjson". */
void encodings_list_media_types(const struct parley_protocol *protocol,
                                char out[ENCODINGS_TEXT_MAX]);
