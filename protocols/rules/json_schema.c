/* SPDX-License-Identifier: Apache-2.0 */

/* A rule table as a JSON Schema, draft 2020-12. The trie of the table already has the structure of
 * the document: each node becomes a subschema, once for the rows of all types, and once more in an
 * if/then for each set of types that rows are for. Rows over several members that are made of tests
 * become an if/then each. No check needs the one before it to have held, since a message is valid
 * when all of them hold.
 *
 * It keeps to what Ajv's strict mode takes: one type (and null) for each subschema, and no keyword
 * without the type that it is about. */

#include <parley/describe.h>

#include "constraint.h"
#include "json_schema.h"

/* ---- which rows ---- */

uint32_t writer_types_of(const struct writer *writer, const struct parley_place *place) {
    return place->for_types == 0 ? writer->every_type : place->for_types & writer->every_type;
}

enum schema_form writer_form_of(const struct writer *writer, const struct parley_rule *rule,
                                const struct parley_place *place) {
    /* If code derives the type from a text (type_of), a condition cannot. */
    const bool is_conditional = writer_types_of(writer, place) != writer->every_type;
    if (rule->severity != PARLEY_ERROR) {
        return FORM_WARNING;
    }
    if (place->is_asked != NULL) {
        return FORM_OPTION;
    }
    if (place->is_broken != NULL || place->by_inspection ||
        place->constraint == PARLEY_INCREASING || place->path[0] == '\0' ||
        (is_conditional && writer->protocol->type_of != NULL)) {
        return FORM_NONE;
    }
    return place->wants != NULL ? FORM_TESTS : FORM_NODE;
}

bool writer_is_expressed(const struct writer *writer, const struct parley_rule *rule,
                         const struct parley_place *place) {
    return writer_form_of(writer, rule, place) == FORM_NODE;
}

bool writer_is_due(const struct writer *writer, const struct parley_place *place) {
    const uint32_t types = writer_types_of(writer, place);
    return writer->is_of_one_type ? types != writer->every_type && (types & writer->types) != 0
                                  : types == writer->types;
}

/* The first of these checks that is to be written now, or NULL. */
static const struct schema_check *next_check(const struct writer *writer,
                                             const struct schema_check *check) {
    while (check != NULL && !(writer_is_expressed(writer, check->rule, check->place) &&
                              writer_is_due(writer, check->place))) {
        check = check->next;
    }
    return check;
}

static bool has_contents(const struct writer *writer, const struct schema_node *node);

/* Whether there is anything to write for a node. Recurses as deep as the rules' paths, like the
 * functions below. */
static bool has_rows(const struct writer *writer, const struct schema_node *node) {
    return next_check(writer, node->checks) != NULL || has_contents(writer, node);
}

/* Whether there is anything to write about the content of a value. */
static bool has_contents(const struct writer *writer, const struct schema_node *node) {
    if (node->every != NULL && has_rows(writer, node->every)) {
        return true;
    }
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        if (has_rows(writer, child)) {
            return true;
        }
    }
    return false;
}

static bool is_required(const struct writer *writer, const struct schema_node *node) {
    const struct schema_check *check = next_check(writer, node->checks);
    while (check != NULL && !check->place->is_required) {
        check = next_check(writer, check->next);
    }
    return check != NULL;
}

/* The kinds of a value for messages of every type; 0: any. */
static unsigned known_kinds(const struct writer *writer, const struct schema_node *node) {
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        if (check->place->kinds != 0 && writer_is_expressed(writer, check->rule, check->place) &&
            writer_types_of(writer, check->place) == writer->every_type) {
            return check->place->kinds;
        }
    }
    return 0;
}

/* ---- subschemas ---- */

enum {
    ANY_KIND =
        PARLEY_STRING | PARLEY_NUMBER | PARLEY_BOOLEAN | PARLEY_OBJECT | PARLEY_ARRAY | PARLEY_NULL,
};

static const struct {
    unsigned kind;
    const char *type;
} kinds_of_json[] = {
    {PARLEY_STRING, "string"},   {PARLEY_NUMBER, "number"}, {PARLEY_INTEGER, "integer"},
    {PARLEY_BOOLEAN, "boolean"}, {PARLEY_OBJECT, "object"}, {PARLEY_ARRAY, "array"},
    {PARLEY_NULL, "null"},
};
#define KINDS_OF_JSON (sizeof kinds_of_json / sizeof kinds_of_json[0])

static void write_node(struct writer *writer, const struct schema_node *node);

