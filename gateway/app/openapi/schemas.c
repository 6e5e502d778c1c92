/* SPDX-License-Identifier: Apache-2.0 */

#include "schemas.h"

#include <stdio.h>

#include <parley/describe.h>

#include "contract_files.h"

#define FOLDER "#/components/schemas/"

void schema_name(const struct parley_protocol *protocol, const char *suffix,
                 char out[SCHEMA_NAME_MAX]) {
    snprintf(out, SCHEMA_NAME_MAX, "%s%s", protocol != NULL ? protocol->name : "any", suffix);
    if (out[0] >= 'a' && out[0] <= 'z') {
        out[0] = (char)(out[0] - 'a' + 'A');
    }
}

static void write_ref(struct json_writer *json, const char *key,
                      const struct parley_protocol *protocol, const char *suffix) {
    char name[SCHEMA_NAME_MAX];
    schema_name(protocol, suffix, name);
    json_ref(json, key, FOLDER, name, "");
}

/* ---- messages ---- */

/* The schema of a protocol's message has the rules of all types behind conditions, which generators
 * of clients cannot read. So here each type has schemas of its own:
 *
 *   VlpMessage       VlpClaim, or one of the other types: what is stored and read
 *   VlpDraft         VlpClaimDraft, or one of the others: what is sent
 *   VlpClaim         VlpEnvelope and VlpClaimMembers, with the members that `stamp` fills in
 *   VlpClaimDraft    the same without
 *   VlpClaimMembers  what holds for this type
 *   VlpEnvelope      what holds for every type
 *
 * Where a text decides the type, no schema can: then the draft is the envelope. */

static bool has_types(const struct parley_protocol *protocol) {
    return protocol->type_of == NULL;
}

/* "VlpSessionContext" of session_context, "RoundtableTaskRequest" of task.request, and `suffix`. */
static void type_schema_name(const struct parley_protocol *protocol, const char *type,
                             const char *suffix, char out[SCHEMA_NAME_MAX]) {
    char words[SCHEMA_NAME_MAX - 16]; /* the rest is the protocol's */
    size_t length = 0;
    bool is_first = true; /* letter of a word */
    for (; *type != '\0' && length < sizeof words - 1; type++) {
        const bool is_letter = *type >= 'a' && *type <= 'z';
        if (is_letter || (*type >= '0' && *type <= '9')) {
            words[length++] = is_first && is_letter ? (char)(*type - 'a' + 'A') : *type;
        }
        is_first = !is_letter;
    }
    snprintf(&words[length], sizeof words - length, "%s", suffix);
    schema_name(protocol, words, out);
}

/* `written`: the status that a writer of parley/describe.h has returned for `schema`, which is
 * finished. */
static void write_part(struct json_writer *json, const char *key, enum parley_status written,
                       struct parley_buffer *schema) {
    json->out->has_failed |= written != PARLEY_OK;
    json_raw(json, key, parley_buffer_bytes(schema));
    parley_buffer_finish(schema);
}

static void write_envelope(struct json_writer *json, const struct parley_protocol *protocol) {
    char name[SCHEMA_NAME_MAX];
    struct parley_buffer schema;
    parley_buffer_init(&schema);
    schema_name(protocol, has_types(protocol) ? "Envelope" : "Draft", name);
    write_part(json, name, parley_protocol_write_draft_schema(protocol, &schema), &schema);
}

static void write_type_members(struct json_writer *json, const struct parley_protocol *protocol,
                               unsigned type) {
    char name[SCHEMA_NAME_MAX];
    struct parley_buffer schema;
    parley_buffer_init(&schema);
    type_schema_name(protocol, protocol->types[type], "Members", name);
    write_part(json, name, parley_protocol_write_type_schema(protocol, type, &schema), &schema);
}

static void write_stamps(struct json_writer *json, const struct parley_protocol *protocol) {
    struct parley_buffer stamps;
    parley_buffer_init(&stamps);
    json_text(json, "type", "object");
    write_part(json, "required", parley_protocol_write_required_stamps(protocol, &stamps), &stamps);
}

/* `suffix`: "Draft", or "" for one with all stamps. */
static void write_type(struct json_writer *json, const struct parley_protocol *protocol,
                       const char *type, const char *suffix) {
    char name[SCHEMA_NAME_MAX], members[SCHEMA_NAME_MAX];
    type_schema_name(protocol, type, suffix, name);
    type_schema_name(protocol, type, "Members", members);
    json_open(json, name, '{');
    if (suffix[0] == '\0') {
        write_stamps(json, protocol);
    }
    json_open(json, "allOf", '[');
    write_ref(json, NULL, protocol, "Envelope");
    json_ref(json, NULL, FOLDER, members, "");
    json_close(json, ']');
    json_close(json, '}');
}

static void write_discriminator(struct json_writer *json, const struct parley_protocol *protocol,
                                const char *suffix) {
    json_open(json, "discriminator", '{');
    json_text(json, "propertyName", protocol->fields[protocol->type_field] + 1);
    json_open(json, "mapping", '{');
    for (const char *const *type = protocol->types; *type != NULL; type++) {
        char name[SCHEMA_NAME_MAX];
        type_schema_name(protocol, *type, suffix, name);
        json_link(json, *type, FOLDER, name, "");
    }
    json_close(json, '}');
    json_close(json, '}');
}

