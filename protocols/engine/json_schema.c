/* SPDX-License-Identifier: Apache-2.0 */

/* A rule table as a JSON Schema, draft 2020-12. The trie of the table has the form of the document
 * already: each node becomes a subschema, once for the rows of every type, and once more in an
 * if/then for each set of types that rows are for. No check needs the one before it to have held,
 * since a message is valid when all of them hold.
 *
 * It keeps to what Ajv's strict mode takes: one type (and null) for each subschema, and no keyword
 * without the type that it is about. */

#include <parley/describe.h>

#include "constraint.h"

struct writer {
    const struct parley_protocol *protocol;
    struct parley_buffer *out;
    unsigned depth;
    uint32_t every_type; /* the set of all types, the unknown one included */
    uint32_t types;      /* whose rows are written now */
};

/* ---- JSON ---- */

static void begin_line(struct writer *writer) {
    parley_buffer_format(writer->out, "\n%*s", (int)(2 * writer->depth), "");
}

static bool is_empty_so_far(const struct parley_buffer *out) {
    const char last = out->length > 0 ? out->data[out->length - 1] : '{';
    return last == '{' || last == '[';
}

/* Begins the next item of the present array. */
static void item(struct writer *writer) {
    parley_buffer_text(writer->out, is_empty_so_far(writer->out) ? "" : ",");
    begin_line(writer);
}

/* Begins the next member of the present object. */
static void member(struct writer *writer, struct parley_bytes name) {
    item(writer);
    parley_buffer_json(writer->out, name);
    parley_buffer_text(writer->out, ": ");
}

static void keyword(struct writer *writer, const char *name) {
    member(writer, parley_bytes_of(name));
}

static void open(struct writer *writer, char bracket) {
    parley_buffer_char(writer->out, bracket);
    writer->depth++;
}

static void close(struct writer *writer, char bracket) {
    writer->depth--;
    if (!is_empty_so_far(writer->out)) {
        begin_line(writer);
    }
    parley_buffer_char(writer->out, bracket);
}

static void text_keyword(struct writer *writer, const char *name, const char *text) {
    keyword(writer, name);
    parley_buffer_json(writer->out, parley_bytes_of(text));
}

static void number_keyword(struct writer *writer, const char *name, double number) {
    keyword(writer, name);
    parley_buffer_number(writer->out, number);
}

/* Empties `text`. */
static void buffer_keyword(struct writer *writer, const char *name, struct parley_buffer *text) {
    keyword(writer, name);
    parley_buffer_json(writer->out, parley_buffer_bytes(text));
    writer->out->has_failed |= text->has_failed;
    parley_buffer_clear(text);
}

/* Appends an item to an array that stands on one line. */
static void short_item(struct writer *writer, struct parley_bytes text) {
    parley_buffer_text(writer->out, is_empty_so_far(writer->out) ? "" : ", ");
    parley_buffer_json(writer->out, text);
}

/* ---- which rows ---- */

/* The types that a row is for; `every_type` where a schema needs no condition. */
static uint32_t types_of(const struct writer *writer, const struct parley_place *place) {
    return place->for_types == 0 ? writer->every_type : place->for_types & writer->every_type;
}

/* Whether a schema can say what this place of a rule wants. */
static bool is_expressed(const struct writer *writer, const struct parley_rule *rule,
                         const struct parley_place *place) {
    const bool is_of_one_value = place->is_broken == NULL && !place->by_inspection &&
                                 place->constraint != PARLEY_INCREASING && place->path[0] != '\0';
    /* Where code tells a type from a text (type_of), no condition can. */
    const bool has_condition = types_of(writer, place) != writer->every_type;
    return rule->severity == PARLEY_ERROR && is_of_one_value &&
           (!has_condition || writer->protocol->type_of == NULL);
}

/* The first of these checks that is written now, or NULL. */
static const struct schema_check *next_check(const struct writer *writer,
                                             const struct schema_check *check) {
    while (check != NULL && !(is_expressed(writer, check->rule, check->place) &&
                              types_of(writer, check->place) == writer->types)) {
        check = check->next;
    }
    return check;
}

static bool has_contents(const struct writer *writer, const struct schema_node *node);

/* Whether there is anything to write of a node. As deep as the rules' paths, as is all below. */
static bool has_rows(const struct writer *writer, const struct schema_node *node) {
    return next_check(writer, node->checks) != NULL || has_contents(writer, node);
}

/* Whether there is anything to write of what is in a value. */
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

