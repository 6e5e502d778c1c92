/* SPDX-License-Identifier: Apache-2.0 */

#include "halt_shares.h"

#include <stdlib.h>
#include <string.h>

enum { CHAIN_COUNT = sizeof((struct halt_shares *)0)->chains / sizeof(void *) };

/* Owners are digests: two of their digits will do. */
static size_t chain_of(const char *owner) {
    const char digits[] = {owner[0], owner[1], '\0'};
    return strtoul(digits, NULL, 16) % CHAIN_COUNT;
}

static struct halt_share *find(const struct halt_shares *shares, const char *owner) {
    struct halt_share *share;
    LIST_FOREACH(share, &shares->chains[chain_of(owner)], link) {
        if (memcmp(share->owner, owner, HALT_DIGEST_LENGTH) == 0) {
            break;
        }
    }
    return share;
}

bool halt_shares_is_full(const struct halt_shares *shares, const char *owner) {
    const struct halt_share *share = find(shares, owner);
    return share != NULL && share->count >= shares->max;
}

struct halt_share *halt_shares_add(struct halt_shares *shares, const char *owner) {
    struct halt_share *share = find(shares, owner);
    if (share == NULL) {
        share = calloc(1, sizeof *share);
        if (share == NULL) {
            return NULL;
        }
        memcpy(share->owner, owner, HALT_DIGEST_LENGTH);
        LIST_INSERT_HEAD(&shares->chains[chain_of(owner)], share, link);
    }
    shares->full_count += ++share->count == shares->max;
    return share;
}

void halt_shares_remove(struct halt_shares *shares, struct halt_share *share) {
    if (share == NULL) {
        return;
    }
    shares->full_count -= share->count-- == shares->max;
    if (share->count == 0) {
        LIST_REMOVE(share, link);
        free(share);
    }
}
