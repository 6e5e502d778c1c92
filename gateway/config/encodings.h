/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The encodings of a protocol by their names, for those who ask for one and for error texts. */

#include <stdbool.h>

#include <parley/protocol.h>

/* Long enough for every list below. */
#define ENCODINGS_TEXT_MAX 256

/* Returns: NULL when the protocol has no encoding of that name. */
const struct parley_codec *encodings_find(const struct parley_protocol *protocol, const char *name);

/* Whether a body or file in it may hold more than one message. (JSON may, as an array: what is
 * written is lines then.) */
bool encodings_holds_many(const struct parley_codec *codec);

/* What is written of many messages: NDJSON instead of JSON, else `codec`.  */
const struct parley_codec *encodings_for_many(const struct parley_codec *codec);

/* "json, msgpack or frames"; of those alone that hold many messages when `is_for_many`. */
void encodings_list(const struct parley_protocol *protocol, bool is_for_many,
                    char out[ENCODINGS_TEXT_MAX]);

/* The preferred media types: "application/json, application/x-ndjson". */
void encodings_list_media_types(const struct parley_protocol *protocol,
                                char out[ENCODINGS_TEXT_MAX]);
