/* SPDX-License-Identifier: Apache-2.0 */

/* The dialect `knights`: tasks and results as the operator and the knights of dapperdivers publish
 * them, without an envelope (docs/protocols/roundtable.md#knights). A task is {"task","task_id",…}
 * on PREFIX.tasks.DOMAIN.KNIGHT or PREFIX.tasks.DOMAIN.TASK-ID, a result {"task_id","success",
 * "result",…} on PREFIX.results.TASK-ID. */

#include <math.h>

#include <parley/dialect.h>

#include "json_canonical.h"
#include "json_pick.h"
#include "roundtable.h"
#include "text.h"
#include "uuid.h"

enum said {
    TYPE,
    TASK,
    DESCRIPTION,
    MESSAGE,
    TASK_ID,
    TASK_ID_OF_OPERATOR,
    DOMAIN,
    FROM,
    FROM_IN_PAYLOAD,
    DISPATCHED_BY,
    DISPATCHED_BY_OF_OTHERS,
    TIMESTAMP,
    TIMEOUT,
    TIMEOUT_OF_OTHERS,
    SUCCESS,
    RESULT,
    OUTPUT,
    ERROR,
    KNIGHT,
    SAID_COUNT,
};

static const struct json_pick names[SAID_COUNT] = {
    [TYPE] = {.name = "type"},
    [TASK] = {.name = "task"},
    [DESCRIPTION] = {.name = "description"},
    [MESSAGE] = {.name = "message"},
    [TASK_ID] = {.name = "task_id"},
    [TASK_ID_OF_OPERATOR] = {.name = "taskId"},
    [DOMAIN] = {.name = "domain"},
    [FROM] = {.name = "from"},
    [FROM_IN_PAYLOAD] = {.parent = "payload", .name = "from"},
    [DISPATCHED_BY] = {.name = "dispatched_by"},
    [DISPATCHED_BY_OF_OTHERS] = {.name = "dispatchedBy"},
    [TIMESTAMP] = {.name = "timestamp"},
    [TIMEOUT] = {.parent = "metadata", .name = "timeout_ms"},
    [TIMEOUT_OF_OTHERS] = {.parent = "metadata", .name = "timeoutMs"},
    [SUCCESS] = {.name = "success"},
    [RESULT] = {.name = "result"},
    [OUTPUT] = {.name = "output"},
    [ERROR] = {.name = "error"},
    [KNIGHT] = {.name = "knight"},
};

struct reading {
    struct parley_message *message;
    struct json_pick said[SAID_COUNT];
    /* After the family's token in the subject, "security.galahad"; data NULL: there is none. */
    struct parley_bytes place;
    struct parley_buffer *out;
};

/* The first of these that is a string and not empty; data NULL: none. */
static struct parley_bytes text_of(const struct reading *reading, const unsigned *of,
                                   size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct parley_bytes text = parley_value_text(&reading->said[of[i]].value);
        if (text.length > 0) {
            return text;
        }
    }
    return (struct parley_bytes){0};
}

