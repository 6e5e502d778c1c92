/* SPDX-License-Identifier: Apache-2.0 */

/* See rejection.h. The payload of what is kept is the refused text, byte for byte; its description
 * is in headers, of bounded length and percent-encoded, since most of it comes from the sender. */

#include "rejection.h"

#include <inttypes.h>
#include <stdio.h>

#include "channel.h"
#include "clock_and_ids.h"
#include "guard.h"
#include "jetstream_unacked.h"
#include "log.h"
#include "publication.h"

enum {
    RULES_BYTES_MAX = 256,
    VIOLATIONS_BYTES_MAX = 8192, /* encoded */
    NAME_BYTES_MAX = 256,
    HEADERS_MAX = 10,
    NUMBER_BYTES = 24,
    SUBJECT_MAX = 512,
};

/* ---- the log ---- */

/* Returns: NULL if there is none. */
static const struct parley_rule *rule_to_log(const struct parley_findings *findings) {
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_rule *rule = findings->items[i].rule;
        if (rule->is_logged && rule->severity == PARLEY_ERROR) {
            return rule;
        }
    }
    return NULL;
}

/* Without the rule's text on the value: that would have a part of the payload. */
static void log_refused(const struct request_options *options, const struct http_request *request,
                        const struct verdict *verdict, const struct parley_rule *rule) {
    struct parley_message *message = verdict->message;
    struct parley_route route = {0};
    char line[24];
    const char *token = request != NULL ? guard_principal(request)->name : "";
    if (message->is_decoded && parley_message_route(message, &route) != PARLEY_OK) {
        route = (struct parley_route){0};
    }
    snprintf(line, sizeof line, "%zu", verdict->slice->number);
    log_event(LOG_MESSAGE_REFUSED,
              LOG_FIELDS(LOG_TEXT("protocol", options->protocol->name), LOG_TEXT("rule", rule->id),
                         LOG_TEXT("breaks", rule->summary), LOG_BYTES("sender", route.sender),
                         LOG_BYTES("id", route.id),
                         LOG_TEXT("request", request != NULL ? http_request_id(request) : NULL),
                         LOG_TEXT("line", options->publication.is_batch ? line : NULL),
                         LOG_TEXT("token", token[0] != '\0' ? token : NULL)));
}

/* ---- what is kept ---- */

/* The values of the headers.  Owns: the texts, until `finish`. */
struct note {
    struct bus_header headers[HEADERS_MAX];
    size_t header_count;
    struct parley_buffer rules, violations, principal, detail;
    char line[NUMBER_BYTES], omitted[NUMBER_BYTES], dropped[NUMBER_BYTES], time[32];
};

static void add(struct note *note, const char *name, const char *value) {
    note->headers[note->header_count++] = (struct bus_header){name, value};
}

static void add_number(struct note *note, const char *name, char text[NUMBER_BYTES],
                       uint64_t number) {
    snprintf(text, NUMBER_BYTES, "%" PRIu64, number);
    add(note, name, text);
}

/* "VLP-005,VLP-012": each rule once, as many as there is room for. */
static void write_rules(const struct parley_findings *findings, struct parley_buffer *out) {
    for (size_t i = 0; i < findings->count; i++) {
        const char *id = findings->items[i].rule->id;
        const bool is_new = i == 0 || findings->items[i].rule != findings->items[i - 1].rule;
        if (is_new && out->length + strlen(id) + 1 < RULES_BYTES_MAX) {
            parley_buffer_format(out, "%s%s", out->length > 0 ? "," : "", id);
        }
    }
    parley_buffer_char(out, '\0');
}

/* The first of them, as many as there is room for.  Returns: how many are left out. */
static size_t write_violations(const struct parley_findings *findings, struct parley_buffer *out) {
    struct parley_findings first = *findings;
    struct parley_buffer json;
    parley_buffer_init(&json);
    for (;; first.count /= 2) {
        parley_buffer_clear(&json);
        parley_buffer_clear(out);
        parley_findings_write(&first, &json);
        if (json.length <= VIOLATIONS_BYTES_MAX) {
            publication_encode(parley_buffer_bytes(&json), out);
        }
        if (first.count == 0 || (out->length > 0 && out->length <= VIOLATIONS_BYTES_MAX)) {
            break;
        }
    }
    parley_buffer_char(out, '\0');
    out->has_failed = out->has_failed || json.has_failed;
    parley_buffer_finish(&json);
    return findings->count - first.count + findings->omitted_count;
}

