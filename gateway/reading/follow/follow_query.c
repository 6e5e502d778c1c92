/* SPDX-License-Identifier: Apache-2.0 */

/* The options of a list that are about following it. */

#include <string.h>

#include "follow.h"

bool follow_query_set(struct follow_query *query, const char *value) {
    query->is_followed = strcmp(value, "true") == 0;
    return query->is_followed || strcmp(value, "false") == 0;
}

bool follow_is_asked(const char *value) {
    return value != NULL && strcmp(value, "true") == 0;
}