/* What a value here must be for messages of every type; 0: nothing is said. */
static unsigned known_kinds(const struct writer *writer, const struct schema_node *node) {
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        if (check->place->kinds != 0 && is_expressed(writer, check->rule, check->place) &&
            types_of(writer, check->place) == writer->every_type) {
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
};
#define KINDS_OF_JSON (sizeof kinds_of_json / sizeof kinds_of_json[0])

static void write_node(struct writer *writer, const struct schema_node *node);

static void write_choices(struct writer *writer, const struct parley_place *place,
                          bool is_nullable) {
    if (place->choices[1] == NULL && !is_nullable) {
        text_keyword(writer, "const", place->choices[0]);
        return;
    }
    keyword(writer, "enum");
    parley_buffer_char(writer->out, '[');
    for (size_t i = 0; place->choices[i] != NULL; i++) {
        short_item(writer, parley_bytes_of(place->choices[i]));
    }
    parley_buffer_text(writer->out, is_nullable ? ", null]" : "]");
}

#define HEX(count) "[0-9A-Fa-f]{" #count "}"

static void write_string(struct writer *writer, const struct parley_place *place,
                         bool is_nullable) {
    switch (place->constraint) {
    case PARLEY_MIN_LENGTH:
        number_keyword(writer, "minLength", place->minimum);
        break;
    case PARLEY_MAX_LENGTH:
        number_keyword(writer, "maxLength", place->maximum);
        break;
    case PARLEY_ONE_OF:
        write_choices(writer, place, is_nullable);
        break;
    case PARLEY_TIME:
        text_keyword(writer, "format", "date-time");
        break;
    case PARLEY_TIME_UTC:
        text_keyword(writer, "format", "date-time");
        text_keyword(writer, "pattern", "([Zz]|[+-]00:00)$");
        break;
    case PARLEY_UUID:
        text_keyword(writer, "pattern",
                     "^" HEX(8) "-" HEX(4) "-" HEX(4) "-" HEX(4) "-" HEX(12) "$");
        break;
    case PARLEY_UUID4:
        text_keyword(writer, "pattern",
                     "^" HEX(8) "-" HEX(4) "-4" HEX(3) "-[89ABab]" HEX(3) "-" HEX(12) "$");
        break;
    case PARLEY_PATTERN:
        text_keyword(writer, "pattern", place->pattern);
        if (place->maximum != 0) {
            number_keyword(writer, "maxLength", place->maximum);
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
        number_keyword(writer, "minimum", place->minimum);
    }
    if (place->constraint == PARLEY_RANGE) {
        number_keyword(writer, "maximum", place->maximum);
    }
}

static void write_required(struct writer *writer, const struct schema_node *node) {
    bool is_first = true;
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        if (is_required(writer, child)) {
            if (is_first) {
                keyword(writer, "required");
                parley_buffer_char(writer->out, '[');
                is_first = false;
            }
            short_item(writer, child->token);
        }
    }
    parley_buffer_text(writer->out, is_first ? "" : "]");
}

/* The trie asks of a named member what is asked of every one, too: so the rest is enough for
 * `every`. */
static void write_members(struct writer *writer, const struct schema_node *node) {
    bool is_first = true;
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        if (has_rows(writer, child)) {
            if (is_first) {
                keyword(writer, "properties");
                open(writer, '{');
                is_first = false;
            }
            member(writer, child->token);
            write_node(writer, child);
        }
    }
    if (!is_first) {
        close(writer, '}');
    }
    write_required(writer, node);
    if (node->every != NULL && has_rows(writer, node->every)) {
        keyword(writer, "additionalProperties");
        write_node(writer, node->every);
    }
}

static void write_items(struct writer *writer, const struct schema_node *node) {
    if (node->every != NULL && has_rows(writer, node->every)) {
        keyword(writer, "items");
        write_node(writer, node->every);
    }
}

/* A value of one kind, `type` being its name in JSON Schema, or null.  `node` NULL: without what
 * is in it. */
static void write_kind(struct writer *writer, unsigned kind, const char *type, bool is_nullable,
                       const struct parley_place *place, const struct schema_node *node) {
    keyword(writer, "type");
    parley_buffer_format(writer->out, is_nullable ? "[\"%s\", \"null\"]" : "\"%s\"", type);
    if (kind == PARLEY_STRING && place != NULL) {
        write_string(writer, place, is_nullable);
    }
    if ((kind == PARLEY_NUMBER || kind == PARLEY_INTEGER) && place != NULL) {
        write_number(writer, place);
    }
    if (kind == PARLEY_ARRAY && place != NULL && place->constraint == PARLEY_MIN_ITEMS) {
        number_keyword(writer, "minItems", place->minimum);
    }
    if (kind == PARLEY_ARRAY && node != NULL) {
        write_items(writer, node);
    }
    if (kind == PARLEY_OBJECT && node != NULL) {
        write_members(writer, node);
    }
}

