/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers that libmicrohttpd sends: for its callbacks. */

#include <microhttpd.h>

#include "http_internal.h"

/* Gives libmicrohttpd the answer. Only from its callback.  Returns: the result for the callback to
 * return. */
enum MHD_Result http_answer_send(struct http_request *request);
/* Ends the answer of a request that has ended. */
void http_answer_close(struct http_request *request);
/* Makes the connection close after the answer, which may have been made already. */
void http_answer_last(struct http_request *request);
