/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers that are written to the socket by live_response.c, not by libmicrohttpd (ADR 7). */

#include "http_internal.h"

/* Answers, as http_respond_live; the request can be answered live and was not answered yet. */
void live_response_begin(struct http_request *request, unsigned status, const char *content_type,
                         ssize_t (*read)(void *state, char *buffer, size_t size));
void live_response_start(struct http_server *server);
/* Writes what there is to write, and ends what has ended. Nothing for an answer that is not live,
 * or is held up. */
void live_response_go_on(struct http_request *request);
/* The watched socket of a live answer is ready. */
void live_response_ready(struct http_request *request, uint32_t epoll_events);
/* A piece of the body came. */
void live_response_take_body(struct http_request *request);
/* As http_take_end, which has called the handler. */
enum parley_status live_response_take_end(struct http_request *request) PARLEY_MUST_CHECK;
/* Nothing more is written, and the answer is not whole. */
void live_response_break_off(struct http_request *request);
/* Nothing of it has left, and nothing will: there may be another answer instead. */
void live_response_take_back(struct http_request *request);
/* The request is over, however it ended. */
void live_response_close(struct http_request *request);