static void write_each_kind(struct writer *writer, unsigned kinds, const struct parley_place *place,
                            const struct schema_node *node) {
    keyword(writer, "anyOf");
    open(writer, '[');
    for (size_t i = 0; i < KINDS_OF_JSON; i++) {
        if ((kinds & kinds_of_json[i].kind) != 0) {
            item(writer);
            open(writer, '{');
            write_kind(writer, kinds_of_json[i].kind, kinds_of_json[i].type, false, place, node);
            close(writer, '}');
        }
    }
    if ((kinds & PARLEY_NULL) != 0) {
        item(writer);
        parley_buffer_text(writer->out, "{ \"type\": \"null\" }");
    }
    close(writer, ']');
}

/* What a value of these kinds must be; `place` NULL: nothing more; `node` NULL: whatever is in it.
 * A kind that is not named may not be; 0: all may. */
static void write_value(struct writer *writer, unsigned kinds, const struct parley_place *place,
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
            write_kind(writer, kinds_of_json[i].kind, kinds_of_json[i].type, is_nullable, place,
                       node);
            return;
        }
    }
    if (kinds == PARLEY_NULL) {
        text_keyword(writer, "type", "null");
    } else {
        write_each_kind(writer, kinds, place, node);
    }
}

/* "VLP-007: a number from 0 to 1", and what makes it right. */
static void write_words(struct writer *writer, const struct schema_check *check) {
    const char *hint = check->place->hint != NULL ? check->place->hint : check->rule->hint;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "%s: ", check->rule->id);
    constraint_describe(check->place, &text);
    buffer_keyword(writer, "title", &text);
    text_keyword(writer, "description", hint);
    parley_buffer_finish(&text);
}

/* `known`: what other rows say that the value must be. */
static void write_check(struct writer *writer, const struct schema_check *check, unsigned known,
                        const struct schema_node *node) {
    write_words(writer, check);
    write_value(writer, check->place->kinds != 0 ? check->place->kinds : known, check->place, node);
}

/* What is in a value stands with the first check: where that does not let it be an array or object,
 * nothing else matters. */
static void write_node(struct writer *writer, const struct schema_node *node) {
    const struct schema_check *check = next_check(writer, node->checks);
    const unsigned known = known_kinds(writer, node);
    open(writer, '{');
    if (check == NULL) {
        write_value(writer, known, NULL, node);
    } else if (next_check(writer, check->next) == NULL) {
        write_check(writer, check, known, node);
    } else {
        keyword(writer, "allOf");
        open(writer, '[');
        for (; check != NULL; check = next_check(writer, check->next), node = NULL) {
            item(writer);
            open(writer, '{');
            write_check(writer, check, known, node);
            close(writer, '}');
        }
        close(writer, ']');
    }
    close(writer, '}');
}

/* ---- message types ---- */

static void write_type_names(struct writer *writer, uint32_t types) {
    const char *const *names = writer->protocol->types;
    keyword(writer, "enum");
    parley_buffer_char(writer->out, '[');
    for (unsigned i = 0; names[i] != NULL; i++) {
        if ((types & PARLEY_TYPE_BIT(i)) != 0) {
            short_item(writer, parley_bytes_of(names[i]));
        }
    }
    parley_buffer_char(writer->out, ']');
}

/* "if": that the member at `path` names one of `types`. */
static void write_condition(struct writer *writer, const char *path, uint32_t types) {
    unsigned depth = writer->depth;
    keyword(writer, "if");
    open(writer, '{');
    while (*path == '/') {
        const struct parley_bytes token = {path + 1, strcspn(path + 1, "/")};
        text_keyword(writer, "type", "object");
        keyword(writer, "required");
        parley_buffer_char(writer->out, '[');
        short_item(writer, token);
        parley_buffer_char(writer->out, ']');
        keyword(writer, "properties");
        open(writer, '{');
        member(writer, token);
        open(writer, '{');
        path = token.data + token.length;
    }
    text_keyword(writer, "type", "string");
    write_type_names(writer, types);
    while (writer->depth > depth) {
        close(writer, '}');
    }
}

/* Where the rows hold for messages of no known type too, they hold unless it is one of the rest. */
static void write_conditional(struct writer *writer, const struct schema_node *root) {
    const char *path = writer->protocol->fields[writer->protocol->type_field];
    const bool has_other = (writer->types & PARLEY_TYPE_BIT(PARLEY_TYPE_OTHER)) != 0;
    item(writer);
    open(writer, '{');
    write_condition(writer, path, has_other ? writer->every_type & ~writer->types : writer->types);
    keyword(writer, has_other ? "else" : "then");
    open(writer, '{');
    write_value(writer, PARLEY_OBJECT, NULL, root);
    close(writer, '}');
    close(writer, '}');
}

