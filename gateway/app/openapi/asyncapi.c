/* SPDX-License-Identifier: Apache-2.0 */

/* The messages that parley sends: to NATS, a channel for each protocol, and over HTTP, a stream for
 * each. */

#include "asyncapi.h"

#include <stdio.h>

#include "contract_files.h"
#include "schemas.h"

static const char description[] =
    "What parley publishes to NATS JetStream, and what it sends to readers over HTTP. The payload "
    "on NATS is the message in its protocol's own JSON, so that a reader there needs nothing of "
    "parley; the headers are CloudEvents in binary mode. Over HTTP each line is a CloudEvent in "
    "JSON. Requests, and how to send messages in, are in /openapi.json.";

static void write_info(struct json_writer *json) {
    json_open(json, "info", '{');
    json_text(json, "title", "parley");
    json_text(json, "version", PARLEY_VERSION);
    json_text(json, "description", description);
    json_raw(json, "license",
             PARLEY_BYTES("{\"name\":\"Apache License 2.0\","
                          "\"url\":\"https://www.apache.org/licenses/LICENSE-2.0\"}"));
    json_close(json, '}');
}

/* The defaults: the document does not know under which names its readers reach them. */
static void write_servers(struct json_writer *json) {
    json_raw(json, "servers",
             PARLEY_BYTES("{\"nats\":{\"host\":\"localhost:4222\",\"protocol\":\"nats\","
                          "\"description\":\"NATS with JetStream.\"},"
                          "\"http\":{\"host\":\"localhost:8080\",\"protocol\":\"http\","
                          "\"description\":\"This gateway.\"}}"));
}

/* ---- channels ---- */

static void write_on(struct json_writer *json, const char *server) {
    json_open(json, "servers", '[');
    json_ref(json, NULL, "#/servers/", server, "");
    json_close(json, ']');
}

static void write_message(struct json_writer *json, const char *name) {
    json_ref(json, name, "#/components/messages/", name, "");
}

static void write_subjects(struct json_writer *json, const struct channel *channel,
                           const char *message) {
    char text[256];
    json_open(json, channel->name, '{');
    json_text(json, "address", channel->subjects);
    snprintf(text, sizeof text, "The subjects of the JetStream stream %s.", channel->stream);
    json_text(json, "description", text);
    write_on(json, "nats");
    json_open(json, "messages", '{');
    write_message(json, message);
    json_close(json, '}');
    json_close(json, '}');
}

static void write_stream(struct json_writer *json, const char *name, const char *event) {
    static const char *const others[] = {"OpenEvent", "KeepaliveEvent", "GapEvent", "EndEvent"};
    char key[SCHEMA_NAME_MAX];
    snprintf(key, sizeof key, "%sStream", name);
    json_open(json, key, '{');
    json_link(json, "address", "/v1/", name, "/stream");
    json_text(json, "description", "One event per line, or server-sent events.");
    write_on(json, "http");
    json_open(json, "messages", '{');
    write_message(json, event);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        write_message(json, others[i]);
    }
    if (strcmp(event, "RejectedEvent") != 0) {
        write_message(json, "ForeignEvent");
    }
    json_close(json, '}');
    json_close(json, '}');
}

static void write_channels(struct json_writer *json, const struct channel *channels) {
    json_open(json, "channels", '{');
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        char message[SCHEMA_NAME_MAX], event[SCHEMA_NAME_MAX];
        schema_name(parley_protocols[i], "Message", message);
        schema_name(parley_protocols[i], "MessageEvent", event);
        write_subjects(json, &channels[i], message);
        write_stream(json, channels[i].name, event);
    }
    const struct channel *rejected = channel_rejected(channels);
    write_subjects(json, rejected, "RejectedMessage");
    write_stream(json, rejected->name, "RejectedEvent");
    json_close(json, '}');
}

/* ---- operations ---- */

