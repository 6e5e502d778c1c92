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

static void write_message(struct json_writer *json, const struct parley_protocol *protocol) {
    char name[SCHEMA_NAME_MAX];
    struct parley_buffer schema;
    schema_name(protocol, "Message", name);
    parley_buffer_init(&schema);
    json->out->has_failed |= parley_protocol_write_json_schema(protocol, &schema) != PARLEY_OK;
    json_raw(json, name, parley_buffer_bytes(&schema));
    parley_buffer_finish(&schema);
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
    json_raw(json, "resume",
             PARLEY_BYTES("{\"description\":\"Go on after this event with "
                          "`since=` and this.\",\"type\":\"string\"}"));
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

/* Of any protocol. */
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

void schemas_write(struct json_writer *json) {
    json_members(json, contract_schemas());
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        write_message(json, parley_protocols[i]);
        write_message_event(json, parley_protocols[i]);
        write_event(json, parley_protocols[i]);
    }
    write_any(json, "Message");
    write_any(json, "Event");
}