/* One of the types' schemas with this suffix. */
static void write_one_of(struct json_writer *json, const struct parley_protocol *protocol,
                         const char *suffix, bool has_discriminator) {
    char name[SCHEMA_NAME_MAX];
    json_open(json, "oneOf", '[');
    for (const char *const *type = protocol->types; *type != NULL; type++) {
        type_schema_name(protocol, *type, suffix, name);
        json_ref(json, NULL, FOLDER, name, "");
    }
    json_close(json, ']');
    if (has_discriminator) {
        write_discriminator(json, protocol, suffix);
    }
}

static void write_messages(struct json_writer *json, const struct parley_protocol *protocol,
                           bool has_discriminators) {
    static const char *const suffixes[] = {"Draft", "Message"};
    for (unsigned i = 0; protocol->types[i] != NULL; i++) {
        write_type_members(json, protocol, i);
        write_type(json, protocol, protocol->types[i], "Draft");
        write_type(json, protocol, protocol->types[i], "");
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char name[SCHEMA_NAME_MAX];
        schema_name(protocol, suffixes[i], name);
        json_open(json, name, '{');
        json_text(json, "type", "object"); /* for tools that look no further */
        write_one_of(json, protocol, i == 0 ? "Draft" : "", has_discriminators);
        json_close(json, '}');
    }
}

/* Its draft is the envelope. */
static void write_untyped_message(struct json_writer *json,
                                  const struct parley_protocol *protocol) {
    char name[SCHEMA_NAME_MAX];
    schema_name(protocol, "Message", name);
    json_open(json, name, '{');
    write_stamps(json, protocol);
    json_open(json, "allOf", '[');
    write_ref(json, NULL, protocol, "Draft");
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- events ---- */

static void write_types(struct json_writer *json, const struct parley_protocol *protocol) {
    json_open(json, "type", '{');
    json_open(json, "enum", '[');
    for (const char *const *type = protocol->types; *type != NULL; type++) {
        char qualified[SCHEMA_NAME_MAX];
        snprintf(qualified, sizeof qualified, "%s.%s", protocol->name, *type);
        json_text(json, NULL, qualified);
    }
    json_close(json, ']');
    json_close(json, '}');
}

/* A CloudEvent with a valid message. */
static void write_message_event(struct json_writer *json, const struct parley_protocol *protocol) {
    char name[SCHEMA_NAME_MAX];
    schema_name(protocol, "MessageEvent", name);
    json_open(json, name, '{');
    json_text(json, "type", "object");
    json_raw(json, "required",
             PARLEY_BYTES("[\"specversion\",\"id\",\"source\",\"type\",\"subject\",\"time\","
                          "\"datacontenttype\",\"data\"]"));
    json_open(json, "properties", '{');
    json_raw(json, "specversion", PARLEY_BYTES("{\"const\":\"1.0\"}"));
    json_raw(json, "id", PARLEY_BYTES("{\"type\":\"string\"}"));
    json_raw(json, "source", PARLEY_BYTES("{\"type\":\"string\",\"format\":\"uri-reference\"}"));
    write_types(json, protocol);
    json_raw(json, "subject", PARLEY_BYTES("{\"type\":\"string\"}"));
    json_raw(json, "time", PARLEY_BYTES("{\"type\":\"string\"}"));
    json_raw(json, "datacontenttype", PARLEY_BYTES("{\"const\":\"application/json\"}"));
    json_raw(json, "sequence", PARLEY_BYTES("{\"type\":\"string\",\"pattern\":\"^[0-9]+$\"}"));
    json_raw(json, "recordedtime",
             PARLEY_BYTES("{\"description\":\"When it was "
                          "stored.\",\"format\":\"date-time\",\"type\":\"string\"}"));
    json_raw(json, "resume",
             PARLEY_BYTES("{\"description\":\"Go on after this event with "
                          "`since=` and this.\",\"type\":\"string\"}"));
    if (protocol->reviews != NULL) {
        json_ref(json, "reviewed", FOLDER, "Reviewed", "");
    }
    write_ref(json, "data", protocol, "Message");
    json_close(json, '}');
    json_close(json, '}');
}

static void write_event(struct json_writer *json, const struct parley_protocol *protocol) {
    char name[SCHEMA_NAME_MAX];
    schema_name(protocol, "Event", name);
    json_open(json, name, '{');
    json_open(json, "anyOf", '[');
    write_ref(json, NULL, protocol, "MessageEvent");
    json_ref(json, NULL, FOLDER, "ForeignEvent", "");
    json_ref(json, NULL, FOLDER, "ControlEvent", "");
    json_close(json, ']');
    json_close(json, '}');
}

/* For any protocol. */
static void write_any(struct json_writer *json, const char *suffix) {
    char name[SCHEMA_NAME_MAX];
    schema_name(NULL, suffix, name);
    json_open(json, name, '{');
    json_open(json, "anyOf", '[');
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        write_ref(json, NULL, parley_protocols[i], suffix);
    }
    json_close(json, ']');
    json_close(json, '}');
}

void schemas_write(struct json_writer *json, bool has_discriminators) {
    json_members(json, contract_schemas());
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        write_envelope(json, parley_protocols[i]);
        if (has_types(parley_protocols[i])) {
            write_messages(json, parley_protocols[i], has_discriminators);
        } else {
            write_untyped_message(json, parley_protocols[i]);
        }
        write_message_event(json, parley_protocols[i]);
        write_event(json, parley_protocols[i]);
    }
    write_any(json, "Message");
    write_any(json, "Event");
}
