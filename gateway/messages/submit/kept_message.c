/* SPDX-License-Identifier: Apache-2.0 */

/* See kept_message.h. The last one released is the first one taken: its memory is in the cache, and
 * its reader knows the shape of the last messages. */

#include "kept_message.h"

#include <stdlib.h>

#include "fact_lookup.h"

enum {
    UNUSED_COUNT_MAX = 64,
    ARENA_KEPT_BYTES = 8 * 1024, /* of an unused one … */
    TEXT_KEPT_BYTES = 2 * 1024,  /* … and of its text */
};

static struct kept_message *create(const struct parley_schema *schema) {
    struct kept_message *kept = malloc(sizeof *kept);
    if (kept != NULL) {
        parley_message_init(&kept->message, schema);
        parley_buffer_init(&kept->text);
    }
    return kept;
}

static void destroy(struct kept_message *kept) {
    parley_message_finish(&kept->message);
    parley_buffer_finish(&kept->text);
    free(kept);
}

/* Returns: NULL: there is none. */
static struct kept_message *pop(struct kept_messages *all) {
    struct kept_message *kept = SLIST_FIRST(&all->unused);
    if (kept != NULL) {
        SLIST_REMOVE_HEAD(&all->unused, link);
        all->unused_count--;
    }
    return kept;
}

struct kept_message *kept_message_take(const struct request_options *options) {
    struct kept_messages *all = &options->gateway->kept;
    if (!fact_lookup_may_wait(options) || all->used_count == KEPT_MESSAGES_MAX) {
        return NULL;
    }
    const struct parley_schema *schema =
        gateway_message(options->gateway, options->protocol)->schema;
    struct kept_message *kept = pop(all);
    if (kept != NULL && kept->message.schema != schema) {
        destroy(kept);
        kept = NULL;
    }
    kept = kept != NULL ? kept : create(schema);
    all->used_count += kept != NULL ? 1 : 0;
    return kept;
}

bool kept_message_copy(struct kept_message *kept, struct parley_bytes *bytes) {
    parley_buffer_clear(&kept->text); /* also of an earlier failure */
    parley_buffer_append(&kept->text, *bytes);
    if (!kept->text.has_failed) {
        *bytes = parley_buffer_bytes(&kept->text);
    }
    return !kept->text.has_failed;
}

void kept_message_release(struct gateway *gateway, struct kept_message *kept) {
    struct kept_messages *all = &gateway->kept;
    if (kept == NULL) {
        return;
    }
    all->used_count--;
    if (all->unused_count == UNUSED_COUNT_MAX) {
        destroy(kept);
        return;
    }
    if (kept->message.arena.used_bytes > ARENA_KEPT_BYTES) {
        parley_message_reset(&kept->message);
    }
    if (kept->text.capacity > TEXT_KEPT_BYTES) {
        parley_buffer_finish(&kept->text);
    }
    SLIST_INSERT_HEAD(&all->unused, kept, link);
    all->unused_count++;
}

void kept_messages_finish(struct gateway *gateway) {
    struct kept_message *kept;
    while ((kept = pop(&gateway->kept)) != NULL) {
        destroy(kept);
    }
}