#define TEXT_OF(reading, ...)                                                                      \
    text_of(reading, (const unsigned[]){__VA_ARGS__},                                              \
            sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static bool is_there(const struct reading *reading, unsigned said) {
    return !parley_value_is_nothing(&reading->said[said].value);
}

/* What comes after PREFIX.FAMILY. in the subject of a message that was published to NATS. */
static struct parley_bytes place_in(const char *subject, const char *family) {
    const char *at = subject != NULL ? strchr(subject, '.') : NULL;
    const size_t length = strlen(family);
    if (at == NULL || strncmp(at + 1, family, length) != 0 || at[1 + length] != '.') {
        return (struct parley_bytes){0};
    }
    return parley_bytes_of(at + length + 2);
}

/* ---- members ---- */

static void write_text(struct parley_buffer *out, const char *member, struct parley_bytes text) {
    if (text.data != NULL) {
        parley_buffer_text(out, member);
        parley_buffer_json(out, text);
    }
}

/* The id of the contract for one of a fleet's. */
static void write_id(struct parley_buffer *out, const char *member, struct parley_bytes id) {
    char made[UUID_SIZE];
    if (id.data != NULL && !text_is_uuid(id, true)) {
        uuid_of_digest("task", id, made);
        id = parley_bytes_of(made);
    }
    write_text(out, member, id);
}

static void write_sender(const struct reading *reading, struct parley_bytes named) {
    const struct parley_options *options = &reading->message->options;
    const char *given = options->values[ROUNDTABLE_OPTION_FROM].text;
    const char *known = given != NULL                  ? given
                        : options->only_sender != NULL ? options->only_sender
                                                       : "operator";
    write_text(reading->out, ",\"from\":", named.data != NULL ? named : parley_bytes_of(known));
}

/* A message without a time is of the moment in which it came. */
static void write_time(const struct reading *reading) {
    const struct parley_options *options = &reading->message->options;
    char time[TEXT_TIME_SIZE];
    parley_buffer_text(reading->out, ",\"timestamp\":");
    if (is_there(reading, TIMESTAMP)) {
        json_pick_append(reading->said[TIMESTAMP].raw, reading->out);
    } else if (options->now != NULL) {
        parley_options_refresh(options);
        parley_buffer_json(reading->out, parley_bytes_of(options->now));
    } else {
        text_write_unix_time((double)options->now_seconds, time);
        parley_buffer_json(reading->out, parley_bytes_of(time));
    }
}

/* ---- tasks ---- */

/* The first token of a task's place, and what comes after it. */
static struct parley_bytes split_place(struct parley_bytes place, struct parley_bytes *out_rest) {
    const char *dot = place.data != NULL ? memchr(place.data, '.', place.length) : NULL;
    *out_rest = (struct parley_bytes){0};
    if (dot == NULL) {
        return place;
    }
    const size_t length = (size_t)(dot - place.data);
    *out_rest = (struct parley_bytes){dot + 1, place.length - length - 1};
    return (struct parley_bytes){place.data, length};
}

static struct parley_bytes domain_of(const struct reading *reading, struct parley_bytes in_place) {
    const struct parley_bytes said = TEXT_OF(reading, DOMAIN);
    const char *given = reading->message->options.values[ROUNDTABLE_OPTION_DOMAIN].text;
    return said.data != NULL ? said : given != NULL ? parley_bytes_of(given) : in_place;
}

/* Whole seconds, rounded up; what is not positive is none (a dispatcher writes 0 for that). */
static void write_ttl(const struct reading *reading) {
    enum { MS_A_SECOND = 1000 };
    const double seconds_max = 1e9;
    const unsigned of[] = {TIMEOUT, TIMEOUT_OF_OTHERS};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        const struct parley_value *value = &reading->said[of[i]].value;
        const double seconds =
            value->kind == PARLEY_NUMBER ? ceil(value->number / (double)MS_A_SECOND) : 0;
        if (seconds >= 1 && seconds <= seconds_max) {
            parley_buffer_text(reading->out, ",\"ttl\":");
            parley_buffer_uint(reading->out, (uint64_t)seconds);
            return;
        }
    }
}

/* A knight who is meant is named by the subject alone, where that has no task's id. */
static enum parley_status write_task(struct reading *reading) {
    struct parley_buffer *out = reading->out;
    const struct parley_bytes text = reading->message->text;
    struct parley_bytes last;
    const struct parley_bytes domain = domain_of(reading, split_place(reading->place, &last));
    const struct parley_bytes named = TEXT_OF(reading, TASK_ID, TASK_ID_OF_OPERATOR);
    const struct parley_bytes id = named.data != NULL ? named : last;
    const bool is_addressed = last.data != NULL && !parley_bytes_equal(last, id);
    parley_buffer_text(out, "{\"version\":\"1.0\",\"type\":\"task.request\"");
    write_id(out, ",\"id\":", id);
    write_sender(reading,
                 TEXT_OF(reading, FROM, FROM_IN_PAYLOAD, DISPATCHED_BY, DISPATCHED_BY_OF_OTHERS));
    write_text(out, ",\"to\":", is_addressed ? last : (struct parley_bytes){0});
    write_time(reading);
    write_ttl(reading);
    parley_buffer_text(out, ",\"payload\":{");
    if (domain.data != NULL) {
        const struct parley_bytes task =
            TEXT_JOIN(&reading->message->arena, domain, PARLEY_BYTES("task"));
        PARLEY_TRY(task.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY);
        write_text(out, "\"task\":", task);
        parley_buffer_char(out, ',');
    }
    parley_buffer_text(out, "\"params\":");
    const char *brace = memchr(text.data, '{', text.length);
    json_pick_append((struct parley_bytes){brace, text.length - (size_t)(brace - text.data)}, out);
    parley_buffer_text(out, "}}");
    return PARLEY_OK;
}

/* ---- results ---- */

