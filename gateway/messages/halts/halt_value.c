/* SPDX-License-Identifier: Apache-2.0 */

#include "halt_value.h"

#include <sodium.h>

#include <parley/status.h>

#include "json_reader.h"
#include "text.h"
#include "text_object.h"

/* ---- keys ---- */

static void write_hex(const unsigned char hash[HALT_DIGEST_LENGTH / 2],
                      char out[HALT_DIGEST_LENGTH + 1]) {
    sodium_bin2hex(out, HALT_DIGEST_LENGTH + 1, hash, HALT_DIGEST_LENGTH / 2);
}

void halt_digest_conversation(const char *kind, struct parley_bytes name,
                              char out[HALT_DIGEST_LENGTH + 1]) {
    unsigned char hash[HALT_DIGEST_LENGTH / 2];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    crypto_generichash_update(&state, (const unsigned char *)kind, strlen(kind));
    crypto_generichash_update(&state, (const unsigned char *)":", 1);
    crypto_generichash_update(&state, (const unsigned char *)name.data, name.length);
    crypto_generichash_final(&state, hash, sizeof hash);
    write_hex(hash, out);
}

void halt_key(const char conversation[HALT_DIGEST_LENGTH + 1], struct parley_bytes payload,
              char out[HALT_KEY_LENGTH + 1]) {
    unsigned char hash[HALT_DIGEST_LENGTH / 2];
    memcpy(out, conversation, HALT_DIGEST_LENGTH);
    out[HALT_DIGEST_LENGTH] = '.';
    crypto_generichash(hash, sizeof hash, (const unsigned char *)payload.data, payload.length, NULL,
                       0);
    write_hex(hash, out + HALT_DIGEST_LENGTH + 1);
}

bool halt_key_is_one(struct parley_bytes key) {
    if (key.length != HALT_KEY_LENGTH || key.data[HALT_DIGEST_LENGTH] != '.') {
        return false;
    }
    const size_t digits = strspn(key.data, "0123456789abcdef");
    return digits == HALT_DIGEST_LENGTH &&
           strspn(key.data + digits + 1, "0123456789abcdef") == HALT_DIGEST_LENGTH;
}

/* ---- values ---- */

enum { NAME_MAX_SHOWN = 256, TEXT_MAX_SHOWN = 128 };

bool halt_value_is_json(struct parley_bytes text) {
    struct parley_arena arena;
    struct json_fault fault;
    parley_arena_init(&arena, 0);
    const bool is_json = text.length > 0 && text.data[0] == '{' &&
                         json_reader_read(text, NULL, &arena, NULL, &fault) == JSON_READER_READ;
    parley_arena_finish(&arena);
    return is_json;
}

static void write_member(struct parley_buffer *out, const char *name, struct parley_bytes text,
                         size_t length_max) {
    if (text.length > 0) {
        parley_buffer_char(out, ',');
        parley_buffer_json(out, parley_bytes_of(name));
        parley_buffer_char(out, ':');
        parley_buffer_json(out, text_prefix(text, length_max));
    }
}

void halt_value_write(const struct halt_value *value, struct parley_buffer *out) {
    parley_buffer_char(out, '{');
    parley_buffer_json(out, value->kind);
    parley_buffer_char(out, ':');
    parley_buffer_json(out, text_prefix(value->name, NAME_MAX_SHOWN));
    write_member(out, "by", value->by, TEXT_MAX_SHOWN);
    write_member(out, "principal", value->principal, TEXT_MAX_SHOWN);
    write_member(out, "id", value->id, TEXT_MAX_SHOWN);
    write_member(out, "why", value->why, NAME_MAX_SHOWN);
    write_member(out, "at", value->at, TEXT_MAX_SHOWN);
    parley_buffer_text(out, value->is_invalid ? ",\"invalid\":true" : "");
    write_member(out, "released_by", value->released_by, TEXT_MAX_SHOWN);
    write_member(out, "released_principal", value->released_principal, TEXT_MAX_SHOWN);
    write_member(out, "reason", value->reason, NAME_MAX_SHOWN);
    write_member(out, "released_at", value->released_at, TEXT_MAX_SHOWN);
    parley_buffer_char(out, '}');
}

void halt_value_owner(const struct halt_value *value, char out[HALT_DIGEST_LENGTH + 1]) {
    const bool has_principal = value->principal.length > 0;
    halt_digest_conversation(has_principal ? "principal" : "by",
                             has_principal ? value->principal : value->by, out);
}

bool halt_value_is_by(const struct halt_value *value, struct parley_bytes name) {
    const struct parley_bytes shown = text_prefix(name, TEXT_MAX_SHOWN);
    return parley_bytes_equal(value->principal, shown) || parley_bytes_equal(value->by, shown);
}

void halt_value_log(enum log_event event, const char *protocol, struct parley_bytes value,
                    const char *reason) {
    struct parley_arena arena;
    struct halt_value says;
    parley_arena_init(&arena, 0);
    if (halt_value_read(value, &arena, &says) == PARLEY_OK) {
        log_write(event, parley_bytes_of(reason),
                  LOG_FIELDS(LOG_TEXT("protocol", protocol), LOG_BYTES("kind", says.kind),
                             LOG_BYTES("name", says.name), LOG_BYTES("by", says.by),
                             LOG_BYTES("principal", says.principal), LOG_BYTES("id", says.id)));
    }
    parley_arena_finish(&arena);
}

/* The first member that is none of the others says who is halted. */
enum parley_status halt_value_read(struct parley_bytes text, struct parley_arena *arena,
                                   struct halt_value *out) {
    *out = (struct halt_value){0};
    const struct text_member rows[] = {{"by", &out->by},
                                       {"principal", &out->principal},
                                       {"id", &out->id},
                                       {"why", &out->why},
                                       {"at", &out->at},
                                       {"released_by", &out->released_by},
                                       {"released_principal", &out->released_principal},
                                       {"reason", &out->reason},
                                       {"released_at", &out->released_at},
                                       {.name = NULL}};
    struct text_object object = {.rows = rows, .other_name = &out->kind, .other = &out->name};
    const enum parley_status status = text_object_read(&object, text, arena);
    if (status == PARLEY_E_UNSUPPORTED) {
        *out = (struct halt_value){0};
        return PARLEY_OK;
    }
    return status;
}

void halt_of_message(const struct halting_message *message, struct halt_of_message *out,
                     struct parley_buffer *value) {
    const struct parley_route *route = message->route;
    const struct halt_value says = {.kind = parley_bytes_of(route->halt_kind),
                                    .name = route->halt_name,
                                    .by = route->sender,
                                    .id = route->id,
                                    .why = route->halt_why,
                                    .at = parley_bytes_of(message->now),
                                    .principal = message->principal,
                                    .is_invalid = !message->is_valid};
    halt_digest_conversation(route->halt_kind, route->halt_name, out->conversation);
    halt_key(out->conversation, message->payload, out->key);
    halt_value_write(&says, value);
}
