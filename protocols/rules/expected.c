/* SPDX-License-Identifier: Apache-2.0 */

/* What a row expects of the value that breaks it, as a fragment of JSON Schema: the same words of
 * the same row as in the schema of the protocol, for this value alone. */

#include <parley/findings.h>

#include "constraint.h"
#include "json_schema.h"

/* The first error row about a value that counts for these types; NULL: none. */
static const struct schema_check *row_of(const struct schema_node *node, uint32_t types) {
    const struct schema_check *check = node != NULL ? node->checks : NULL;
    while (check != NULL &&
           (check->rule->severity != PARLEY_ERROR || (schema_types(check) & types) == 0)) {
        check = check->next;
    }
    return check;
}

/* 0: any. */
static unsigned kinds_of(const struct parley_place *place) {
    return place->kinds != 0 ? place->kinds : (unsigned)constraint_kind(place->constraint);
}

/* `kinds`: of the row, those that are right here. */
static void write_place(struct writer *writer, const struct schema_check *check, unsigned kinds,
                        uint32_t types, bool has_items) {
    const struct parley_place *place = check->place;
    const unsigned text_or_null = PARLEY_STRING | PARLEY_NULL;
    const struct schema_check *items =
        has_items && (kinds & PARLEY_ARRAY) != 0 && check->node != NULL
            ? row_of(check->node->every, types)
            : NULL;
    writer_open(writer, '{');
    if (place->constraint != PARLEY_ONE_OF || (kinds & ~text_or_null) != 0) {
        writer_types(writer, kinds);
    }
    if (place->constraint != PARLEY_ONE_OF || (kinds & ~text_or_null) == 0) {
        writer_constraint(writer, kinds, place);
    }
    if (items != NULL && kinds_of(items->place) != 0) {
        writer_keyword(writer, "items");
        write_place(writer, items, kinds_of(items->place), types, false);
    }
    writer_close(writer, '}');
}

/* The row that says what the value has to be. A row over several members says so only where the
 * value is missing: the others are about it and its neighbours. */
static const struct schema_check *telling_row(const struct parley_finding *finding) {
    const struct schema_check *check = finding->check;
    if (check == NULL) {
        return NULL;
    }
    if (place_is_over_members(check->place)) {
        return finding->is_missing ? row_of(check->node, finding->for_types) : NULL;
    }
    if (kinds_of(check->place) == 0) { /* it must be there, and another row says of what kind */
        return row_of(check->node, finding->for_types);
    }
    const bool is_right = finding->value.kind != PARLEY_ABSENT &&
                          check->place->constraint != PARLEY_MIN_ITEMS &&
                          constraint_holds(check, &finding->value);
    return is_right ? NULL : check; /* greater than the one before it, say */
}

void parley_finding_write_expected(const struct parley_finding *finding, const char *member,
                                   struct parley_buffer *out) {
    struct writer writer = {.out = out, .is_fragment = true};
    const struct schema_check *check = telling_row(finding);
    if (check == NULL || kinds_of(check->place) == 0) {
        return;
    }
    const bool is_asked_by_others = check != finding->check; /* null is as good as missing */
    const unsigned kinds = kinds_of(check->place) & ~(is_asked_by_others ? PARLEY_NULL : 0u);
    parley_buffer_text(out, member);
    write_place(&writer, check, kinds, finding->for_types, true);
}
