/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The conformance cases (tests/conformance/README.md) as material for other tests. */

#include <jansson.h>

#include <parley/message.h>

struct test_case {
    const char *name; /* borrowed from the case's JSON */
    const struct parley_protocol *protocol;
    const struct parley_codec *codec;
    struct parley_options options;
    struct parley_bytes body;
    bool is_valid; /* what it expects */
    char *query;   /* which options borrows from */
    json_t *json;
};

struct test_cases {
    struct test_case *items;
    size_t count;
};

#define CASES_NOW "2026-01-02T03:04:05Z"
#define CASES_NOW_SECONDS 1767323045
#define CASES_ID "0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b"

/* Reads a file of cases; ends the program when it cannot.  Owns: cases_finish gives it back. */
void cases_read(struct test_cases *cases, const char *path);
void cases_finish(struct test_cases *cases);
/* The same for the conformance cases of a protocol.  Returns: the schema of that, which is the
 * caller's to destroy; NULL when there is no memory. */
struct parley_schema *cases_read_of(struct test_cases *cases, const char *protocol);
