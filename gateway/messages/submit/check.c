/* SPDX-License-Identifier: Apache-2.0 */

#include "check.h"

#include <stdio.h>

#include <parley/objects.h>

#include "message_metrics.h"
#include "clock_and_ids.h"

static void make_stamped(void *context) {
    struct stamped_values *stamped = context;
    id_new(stamped->id);
    clock_now_text(stamped->now);
}

static const struct parley_options *options_now(struct request_options *options) {
    options->check.refresh = NULL;
    options->check.now_seconds = clock_now_seconds();
    options->check.fresh_id = options->stamped.id;
    options->check.now = options->stamped.now;
    return &options->check;
}

static const struct parley_options *options_afresh(struct request_options *options) {
    (void)options_now(options);
    options->stamped.id[0] = '\0'; /* the one of the message before is no longer fresh */
    options->check.refresh = make_stamped;
    options->check.refresh_context = &options->stamped;
    return &options->check;
}

enum parley_status check_message_as(struct request_options *options, struct parley_message *message,
                                    struct parley_bytes bytes, struct parley_position origin) {
    return parley_message_check(message, bytes, options->codec, options_afresh(options), origin);
}

/* Returns: 0: this message is not measured. */
static int64_t begin_measuring(const struct request_options *options) {
    return message_metrics_is_measured(options) ? reactor_clock_ns() : 0;
}

static void end_measuring(const struct request_options *options, int64_t began_ns) {
    if (began_ns != 0) {
        message_metrics_check(options, reactor_clock_ns() - began_ns);
    }
}

struct parley_message *check_object(const struct request_options *options,
                                    struct kept_message *kept) {
    return kept != NULL ? &kept->message : gateway_message(options->gateway, options->protocol);
}

/* The request's own values are those of the next message, soon. */
static void keep_stamped(struct kept_message *kept, const struct request_options *options) {
    if (kept != NULL) {
        kept->stamped = options->stamped;
        kept->message.options.fresh_id = kept->stamped.id;
        kept->message.options.now = kept->stamped.now;
        kept->message.options.refresh = NULL;
    }
}

enum parley_status check_message_in(struct request_options *options, struct kept_message *kept,
                                    struct parley_bytes bytes, struct parley_position origin) {
    const int64_t began_ns = begin_measuring(options);
    const enum parley_status status =
        check_message_as(options, check_object(options, kept), bytes, origin);
    end_measuring(options, began_ns);
    keep_stamped(kept, options);
    return status;
}

enum parley_status check_message(struct request_options *options, struct parley_bytes bytes,
                                 struct parley_position origin) {
    return check_message_in(options, NULL, bytes, origin);
}

enum parley_status check_message_again(struct request_options *options, struct parley_bytes bytes,
                                       struct parley_position origin,
                                       const struct stamped_values *stamped) {
    struct parley_message *message = gateway_message(options->gateway, options->protocol);
    const int64_t began_ns = begin_measuring(options);
    options->stamped = *stamped;
    const enum parley_status status =
        parley_message_check(message, bytes, options->codec, options_now(options), origin);
    end_measuring(options, began_ns);
    return status;
}

enum parley_status check_slice(struct request_options *options, struct kept_message *kept,
                               enum parley_split split, const struct parley_slice *slice,
                               struct parley_splitter *splitter) {
    const int64_t began_ns = begin_measuring(options);
    const enum parley_status status =
        parley_splitter_check(splitter, split, slice, check_object(options, kept), options->codec,
                              options_afresh(options));
    end_measuring(options, began_ns);
    keep_stamped(kept, options);
    return status;
}

/* The first error of an invalid message: findings are in the order of the rule table, warnings
 * among them. When memory sufficed for warnings only, the first of these. */
const struct parley_finding *check_first_error(const struct parley_message *message) {
    const struct parley_findings *findings = &message->findings;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].rule->severity == PARLEY_ERROR) {
            return &findings->items[i];
        }
    }
    return &findings->items[0];
}

/* This finding is before all others. */
bool check_is_forbidden(const struct parley_message *message) {
    const struct parley_findings *findings = &message->findings;
    return findings->count > 0 &&
           findings->items[0].rule == &parley_gateway_rules[PARLEY_GW_SENDER];
}

void check_describe(const struct parley_message *message, struct parley_buffer *out) {
    const struct parley_finding *first = check_first_error(message);
    parley_buffer_text(out, first->rule->id);
    if (first->at.line != 0) {
        parley_buffer_text(out, " at ");
        parley_position_describe(first->at, out);
    }
    parley_buffer_format(out, ": %s.%s", first->message,
                         message->findings.count > 1 ? " There is more in `violations`." : "");
}

/* The most that it may take, without encoding it: JSON is published as it was received, but for
 * blanks, and a byte of other encodings becomes six at worst. */
static size_t published_bytes_most(const struct request_options *options,
                                   const struct parley_message *message) {
    enum { HEADERS_AND_STAMP_BYTES_MOST = 8192, TEXT_BYTES_A_BYTE = 6 };
    const bool is_json =
        options->codec == &parley_codec_json || options->codec == &parley_codec_ndjson;
    return message->sent.length * (is_json ? 1 : TEXT_BYTES_A_BYTE) + HEADERS_AND_STAMP_BYTES_MOST;
}

/* Alone in its request its size does not matter (object_upload.h). */
static bool has_object_store(const struct request_options *options,
                             const struct parley_message *message) {
    const struct parley_objects *objects = options->protocol->objects;
    return objects != NULL && message->type == objects->type && options->is_alone;
}

struct size_limits check_size_limits(const struct gateway *gateway) {
    return (struct size_limits){.least = jetstream_message_bytes_max_least(gateway->jetstream),
                                .most = jetstream_max_payload_bytes(gateway->jetstream)};
}

enum parley_status check_size(const struct request_options *options, struct parley_message *message,
                              size_t number, const struct size_limits *limits,
                              struct parley_buffer *scratch, struct published_size *out) {
    struct publication publication;
    *out = (struct published_size){0};
    if (limits->least == 0 || has_object_store(options, message) ||
        published_bytes_most(options, message) <= limits->least) {
        return PARLEY_OK;
    }
    scratch->limit_bytes = limits->most;
    const enum parley_status status = publication_prepare(
        message, &options->publication, number, (struct parley_bytes){0}, scratch, &publication);
    scratch->limit_bytes = 0;
    if (status == PARLEY_E_LIMIT) {
        *out = (struct published_size){.bytes = SIZE_MAX, .subject = ""};
        return PARLEY_OK;
    }
    PARLEY_TRY(status);
    out->bytes = scratch->length + bus_headers_bytes(publication.headers, publication.header_count);
    out->subject = publication.route.subject.data;
    return PARLEY_OK;
}

enum parley_status check_warn_of_size(const struct request_options *options,
                                      struct parley_message *message,
                                      const struct published_size *size) {
    const struct jetstream *jetstream = options->gateway->jetstream;
    char text[256];
    const size_t limit =
        size->subject != NULL ? jetstream_message_bytes_max(jetstream, size->subject) : 0;
    if (limit == 0 || size->bytes <= limit) {
        return PARLEY_OK;
    }
    snprintf(text, sizeof text,
             "as JSON with its headers this message exceeds the %zu bytes that NATS accepts (%s), "
             "so it could not be forwarded; parley's limit is %zu bytes (--message-max)",
             limit,
             limit < jetstream_max_payload_bytes(jetstream) ? "the max_msg_size of its stream"
                                                            : "its max_payload",
             request_message_bytes_max(options));
    return parley_message_warn(message, PARLEY_GW_TRANSPORT, parley_bytes_of(text));
}
