/* SPDX-License-Identifier: Apache-2.0 */

/* What the rows of a place say type by type, as sets of types: where many messages have a member of
 * one name, a reader that does not know the type as yet asks once for all of them. */

#include "constraint.h"

/* What a check says of values of one kind, whatever they are. */
static void sum_up_kind(struct schema_node *node, const struct schema_check *check,
                        unsigned number) {
    const unsigned kind = 1u << number, kinds = check->place->kinds;
    const unsigned as_told = kind == PARLEY_INTEGER ? (unsigned)PARLEY_NUMBER : kind;
    const bool is_fine = kinds == 0 || (kinds & (kind | as_told)) != 0;
    const bool may_be_whole = kind == PARLEY_NUMBER && (kinds & PARLEY_INTEGER) != 0;
    if (!is_fine && !may_be_whole) {
        node->wrong_types[number] |= schema_types(check);
    }
    if ((!is_fine && may_be_whole) ||
        (unsigned)constraint_kind(check->place->constraint) == as_told) {
        node->asked_kinds |= kind;
    }
}

static void sum_up_child(struct schema_node *node, const struct schema_node *child) {
    for (unsigned type = 0; type <= PARLEY_TYPE_OTHER; type++) {
        node->required_for[type] |= (child->required_types >> type & 1) != 0 ? child->bit : 0;
    }
}

enum parley_status schema_sum_up_types(struct parley_arena *arena, struct schema_node *node) {
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        for (unsigned number = 0; number < SCHEMA_KINDS; number++) {
            sum_up_kind(node, check, number);
        }
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
        sum_up_child(node, child);
    }
    return PARLEY_OK;
}