static void write_choices(struct writer *writer, const struct parley_place *place,
                          bool is_nullable) {
    if (place->choices[1] == NULL && !is_nullable) {
        writer_text(writer, "const", place->choices[0]);
        return;
    }
    writer_keyword(writer, "enum");
    parley_buffer_char(writer->out, '[');
    for (size_t i = 0; place->choices[i] != NULL; i++) {
        writer_short_item(writer, parley_bytes_of(place->choices[i]));
    }
    if (is_nullable) {
        writer_short_null(writer);
    }
    parley_buffer_char(writer->out, ']');
}

#define HEX(count) "[0-9A-Fa-f]{" #count "}"

/* \xHH is what the regular expressions of most languages have in common; \uHHHH is not. */
#define TOKEN_PATTERN "^[^\\x00-\\x20\\x7f-\\x9f.*>]+$"

static void write_string(struct writer *writer, const struct parley_place *place,
                         bool is_nullable) {
    switch (place->constraint) {
    case PARLEY_MIN_LENGTH:
        writer_number(writer, "minLength", place->minimum);
        break;
    case PARLEY_MAX_LENGTH:
        writer_number(writer, "maxLength", place->maximum);
        break;
    case PARLEY_ONE_OF:
        write_choices(writer, place, is_nullable);
        break;
    case PARLEY_TIME:
        writer_text(writer, "format", "date-time");
        break;
    case PARLEY_TIME_UTC:
        writer_text(writer, "format", "date-time");
        writer_text(writer, "pattern", "([Zz]|[+-]00:00)$");
        break;
    case PARLEY_UUID:
        if (writer->is_fragment) {
            writer_text(writer, "format", "uuid");
            break;
        }
        writer_text(writer, "pattern", "^" HEX(8) "-" HEX(4) "-" HEX(4) "-" HEX(4) "-" HEX(12) "$");
        break;
    case PARLEY_UUID4:
        if (writer->is_fragment) {
            writer_text(writer, "format", "uuid");
            writer_text(writer, "pattern", "^.{14}4.{4}[89ABab]");
            break;
        }
        writer_text(writer, "pattern",
                    "^" HEX(8) "-" HEX(4) "-4" HEX(3) "-[89ABab]" HEX(3) "-" HEX(12) "$");
        break;
    case PARLEY_TOKEN:
        writer_text(writer, "pattern", TOKEN_PATTERN);
        writer_number(writer, "maxLength", place->maximum);
        break;
    case PARLEY_PATTERN:
        writer_text(writer, "pattern", place->pattern);
        if (place->maximum != 0) {
            writer_number(writer, "maxLength", place->maximum);
        }
        break;
    case PARLEY_ANY:
    case PARLEY_RANGE:
    case PARLEY_MINIMUM:
    case PARLEY_MIN_ITEMS:
    case PARLEY_INCREASING:
        break;
    }
}

static void write_number(struct writer *writer, const struct parley_place *place) {
    if (place->constraint == PARLEY_RANGE || place->constraint == PARLEY_MINIMUM) {
        writer_number(writer, "minimum", place->minimum);
    }
    if (place->constraint == PARLEY_RANGE) {
        writer_number(writer, "maximum", place->maximum);
    }
}

/* Whether `stamp` fills in this member of a message. */
static bool is_stamped(const struct parley_protocol *protocol, struct parley_bytes member) {
    const struct parley_stamp *stamp = protocol->stamps;
    while (stamp != NULL && stamp->member != NULL &&
           !parley_bytes_equal(parley_bytes_of(stamp->member), member)) {
        stamp++;
    }
    return stamp != NULL && stamp->member != NULL;
}

static void write_required(struct writer *writer, const struct schema_node *node) {
    bool is_first = true;
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        const bool is_left_out =
            node == writer->draft && is_stamped(writer->protocol, child->token);
        if (is_required(writer, child) && !is_left_out) {
            if (is_first) {
                writer_keyword(writer, "required");
                parley_buffer_char(writer->out, '[');
                is_first = false;
            }
            writer_short_item(writer, child->token);
        }
    }
    parley_buffer_text(writer->out, is_first ? "" : "]");
}

/* Named members have the checks of `every` in the trie, too: so the rest is enough for `every`. */
static void write_members(struct writer *writer, const struct schema_node *node) {
    bool is_first = true;
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        if (has_rows(writer, child)) {
            if (is_first) {
                writer_keyword(writer, "properties");
                writer_open(writer, '{');
                is_first = false;
            }
            writer_member(writer, child->token);
            write_node(writer, child);
        }
    }
    if (!is_first) {
        writer_close(writer, '}');
    }
    write_required(writer, node);
    if (node->every != NULL && has_rows(writer, node->every)) {
        writer_keyword(writer, "additionalProperties");
        write_node(writer, node->every);
    }
}

