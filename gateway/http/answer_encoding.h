/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* In which encoding a client reads answers: JSON, or the encoding in which its protocol can have
 * them sent (struct parley_codec, from_json). */

#include <parley/protocol.h>

#include "http.h"

/* Chooses by `Accept`, of what the protocol's encodings are, JSON first among equals. What a
 * handler answers itself, by a form that it negotiates, stays as it is. */
void answer_encoding_choose(struct http_request *request, const struct parley_protocol *protocol);