static void add_principal(struct note *note, const char *name) {
    publication_encode(parley_bytes_of(name), &note->principal);
    parley_buffer_char(&note->principal, '\0');
    if (note->principal.length > 1 && note->principal.length <= NAME_BYTES_MAX) {
        add(note, "Parley-Principal", note->principal.data);
    }
}

static void add_findings(struct note *note, const struct parley_findings *findings) {
    write_rules(findings, &note->rules);
    const size_t omitted = write_violations(findings, &note->violations);
    add(note, "Parley-Rules", note->rules.data);
    add(note, "Parley-Violations", note->violations.data);
    if (omitted > 0) {
        add_number(note, "Parley-Violations-Omitted", note->omitted, omitted);
    }
}

static void add_failure(struct note *note, const struct failure *failure) {
    publication_encode(parley_bytes_of(failure->detail), &note->detail);
    parley_buffer_char(&note->detail, '\0');
    add(note, "Parley-Problem", problem_name(failure->problem));
    add(note, "Parley-Detail", note->detail.data);
}

/* `failure` NULL: the message is invalid.  Returns: whether there was memory for it. */
static bool write_note(struct note *note, const struct request_options *options,
                       const struct http_request *request, const struct verdict *verdict,
                       const struct failure *failure) {
    if (failure != NULL) {
        add_failure(note, failure);
    } else {
        add_findings(note, &verdict->message->findings);
    }
    clock_now_text(note->time);
    add(note, "Parley-Time", note->time);
    add(note, "Content-Type", options->codec->media_types[0]);
    if (options->publication.is_batch) {
        add_number(note, "Parley-Line", note->line, verdict->slice->number);
    }
    if (request != NULL) {
        add(note, "Parley-Request", http_request_id(request));
    }
    add_principal(note, request != NULL ? guard_principal(request)->name : options->principal);
    return !note->rules.has_failed && !note->violations.has_failed && !note->principal.has_failed &&
           !note->detail.has_failed;
}

/* Whether all bytes of the message are known. */
static bool is_whole(const struct verdict *verdict) {
    const struct parley_findings *findings = &verdict->message->findings;
    const bool is_oversize =
        findings->count > 0 && findings->items[0].rule == &parley_gateway_rules[PARLEY_GW_SIZE];
    return verdict->slice->bytes.length > 0 && !is_oversize;
}

static bool post(const struct request_options *options, const struct note *note,
                 struct parley_bytes payload) {
    const struct channel *rejected = channel_rejected(options->gateway->configuration->channels);
    const char *first = rejected->prefix != NULL ? rejected->prefix : rejected->name;
    char subject[SUBJECT_MAX];
    snprintf(subject, sizeof subject, "%s.%s", first, options->protocol->name);
    return jetstream_post(options->gateway->jetstream,
                          &(struct jetstream_message){.subject = subject,
                                                      .headers = note->headers,
                                                      .header_count = note->header_count,
                                                      .payload = payload});
}

static void keep(const struct request_options *options, const struct http_request *request,
                 const struct verdict *verdict, const struct failure *failure) {
    struct gateway *gateway = options->gateway;
    if (!gateway->configuration->quarantine || !is_whole(verdict)) {
        return;
    }
    struct note note = {.header_count = 0};
    parley_buffer_init(&note.rules);
    parley_buffer_init(&note.violations);
    parley_buffer_init(&note.principal);
    parley_buffer_init(&note.detail);
    if (gateway->quarantine_dropped > 0) {
        add_number(&note, "Parley-Dropped", note.dropped, gateway->quarantine_dropped);
    }
    const bool is_kept = write_note(&note, options, request, verdict, failure) &&
                         post(options, &note, verdict->slice->bytes);
    gateway->quarantine_dropped = is_kept ? 0 : gateway->quarantine_dropped + 1;
    counter_add(&gateway->figures->values[is_kept ? FIGURE_REJECTED_KEPT : FIGURE_REJECTED_DROPPED],
                1);
    parley_buffer_finish(&note.rules);
    parley_buffer_finish(&note.violations);
    parley_buffer_finish(&note.principal);
    parley_buffer_finish(&note.detail);
}

void rejection_note(const struct request_options *options, const struct http_request *request,
                    const struct verdict *verdict) {
    if (options->task != INGEST_FORWARD) {
        return;
    }
    const struct parley_rule *rule = rule_to_log(&verdict->message->findings);
    if (rule != NULL) {
        log_refused(options, request, verdict, rule);
    }
    keep(options, request, verdict, NULL);
}

void rejection_keep_failed(const struct request_options *options, const struct verdict *verdict,
                           const struct failure *failure) {
    keep(options, NULL, verdict, failure);
}
