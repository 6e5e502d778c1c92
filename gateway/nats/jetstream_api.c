/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_request.h and jetstream_api.h. Each request has its own mailbox and deadline.
 * Requests are few (checking streams, opening consumers, looking up single messages), so they are
 * built with jansson, and speed does not matter; acks and messages do not come this way. Nothing is
 * sent twice: that is the caller's decision. */

#include "jetstream_api.h"

#include "jetstream_request.h"
#include "jetstream_state.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

struct jetstream_request {
    struct jetstream *jetstream;
    struct bus_mailbox mailbox;
    struct reactor_timer deadline;
    jetstream_answer_fn *done;
    jetstream_info_fn *info; /* instead, for jetstream_stream_ask */
    jetstream_last_fn *last; /* instead, for jetstream_last_ask */
    jetstream_held_fn *held; /* instead, for jetstream_held_ask */
    void *context;
    struct jetstream_request *next, **link; /* *link == this */
};

/* ---- answers ---- */

int jetstream_answer_error(const json_t *answer) {
    const json_t *error = json_object_get(answer, "error");
    if (error == NULL) {
        return 0;
    }
    json_int_t code = json_integer_value(json_object_get(error, "err_code"));
    if (code == 0) {
        code = json_integer_value(json_object_get(error, "code"));
    }
    return code > 0 && code < 100000 ? (int)code : -1;
}

const char *jetstream_answer_text(const json_t *answer) {
    const json_t *error = json_object_get(answer, "error");
    const char *text = json_string_value(json_object_get(error, "description"));
    return text != NULL ? text : "JetStream gave no reason";
}

uint64_t jetstream_answer_number(const json_t *answer, const char *object, const char *name) {
    json_int_t number = json_integer_value(json_object_get(json_object_get(answer, object), name));
    return number > 0 ? (uint64_t)number : 0;
}

static const char *read_fraction(const char *at, int64_t *nanoseconds) {
    *nanoseconds = 0;
    int64_t unit = 100000000;
    for (; isdigit((unsigned char)*at); at++, unit /= 10) {
        *nanoseconds += (*at - '0') * unit;
    }
    return at;
}

int64_t jetstream_time_ns(const char *text) {
    struct tm parts = {0};
    int64_t nanoseconds = 0;
    int hours = 0, minutes = 0;
    const char *at = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (at == NULL || parts.tm_year < 70) {
        return 0;
    }
    if (*at == '.') {
        at = read_fraction(at + 1, &nanoseconds);
    }
    if (*at != 'Z' && sscanf(at, "%3d:%2d", &hours, &minutes) != 2) {
        return 0;
    }
    int64_t offset = (int64_t)hours * 3600 + (*at == '-' ? -60 : 60) * (int64_t)minutes;
    return ((int64_t)timegm(&parts) - offset) * 1000000000 + nanoseconds;
}

static void read_info(const json_t *answer, struct jetstream_stream_info *out) {
    const json_t *state = json_object_get(answer, "state");
    const char *created = json_string_value(json_object_get(answer, "created"));
    if (state == NULL || created == NULL) {
        return;
    }
    out->is_known = true;
    snprintf(out->created, sizeof out->created, "%s", created);
    out->last_sequence = jetstream_answer_number(answer, "state", "last_seq");
    if (jetstream_answer_number(answer, "state", "messages") == 0) {
        out->first_sequence = out->last_sequence + 1;
        return;
    }
    out->first_sequence = jetstream_answer_number(answer, "state", "first_seq");
    out->first_time_ns = jetstream_time_ns(json_string_value(json_object_get(state, "first_ts")));
}

