/* SPDX-License-Identifier: Apache-2.0 */

/* The streams that must exist. After each connection every one is looked up, in turn; one that is
 * missing is created, one that exists is used as it is, and of one that could not take our messages
 * the operator is told in a sentence. Whatever may pass (JetStream is starting, has no leader, has
 * no room; somebody mends that stream) is tried again for ever. It never changes a stream that
 * exists. */

#include "jetstream_internal.h"

#include <stdio.h>
#include <string.h>

#define NS_A_MS INT64_C(1000000)

enum {
    DAYS_KEPT = 7,
    DAY_MS = 24 * 3600 * 1000,
    BUCKET_DEDUPE_WINDOW_MS = 2 * 60 * 1000, /* the convention's; no message there bears an id */
    OVERLAPS_MAX = 8,           /* it may overlap with itself, while another reactor creates it */
    UNUSABLE_RETRY_MS = 2000,   /* only a person can mend it */
    DEDUPE_WINDOW_MIN_MS = 100, /* the server refuses less, and takes 0 for its default of 2 min */
};

static const struct jetstream_stream PROBE = {.name = "PARLEY_PROBE",
                                              .subjects = JETSTREAM_PROBE_SUBJECT};

static void check_next(struct jetstream *jetstream);

static bool is_probe(const struct jetstream *jetstream) {
    return jetstream->setup.standing_count == jetstream->options.stream_count;
}

static const struct jetstream_stream *present_stream(const struct jetstream *jetstream) {
    return is_probe(jetstream) ? &PROBE
                               : &jetstream->options.streams[jetstream->setup.standing_count];
}

static void retry_later(struct jetstream *jetstream) {
    reactor_timer_set(jetstream->reactor, &jetstream->setup.retry, JETSTREAM_RETRY_MS);
}

static void ask_for(struct jetstream *jetstream, const char *verb, json_t *body,
                    jetstream_answer_fn *done) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "STREAM.%s.%s", verb, present_stream(jetstream)->name);
    jetstream->setup.request = jetstream_request_send(jetstream, what, body, done, jetstream);
    if (jetstream->setup.request == NULL) {
        retry_later(jetstream);
    }
}

/* A server that says so much is well, and is asked again: who mends the stream need not start us
 * again. Whether a start ends here is decided by who hears of it. */
static void give_up(struct jetstream *jetstream, const char *error) {
    struct jetstream_setup *setup = &jetstream->setup;
    jetstream_note_good(jetstream);
    snprintf(setup->trouble, sizeof setup->trouble, "%s", error);
    setup->overlap_count = 0;
    reactor_timer_set(jetstream->reactor, &setup->retry, UNUSABLE_RETRY_MS);
    jetstream->events.unusable(jetstream->events.context, error);
}

static void stands(struct jetstream *jetstream) {
    jetstream_note_good(jetstream);
    jetstream->setup.standing_count++;
    jetstream->setup.overlap_count = 0;
    check_next(jetstream);
}

/* ---- creating ---- */

/* As every client of NATS makes a key-value bucket, so that theirs can read it: ADR-8 of
 * github.com/nats-io/nats-architecture-and-design. */
static json_t *bucket_configuration(const struct jetstream *jetstream) {
    const struct jetstream_stream *stream = present_stream(jetstream);
    const json_int_t replicas = jetstream->options.replicas > 0 ? jetstream->options.replicas : 1;
    const json_int_t age_ns = (json_int_t)stream->bucket_days * DAY_MS * NS_A_MS;
    return json_pack("{s:s, s:[s], s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:i, s:I, s:I, s:b, s:b,"
                     " s:b, s:b}",
                     "name", stream->name, "subjects", stream->subjects, "retention", "limits",
                     "storage", "file", "discard", "new", "max_msgs", -1, "max_msgs_per_subject", 1,
                     "max_consumers", -1, "max_bytes", -1, "max_age", age_ns, "max_msg_size", -1,
                     "num_replicas", replicas, "duplicate_window",
                     (json_int_t)BUCKET_DEDUPE_WINDOW_MS * NS_A_MS, "allow_rollup_hdrs", true,
                     "deny_delete", true, "deny_purge", false, "allow_direct", true);
}

static json_t *configuration(const struct jetstream *jetstream) {
    const struct jetstream_stream *stream = present_stream(jetstream);
    if (stream->bucket_days > 0) {
        return bucket_configuration(jetstream);
    }
    int64_t window_ms = jetstream->options.dedupe_window_ms;
    json_int_t age_ns = (json_int_t)DAYS_KEPT * DAY_MS * NS_A_MS;
    json_int_t messages_max = -1;
    json_int_t replicas = jetstream->options.replicas > 0 ? jetstream->options.replicas : 1;
    if (is_probe(jetstream)) {
        window_ms = 0;
        messages_max = 1;
        replicas = 1;
    }
    if (window_ms < DEDUPE_WINDOW_MIN_MS) {
        window_ms = DEDUPE_WINDOW_MIN_MS;
    }
    return json_pack("{s:s, s:[s], s:s, s:s, s:s, s:I, s:i, s:i, s:I, s:i, s:I, s:I}", "name",
                     stream->name, "subjects", stream->subjects, "retention", "limits", "storage",
                     "file", "discard", "old", "max_msgs", messages_max, "max_consumers", -1,
                     "max_bytes", -1, "max_age", age_ns, "max_msg_size", -1, "num_replicas",
                     replicas, "duplicate_window", (json_int_t)(window_ms * NS_A_MS));
}

