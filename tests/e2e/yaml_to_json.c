/* SPDX-License-Identifier: Apache-2.0 */

/* Reads front matter as parley does, for comparison with another implementation of YAML: each line
 * of standard input is a JSON string, front matter; each line of standard output is its members as
 * a JSON object, or null where it is refused. */

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "brenner/front_matter.h"

static void answer(struct parley_bytes yaml) {
    struct parley_arena arena;
    struct parley_buffer json;
    struct front_matter members;
    struct front_matter_fault fault;
    parley_arena_init(&arena, 0);
    parley_buffer_init(&json);
    switch (front_matter_read(yaml, &arena, &json, &members, &fault)) {
    case FRONT_MATTER_READ:
        printf("{%.*s}\n", (int)json.length, json.data);
        break;
    case FRONT_MATTER_FAULT:
        printf("null\n");
        break;
    case FRONT_MATTER_MEMORY:
        abort();
    }
    parley_buffer_finish(&json);
    parley_arena_finish(&arena);
}

int main(void) {
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, stdin)) > 0;) {
        json_t *yaml = json_loadb(line, (size_t)length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (!json_is_string(yaml)) {
            return 2;
        }
        answer((struct parley_bytes){json_string_value(yaml), json_string_length(yaml)});
        json_decref(yaml);
    }
    free(line);
    return 0;
}