static void write_items(struct writer *writer, const struct schema_node *node) {
    if (node->every != NULL && has_rows(writer, node->every)) {
        writer_keyword(writer, "items");
        write_node(writer, node->every);
    }
}

void writer_types(struct writer *writer, unsigned kinds) {
    const bool is_one = (kinds & (kinds - 1)) == 0;
    writer_keyword(writer, "type");
    parley_buffer_text(writer->out, is_one ? "" : "[");
    for (size_t i = 0; i < KINDS_OF_JSON; i++) {
        if ((kinds & kinds_of_json[i].kind) != 0 && is_one) {
            parley_buffer_json(writer->out, parley_bytes_of(kinds_of_json[i].type));
        } else if ((kinds & kinds_of_json[i].kind) != 0) {
            writer_short_item(writer, parley_bytes_of(kinds_of_json[i].type));
        }
    }
    parley_buffer_text(writer->out, is_one ? "" : "]");
}

void writer_constraint(struct writer *writer, unsigned kinds, const struct parley_place *place) {
    if ((kinds & PARLEY_STRING) != 0) {
        write_string(writer, place, (kinds & PARLEY_NULL) != 0);
    }
    if ((kinds & (PARLEY_NUMBER | PARLEY_INTEGER)) != 0) {
        write_number(writer, place);
    }
    if ((kinds & PARLEY_ARRAY) != 0 && place->constraint == PARLEY_MIN_ITEMS) {
        writer_number(writer, "minItems", place->minimum);
    }
}

/* A value of one kind, or null.  `node` NULL: without its content. */
static void write_kind(struct writer *writer, unsigned kind, bool is_nullable,
                       const struct parley_place *place, const struct schema_node *node) {
    const unsigned kinds = kind | (is_nullable ? (unsigned)PARLEY_NULL : 0);
    writer_types(writer, kinds);
    if (place != NULL) {
        writer_constraint(writer, kinds, place);
    }
    if (kind == PARLEY_ARRAY && node != NULL) {
        write_items(writer, node);
    }
    if (kind == PARLEY_OBJECT && node != NULL) {
        write_members(writer, node);
    }
    if (kind == PARLEY_OBJECT && writer->is_part && (node == NULL || !has_contents(writer, node))) {
        writer_keyword(writer, "additionalProperties");
        parley_buffer_text(writer->out, "true");
    }
}

static void write_each_kind(struct writer *writer, unsigned kinds, const struct parley_place *place,
                            const struct schema_node *node) {
    writer_keyword(writer, "anyOf");
    writer_open(writer, '[');
    for (size_t i = 0; i < KINDS_OF_JSON; i++) {
        if ((kinds & ~(unsigned)PARLEY_NULL & kinds_of_json[i].kind) != 0) {
            writer_item(writer);
            writer_open(writer, '{');
            write_kind(writer, kinds_of_json[i].kind, false, place, node);
            writer_close(writer, '}');
        }
    }
    if ((kinds & PARLEY_NULL) != 0) {
        writer_item(writer);
        parley_buffer_text(writer->out, "{ \"type\": \"null\" }");
    }
    writer_close(writer, ']');
}

void writer_value(struct writer *writer, unsigned kinds, const struct parley_place *place,
                  const struct schema_node *node) {
    const bool is_nullable = (kinds & PARLEY_NULL) != 0;
    const bool is_constrained = place != NULL && place->constraint != PARLEY_ANY;
    if (kinds == 0 && !is_constrained && (node == NULL || !has_contents(writer, node))) {
        return;
    }
    if (kinds == 0) {
        kinds = ANY_KIND;
    } else if ((kinds & PARLEY_NUMBER) != 0) {
        kinds &= ~(unsigned)PARLEY_INTEGER;
    }
    for (size_t i = 0; i < KINDS_OF_JSON; i++) {
        if ((kinds & ~(unsigned)PARLEY_NULL) == kinds_of_json[i].kind) {
            write_kind(writer, kinds_of_json[i].kind, is_nullable, place, node);
            return;
        }
    }
    if (kinds == PARLEY_NULL) {
        writer_text(writer, "type", "null");
    } else {
        write_each_kind(writer, kinds, place, node);
    }
}

