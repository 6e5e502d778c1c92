/* SPDX-License-Identifier: Apache-2.0 */

/* What a Brenner message says of itself, for an index: its subject, the sections of its body that
 * name a message, a bead or an agent, whether it asks for an acknowledgement, whether it is urgent,
 * and whether it takes a bead, hands it on, or waits for others. */

#include "brenner.h"

#include <parley/index.h>

#include "body.h"

enum relation { ACKNOWLEDGES, ITEM };

static const struct parley_index_relation relations[] = {
    [ACKNOWLEDGES] = {.name = "acknowledges", .is_label = false},
    [ITEM] = {.name = "item", .is_label = true},
    {.name = NULL, .is_label = false},
};

/* The document's four, which an ACK's `## Status` begins with (MB-112). */
static const char *const statuses[] = {"Received", "Understood", "Will Action", "Completed", NULL};

/* "QUESTION: Which rubric?" is about "Which rubric?". */
static struct parley_bytes topic_of(struct parley_bytes subject) {
    if (brenner_type_of(subject) != PARLEY_TYPE_OTHER) {
        const char *colon = memchr(subject.data, ':', subject.length);
        const size_t length = (size_t)(colon + 1 - subject.data);
        subject = (struct parley_bytes){colon + 1, subject.length - length};
    }
    return brenner_trimmed(subject);
}

static const struct parley_index_acks acks = {.relation = ACKNOWLEDGES,
                                              .opening_types = PARLEY_TYPE_BIT(BRENNER_KICKOFF),
                                              .statuses = statuses,
                                              .subject = "subject",
                                              .status = "status",
                                              .topic = topic_of,
                                              .write_reminder = brenner_write_reminder,
                                              .bucket = "parley_acks"};

static const struct parley_index_item_kind item_kinds[] = {
    {"claim", BRENNER_CLAIM, PARLEY_INDEX_TAKES, "agent"},
    {"handoff", BRENNER_HANDOFF, PARLEY_INDEX_HANDS, "to"},
    {"blocked", BRENNER_BLOCKED, PARLEY_INDEX_WAITS, NULL},
    {"question", BRENNER_QUESTION, PARLEY_INDEX_WAITS, NULL},
    {"critique", BRENNER_CRITIQUE, PARLEY_INDEX_WAITS, NULL},
    {.name = NULL},
};

static const struct parley_index_items items = {.relation = ITEM, .kinds = item_kinds};

/* A section of a body and what it is in the entry: a member of that name, a reference, or both. */
static const struct section_row {
    enum brenner_type type;
    const char *section, *member; /* member NULL: only a reference */
    enum { NO_REFERENCE, NAMES_MESSAGE, NAMES_ITEM } names;
} section_rows[] = {
    {BRENNER_ACK, "Message ID", NULL, NAMES_MESSAGE},
    {BRENNER_ACK, "Status", "status", NO_REFERENCE},
    {BRENNER_CLAIM, "Item", "item", NAMES_ITEM},
    {BRENNER_CLAIM, "Agent", "agent", NO_REFERENCE},
    {BRENNER_HANDOFF, "Item", "item", NAMES_ITEM},
    {BRENNER_HANDOFF, "From", "from", NO_REFERENCE},
    {BRENNER_HANDOFF, "To", "to", NO_REFERENCE},
    {BRENNER_BLOCKED, "Item", "item", NAMES_ITEM},
    {BRENNER_BLOCKED, "Type", "type", NO_REFERENCE},
    {BRENNER_QUESTION, "Urgency", "urgency", NO_REFERENCE},
    {BRENNER_CRITIQUE, "Target", "target", NO_REFERENCE},
    {BRENNER_CRITIQUE, "Severity", "severity", NO_REFERENCE},
};

static bool has_rows(unsigned type) {
    for (size_t i = 0; i < sizeof section_rows / sizeof section_rows[0]; i++) {
        if (section_rows[i].type == type) {
            return true;
        }
    }
    return false;
}

/* The sections that say how soon an answer is needed, and what they begin with then. */
static const struct urgency {
    enum brenner_type type;
    const char *section, *value;
} urgencies[] = {
    {BRENNER_QUESTION, "Urgency", "Blocking"},
    {BRENNER_CRITIQUE, "Severity", "Critical"},
};

static bool begins_with(struct parley_bytes text, const char *value) {
    const size_t length = strlen(value);
    return text.length >= length && memcmp(text.data, value, length) == 0;
}

static bool is_important(const struct parley_message *message) {
    const struct parley_bytes importance = parley_message_text(message, BRENNER_IMPORTANCE);
    return parley_bytes_equal(importance, PARLEY_BYTES("high")) ||
           parley_bytes_equal(importance, PARLEY_BYTES("urgent"));
}

