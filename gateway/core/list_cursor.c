/* SPDX-License-Identifier: Apache-2.0 */

#include "list_cursor.h"

#include <stdio.h>
#include <string.h>

void list_name(const char *protocol, const char *list, char out[LIST_NAME_SIZE]) {
    snprintf(out, LIST_NAME_SIZE, "%s%s%s", protocol != NULL ? protocol : "",
             protocol != NULL ? "." : "", list);
}

const char *list_cursor_rest(const char *cursor, const char *name) {
    const size_t length = strlen(name);
    const int is_its = strncmp(cursor, name, length) == 0 && cursor[length] == ':';
    return is_its ? cursor + length + 1 : NULL;
}