static void refuse_creation(struct jetstream *jetstream, int error, const char *reason) {
    const struct jetstream_stream *stream = present_stream(jetstream);
    const char *remedy = "mend that, then start again";
    if (error == JETSTREAM_E_SUBJECT_OVERLAP) {
        remedy = "another stream takes these subjects already: change or delete that one, or "
                 "choose another subject prefix";
    } else if (error == JETSTREAM_E_NO_REPLICAS) {
        remedy = "this NATS server is alone: start with --replicas 1, or use a cluster";
    }
    char text[JETSTREAM_TROUBLE_MAX];
    snprintf(text, sizeof text, "stream %s (%s) cannot be created: %s (%d); %s", stream->name,
             stream->subjects, reason, error, remedy);
    give_up(jetstream, text);
}

static void on_created(void *context, json_t *answer) {
    struct jetstream *jetstream = context;
    jetstream->setup.request = NULL;
    int error = answer != NULL ? jetstream_answer_error(answer) : -1;
    if (error == 0) {
        stands(jetstream);
    } else if (error == JETSTREAM_E_NO_REPLICAS ||
               (error == JETSTREAM_E_SUBJECT_OVERLAP &&
                ++jetstream->setup.overlap_count == OVERLAPS_MAX)) {
        refuse_creation(jetstream, error, jetstream_answer_text(answer));
    } else {
        retry_later(jetstream); /* another reactor was faster, or JetStream is not up to it yet */
    }
}

/* ---- checking ---- */

static size_t token_length(const char *subject) {
    return strcspn(subject, ".");
}

/* Whether each subject that matches `inner` matches `outer` too. */
static bool covers(const char *outer, const char *inner) {
    for (;;) {
        size_t outer_length = token_length(outer), inner_length = token_length(inner);
        bool is_inner_tail = inner_length == 1 && inner[0] == '>';
        if (outer_length == 1 && outer[0] == '>') {
            return true;
        }
        bool is_any = outer_length == 1 && outer[0] == '*';
        if (is_inner_tail || (!is_any && (outer_length != inner_length ||
                                          memcmp(outer, inner, inner_length) != 0))) {
            return false;
        }
        outer += outer_length;
        inner += inner_length;
        if (*outer == '\0' || *inner == '\0') {
            return *outer == *inner;
        }
        outer++;
        inner++;
    }
}

static bool stream_covers(const json_t *config, const char *subjects) {
    size_t index;
    json_t *subject;
    json_array_foreach(json_object_get(config, "subjects"), index, subject) {
        if (json_is_string(subject) && covers(json_string_value(subject), subjects)) {
            return true;
        }
    }
    return false;
}

static void check_config(struct jetstream *jetstream, const json_t *config) {
    const struct jetstream_stream *stream = present_stream(jetstream);
    char text[JETSTREAM_TROUBLE_MAX];
    if (!stream_covers(config, stream->subjects)) {
        snprintf(text, sizeof text,
                 "stream %s exists already and does not take the subjects %s: add them to it, "
                 "delete it, or choose another subject prefix",
                 stream->name, stream->subjects);
        give_up(jetstream, text);
    } else if (json_is_true(json_object_get(config, "no_ack"))) {
        snprintf(text, sizeof text,
                 "stream %s exists already and acknowledges nothing (no_ack): recreate it without "
                 "that option",
                 stream->name);
        give_up(jetstream, text);
    } else {
        stands(jetstream);
    }
}

static void on_info(void *context, json_t *answer) {
    struct jetstream *jetstream = context;
    jetstream->setup.request = NULL;
    const json_t *config = json_object_get(answer, "config");
    int error = answer != NULL ? jetstream_answer_error(answer) : -1;
    if (error == JETSTREAM_E_NO_STREAM) {
        ask_for(jetstream, "CREATE", configuration(jetstream), on_created);
    } else if (error != 0 || config == NULL) {
        retry_later(jetstream);
    } else {
        check_config(jetstream, config);
    }
}

/* The servers of a cluster hear of a stream's subjects a moment after the one that answers for it:
 * until then a message finds nobody who listens. So there all streams are looked up once more. */
static void finish_round(struct jetstream *jetstream) {
    if (jetstream->options.replicas > 1 && !jetstream->setup.has_settled) {
        jetstream->setup.has_settled = true;
        jetstream->setup.standing_count = 0;
        retry_later(jetstream);
    } else {
        jetstream->setup.trouble[0] = '\0';
        jetstream_become_ready(jetstream);
    }
}

static void check_next(struct jetstream *jetstream) {
    size_t count = jetstream->options.stream_count + (jetstream->options.is_probing ? 1 : 0);
    if (jetstream->setup.standing_count == count) {
        finish_round(jetstream);
        return;
    }
    ask_for(jetstream, "INFO", NULL, on_info);
}

static void on_retry(struct reactor_timer *timer) {
    check_next(OWNER_OF(timer, struct jetstream, setup.retry));
}

void jetstream_setup_begin(struct jetstream *jetstream) {
    jetstream->setup.retry.fire = on_retry;
    jetstream->setup.standing_count = 0;
    jetstream->setup.has_settled = false;
    check_next(jetstream);
}

void jetstream_setup_end(struct jetstream *jetstream) {
    reactor_timer_clear(jetstream->reactor, &jetstream->setup.retry);
    jetstream_request_cancel(jetstream->setup.request);
    jetstream->setup.request = NULL;
    jetstream->setup.trouble[0] = '\0';
}

const char *jetstream_trouble(const struct jetstream *jetstream) {
    return jetstream->setup.trouble[0] != '\0' ? jetstream->setup.trouble : NULL;
}

void jetstream_setup_again(struct jetstream *jetstream) {
    if (jetstream->setup.request == NULL && !jetstream->setup.retry.is_armed) {
        jetstream->setup.standing_count = 0;
        retry_later(jetstream);
    }
}
