/* SPDX-License-Identifier: Apache-2.0 */

#include "json_patch.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <parley/buffer.h>

/* Finds, by a JSON Pointer, the container of its last token.  Owns: *out_token is freed by the
 * caller. */
static json_t *parent_of(json_t *tree, const char *pointer, char **out_token) {
    char *path = strdup(pointer);
    char *last = NULL, *rest = path + 1;
    for (char *token = rest;; token = rest) {
        rest = strchr(token, '/');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        char *to = token;
        for (const char *from = token; *from != '\0'; from++) {
            const bool is_escape = from[0] == '~' && from[1] != '\0';
            *to++ = !is_escape ? *from : from[1] == '1' ? '/' : '~';
            from += is_escape;
        }
        *to = '\0';
        if (rest == NULL) {
            last = strdup(token);
            break;
        }
        tree = json_is_array(tree) ? json_array_get(tree, (size_t)atol(token))
                                   : json_object_get(tree, token);
    }
    free(path);
    *out_token = last;
    return tree;
}

static json_t *take(json_t *tree, const char *pointer) {
    char *token;
    json_t *parent = parent_of(tree, pointer, &token);
    json_t *value = json_incref(json_object_get(parent, token));
    assert_non_null(value);
    json_object_del(parent, token);
    free(token);
    return value;
}

/* What RFC 6902 says of the three operations that fixes have. */
void json_patch_apply(json_t *tree, const json_t *patch) {
    size_t i;
    json_t *step;
    json_array_foreach(patch, i, step) {
        const char *from = json_string_value(json_object_get(step, "from"));
        const char *operation = json_string_value(json_object_get(step, "op"));
        json_t *value =
            from != NULL ? take(tree, from) : json_deep_copy(json_object_get(step, "value"));
        char *token;
        json_t *parent = parent_of(tree, json_string_value(json_object_get(step, "path")), &token);
        if (json_is_array(parent)) {
            assert_int_equal(json_array_set_new(parent, (size_t)atol(token), value), 0);
        } else {
            assert_true(strcmp(operation, "replace") != 0 ||
                        json_object_get(parent, token) != NULL);
            assert_int_equal(json_object_set_new(parent, token, value), 0);
        }
        free(token);
    }
}

char *json_patch_edit(struct parley_bytes text, const json_t *edit) {
    const size_t at = (size_t)json_number_value(json_object_get(edit, "offset"));
    const size_t removed = (size_t)json_number_value(json_object_get(edit, "delete"));
    const char *inserted = json_string_value(json_object_get(edit, "insert"));
    assert_non_null(inserted);
    assert_true(at + removed <= text.length);
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_append(&out, (struct parley_bytes){text.data, at});
    parley_buffer_text(&out, inserted);
    parley_buffer_append(
        &out, (struct parley_bytes){text.data + at + removed, text.length - at - removed});
    parley_buffer_char(&out, '\0');
    assert_false(out.has_failed);
    return out.data;
}

void json_patch_edit_member(json_t *tree, const char *path, const json_t *edit) {
    char *token;
    json_t *parent = parent_of(tree, path, &token);
    const json_t *value = json_object_get(parent, token);
    assert_true(json_is_string(value));
    char *edited = json_patch_edit(
        (struct parley_bytes){json_string_value(value), json_string_length(value)}, edit);
    assert_int_equal(json_object_set_new(parent, token, json_string(edited)), 0);
    free(edited);
    free(token);
}

json_t *json_patch_at(json_t *tree, const char *pointer) {
    char *token;
    json_t *parent = parent_of(tree, pointer, &token);
    json_t *value = json_is_array(parent) ? json_array_get(parent, (size_t)atol(token))
                                          : json_object_get(parent, token);
    free(token);
    return value;
}
