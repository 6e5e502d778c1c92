/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers that are written to the socket by live_response.c, not by libmicrohttpd (ADR 7). */

#include "http_internal.h"

/* Answers, as http_respond_live; the request can be answered live and is not answered so far. */
void live_response_begin(struct http_request *request, unsigned status, const char *content_type,
                         ssize_t (*read)(void *state, char *buffer, size_t size));
void live_response_start(struct http_server *server);
/* Writes the available data, and ends answers that are complete. Does nothing for an answer that is
 * not live, or is held up. */
void live_response_go_on(struct http_request *request);
/* The watched socket of a live answer is ready. */
void live_response_ready(struct http_request *request, uint32_t epoll_events);
/* A piece of the body arrived. */
void live_response_take_body(struct http_request *request);
/* As http_take_end, which has called the handler. */
enum parley_status live_response_take_end(struct http_request *request) PARLEY_MUST_CHECK;
/* Nothing more is written, and the answer is incomplete. */
void live_response_break_off(struct http_request *request);
/* Nothing of it has left, and nothing will: another answer can be given instead. */
void live_response_take_back(struct http_request *request);
/* The request has ended, in whatever way. */
void live_response_close(struct http_request *request);
