/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the part after the state: the rest of the message, or the log entries after it; and, in
 * another encoding than JSON, its conversion. */

#include "restore_reader.h"

static bool add_text(struct reading *reading, const char *text) {
    return reading_add(reading, parley_bytes_of(text));
}

/* ---- the last piece ---- */

static void end_answer(struct reading *reading) {
    reading_stop(reading);
    checkpoint_answer_end(&reading->answer);
}

static enum parley_status convert_text(struct reading *reading, struct parley_buffer *out) {
    const struct parley_options options = {.message_bytes_max = SIZE_MAX / 2};
    struct parley_message message;
    parley_message_init(&message, reading->scope.schema);
    enum parley_status status =
        parley_message_check(&message, parley_buffer_bytes(&reading->answer.text),
                             &parley_codec_json, &options, (struct parley_position){1, 1});
    if (status == PARLEY_OK) {
        status = message.is_decoded ? message.protocol->convert(&message, reading->answer.to, out)
                                    : PARLEY_E_UNSUPPORTED;
    }
    parley_message_finish(&message);
    return status == PARLEY_OK ? parley_buffer_status(out) : status;
}

/* No JSON becomes longer than that in another encoding: the worst is `0.1,`, 9 bytes out of 4. */
static size_t converted_bytes_max(const struct reading *reading) {
    return reading->answer.text.length / 4 * 9 + 64;
}

static void convert(struct checkpoint_task *task) {
    struct reading *reading = reading_of(task);
    struct parley_buffer out;
    parley_buffer_init(&out);
    out.limit_bytes = converted_bytes_max(reading);
    reading->result = convert_text(reading, &out);
    parley_buffer_finish(&reading->answer.text);
    reading->answer.text = out;
}

static void on_converted(struct checkpoint_task *task) {
    struct reading *reading = reading_of(task);
    if (reading_goes_on(reading)) {
        end_answer(reading);
    }
}

static void end_reading(struct reading *reading) {
    struct checkpoint_answer *answer = &reading->answer;
    reading_enter(reading, READING_ENDING);
    if (answer->to == NULL) {
        end_answer(reading);
    } else if (!budget_cover(answer->checkpoints->budget, &answer->share,
                             answer->text.length + converted_bytes_max(reading))) {
        reading_refuse_room(reading);
    } else {
        reading_enter(reading, READING_CONVERTING);
        reading_run(reading, convert, on_converted);
    }
}

/* ---- the log ---- */

static const char *on_entries(void *context, struct parley_bytes text) {
    struct reading *reading = context;
    reading_be_patient(reading);
    text = reading->has_entries ? text : cut(text, 1, text.length);
    reading->has_entries = true;
    switch (checkpoint_answer_add(&reading->answer, text)) {
    case PARLEY_OK:
        return NULL;
    case PARLEY_E_LIMIT:
        return "--gather-max has no room for its entries";
    default:
        return "there is no memory for its entries";
    }
}

static bool is_full(void *context) {
    const struct reading *reading = context;
    return checkpoint_answer_is_full(&reading->answer);
}

static bool add_end(struct reading *reading) {
    const struct log_gaps *holes = &reading->log.holes;
    const struct parley_log_gaps missing = {
        .runs = holes->runs, .count = holes->count, .has_more = holes->has_more};
    struct parley_buffer text;
    parley_buffer_init(&text);
    restore_of(reading)->end(&missing, &text);
    const bool is_added = !text.has_failed && reading_add(reading, parley_buffer_bytes(&text));
    if (text.has_failed) {
        reading_fail(reading, PARLEY_E_MEMORY);
    }
    parley_buffer_finish(&text);
    return is_added;
}

static void on_logged(void *context, const char *error) {
    struct reading *reading = context;
    if (error != NULL) {
        reading_refuse_away(reading, error);
    } else if (add_end(reading)) {
        end_reading(reading);
    }
}

static void read_log(struct reading *reading, uint64_t start) {
    reading_enter(reading, READING_LOGGING);
    if (!add_text(reading, restore_of(reading)->between)) {
        return;
    }
    reading->log = (struct agent_log){
        .scope = &reading->scope,
        .after = &reading->checkpoint.says,
        .start = start,
        .message = &reading->message,
        .events = {
            .entries = on_entries, .is_full = is_full, .ended = on_logged, .context = reading}};
    agent_log_open(&reading->log);
}

static void on_start(void *context, uint64_t sequence, const char *error) {
    struct reading *reading = context;
    reading_be_patient(reading);
    if (error != NULL) {
        reading_refuse_away(reading, error);
    } else {
        read_log(reading, sequence);
    }
}

void reading_end_state(struct reading *reading) {
    const struct parley_bytes payload = payload_of(reading);
    if (!reading->is_restore) {
        if (reading_add(reading, cut(payload, reading->checkpoint.state_end, payload.length))) {
            end_reading(reading);
        }
        return;
    }
    reading_enter(reading, READING_STARTING);
    if (!reading->checkpoint.says.has_position) {
        read_log(reading, reading->checkpoint.begun + 1);
        return;
    }
    reading->start = (struct log_start){.scope = &reading->scope,
                                        .checkpoint = &reading->checkpoint,
                                        .done = on_start,
                                        .context = reading,
                                        .message = &reading->message};
    log_start_find(&reading->start);
}