/* "VLP-007: a number from 0 to 1", and how to fix it. */
static void write_words(struct writer *writer, const struct schema_check *check) {
    const char *hint = check->place->hint != NULL ? check->place->hint : check->rule->hint;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "%s: ", check->rule->id);
    constraint_describe(check->place, &text);
    writer_buffer(writer, "title", &text);
    writer_text(writer, "description", hint);
    parley_buffer_finish(&text);
}

/* `known`: what other rows say that the value must be. */
static void write_check(struct writer *writer, const struct schema_check *check, unsigned known,
                        const struct schema_node *node) {
    write_words(writer, check);
    writer_value(writer, check->place->kinds != 0 ? check->place->kinds : known, check->place,
                 node);
}

/* The content of a value is written with the first check: if that excludes arrays and objects,
 * nothing else matters. */
static void write_node(struct writer *writer, const struct schema_node *node) {
    const struct schema_check *check = next_check(writer, node->checks);
    const unsigned known = known_kinds(writer, node);
    writer_open(writer, '{');
    if (check == NULL) {
        writer_value(writer, known, NULL, node);
    } else if (next_check(writer, check->next) == NULL) {
        write_check(writer, check, known, node);
    } else {
        writer_keyword(writer, "allOf");
        writer_open(writer, '[');
        for (; check != NULL; check = next_check(writer, check->next), node = NULL) {
            writer_item(writer);
            writer_open(writer, '{');
            write_check(writer, check, known, node);
            writer_close(writer, '}');
        }
        writer_close(writer, ']');
    }
    writer_close(writer, '}');
}

/* ---- the document ---- */

static size_t count_places(const struct writer *writer, const struct parley_rule *rule,
                           enum schema_form form) {
    size_t count = 0;
    for (size_t i = 0; i < rule->place_count; i++) {
        count += writer_form_of(writer, rule, &rule->places[i]) == form;
    }
    return count;
}

/* The paths of a rule that have this form. */
static void append_paths(const struct writer *writer, const struct parley_rule *rule,
                         enum schema_form form, struct parley_buffer *out) {
    const char *separator = " (in part: ";
    for (size_t i = 0; i < rule->place_count; i++) {
        if (writer_form_of(writer, rule, &rule->places[i]) == form) {
            parley_buffer_format(out, "%s%s", separator, rule->places[i].path);
            separator = ", ";
        }
    }
    parley_buffer_char(out, ')');
}

/* Appends the ids of the rules that have places of this form. `separator`: before the first. */
static void append_ids(const struct writer *writer, enum schema_form form, const char *separator,
                       struct parley_buffer *out) {
    for (size_t i = 0; i < writer->protocol->rule_count; i++) {
        const struct parley_rule *rule = &writer->protocol->rules[i];
        const size_t count = count_places(writer, rule, form);
        if (count > 0) {
            parley_buffer_format(out, "%s%s", separator, rule->id);
            separator = ", ";
        }
        if (count > 0 && count < rule->place_count) {
            append_paths(writer, rule, form, out);
        }
    }
}

/* The rows that the schema does not express, by the reason. */
static void append_rest(const struct writer *writer, struct parley_buffer *out) {
    const char *separator = "";
    parley_buffer_text(out, "Checked by parley only: ");
    for (size_t i = 0; i < PARLEY_GW_COUNT; i++) {
        if (i != PARLEY_GW_TOP_LEVEL && parley_gateway_rules[i].severity == PARLEY_ERROR) {
            parley_buffer_format(out, "%s%s", separator, parley_gateway_rules[i].id);
            separator = ", ";
        }
    }
    append_ids(writer, FORM_NONE, ", ", out);
    parley_buffer_text(out, ", and what is encoded in a string, such as compressed data.");
    const size_t before = out->length;
    append_ids(writer, FORM_OPTION, " Checked only if a request option asks for it: ", out);
    parley_buffer_text(out, out->length > before ? "." : "");
    const size_t before_warnings = out->length;
    append_ids(writer, FORM_WARNING, " Warnings, which leave a message valid: ", out);
    parley_buffer_text(out, out->length > before_warnings ? "." : "");
}

static void write_head(struct writer *writer) {
    const struct parley_protocol *protocol = writer->protocol;
    struct parley_buffer text;
    parley_buffer_init(&text);
    writer_text(writer, "$schema", "https://json-schema.org/draft/2020-12/schema");
    writer_keyword(writer, "$id");
    parley_buffer_format(writer->out, "\"urn:parley:schema:%s\"", protocol->name);
    parley_buffer_format(&text, "%s (%s)", protocol->title, protocol->spec_version);
    writer_buffer(writer, "title", &text);
    parley_buffer_text(&text, "Generated from the rules that parley checks. ");
    append_rest(writer, &text);
    writer_buffer(writer, "$comment", &text);
    parley_buffer_finish(&text);
}