static bool has_failed(const struct reading *reading) {
    const struct parley_value *success = &reading->said[SUCCESS].value;
    return success->kind == PARLEY_BOOLEAN ? success->number == 0
                                           : TEXT_OF(reading, ERROR).data != NULL;
}

static void write_outcome(struct reading *reading) {
    const bool is_failure = has_failed(reading);
    const struct parley_bytes error = TEXT_OF(reading, ERROR, RESULT, OUTPUT);
    parley_buffer_text(reading->out,
                       is_failure ? "\"status\":\"failed\"" : "\"status\":\"completed\"");
    write_text(reading->out, ",\"error\":", is_failure ? error : (struct parley_bytes){0});
}

static enum parley_status write_result(struct reading *reading) {
    static const char *const apart[] = {"success",   "result", "output", "error",
                                        "timestamp", "knight", NULL};
    struct parley_buffer *out = reading->out;
    struct parley_message *message = reading->message;
    const struct parley_bytes named = TEXT_OF(reading, TASK_ID, TASK_ID_OF_OPERATOR);
    const struct json_pick *content = &reading->said[is_there(reading, RESULT) ? RESULT : OUTPUT];
    char id[UUID_SIZE];
    uuid_of_digest("result", message->text, id);
    parley_buffer_text(out, "{\"version\":\"1.0\",\"type\":\"task.result\"");
    write_text(out, ",\"id\":", parley_bytes_of(id));
    write_sender(reading, TEXT_OF(reading, KNIGHT));
    write_time(reading);
    write_id(out, ",\"correlationId\":", named.data != NULL ? named : reading->place);
    parley_buffer_text(out, ",\"payload\":{");
    write_outcome(reading);
    if (!parley_value_is_nothing(&content->value)) {
        parley_buffer_text(out, ",\"result\":{\"format\":\"text\",\"content\":");
        json_pick_append(content->raw, out);
        parley_buffer_text(out, ",\"metadata\":{");
        const size_t start = out->length;
        PARLEY_TRY(json_pick_others(message->text, &message->arena, apart, out));
        if (out->length > start) { /* without the first comma */
            memmove(out->data + start, out->data + start + 1, out->length - start - 1);
            out->length--;
        }
        parley_buffer_text(out, "}}");
    }
    parley_buffer_text(out, "}}");
    return PARLEY_OK;
}

static enum parley_status to_contract(struct parley_message *message, struct parley_buffer *out) {
    const char *subject = message->options.stored_subject;
    struct reading reading = {.message = message, .out = out};
    memcpy(reading.said, names, sizeof names);
    PARLEY_TRY(json_pick(message->text, &message->arena, reading.said, SAID_COUNT));
    if (is_there(&reading, TYPE)) { /* the contract's: a knight's has none */
        return PARLEY_OK;
    }
    if (is_there(&reading, SUCCESS) || is_there(&reading, RESULT) || is_there(&reading, OUTPUT)) {
        reading.place = place_in(subject, "results");
        return write_result(&reading);
    }
    if (TEXT_OF(&reading, TASK, DESCRIPTION, MESSAGE).data != NULL) {
        reading.place = place_in(subject, "tasks");
        return write_task(&reading);
    }
    return PARLEY_OK;
}

/* ---- and back ---- */

/* The object at `raw` alone.  Owns: the arena.  Returns: data NULL when there is no memory. */
static struct parley_bytes copy_object(struct parley_arena *arena, struct parley_bytes raw) {
    char *copy = parley_arena_allocate(arena, raw.length);
    if (copy == NULL) {
        return (struct parley_bytes){0};
    }
    const char *end = json_canonical_copy(raw.data, raw.data + raw.length, copy);
    return (struct parley_bytes){copy, (size_t)(end - copy)};
}

/* Finds members of the payload of a contract's message, and of objects in it. */
static enum parley_status pick_in_payload(struct parley_bytes text, struct parley_arena *arena,
                                          struct json_pick *picks, size_t count) {
    struct json_pick payload = {.name = "payload"};
    PARLEY_TRY(json_pick(text, arena, &payload, 1));
    if (payload.value.kind != PARLEY_OBJECT) {
        return PARLEY_OK;
    }
    const struct parley_bytes object = copy_object(arena, payload.raw);
    return object.data != NULL ? json_pick(object, arena, picks, count) : PARLEY_E_MEMORY;
}

