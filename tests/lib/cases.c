/* SPDX-License-Identifier: Apache-2.0 */

/* Reads conformance cases. It judges nothing: tests/conformance/run.c does. */

#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

static _Noreturn void give_up(const char *what, const char *about) {
    fprintf(stderr, "%s: %s\n", what, about);
    abort();
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void append_repeated(const json_t *form, struct parley_buffer *out) {
    parley_buffer_text(out, text_of(form, "prefix"));
    for (json_int_t i = json_integer_value(json_object_get(form, "count")); i > 0; i--) {
        parley_buffer_text(out, text_of(form, "unit"));
    }
    parley_buffer_text(out, text_of(form, "suffix"));
}

static void append_base64(const char *text, struct parley_buffer *out) {
    size_t length = 0;
    if (!parley_buffer_reserve(out, strlen(text) + 1) ||
        sodium_base642bin((unsigned char *)out->data, strlen(text), text, strlen(text), NULL,
                          &length, NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
        give_up("no base64", text);
    }
    out->length = length;
}

/* Owns: out->data is the caller's to free. */
static struct parley_bytes body_of(const json_t *json) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    const json_t *body = json_object_get(json, "body");
    if (body != NULL) {
        parley_buffer_append(
            &out, (struct parley_bytes){json_string_value(body), json_string_length(body)});
    } else if (json_object_get(json, "body_base64") != NULL) {
        append_base64(text_of(json, "body_base64"), &out);
    } else {
        append_repeated(json_object_get(json, "body_repeat"), &out);
    }
    return parley_buffer_bytes(&out);
}

/* The options borrow from `query`. */
static void set_options(struct parley_options *options, const struct parley_protocol *protocol,
                        char *query) {
    for (char *rest = query, *pair; (pair = strtok_r(rest, "&", &rest)) != NULL;) {
        char *value = strchr(pair, '=');
        const char *wants;
        if (value == NULL) {
            give_up("an option without a value", pair);
        }
        *value++ = '\0';
        if (parley_options_set(options, protocol, pair, value, &wants) != PARLEY_OPTION_SET) {
            give_up("no such option", pair);
        }
    }
}

static struct test_case case_of(json_t *json) {
    struct test_case test = {
        .name = text_of(json, "name"),
        .protocol = parley_protocol_find(parley_bytes_of(text_of(json, "protocol"))),
        .options = {.now = CASES_NOW,
                    .now_seconds = CASES_NOW_SECONDS,
                    .fresh_id = CASES_ID,
                    .has_object = json_is_true(json_object_get(json, "is_stored"))},
        .body = body_of(json),
        .is_valid = json_is_true(json_object_get(json_object_get(json, "expect"), "valid")),
        .json = json};
    if (test.protocol == NULL) {
        give_up("no protocol", test.name);
    }
    test.codec = parley_codec_find(test.protocol, parley_bytes_of(text_of(json, "media_type")));
    test.query = strdup(text_of(json, "query"));
    set_options(&test.options, test.protocol, test.query);
    return test;
}

void cases_read(struct test_cases *cases, const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        give_up("cannot be read", path);
    }
    *cases = (struct test_cases){0};
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, file)) > 0;) {
        json_t *json = json_loadb(line, (size_t)length, JSON_ALLOW_NUL, NULL);
        cases->items = realloc(cases->items, (cases->count + 1) * sizeof *cases->items);
        if (json == NULL || cases->items == NULL) {
            give_up("a line is no case", path);
        }
        cases->items[cases->count++] = case_of(json);
    }
    free(line);
    fclose(file);
}

void cases_finish(struct test_cases *cases) {
    for (size_t i = 0; i < cases->count; i++) {
        free((char *)cases->items[i].body.data);
        free(cases->items[i].query);
        json_decref(cases->items[i].json);
    }
    free(cases->items);
    *cases = (struct test_cases){0};
}

struct parley_schema *cases_read_of(struct test_cases *cases, const char *protocol) {
    struct parley_schema *schema = NULL;
    char path[512];
    snprintf(path, sizeof path, PARLEY_SOURCE_DIR "/tests/conformance/%s.ndjson", protocol);
    cases_read(cases, path);
    return parley_schema_create(cases->items[0].protocol, &schema) == PARLEY_OK ? schema : NULL;
}
