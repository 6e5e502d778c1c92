/* SPDX-License-Identifier: Apache-2.0 */

#include "json_writer.h"

static void begin_member(struct json_writer *json, const char *key) {
    parley_buffer_text(json->out, json->has_item ? "," : "");
    if (key != NULL) {
        parley_buffer_format(json->out, "\"%s\":", key);
    }
    json->has_item = true;
}

void json_open(struct json_writer *json, const char *key, char bracket) {
    begin_member(json, key);
    parley_buffer_char(json->out, bracket);
    json->has_item = false;
}

void json_close(struct json_writer *json, char bracket) {
    parley_buffer_char(json->out, bracket);
    json->has_item = true;
}

void json_text(struct json_writer *json, const char *key, const char *text) {
    begin_member(json, key);
    parley_buffer_json(json->out, parley_bytes_of(text));
}

void json_number(struct json_writer *json, const char *key, unsigned number) {
    begin_member(json, key);
    parley_buffer_uint(json->out, number);
}

void json_write_true(struct json_writer *json, const char *key) {
    begin_member(json, key);
    parley_buffer_text(json->out, "true");
}

void json_raw(struct json_writer *json, const char *key, struct parley_bytes raw) {
    begin_member(json, key);
    parley_buffer_append(json->out, raw);
}

void json_members(struct json_writer *json, struct parley_bytes object) {
    const char *first = memchr(object.data, '{', object.length);
    const char *last = memrchr(object.data, '}', object.length);
    if (first != NULL && last > first) {
        json_raw(json, NULL, (struct parley_bytes){first + 1, (size_t)(last - first - 1)});
    }
}

void json_ref(struct json_writer *json, const char *key, const char *folder, const char *name,
              const char *suffix) {
    begin_member(json, key);
    parley_buffer_format(json->out, "{\"$ref\":\"%s%s%s\"}", folder, name, suffix);
}

void json_link(struct json_writer *json, const char *key, const char *folder, const char *name,
               const char *suffix) {
    begin_member(json, key);
    parley_buffer_format(json->out, "\"%s%s%s\"", folder, name, suffix);
}
