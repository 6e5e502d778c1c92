/* SPDX-License-Identifier: Apache-2.0 */

/* The checks of a place as sets of kinds and of types: where messages of many types have a member
 * of one name, a reader that does not know the type yet asks once for all of them. */

#include "constraint.h"

/* How many bytes a string must have to pass a check without being looked at. */
static size_t free_text_bytes(const struct schema_check *check) {
    const struct parley_place *place = check->place;
    if ((check->asked_kinds & PARLEY_STRING) == 0) {
        return 0;
    }
    if (place->constraint != PARLEY_MIN_LENGTH) {
        return SIZE_MAX;
    }
    /* A code point has at most four bytes; the first one has at least one. */
    return place->minimum <= 1 ? (size_t)place->minimum : (size_t)place->minimum * 4;
}

static void digest_checks(struct schema_node *node) {
    node->free_kinds = ~0u;
    node->free_text_bytes = 0;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        const unsigned wrong = constraint_wrong_kinds(check->place);
        for (unsigned kind = 0; kind < SCHEMA_KINDS; kind++) {
            node->wrong_types[kind] |= (wrong >> kind & 1) != 0 ? schema_types(check) : 0;
        }
        const size_t bytes = free_text_bytes(check);
        node->free_text_bytes = bytes > node->free_text_bytes ? bytes : node->free_text_bytes;
        node->asked_kinds |= check->asked_kinds;
        node->free_kinds &= ~(wrong | check->asked_kinds);
    }
}

uint32_t schema_types_that_require(const struct schema_node *member) {
    uint32_t types = 0;
    for (const struct schema_check *check = member->checks; check != NULL; check = check->next) {
        types |= check->place->is_required ? schema_types(check) : 0;
    }
    return types;
}

enum parley_status schema_digest(struct parley_arena *arena, struct schema_node *node) {
    digest_checks(node);
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        node->required |= schema_types_that_require(child) != 0 ? child->bit : 0;
    }
    if (node->required == 0) {
        return PARLEY_OK;
    }
    const size_t size = (PARLEY_TYPE_OTHER + 1) * sizeof *node->required_for;
    node->required_for = parley_arena_allocate(arena, size);
    if (node->required_for == NULL) {
        return PARLEY_E_MEMORY;
    }
    memset(node->required_for, 0, size);
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        const uint32_t types = schema_types_that_require(child);
        for (unsigned type = 0; type <= PARLEY_TYPE_OTHER; type++) {
            node->required_for[type] |= (types >> type & 1) != 0 ? child->bit : 0;
        }
    }
    return PARLEY_OK;
}
