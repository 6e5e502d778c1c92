/* SPDX-License-Identifier: Apache-2.0 */

#include "jansson_setup.h"

#include <stdlib.h>

#include <jansson.h>

static void *allocate_or_end(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL && size > 0) {
        abort();
    }
    return memory;
}

void jansson_set_up(void) {
    json_set_alloc_funcs(allocate_or_end, free);
    json_object_seed(0); /* otherwise the first two threads would race for it */
}

const char *jansson_library_version(void) {
    return jansson_version_str();
}