static void write_operation(struct json_writer *json, const char *verb, const char *channel,
                            const char *suffix, const char *summary) {
    char key[2 * SCHEMA_NAME_MAX];
    snprintf(key, sizeof key, "%s-%s", verb, channel);
    json_open(json, key, '{');
    json_text(json, "action", "send");
    json_text(json, "summary", summary);
    json_ref(json, "channel", "#/channels/", channel, suffix);
    json_close(json, '}');
}

static void write_operations_of(struct json_writer *json, const char *name) {
    write_operation(json, "publish", name, "", "parley publishes to NATS what it has accepted.");
    write_operation(json, "stream", name, "Stream", "parley sends to each reader what is stored.");
}

static void write_operations(struct json_writer *json, const struct channel *channels) {
    const char *rejected = channel_rejected(channels)->name;
    json_open(json, "operations", '{');
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        write_operations_of(json, parley_protocols[i]->name);
    }
    write_operation(json, "publish", rejected, "",
                    "With --quarantine parley publishes what it has refused as invalid.");
    write_operation(json, "stream", rejected, "Stream",
                    "parley sends it to readers with the scope admin.");
    json_close(json, '}');
}

/* ---- messages ---- */

static void write_examples(struct json_writer *json, const struct parley_protocol *protocol) {
    const struct parley_example *example = protocol->examples;
    json_open(json, "examples", '[');
    for (; example != NULL && example->name != NULL; example++) {
        json_open(json, NULL, '{');
        json_text(json, "name", example->name);
        json_text(json, "summary", example->title);
        json_raw(json, "payload", parley_bytes_of(example->text));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_protocol_messages(struct json_writer *json,
                                    const struct parley_protocol *protocol) {
    char name[SCHEMA_NAME_MAX];
    schema_name(protocol, "Message", name);
    json_open(json, name, '{');
    json_text(json, "title", protocol->title);
    json_text(json, "contentType", "application/json");
    json_ref(json, "headers", "#/components/schemas/", "NatsHeaders", "");
    json_ref(json, "payload", "#/components/schemas/", name, "");
    write_examples(json, protocol);
    json_close(json, '}');
    schema_name(protocol, "MessageEvent", name);
    json_open(json, name, '{');
    json_text(json, "title", protocol->title);
    json_text(json, "contentType", "application/cloudevents+json");
    json_ref(json, "payload", "#/components/schemas/", name, "");
    json_close(json, '}');
}

static void write_messages(struct json_writer *json) {
    static const char *const events[] = {"OpenEvent", "KeepaliveEvent", "GapEvent",
                                         "EndEvent",  "ForeignEvent",   "RejectedEvent"};
    json_open(json, "messages", '{');
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        write_protocol_messages(json, parley_protocols[i]);
    }
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        json_open(json, events[i], '{');
        json_text(json, "contentType", "application/cloudevents+json");
        json_ref(json, "payload", "#/components/schemas/", events[i], "");
        json_close(json, '}');
    }
    json_open(json, "RejectedMessage", '{');
    json_text(json, "title", "What was refused, as it was sent");
    json_ref(json, "headers", "#/components/schemas/", "RejectedHeaders", "");
    json_ref(json, "payload", "#/components/schemas/", "RejectedPayload", "");
    json_close(json, '}');
    json_close(json, '}');
}

void asyncapi_write(struct parley_buffer *out, const struct channel *channels) {
    struct json_writer json = {.out = out};
    json_open(&json, NULL, '{');
    json_text(&json, "asyncapi", "3.0.0");
    write_info(&json);
    json_text(&json, "defaultContentType", "application/json");
    write_servers(&json);
    write_channels(&json, channels);
    write_operations(&json, channels);
    json_open(&json, "components", '{');
    write_messages(&json);
    json_open(&json, "schemas", '{');
    json_members(&json, contract_nats_schemas());
    schemas_write(&json, false);
    json_close(&json, '}');
    json_close(&json, '}');
    json_close(&json, '}');
    parley_buffer_char(out, '\n');
}