enum told {
    STATUS,
    FAULT,
    FAULT_TEXT,
    CONTENT,
    METADATA,
    OWN_TASK_ID,
    OWN_TASK_ID_OF_OPERATOR,
    TOLD_COUNT,
};

/* The id that the fleet gave the task: the reply has it if a knight sent that, or its request has.
 */
static enum parley_status find_task_id(struct parley_message *message, const struct json_pick *told,
                                       struct parley_bytes request, struct parley_bytes *out) {
    struct json_pick asked[] = {{.parent = "params", .name = "task_id"},
                                {.parent = "params", .name = "taskId"}};
    const struct parley_bytes own = parley_value_text(&told[OWN_TASK_ID].value);
    *out = own.data != NULL ? own : parley_value_text(&told[OWN_TASK_ID_OF_OPERATOR].value);
    if (out->data == NULL && request.data != NULL) {
        PARLEY_TRY(pick_in_payload(request, &message->arena, asked, 2));
        const struct parley_bytes id = parley_value_text(&asked[0].value);
        *out = id.data != NULL ? id : parley_value_text(&asked[1].value);
    }
    if (out->data == NULL) {
        *out = parley_message_text(message, ROUNDTABLE_CORRELATION_ID);
    }
    return PARLEY_OK;
}

/* A knight's result is a text: any other is one as JSON. */
static void write_content(const struct json_pick *content, struct parley_buffer *out) {
    struct parley_buffer json;
    parley_buffer_text(out, ",\"result\":");
    if (content->value.kind == PARLEY_STRING) {
        parley_buffer_json(out, content->value.text);
        return;
    }
    parley_buffer_init(&json);
    json_pick_append(content->raw, &json);
    parley_buffer_json(out, parley_buffer_bytes(&json));
    out->has_failed = out->has_failed || json.has_failed;
    parley_buffer_finish(&json);
}

static enum parley_status from_contract(struct parley_message *message, struct parley_bytes request,
                                        struct parley_buffer *out) {
    static const char *const apart[] = {"task_id", "taskId",    "knight", "success",
                                        "result",  "timestamp", "error",  NULL};
    struct json_pick told[TOLD_COUNT] = {
        [STATUS] = {.name = "status"},
        [FAULT] = {.name = "error"},
        [FAULT_TEXT] = {.name = "message"},
        [CONTENT] = {.parent = "result", .name = "content"},
        [METADATA] = {.parent = "result", .name = "metadata"},
    };
    struct json_pick *own = &told[OWN_TASK_ID];
    struct parley_bytes task_id, metadata = PARLEY_BYTES("{}");
    if (message->type != ROUNDTABLE_RESULT && message->type != ROUNDTABLE_FAILED) {
        return PARLEY_OK;
    }
    PARLEY_TRY(pick_in_payload(message->text, &message->arena, told, OWN_TASK_ID));
    own[0] = (struct json_pick){.name = "task_id"};
    own[1] = (struct json_pick){.name = "taskId"};
    if (told[METADATA].value.kind == PARLEY_OBJECT) {
        metadata = copy_object(&message->arena, told[METADATA].raw);
        PARLEY_TRY(metadata.data != NULL ? json_pick(metadata, &message->arena, own, 2)
                                         : PARLEY_E_MEMORY);
    }
    PARLEY_TRY(find_task_id(message, told, request, &task_id));
    const struct json_pick *content =
        &told[parley_value_is_nothing(&told[CONTENT].value) ? FAULT_TEXT : CONTENT];
    parley_buffer_char(out, '{');
    write_text(out, "\"task_id\":", task_id);
    write_text(out, ",\"knight\":", parley_message_text(message, ROUNDTABLE_FROM));
    parley_buffer_text(out, parley_value_is(&told[STATUS].value, "completed")
                                ? ",\"success\":true"
                                : ",\"success\":false");
    if (!parley_value_is_nothing(&content->value)) {
        write_content(content, out);
    }
    write_text(out, ",\"error\":", parley_value_text(&told[FAULT].value));
    PARLEY_TRY(json_pick_others(metadata, &message->arena, apart, out));
    write_text(out, ",\"timestamp\":", parley_message_text(message, ROUNDTABLE_TIMESTAMP));
    parley_buffer_char(out, '}');
    return PARLEY_OK;
}

const struct parley_dialect roundtable_dialects[] = {
    {.name = "knights",
     .summary = "Tasks and results as the operator and the knights of dapperdivers publish them, "
                "without an envelope.",
     .to_contract = to_contract,
     .from_contract = from_contract},
    {.name = NULL},
};
