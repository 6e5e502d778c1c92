/* SPDX-License-Identifier: Apache-2.0 */

/* What is compared is text: a difference shows itself. */

#include "brenner_accept_pair.h"

#include "brenner/brenner.h"
#include "brenner/markdown.h"
#include "json/json_message.h"

void brenner_accept_pair_init(struct brenner_accept_pair *both,
                              const struct parley_schema *schema) {
    parley_message_init(&both->fast, schema);
    parley_message_init(&both->slow, schema);
    parley_buffer_init(&both->fast_words);
    parley_buffer_init(&both->slow_words);
}

void brenner_accept_pair_finish(struct brenner_accept_pair *both) {
    parley_message_finish(&both->fast);
    parley_message_finish(&both->slow);
    parley_buffer_finish(&both->fast_words);
    parley_buffer_finish(&both->slow_words);
}

static void tell_text(struct parley_buffer *out, struct parley_bytes text) {
    if (text.data != NULL) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, "none");
    }
    parley_buffer_char(out, '\n');
}

static void tell_status(struct parley_buffer *out, const char *what, enum parley_status status) {
    parley_buffer_format(out, "\n%s: %s\n", what, parley_status_text(status));
}

static void tell_facts(const struct parley_message *message, struct parley_buffer *out) {
    for (size_t i = 0; message->protocol->fields[i] != NULL; i++) {
        const struct parley_value *value = &message->values[i];
        parley_buffer_format(out, "%s: kind %d, %.17g, %zu ", message->protocol->fields[i],
                             (int)value->kind, value->number, value->count);
        tell_text(out, value->text);
    }
}

static void tell_route(struct parley_message *message, struct parley_buffer *out) {
    struct parley_route route;
    tell_status(out, "route", parley_message_route(message, &route));
    const struct parley_bytes facts[] = {route.subject, route.id,     route.type,
                                         route.source,  route.sender, route.thread};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        tell_text(out, facts[i]);
    }
    for (size_t i = 0; i < route.receiver_count; i++) {
        tell_text(out, route.receivers[i]);
    }
    parley_buffer_format(out, " dedupe %d", (int)route.dedupe);
}

void brenner_tell(struct parley_message *message, struct parley_buffer *out) {
    const struct parley_protocol *protocol = message->protocol;
    tell_status(out, "verdict", parley_message_write_verdict(message, out));
    if (!parley_message_is_valid(message)) {
        tell_status(out, "refusal", protocol->write_refusal(message, out));
    }
    if (!message->is_decoded) {
        return;
    }
    tell_facts(message, out);
    tell_route(message, out);
    tell_status(out, "payload", protocol->encode(message, out));
    if (parley_message_is_valid(message)) {
        tell_status(out, "as JSON", protocol->convert(message, &parley_codec_json, out));
        tell_status(out, "as Markdown", protocol->convert(message, &brenner_codec_markdown, out));
        tell_status(out, "payload again", protocol->encode(message, out));
    }
}

/* As parley_message_check, without the fast path. */
static enum parley_status check_slowly(struct parley_message *message, struct parley_bytes text,
                                       const struct parley_codec *codec) {
    enum { ARENA_BYTES_AT_LEAST = 4 << 20 };
    parley_message_reset(message);
    message->sent = message->text = text;
    message->codec = codec;
    message->origin = (struct parley_position){1, 1};
    message->arena.limit_bytes = text.length * 8 + ARENA_BYTES_AT_LEAST;
    PARLEY_TRY(codec == &brenner_codec_markdown ? markdown_decode_carefully(message)
                                                : json_decode_carefully(message));
    return message->is_decoded ? message->protocol->validate(message) : PARLEY_OK;
}

bool brenner_accept_pair_agree(struct brenner_accept_pair *both, struct parley_bytes text,
                               const struct parley_codec *codec) {
    const struct parley_options options = {0};
    parley_buffer_clear(&both->fast_words);
    parley_buffer_clear(&both->slow_words);
    tell_status(
        &both->fast_words, "check",
        parley_message_check(&both->fast, text, codec, &options, (struct parley_position){1, 1}));
    both->is_accepted = both->fast.is_certain && both->fast.findings.count == 0;
    brenner_tell(&both->fast, &both->fast_words);
    tell_status(&both->slow_words, "check", check_slowly(&both->slow, text, codec));
    brenner_tell(&both->slow, &both->slow_words);
    return !both->fast_words.has_failed &&
           parley_bytes_equal(parley_buffer_bytes(&both->fast_words),
                              parley_buffer_bytes(&both->slow_words));
}
