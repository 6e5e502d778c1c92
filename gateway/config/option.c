/* SPDX-License-Identifier: Apache-2.0 */

/* The options of the server and their values. Every row must hold for struct configuration: the
 * unit tests load each of them. */

#include "option.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "quantity.h"
#include "terminal.h"

#define FIELD(name) .field = offsetof(struct configuration, name)
#define DAY_MS 86400000

const struct option options[OPTIONS] = {
    {.flag = "listen",
     FIELD(listen),
     .value_name = "ADDR:PORT",
     .fallback = "127.0.0.1:8080",
     .help = "Where to listen. :PORT means 127.0.0.1, port 0 a free one. An address that other "
             "machines can reach needs --insecure."},
    {.flag = "data",
     FIELD(data),
     .value_name = "DIR",
     .fallback_text = "$XDG_STATE_HOME/parley, else ~/.local/state/parley",
     .help = "The folder for the embedded nats-server's store and for spooled results."},
    {.flag = "nats",
     FIELD(nats),
     .value_name = "URL,…",
     .fallback_text = "the embedded nats-server, started and stopped with parley",
     .help = "The NATS servers to use, with JetStream: nats://USER:PASSWORD@HOST:4222. With tls:// "
             "all of them must speak TLS. In a password, a comma is %2C."},
    {.flag = "config",
     FIELD(config),
     .value_name = "FILE",
     .fallback_text = "none",
     .is_not_in_file = true,
     .help = "Read options from this file, see below."},
    {.flag = "insecure",
     .type = OPTION_SWITCH,
     FIELD(insecure),
     .fallback = "false",
     .help =
         "Allow an address that is not loopback although there is no authentication: anyone who "
         "can reach it can send and read. Only for a trusted network."},
    {.flag = "check-config",
     .type = OPTION_SWITCH,
     FIELD(check_config),
     .fallback = "false",
     .is_not_in_file = true,
     .help = "Print the effective configuration, as a configuration file (with the passwords in "
             "--nats), and exit."},
    {.flag = "reactors",
     .type = OPTION_COUNT,
     FIELD(reactors),
     .value_name = "N",
     .fallback = "0",
     .fallback_text = "0, which is one a core",
     .maximum = 1024,
     .help = "Threads that serve, each with its own connection to NATS."},
    {.flag = "replicas",
     .type = OPTION_COUNT,
     FIELD(replicas),
     .value_name = "N",
     .fallback = "1",
     .minimum = 1,
     .maximum = 5,
     .help = "How many servers of a cluster keep each message, in streams that parley creates; "
             "more than 1 needs --nats."},
    {.flag = "subject-prefix",
     .type = OPTION_LIST,
     FIELD(subject_prefixes),
     .value_name = "PROTOCOL=TOKEN",
     .fallback_text = "each protocol's own name",
     .help = "Put this protocol's messages under TOKEN.> instead, in a stream of their own "
             "(roundtable=fleet-a: subjects fleet-a.>, stream ROUNDTABLE_FLEET-A), so that several "
             "fleets can share one NATS. May be given more than once; the variable takes several "
             "with commas between them."},
    {.flag = "message-max",
     .type = OPTION_SIZE,
     FIELD(message_max_bytes),
     .value_name = "SIZE",
     .fallback = "0",
     .fallback_text = "0, which is each protocol's own",
     .maximum = UINT64_C(1) << 30,
     .help = "Messages larger than this are refused (rule GW-002)."},
    {.flag = "gather-max",
     .type = OPTION_SIZE,
     FIELD(gather_max_bytes),
     .value_name = "SIZE",
     .fallback = "256m",
     .minimum = 1 << 20,
     .maximum = UINT64_C(1) << 40,
     .help = "What the messages that are being received may hold in all, and an eighth more for "
             "the first 64 KiB of each; 4 KiB of each are not counted. Past it the answer is 503. "
             "One that is larger than this cannot be sent."},
    {.flag = "spool-max",
     .type = OPTION_SIZE,
     FIELD(spool_max_bytes),
     .value_name = "SIZE",
     .fallback = "1g",
     .maximum = INT64_MAX,
     .help = "How much room all results together that no client has read yet may take in the data "
             "folder. They never take the last tenth of its disk, nor its last GiB. Beyond that, a "
             "body is read no further until its results have left."},
    {.flag = "connections",
     .type = OPTION_COUNT,
     FIELD(connections_max),
     .value_name = "N",
     .fallback = "20000",
     .minimum = 1,
     .maximum = 10000000,
     .help = "Connections at a time, fewer where the limit of open files says so."},
    {.flag = "in-flight",
     .type = OPTION_COUNT,
     FIELD(in_flight_max),
     .value_name = "N",
     .fallback = "16384",
     .minimum = 1,
     .maximum = 10000000,
     .help = "Messages at a time that await NATS's acknowledgement; past it the answer is 503."},
    {.flag = "dedupe-window",
     .type = OPTION_DURATION,
     FIELD(dedupe_window_ms),
     .value_name = "TIME",
     .fallback = "2m",
     .maximum = 7 * DAY_MS,
     .help = "How long repeats of a message are recognised and dropped, in streams that parley "
             "creates. 0 turns this off."},
    {.flag = "ack-timeout",
     .type = OPTION_DURATION,
     FIELD(ack_timeout_ms),
     .value_name = "TIME",
     .fallback = "10s",
     .minimum = 1,
     .maximum = DAY_MS,
     .help = "How long to wait for NATS's acknowledgement before the answer is 504."},
    {.flag = "idle-timeout",
     .type = OPTION_DURATION,
     FIELD(idle_timeout_ms),
     .value_name = "TIME",
     .fallback = "30s",
     .minimum = 1000,
     .maximum = DAY_MS,
     .help = "Close a connection on which nothing comes or goes for so long."},
};

