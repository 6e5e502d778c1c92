/* SPDX-License-Identifier: Apache-2.0 */

#include "accept.h"

#include "text.h"

static bool rises(struct accept *accept, const struct parley_place *place, double number) {
    struct accept_level *level = accept->level;
    while (level > accept->levels && level->closing != ']') {
        level--;
    }
    return level > accept->levels && constraint_rises(&level->rising, place, number);
}

/* Called once the capture that is the message's type has been captured, or there is none. */
static unsigned note_type(struct accept *accept) {
    struct parley_message *message = accept->message;
    message->type =
        schema_type_of(message->schema, &message->values[message->protocol->type_field]);
    accept->is_type_known = true;
    return message->type;
}

/* PARLEY_ONE_OF of a string. The row that asks for a known type also finds which one it is, so that
 * the list of types is searched once. */
static bool is_choice(struct accept *accept, const struct schema_check *check,
                      const struct parley_value *value) {
    const struct parley_message *message = accept->message;
    const struct parley_protocol *protocol = message->protocol;
    return check->place->choices == protocol->types &&
                   value == &message->values[protocol->type_field]
               ? note_type(accept) != PARLEY_TYPE_OTHER
               : text_is_one_of(value->text, check->place->choices);
}

/* Whether a check passes a value of a kind in its asked_kinds.  `is_time`: an earlier row at this
 * place has found that the value is a time. */
static bool holds(struct accept *accept, const struct schema_check *check,
                  const struct parley_value *value, bool is_time) {
    const struct parley_place *place = check->place;
    const bool is_text = value->kind == PARLEY_STRING;
    switch (place->constraint) {
    case PARLEY_MIN_ITEMS:
        return constraint_has_items(place, value->count);
    case PARLEY_INCREASING:
        return constraint_holds(check, value) && rises(accept, place, value->number);
    case PARLEY_TIME_UTC:
        return is_time ? text_time_is_utc(value->text) : constraint_holds(check, value);
    case PARLEY_TIME:
        return is_text ? text_is_time(value->text) : constraint_holds(check, value);
    case PARLEY_ONE_OF:
        return is_text ? is_choice(accept, check, value) : constraint_holds(check, value);
    default:
        return constraint_holds(check, value);
    }
}

void accept_ask_rows(struct accept *accept, const struct schema_node *node, unsigned kind,
                     const struct parley_value *value) {
    bool is_time = false;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        if ((check->asked_kinds & kind) == 0) {
            continue;
        }
        if (!holds(accept, check, value, is_time)) {
            accept->failed |= schema_types(check);
        } else if (check->place->constraint == PARLEY_TIME) {
            is_time = true;
        }
    }
}

/* Every row is kept, so that the inspection's findings are all that there are. One that fails is
 * asked again by the walk, which has a status to say so. */
static enum accept_certainty inspect(struct parley_message *message) {
    struct parley_findings *findings = &message->findings;
    if (message->protocol->inspect == NULL) {
        return ACCEPT_RIGHT;
    }
    if (message->protocol->inspect(message) != PARLEY_OK) {
        *findings = (struct parley_findings){0};
        return ACCEPT_WHOLE;
    }
    if (findings->count == 0 && findings->omitted_count == 0) {
        return ACCEPT_RIGHT;
    }
    findings_settle(message);
    return ACCEPT_INSPECTED;
}

enum accept_certainty accept_judge(struct accept *accept) {
    struct parley_message *message = accept->message;
    if (!accept->is_type_known) {
        note_type(accept);
    }
    const uint32_t type = PARLEY_TYPE_BIT(message->type);
    if ((accept->failed & type) != 0) {
        return ACCEPT_WHOLE;
    }
    const struct parley_captures captures = {
        .values = message->values, .type = message->type, .options = &message->options};
    const struct schema_check *check = message->schema->cross_checks;
    while (check != NULL &&
           ((schema_types(check) & type) == 0 || !place_is_broken(check->place, &captures))) {
        check = check->next;
    }
    return check == NULL ? inspect(message) : ACCEPT_WHOLE;
}