/* Whether rows before this one were for the same types, and so are written. */
static bool is_written(const struct writer *writer, size_t rule_index, size_t place_index) {
    const struct parley_rule *rules = writer->protocol->rules;
    for (size_t i = 0; i <= rule_index; i++) {
        const size_t end = i < rule_index ? rules[i].place_count : place_index;
        for (size_t j = 0; j < end; j++) {
            if (is_expressed(writer, &rules[i], &rules[i].places[j]) &&
                types_of(writer, &rules[i].places[j]) == writer->types) {
                return true;
            }
        }
    }
    return false;
}

static void write_conditionals(struct writer *writer, const struct schema_node *root) {
    const struct parley_protocol *protocol = writer->protocol;
    bool is_first = true;
    for (size_t i = 0; i < protocol->rule_count; i++) {
        const struct parley_rule *rule = &protocol->rules[i];
        for (size_t j = 0; j < rule->place_count; j++) {
            writer->types = types_of(writer, &rule->places[j]);
            if (!is_expressed(writer, rule, &rule->places[j]) ||
                writer->types == writer->every_type || is_written(writer, i, j)) {
                continue;
            }
            if (is_first) {
                keyword(writer, "allOf");
                open(writer, '[');
                is_first = false;
            }
            write_conditional(writer, root);
        }
    }
    if (!is_first) {
        close(writer, ']');
    }
}

/* ---- the document ---- */

/* Appends the ids of what the schema does not say. */
static void append_rest(const struct writer *writer, struct parley_buffer *out) {
    const struct parley_protocol *protocol = writer->protocol;
    const char *separator = "";
    for (size_t i = 0; i < PARLEY_GW_COUNT; i++) {
        if (i != PARLEY_GW_TOP_LEVEL) {
            parley_buffer_format(out, "%s%s", separator, parley_gateway_rules[i].id);
            separator = ", ";
        }
    }
    for (size_t i = 0; i < protocol->rule_count; i++) {
        const struct parley_rule *rule = &protocol->rules[i];
        size_t expressed_count = 0;
        for (size_t j = 0; j < rule->place_count; j++) {
            expressed_count += is_expressed(writer, rule, &rule->places[j]);
        }
        if (expressed_count < rule->place_count) {
            parley_buffer_format(out, ", %s%s", rule->id, expressed_count > 0 ? " (in part)" : "");
        }
    }
}

static void write_head(struct writer *writer) {
    const struct parley_protocol *protocol = writer->protocol;
    struct parley_buffer text;
    parley_buffer_init(&text);
    text_keyword(writer, "$schema", "https://json-schema.org/draft/2020-12/schema");
    keyword(writer, "$id");
    parley_buffer_format(writer->out, "\"urn:parley:schema:%s\"", protocol->name);
    parley_buffer_format(&text, "%s (%s)", protocol->title, protocol->spec_version);
    buffer_keyword(writer, "title", &text);
    parley_buffer_text(&text, "Made from the rules that parley checks. Not expressed, for a schema "
                              "cannot say it or it is only a warning: ");
    append_rest(writer, &text);
    parley_buffer_text(&text, ". Nor what is encoded in a string, such as compressed data.");
    buffer_keyword(writer, "$comment", &text);
    parley_buffer_finish(&text);
}

static uint32_t every_type(const struct parley_protocol *protocol) {
    uint32_t types = PARLEY_TYPE_BIT(PARLEY_TYPE_OTHER);
    for (unsigned i = 0; protocol->types[i] != NULL; i++) {
        types |= PARLEY_TYPE_BIT(i);
    }
    return types;
}

enum parley_status parley_protocol_write_json_schema(const struct parley_protocol *protocol,
                                                     struct parley_buffer *out) {
    struct parley_schema *schema;
    struct writer writer = {.protocol = protocol, .out = out, .every_type = every_type(protocol)};
    PARLEY_TRY(parley_schema_create(protocol, &schema));
    open(&writer, '{');
    write_head(&writer);
    writer.types = writer.every_type;
    write_value(&writer, PARLEY_OBJECT, NULL, &schema->root);
    write_conditionals(&writer, &schema->root);
    close(&writer, '}');
    parley_buffer_char(out, '\n');
    parley_schema_destroy(schema);
    return parley_buffer_status(out);
}