static uint32_t every_type(const struct parley_protocol *protocol) {
    uint32_t types = PARLEY_TYPE_BIT(PARLEY_TYPE_OTHER);
    for (unsigned i = 0; protocol->types[i] != NULL; i++) {
        types |= PARLEY_TYPE_BIT(i);
    }
    return types;
}

/* A writer for the rows of every type. */
static enum parley_status open_writer(const struct parley_protocol *protocol,
                                      struct parley_buffer *out, struct writer *writer,
                                      struct parley_schema **out_schema) {
    const uint32_t types = every_type(protocol);
    *writer =
        (struct writer){.protocol = protocol, .out = out, .every_type = types, .types = types};
    return parley_schema_create(protocol, out_schema);
}

enum parley_status parley_protocol_write_json_schema(const struct parley_protocol *protocol,
                                                     struct parley_buffer *out) {
    struct parley_schema *schema;
    struct writer writer;
    PARLEY_TRY(open_writer(protocol, out, &writer, &schema));
    writer_open(&writer, '{');
    write_head(&writer);
    writer_value(&writer, PARLEY_OBJECT, NULL, &schema->root);
    writer_conditionals(&writer, &schema->root);
    writer_close(&writer, '}');
    parley_buffer_char(out, '\n');
    parley_schema_destroy(schema);
    return parley_buffer_status(out);
}

static enum parley_status write_part(struct writer *writer, struct parley_schema *schema) {
    writer->is_part = true;
    writer_open(writer, '{');
    writer_value(writer, PARLEY_OBJECT, NULL, &schema->root);
    writer_conditions_across(writer);
    writer_close(writer, '}');
    parley_schema_destroy(schema);
    return parley_buffer_status(writer->out);
}

enum parley_status parley_protocol_write_draft_schema(const struct parley_protocol *protocol,
                                                      struct parley_buffer *out) {
    struct parley_schema *schema;
    struct writer writer;
    PARLEY_TRY(open_writer(protocol, out, &writer, &schema));
    writer.draft = &schema->root;
    return write_part(&writer, schema);
}

/* {"type":"object","required":["type"],"properties":{"type":{"const":"claim"}}} */
static void write_type_is(struct writer *writer, const char *type) {
    const struct parley_protocol *protocol = writer->protocol;
    const struct parley_bytes member = parley_bytes_of(protocol->fields[protocol->type_field] + 1);
    writer_open(writer, '{');
    writer_types(writer, PARLEY_OBJECT);
    writer_keyword(writer, "required");
    parley_buffer_char(writer->out, '[');
    writer_short_item(writer, member);
    parley_buffer_char(writer->out, ']');
    writer_keyword(writer, "properties");
    writer_open(writer, '{');
    writer_member(writer, member);
    writer_open(writer, '{');
    writer_text(writer, "const", type);
    writer_close(writer, '}');
    writer_close(writer, '}');
    writer_close(writer, '}');
}

enum parley_status parley_protocol_write_type_schema(const struct parley_protocol *protocol,
                                                     unsigned type, struct parley_buffer *out) {
    struct parley_schema *schema;
    struct writer writer;
    PARLEY_TRY(open_writer(protocol, out, &writer, &schema));
    writer.types = PARLEY_TYPE_BIT(type);
    writer.is_of_one_type = true;
    writer_open(&writer, '{');
    writer_keyword(&writer, "allOf");
    writer_open(&writer, '[');
    writer_item(&writer);
    write_type_is(&writer, protocol->types[type]);
    writer_item(&writer);
    PARLEY_TRY(write_part(&writer, schema));
    writer_close(&writer, ']');
    writer_close(&writer, '}');
    return parley_buffer_status(out);
}

enum parley_status parley_protocol_write_required_stamps(const struct parley_protocol *protocol,
                                                         struct parley_buffer *out) {
    struct parley_schema *schema;
    struct writer writer;
    PARLEY_TRY(open_writer(protocol, out, &writer, &schema));
    parley_buffer_char(out, '[');
    for (const struct schema_node *at = schema->root.children; at != NULL; at = at->next) {
        if (is_stamped(protocol, at->token) && is_required(&writer, at)) {
            writer_short_item(&writer, at->token);
        }
    }
    parley_buffer_char(out, ']');
    parley_schema_destroy(schema);
    return parley_buffer_status(out);
}