static bool is_pressing(const struct parley_message *message, const struct brenner_body *body) {
    bool is = false;
    for (size_t i = 0; i < sizeof urgencies / sizeof urgencies[0]; i++) {
        const struct urgency *row = &urgencies[i];
        const struct brenner_section *section =
            row->type == message->type ? brenner_body_section(body, row->section) : NULL;
        is = is || (section != NULL && begins_with(section->text, row->value));
    }
    return is;
}

static bool is_reminder(const struct parley_message *message) {
    const struct parley_bytes id = parley_message_text(message, BRENNER_ID);
    return message->type == BRENNER_INFO && begins_with(id, PARLEY_INDEX_REMINDER_ID) &&
           parley_bytes_equal(parley_message_text(message, brenner_sender_field(message)),
                              PARLEY_BYTES(PARLEY_INDEX_GATEWAY));
}

static bool is_item(unsigned type) {
    const struct parley_index_item_kind *kind = item_kinds;
    while (kind->name != NULL && kind->type != type) {
        kind++;
    }
    return kind->name != NULL;
}

/* An ACK needs no acknowledgement, even if it asks for one (MB-009). */
static void set_part(const struct parley_message *message, struct parley_index_entry *out) {
    const struct parley_value *asks = &message->values[BRENNER_ACK_REQUIRED];
    if (message->type == BRENNER_ACK) {
        out->part = PARLEY_INDEX_ACKNOWLEDGES;
    } else if (is_reminder(message)) {
        out->part = PARLEY_INDEX_REMINDS;
    } else if (asks->kind == PARLEY_BOOLEAN && asks->number != 0) {
        out->part = PARLEY_INDEX_ASKS;
    }
    out->part |= is_important(message) ? PARLEY_INDEX_URGENT : 0;
    out->part |= is_item(message->type) ? PARLEY_INDEX_IS_ITEM : 0;
}

/* The body's text ends with the body. */
static enum parley_status add_section(struct parley_message *message, const struct section_row *row,
                                      struct parley_bytes text, struct parley_index_entry *out) {
    if (row->member != NULL) {
        parley_index_add_text(out, row->member, text);
    }
    if (row->names == NO_REFERENCE) {
        return PARLEY_OK;
    }
    const char *copy = parley_arena_copy(&message->arena, text);
    parley_index_add_reference(out, row->names == NAMES_MESSAGE ? ACKNOWLEDGES : ITEM,
                               (struct parley_bytes){copy, copy != NULL ? text.length : 0});
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status add_sections(struct parley_message *message,
                                       const struct brenner_body *body,
                                       struct parley_index_entry *out) {
    for (size_t i = 0; i < sizeof section_rows / sizeof section_rows[0]; i++) {
        const struct section_row *row = &section_rows[i];
        const struct brenner_section *section =
            row->type == message->type ? brenner_body_section(body, row->section) : NULL;
        if (section != NULL) {
            PARLEY_TRY(add_section(message, row, section->text, out));
        }
    }
    return PARLEY_OK;
}

/* A thread is of a bead, unless it is a research session or a coordination topic (MB-103). What
 * names no bead itself is about that one. */
static void add_bead_of_thread(const struct parley_message *message,
                               struct parley_index_entry *out) {
    const struct parley_bytes thread = parley_message_text(message, BRENNER_THREAD_ID);
    if (!begins_with(thread, "RS-") && !begins_with(thread, "COORD-")) {
        parley_index_add_reference(out, ITEM, thread);
    }
}

static enum parley_status read(struct parley_message *message, struct parley_index_entry *out) {
    const struct parley_bytes markdown = parley_message_text(message, brenner_body_field(message));
    const struct parley_value *ack_required = &message->values[BRENNER_ACK_REQUIRED];
    struct brenner_body body;
    set_part(message, out);
    parley_index_add_text(out, "subject", parley_message_text(message, BRENNER_SUBJECT));
    parley_index_add_words(out, parley_message_text(message, BRENNER_SUBJECT));
    parley_index_add_words(out, markdown);
    if (ack_required->kind == PARLEY_BOOLEAN && ack_required->number != 0) {
        parley_index_add_json(out, "ack_required", PARLEY_BYTES("true"));
    }
    if (markdown.data == NULL || !has_rows(message->type)) {
        return PARLEY_OK;
    }
    enum parley_status status = brenner_body_read(&body, markdown);
    if (status == PARLEY_OK) {
        status = add_sections(message, &body, out);
        out->part |= is_pressing(message, &body) ? PARLEY_INDEX_URGENT : 0;
    }
    brenner_body_finish(&body);
    if (is_item(message->type) && out->reference_count == 0) {
        add_bead_of_thread(message, out);
    }
    return status;
}

const struct parley_index_kind brenner_index = {
    .relations = relations, .has_words = true, .acks = &acks, .items = &items, .read = read};