void option_name_variable(const char *flag, char out[64]) {
    const int length = snprintf(out, 64, "PARLEY_%s", flag);
    for (int i = 0; i < length; i++) {
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
    }
}

/* ---- values as text ---- */

static bool read_switch(const char *text, bool *out) {
    *out = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *out || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

bool option_assign(const struct option *option, const char *text,
                   struct configuration *configuration) {
    void *field = (char *)configuration + option->field;
    uint64_t number;
    int64_t duration_ms;
    switch (option->type) {
    case OPTION_TEXT:
    case OPTION_LIST:
        *(const char **)field = text;
        return text[0] != '\0';
    case OPTION_SWITCH:
        return read_switch(text, field);
    case OPTION_COUNT:
    case OPTION_SIZE:
        if (!(option->type == OPTION_COUNT ? quantity_read_count : quantity_read_size)(text,
                                                                                       &number)) {
            return false;
        }
        *(uint64_t *)field = number;
        return number >= option->minimum && number <= option->maximum;
    case OPTION_DURATION:
        if (!quantity_read_duration(text, &duration_ms)) {
            return false;
        }
        *(int64_t *)field = duration_ms;
        return duration_ms >= (int64_t)option->minimum && duration_ms <= (int64_t)option->maximum;
    }
    return false;
}

static void write_bound(struct parley_buffer *out, enum option_type type, uint64_t bound) {
    if (type == OPTION_SIZE) {
        quantity_write_size(out, bound);
    } else if (type == OPTION_DURATION) {
        quantity_write_duration(out, (int64_t)bound);
    } else {
        parley_buffer_format(out, "%" PRIu64, bound);
    }
}

void option_say_invalid(const struct option *option, const char *by, const char *text) {
    static const char *const wanted[] = {
        [OPTION_TEXT] = "a value",
        [OPTION_LIST] = "a value",
        [OPTION_SWITCH] = "true or false",
        [OPTION_COUNT] = "a whole number",
        [OPTION_SIZE] = "a number of bytes, or of k, m or g, such as 512k,",
        [OPTION_DURATION] = "a number with a unit (ms, s, m, h or d), such as 90s,",
    };
    struct parley_buffer range;
    parley_buffer_init(&range);
    if (option->maximum > 0) {
        parley_buffer_text(&range, " from ");
        write_bound(&range, option->type, option->minimum);
        parley_buffer_text(&range, " to ");
        write_bound(&range, option->type, option->maximum);
    }
    parley_buffer_char(&range, '\0');
    terminal_error("%s wants %s%s, not '%s'", by, wanted[option->type],
                   range.has_failed ? "" : range.data, text);
    parley_buffer_finish(&range);
}

/* ---- values as JSON ---- */

static bool write_file_value(enum option_type type, const json_t *value,
                             struct parley_buffer *out) {
    const bool takes_string = type == OPTION_TEXT || type == OPTION_LIST || type == OPTION_SIZE ||
                              type == OPTION_DURATION;
    /* A duration without a unit means nothing, but none at all needs no unit. */
    const bool takes_integer = type == OPTION_COUNT || type == OPTION_SIZE ||
                               (type == OPTION_DURATION && json_integer_value(value) == 0);
    if (json_is_string(value) && takes_string) {
        parley_buffer_text(out, json_string_value(value));
    } else if (json_is_integer(value) && takes_integer && json_integer_value(value) >= 0) {
        parley_buffer_format(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_boolean(value) && type == OPTION_SWITCH) {
        parley_buffer_text(out, json_is_true(value) ? "true" : "false");
    } else {
        return false;
    }
    return true;
}

static bool write_items(const json_t *array, struct parley_buffer *out) {
    size_t index;
    json_t *item;
    json_array_foreach(array, index, item) {
        if (!json_is_string(item)) {
            return false;
        }
        parley_buffer_text(out, index > 0 ? "," : "");
        parley_buffer_text(out, json_string_value(item));
    }
    return true;
}

bool option_read_json(const struct option *option, const json_t *value, struct parley_buffer *out,
                      const char **out_wants) {
    static const char *const wanted[] = {
        [OPTION_TEXT] = "a string",
        [OPTION_LIST] = "a string, or an array of strings",
        [OPTION_SWITCH] = "true or false",
        [OPTION_COUNT] = "a whole number",
        [OPTION_SIZE] = "a number of bytes, or a string such as \"512k\"",
        [OPTION_DURATION] = "a string with a unit, such as \"90s\"",
    };
    *out_wants = wanted[option->type];
    if (option->type == OPTION_LIST && json_is_array(value)) {
        return write_items(value, out);
    }
    return write_file_value(option->type, value, out);
}

void option_write_json(const struct option *option, const struct configuration *configuration,
                       struct parley_buffer *out) {
    const void *field = (const char *)configuration + option->field;
    const char *text;
    switch (option->type) {
    case OPTION_TEXT:
    case OPTION_LIST:
        text = *(const char *const *)field;
        if (text == NULL) {
            parley_buffer_text(out, "null");
        } else {
            parley_buffer_json(out, parley_bytes_of(text));
        }
        break;
    case OPTION_SWITCH:
        parley_buffer_text(out, *(const bool *)field ? "true" : "false");
        break;
    case OPTION_COUNT:
        parley_buffer_format(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case OPTION_SIZE:
        parley_buffer_char(out, '"');
        quantity_write_size(out, *(const uint64_t *)field);
        parley_buffer_char(out, '"');
        break;
    case OPTION_DURATION:
        parley_buffer_char(out, '"');
        quantity_write_duration(out, *(const int64_t *)field);
        parley_buffer_char(out, '"');
        break;
    }
}
