/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes JSON member by member, and puts the commas. Every name is static text that needs no
 * escape. */

#include <parley/buffer.h>

/* `key` NULL below: an item of an array. */
struct json_writer {
    struct parley_buffer *out; /* its failure is sticky: check it at the end */
    bool has_item;             /* something comes before the next member */
};

/* `bracket`: '{' or '['. */
void json_open(struct json_writer *json, const char *key, char bracket);
void json_close(struct json_writer *json, char bracket);
void json_text(struct json_writer *json, const char *key, const char *text);
void json_number(struct json_writer *json, const char *key, unsigned number);
/* (json_true is a function of jansson, which the same program links.) */
void json_write_true(struct json_writer *json, const char *key);
/* `raw` is JSON. */
void json_raw(struct json_writer *json, const char *key, struct parley_bytes raw);
/* The members of `object`, which is a JSON object with at least one. */
void json_members(struct json_writer *json, struct parley_bytes object);
/* The text FOLDERNAMESUFFIX, which needs no escape. */
void json_link(struct json_writer *json, const char *key, const char *folder, const char *name,
               const char *suffix);
/* {"$ref":"FOLDERNAME"}, with `suffix` after the name. */
void json_ref(struct json_writer *json, const char *key, const char *folder, const char *name,
              const char *suffix);
