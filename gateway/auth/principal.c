/* SPDX-License-Identifier: Apache-2.0 */

#include "principal.h"

#include <stdlib.h>

const struct principal principal_anonymous = {
    .name = "", .scopes = {UINT64_MAX, UINT64_MAX, true, true, true}, .references = 1};
const struct principal principal_nobody = {.name = "", .references = 1};

/* The texts are stored after the principal, in one allocation. */
struct principal *principal_create(const char *name, const char *agent) {
    const size_t name_size = strlen(name) + 1;
    const size_t agent_size = agent != NULL ? strlen(agent) + 1 : 0;
    struct principal *principal = calloc(1, sizeof *principal + name_size + agent_size);
    if (principal == NULL) {
        return NULL;
    }
    char *texts = (char *)(principal + 1);
    memcpy(texts, name, name_size);
    principal->name = texts;
    if (agent != NULL) {
        memcpy(texts + name_size, agent, agent_size);
        principal->agent = texts + name_size;
    }
    atomic_init(&principal->references, 1);
    return principal;
}

struct principal *principal_ref(struct principal *principal) {
    if (principal != NULL) {
        atomic_fetch_add(&principal->references, 1);
    }
    return principal;
}

void principal_unref(struct principal *principal) {
    if (principal != NULL && atomic_fetch_sub(&principal->references, 1) == 1) {
        free(principal);
    }
}
