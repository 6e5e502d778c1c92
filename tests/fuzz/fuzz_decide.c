/* SPDX-License-Identifier: Apache-2.0 */

/* Deciding on a Round Table message by what the keys of its bucket say, which anybody may have
 * written: it never fails, and what it writes is JSON that it reads back. The first byte of an
 * input picks the type of the message, the second the lifecycle and whether keys were asked for
 * again; the rest is the values of the keys, a line each. */

#include <stdio.h>

#include <jansson.h>

#include <parley/message.h>

#include "fuzz.h"

#include "lib/protocol_options.h"

enum { HEAD_BYTES = 2, TYPES = 5, NOW = 1770564000 };

#define ID "550e8400-e29b-41d4-a716-446655440000"
#define DIGEST "0123456789abcdef0123456789abcdef"

static struct parley_schema *schema;

static const char *const contents[TYPES] = {
    "\"type\":\"task.request\",\"payload\":{\"task\":\"a.b\"}",
    "\"type\":\"task.claimed\",\"correlationId\":\"" ID "\",\"payload\":{}",
    "\"type\":\"task.progress\",\"correlationId\":\"" ID "\",\"payload\":{}",
    "\"type\":\"task.result\",\"correlationId\":\"" ID "\",\"payload\":{\"status\":\"failed\"}",
    "\"type\":\"task.failed\",\"correlationId\":\"" ID
    "\",\"payload\":{\"error\":\"timeout\",\"retryable\":true,\"retryAfterSeconds\":60}",
};

static void check(struct parley_message *message, unsigned type, unsigned options) {
    static char text[512];
    struct parley_options asked = {.now_seconds = NOW};
    set_lifecycle(&asked, message->protocol, (enum parley_lifecycle)(options / 2 % 3));
    set_option(&asked, message->protocol, "task-lease", options / 6 % 2 != 0 ? "0" : "900000");
    set_option(&asked, message->protocol, "task-attempts", "3");
    set_option(&asked, message->protocol, "task-max", "86400000");
    const int length =
        snprintf(text, sizeof text,
                 "{\"id\":\"" ID "\",\"version\":\"1.0\",\"from\":\"lancelot\",\"timestamp\":"
                 "\"2026-02-08T15:00:00Z\",%s}",
                 contents[type % TYPES]);
    const struct parley_bytes sent = {text, (size_t)length};
    require(parley_message_check(message, sent, &parley_codec_json, &asked,
                                 (struct parley_position){1, 1}) == PARLEY_OK,
            "a verdict is reached");
    require(parley_message_is_valid(message), "the message is valid");
}

/* The lines of `data`; one that is empty: the key has no value. What follows is the last message on
 * a subject that is asked for. */
static void read_values(const char *data, size_t size, struct parley_known_facts *out) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX && size > 0; i++) {
        const char *end = memchr(data, '\n', size);
        const size_t length = end != NULL ? (size_t)(end - data) : size;
        out->values[i] = (struct parley_bytes){length > 0 ? data : NULL, length};
        size -= end != NULL ? length + 1 : length;
        data += end != NULL ? length + 1 : length;
    }
    out->last = (struct parley_bytes){size > 0 ? data : NULL, size};
}

static void require_members(struct parley_bytes members) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"a\":1");
    parley_buffer_append(&text, members);
    parley_buffer_char(&text, '}');
    json_t *object = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, NULL);
    require(object != NULL, "members are JSON");
    json_decref(object);
    parley_buffer_finish(&text);
}

/* A claim or request that left its fact is repeated when it is sent again. */
static void decide_again(struct parley_message *message, const struct parley_decision *first,
                         unsigned type) {
    enum { CLAIM_PLACE = 1, TURN_PLACE, REQUEST_PLACE };
    static const size_t places[] = {REQUEST_PLACE, CLAIM_PLACE};
    const bool is_turn = memmem(first->fact_key.data, first->fact_key.length, ".turn.", 6) != NULL;
    struct parley_known_facts known = {.is_final = true, .digest = DIGEST};
    struct parley_decision second;
    struct parley_buffer fact;
    parley_buffer_init(&fact);
    parley_decision_write_fact(first, PARLEY_BYTES("S"), 7, &fact);
    known.values[CLAIM_PLACE] = is_turn ? PARLEY_BYTES("{}") : (struct parley_bytes){0};
    known.values[is_turn ? TURN_PLACE : places[type % TYPES]] = parley_buffer_bytes(&fact);
    require(parley_message_decide(message, &known, &second) == PARLEY_OK, "it is decided again");
    require(second.kind == PARLEY_DECISION_REPEATED && second.sequence == 7, "it is repeated");
    parley_buffer_finish(&fact);
}

static void require_whole(struct parley_message *message, const struct parley_decision *decision) {
    struct parley_route route;
    require(parley_message_route(message, &route) == PARLEY_OK, "it has a route");
    require(parley_message_is_valid(message), "it stays valid");
    for (size_t i = 0; i < message->findings.count; i++) {
        require(message->findings.items[i].at.line != 0, "a warning has a place");
    }
    require_members(decision->members);
    require_members(decision->fact_members);
    require((decision->kind == PARLEY_DECISION_REFUSED) == (decision->problem != NULL),
            "a refusal has a problem");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct parley_known_facts known = {.digest = DIGEST};
    struct parley_decision decision;
    struct parley_message message;
    if (size < HEAD_BYTES) {
        return 0;
    }
    if (schema == NULL) {
        require(parley_schema_create(parley_protocol_find(PARLEY_BYTES("roundtable")), &schema) ==
                    PARLEY_OK,
                "the schema is made");
    }
    parley_message_init(&message, schema);
    check(&message, data[0], data[1]);
    known.is_final = data[1] % 2 != 0;
    known.has_last = data[1] / 12 % 2 == 0;
    known.last_seconds = NOW - 60;
    read_values((const char *)data + HEAD_BYTES, size - HEAD_BYTES, &known);
    require(parley_message_decide(&message, &known, &decision) == PARLEY_OK, "it is decided");
    require_whole(&message, &decision);
    if (decision.kind == PARLEY_DECISION_PUBLISH && decision.fact_key.data != NULL &&
        data[0] % TYPES < 2 && data[1] / 2 % 3 != PARLEY_LIFECYCLE_OFF) {
        decide_again(&message, &decision, data[0]);
    }
    parley_message_finish(&message);
    return 0;
}