/* Text in base64.  Owns: the caller frees out->data.  Returns: false: it is none, or no memory. */
static bool read_base64(const char *text, struct parley_bytes *out) {
    const size_t length = text != NULL ? strlen(text) : 0;
    char *bytes = malloc(length / 4 * 3 + 1);
    *out = (struct parley_bytes){bytes, 0};
    if (bytes == NULL ||
        sodium_base642bin((unsigned char *)bytes, length / 4 * 3 + 1, text != NULL ? text : "",
                          length, NULL, &out->length, NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
        free(bytes);
        return false;
    }
    return true;
}

/* A key-value bucket marks a key that was deleted or purged by a message with this header. */
static bool is_deletion(const json_t *message) {
    const json_t *text = json_object_get(message, "hdrs");
    struct parley_bytes headers;
    if (text == NULL || !read_base64(json_string_value(text), &headers)) {
        return false;
    }
    static const char name[] = "\r\nKV-Operation:";
    const bool has = memmem(headers.data, headers.length, name, sizeof name - 1) != NULL;
    free((char *)headers.data);
    return has;
}

static void report_last(struct jetstream *jetstream, const json_t *answer, jetstream_last_fn *last,
                        void *context) {
    const json_t *message = json_object_get(answer, "message");
    const int error = jetstream_answer_error(answer);
    struct jetstream_last read = {.found = JETSTREAM_LAST_UNKNOWN};
    struct parley_bytes payload = {0};
    if (error == JETSTREAM_E_NO_MESSAGE || (message != NULL && is_deletion(message))) {
        read.found = JETSTREAM_LAST_NONE;
    } else if (error == JETSTREAM_E_NO_STREAM) {
        read.found = JETSTREAM_LAST_NO_STREAM;
        jetstream_recheck(jetstream);
    } else if (error != 0) {
        read.error = jetstream_answer_text(answer);
    } else if (message != NULL &&
               read_base64(json_string_value(json_object_get(message, "data")), &payload)) {
        read.found = JETSTREAM_LAST_FOUND;
        read.payload = payload;
    }
    last(context, &read);
    free((char *)payload.data);
}

static void report_held(struct jetstream *jetstream, const json_t *answer, jetstream_held_fn *held,
                        void *context) {
    const json_t *message = json_object_get(answer, "message");
    const char *headers = json_string_value(json_object_get(message, "hdrs"));
    const int error = jetstream_answer_error(answer);
    struct jetstream_held read = {.found = JETSTREAM_HELD_UNKNOWN,
                                  .subject =
                                      json_string_value(json_object_get(message, "subject"))};
    struct parley_bytes bytes = {0};
    if (error == JETSTREAM_E_NO_MESSAGE) {
        read.found = JETSTREAM_HELD_GONE;
    } else if (error != 0) {
        read.error = jetstream_answer_text(answer);
    } else if (read.subject != NULL && (headers == NULL || read_base64(headers, &bytes))) {
        read.found = JETSTREAM_HELD_FOUND;
        read.headers = bytes;
    }
    if (error == JETSTREAM_E_NO_STREAM) {
        jetstream_recheck(jetstream);
    }
    held(context, &read);
    free((char *)bytes.data);
}

/* The payload, in base64, is most of the answer: jansson is not given it. Before it nothing can
 * look like the beginning of that member, for a quote in a string has a backslash in front. */
static json_t *load_without_payload(struct parley_bytes answer) {
    static const char member[] = "\"data\":\"";
    const char *end = answer.data + answer.length;
    const char *start = memmem(answer.data, answer.length, member, sizeof member - 1);
    const char *payload = start != NULL ? start + sizeof member - 1 : NULL;
    const char *rest = start != NULL ? memchr(payload, '"', (size_t)(end - payload)) : NULL;
    if (rest == NULL) {
        return json_loadb(answer.data, answer.length, 0, NULL);
    }
    const size_t head = (size_t)(payload - answer.data), tail = (size_t)(end - rest);
    char *text = malloc(head + tail);
    if (text == NULL) {
        return NULL;
    }
    memcpy(text, answer.data, head);
    memcpy(text + head, rest, tail);
    json_t *loaded = json_loadb(text, head + tail, 0, NULL);
    free(text);
    return loaded;
}

/* ---- requests ---- */

static void free_request(struct jetstream_request *request) {
    *request->link = request->next;
    if (request->next != NULL) {
        request->next->link = request->link;
    }
    reactor_timer_clear(request->jetstream->reactor, &request->deadline);
    bus_mailbox_close(request->jetstream->bus, request->mailbox);
    free(request);
}

static void end_request(struct jetstream_request *request, json_t *answer) {
    jetstream_answer_fn *done = request->done;
    jetstream_info_fn *info = request->info;
    jetstream_last_fn *last = request->last;
    jetstream_held_fn *held = request->held;
    struct jetstream *jetstream = request->jetstream;
    void *context = request->context;
    free_request(request);
    if (last != NULL) {
        report_last(jetstream, answer, last, context);
        return;
    }
    if (held != NULL) {
        report_held(jetstream, answer, held, context);
        return;
    }
    if (info == NULL) {
        done(context, answer);
        return;
    }
    struct jetstream_stream_info read = {0};
    if (answer != NULL && jetstream_answer_error(answer) == 0) {
        read_info(answer, &read);
    }
    info(context, &read);
}

static void on_deadline(struct reactor_timer *timer) {
    end_request(OWNER_OF(timer, struct jetstream_request, deadline), NULL);
}

static void on_answer(void *context, const struct bus_message *message) {
    const struct jetstream_request *request = context;
    json_t *answer;
    if (bus_message_status(message) == JETSTREAM_NO_RESPONDERS) {
        answer = json_pack("{s:{s:i, s:s}}", "error", "code", JETSTREAM_NO_RESPONDERS,
                           "description", "no NATS server responds to this request");
    } else {
        answer = request->held != NULL
                     ? load_without_payload(message->payload)
                     : json_loadb(message->payload.data, message->payload.length, 0, NULL);
    }
    end_request(context, json_is_object(answer) ? answer : NULL);
    json_decref(answer);
}

static bool send_request(struct jetstream *jetstream, const char *what, const char *reply,
                         const json_t *body) {
    char subject[JETSTREAM_SUBJECT_MAX];
    int length = snprintf(subject, sizeof subject, "$JS.API.%s", what);
    if (length < 0 || (size_t)length >= sizeof subject) {
        return false;
    }
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    if (body != NULL && text == NULL) {
        return false;
    }
    enum bus_send sent =
        bus_publish(jetstream->bus, subject, reply, NULL, 0, parley_bytes_of(text));
    free(text);
    return sent == BUS_SENT;
}

struct jetstream_request *jetstream_request_send(struct jetstream *jetstream, const char *what,
                                                 json_t *body, jetstream_answer_fn *done,
                                                 void *context) {
    struct jetstream_request *request = calloc(1, sizeof *request);
    if (request == NULL ||
        bus_mailbox_open(jetstream->bus, on_answer, request, &request->mailbox) != PARLEY_OK) {
        free(request);
        json_decref(body);
        return NULL;
    }
    request->jetstream = jetstream;
    request->deadline.fire = on_deadline;
    request->done = done;
    request->context = context;
    request->next = jetstream->requests;
    request->link = &jetstream->requests;
    if (request->next != NULL) {
        request->next->link = &request->next;
    }
    jetstream->requests = request;
    char reply[BUS_SUBJECT_MAX];
    bus_mailbox_address(jetstream->bus, request->mailbox, reply);
    bool is_sent = send_request(jetstream, what, reply, body);
    json_decref(body);
    if (!is_sent) {
        free_request(request);
        return NULL;
    }
    reactor_timer_set(jetstream->reactor, &request->deadline, JETSTREAM_API_TIMEOUT_MS);
    return request;
}

void jetstream_request_cancel(struct jetstream_request *request) {
    if (request != NULL) {
        free_request(request);
    }
}

void jetstream_requests_end(struct jetstream *jetstream, bool calls_back) {
    while (jetstream->requests != NULL) {
        if (calls_back) {
            end_request(jetstream->requests, NULL);
        } else {
            free_request(jetstream->requests);
        }
    }
}

void jetstream_request_forget(struct jetstream *jetstream, const char *what) {
    (void)send_request(jetstream, what, NULL, NULL);
}

bool jetstream_stream_ask(struct jetstream *jetstream, const char *stream, jetstream_info_fn *done,
                          void *context) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "STREAM.INFO.%s", stream);
    struct jetstream_request *request =
        jetstream_request_send(jetstream, what, NULL, NULL, context);
    if (request == NULL) {
        return false;
    }
    request->info = done;
    return true;
}

struct jetstream_request *jetstream_last_ask(struct jetstream *jetstream, const char *stream,
                                             const char *subject, jetstream_last_fn *done,
                                             void *context) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "STREAM.MSG.GET.%s", stream);
    struct jetstream_request *request = jetstream_request_send(
        jetstream, what, json_pack("{s:s}", "last_by_subj", subject), NULL, context);
    if (request != NULL) {
        request->last = done;
    }
    return request;
}

struct jetstream_request *jetstream_held_ask(struct jetstream *jetstream, const char *stream,
                                             uint64_t sequence, jetstream_held_fn *done,
                                             void *context) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "STREAM.MSG.GET.%s", stream);
    struct jetstream_request *request = jetstream_request_send(
        jetstream, what, json_pack("{s:I}", "seq", (json_int_t)sequence), NULL, context);
    if (request != NULL) {
        request->held = done;
    }
    return request;
}
