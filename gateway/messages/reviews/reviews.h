/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages that wait for people: GET /v1/{protocol}/reviews and POST
 * /v1/{protocol}/reviews/{STREAM:SEQ} (docs/api.md#reviews). */

#include "gateway.h"

/* While there is no bucket for decisions. */
#define REVIEWS_WITHOUT "no message can be reviewed meanwhile"

void review_list_serve(struct gateway *gateway, struct http_request *request,
                       const struct parley_protocol *protocol);
/* `place`: the message to be decided on, as in the address. */
void review_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, const char *place);
