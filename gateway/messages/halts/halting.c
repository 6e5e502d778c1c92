/* SPDX-License-Identifier: Apache-2.0 */

#include "halting.h"

#include <stdio.h>

#include "window_share.h"
#include "check.h"
#include "clock_and_ids.h"

static bool obeys(const struct request_options *options, const struct parley_route *route) {
    return route->halt_role == PARLEY_HALT_OBEYS &&
           configuration_obeys_halts(options->gateway->configuration, options->protocol);
}

static int shown(struct parley_bytes text, size_t length_max) {
    return (int)(text.length < length_max ? text.length : length_max);
}

static struct parley_bytes known(struct parley_bytes text, const char *otherwise) {
    return text.data != NULL ? text : parley_bytes_of(otherwise);
}

/* `value`: of one of the halts. Its text may be cut within a character: so its parts are short
 * enough to be whole in the answer, or end with a whole one. */
static struct failure describe(struct parley_bytes value) {
    struct failure failure = {.problem = PROBLEM_HALTED};
    struct parley_arena arena;
    struct halt_value says = {0};
    parley_arena_init(&arena, 0);
    if (halt_value_read(value, &arena, &says) != PARLEY_OK) {
        says = (struct halt_value){0};
    }
    const struct parley_bytes by = known(says.by, "An unknown sender");
    const struct parley_bytes id = known(says.id, "?"), at = known(says.at, "?");
    snprintf(failure.detail, sizeof failure.detail,
             "%.*s has halted this conversation by the message `%.*s` (%.*s). Nothing was stored: "
             "people have to release it first.",
             shown(by, 128), by.data, shown(id, 128), id.data, shown(at, 32), at.data);
    parley_arena_finish(&arena);
    return failure;
}

bool halting_stops(const struct request_options *options, const struct parley_route *route,
                   struct failure *out) {
    struct halt_gate *gate = gateway_halt_gate(options->gateway, options->protocol);
    if (gate == NULL || route->halt_kind == NULL || halt_set_is_idle(halt_gate_set(gate)) ||
        !configuration_obeys_halts(options->gateway->configuration, options->protocol)) {
        return false;
    }
    char conversation[HALT_DIGEST_LENGTH + 1];
    struct parley_buffer value;
    parley_buffer_init(&value);
    halt_digest_conversation(route->halt_kind, route->halt_name, conversation);
    const bool is_halted = halt_set_ask(halt_gate_set(gate), conversation, &value) == HALT_HALTED;
    if (is_halted) {
        *out = describe(parley_buffer_bytes(&value));
        counter_add(&options->gateway->figures->values[FIGURE_HALTED_MESSAGES], 1);
    }
    parley_buffer_finish(&value);
    return is_halted;
}

bool halting_refuses(const struct request_options *options, struct parley_message *message,
                     struct failure *out) {
    struct halt_gate *gate = gateway_halt_gate(options->gateway, options->protocol);
    struct parley_route route;
    return gate != NULL && !halt_set_is_idle(halt_gate_set(gate)) &&
           parley_message_route(message, &route) == PARLEY_OK &&
           route.halt_role == PARLEY_HALT_OBEYS && halting_stops(options, &route, out);
}

/* `payload`: of the message that halts. */
static enum jetstream_publish publish_halting(const struct request_options *options,
                                              const struct parley_route *route,
                                              struct parley_bytes payload, struct halt_post post) {
    struct halt_gate *gate = gateway_halt_gate(options->gateway, options->protocol);
    struct halt_of_message halt;
    struct parley_buffer value;
    char now[32];
    clock_now_text(now);
    parley_buffer_init(&value);
    halt_of_message(&(struct halting_message){.route = route,
                                              .payload = payload,
                                              .principal = parley_bytes_of(options->principal),
                                              .is_valid = !post.is_key_only,
                                              .now = now},
                    &halt, &value);
    post.conversation = halt.conversation;
    post.key = halt.key;
    post.value = parley_buffer_bytes(&value);
    const enum jetstream_publish published =
        value.has_failed ? JETSTREAM_FAILED : halt_gate_publish(gate, &post);
    parley_buffer_finish(&value);
    return published;
}

/* ---- invalid messages ---- */

enum halting_effect halting_of_invalid(const struct request_options *options,
                                       struct parley_message *message) {
    struct halt_gate *gate = gateway_halt_gate(options->gateway, options->protocol);
    struct parley_route route;
    if (gate == NULL || options->task != INGEST_FORWARD || !message->is_decoded ||
        check_is_forbidden(message)) {
        return HALTING_NOTHING;
    }
    if (parley_message_route(message, &route) != PARLEY_OK) {
        return HALTING_HALTS; /* it may, and halting_latch fails: its sender must try again */
    }
    if (route.halt_role != PARLEY_HALT_LATCHES) {
        return HALTING_NOTHING;
    }
    char conversation[HALT_DIGEST_LENGTH + 1], key[HALT_KEY_LENGTH + 1];
    halt_digest_conversation(route.halt_kind, route.halt_name, conversation);
    halt_key(conversation, message->text, key);
    switch (halt_set_look_up(halt_gate_set(gate), key)) {
    case HALT_UNKNOWN:
        break;
    case HALT_OPEN:
        return HALTING_HALTED;
    case HALT_RELEASED:
        return HALTING_NOTHING;
    }
    return HALTING_HALTS;
}

enum jetstream_publish halting_latch(const struct request_options *options,
                                     struct parley_message *message, struct halt_hold *hold,
                                     jetstream_ack_fn *done, void *context, unsigned *out_share) {
    struct parley_route route;
    if (parley_message_route(message, &route) != PARLEY_OK) {
        return JETSTREAM_FAILED;
    }
    *out_share = window_share(options->protocol, route.priority);
    const struct jetstream_message none = {
        .subject = "", .payload = PARLEY_BYTES(""), .share = *out_share};
    return publish_halting(
        options, &route, message->text,
        (struct halt_post){
            .message = &none, .is_key_only = true, .hold = hold, .done = done, .context = context});
}

/* ---- valid ones ---- */

enum jetstream_publish halting_publish(const struct request_options *options,
                                       const struct publication *publication,
                                       struct jetstream_sender *sender, struct halt_hold *hold,
                                       jetstream_ack_fn *done, void *context) {
    struct halt_gate *gate = gateway_halt_gate(options->gateway, options->protocol);
    const struct parley_route *route = &publication->route;
    const struct jetstream_message message = {.subject = route->subject.data,
                                              .headers = publication->headers,
                                              .header_count = publication->header_count,
                                              .payload = publication->payload,
                                              .sender = sender,
                                              .share =
                                                  window_share(options->protocol, route->priority)};
    struct halt_post post = {.message = &message, .hold = hold, .done = done, .context = context};
    if (gate != NULL && route->halt_role == PARLEY_HALT_LATCHES) {
        return publish_halting(options, route, message.payload, post);
    }
    if (gate == NULL || halt_set_is_idle(halt_gate_set(gate)) || !obeys(options, route)) {
        return jetstream_publish(options->gateway->jetstream, &message, done, context);
    }
    char conversation[HALT_DIGEST_LENGTH + 1];
    halt_digest_conversation(route->halt_kind, route->halt_name, conversation);
    post.conversation = conversation;
    return halt_gate_publish(gate, &post);
}
