/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The head of a request: its line, its options and its headers, and whether it can be trusted.
 * Source: RFC 9112, sections 2 to 6; RFC 9110, sections 5 and 10.1.1. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

enum {
    HTTP_HEAD_USUAL = 16 * 1024, /* bytes, with the empty line at its end */
    HTTP_HEAD_MAX = 48 * 1024,   /* whatever is configured */
    HTTP_FIELDS_MAX = 128,
    HTTP_OPTIONS_MAX = 64,
    /* The longest head that http_head_write makes. */
    HTTP_REWRITTEN_MAX = 160,
};

/* The maximum length of a head, and the text for a longer one. */
struct http_head_bound {
    size_t bytes_max; /* up to HTTP_HEAD_MAX */
    char target_fault[96], head_fault[96];
};

/* A header or a query option: where its name and its value are in the head's text. */
struct http_place {
    uint16_t name, name_length, value;
};

/* One is used for all requests of a connection, one after the other. All text in it is borrowed
 * until the next http_head_read or http_head_finish. */
struct http_head {
    struct parley_buffer text;   /* the received bytes; each name and value ends with a NUL */
    struct parley_buffer places; /* of the options, then of the headers */
    struct parley_buffer accept; /* the values of several Accept headers as one list */
    size_t option_count, field_count;
    uint64_t name_marks; /* a bit for each header's name, which others may have too */
    const char *method, *path;
    const char *authority;  /* of an absolute target; NULL for any other */
    const char *request_id; /* NULL if absent or invalid */
    const char *fault;      /* NULL if there is none. The first one found stays */
    unsigned status;        /* of the answer to a head that has a fault */
    int64_t content_length; /* 0 where there is none */
    bool is_1_0, is_head;   /* HTTP/1.0; the method is HEAD */
    bool is_chunked;        /* the body is; content_length is 0 then */
    bool expects_continue;  /* before it sends the body */
    bool is_close, is_kept; /* Connection has the option close; keep-alive */
    unsigned length_count, encoding_count, host_count, type_count, key_count, accept_count;
    unsigned coding_count; /* of Content-Encoding */
    unsigned authorization_count;
    bool has_wait;   /* a Prefer header has the preference `wait` … */
    uint32_t wait_s; /* … for so many seconds; 0 if absent or unreadable */
};

void http_head_init(struct http_head *head);
void http_head_finish(struct http_head *head);

/* Releases the memory of a large head, which is no longer needed. */
void http_head_release(struct http_head *head);

/* Reads `raw`, from the method to the empty line.  Copies it.
 * Returns: PARLEY_E_MEMORY. A head that cannot be trusted has a fault. */
enum parley_status http_head_read(struct http_head *head,
                                  struct parley_bytes raw) PARLEY_MUST_CHECK;

/* A header.  Owns: borrowed. */
struct http_field {
    const char *name;
    struct parley_bytes value;
};

/* A request that has no client. The method and the names are valid. */
struct http_head_parts {
    const char *method;
    struct parley_bytes target; /* path and query */
    const struct http_field *fields;
    size_t field_count;
    size_t content_length;
};

/* Makes the head that http_head_read would make of its text; without Host it is HTTP/1.0.  Copies
 * the parts.  Returns: as http_head_read. A target or a value that cannot be in a head is a fault.
 */
enum parley_status http_head_make(struct http_head *head,
                                  const struct http_head_parts *parts) PARLEY_MUST_CHECK;

/* Makes it the head of a refused request: no options and no headers.
 * `status`, `fault` (static): of the answer.  `is_head`: an answer to it has no body. */
void http_head_refuse(struct http_head *head, unsigned status, const char *fault, bool is_head);

/* `bytes_max` 0: HTTP_HEAD_USUAL. */
void http_head_bound_init(struct http_head_bound *bound, size_t bytes_max);

/* Finds the fault in the part of a head that has come so far, so that its sender does not wait for
 * an answer until the rest comes. `from`: the offset up to which it was checked before.
 * Returns: the fault (static, or in `bound`), or NULL.  *status: of the answer. */
const char *http_head_fault_so_far(struct parley_bytes so_far, size_t from,
                                   const struct http_head_bound *bound, unsigned *status);

/* Writes an equivalent request in as few words as possible: only what the framing of bodies and
 * answers needs.  `is_chunked`: whether its body will be.  `out`: HTTP_REWRITTEN_MAX bytes.
 * Returns: its length. It is longer than the input of http_head_read by at most two bytes, where
 * that had no fault. */
size_t http_head_write(const struct http_head *head, bool is_chunked, char *out);

/* Returns the first of several headers, but of Accept all (RFC 9110, section 5.3). NULL if absent.
 * `name`: in any case. */
const char *http_head_field(const struct http_head *head, const char *name);
/* As http_request_header_at. */
const char *http_head_field_at(const struct http_head *head, const char *name, size_t number);
/* Decoded: a `+` is a blank, and a %00 the byte 0x01. NULL if absent. "" for `?follow`. */
const char *http_head_option(const struct http_head *head, const char *name);
/* Calls `each` for every query option, until it returns false. */
void http_head_each_option(const struct http_head *head,
                           bool (*each)(void *context, const char *name, const char *value),
                           void *context);
