/* SPDX-License-Identifier: Apache-2.0 */

/* The options of a reading request, one row of a table each. It deliberately does not know which
 * streams there are: whether a token or a sequence fits the streams that are read is for
 * streams.c to say. */

#include "stream_query.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "text.h"

enum { NS_A_MS = 1000000, NS_A_SECOND = 1000000000 };

/* ---- numbers and times ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Reads decimal digits from the front of *text.  Returns: false without any, or past 64 bits. */
static bool take_number(struct parley_bytes *text, uint64_t *out) {
    uint64_t value = 0;
    size_t count = 0;
    for (; count < text->length && is_digit(text->data[count]); count++) {
        uint64_t digit = (uint64_t)(text->data[count] - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    text->data += count;
    text->length -= count;
    *out = value;
    return count > 0;
}

/* Reads exactly `count` digits. */
static bool take_digits(struct parley_bytes *text, size_t count, int *out) {
    if (text->length < count) {
        return false;
    }
    struct parley_bytes digits = {text->data, count};
    uint64_t value;
    if (!take_number(&digits, &value) || digits.length != 0) {
        return false;
    }
    text->data += count;
    text->length -= count;
    *out = (int)value;
    return true;
}

/* Reads one of the characters of `any`. */
static bool take_char(struct parley_bytes *text, const char *any, char *out) {
    if (text->length == 0 || text->data[0] == '\0' || strchr(any, text->data[0]) == NULL) {
        return false;
    }
    *out = text->data[0];
    text->data++;
    text->length--;
    return true;
}

static int days_of_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && is_leap ? 1 : 0);
}

static bool take_date(struct parley_bytes *text, struct tm *date) {
    char dash;
    int year, month, day;
    if (!take_digits(text, 4, &year) || !take_char(text, "-", &dash) ||
        !take_digits(text, 2, &month) || !take_char(text, "-", &dash) ||
        !take_digits(text, 2, &day)) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month)) {
        return false;
    }
    date->tm_year = year - 1900;
    date->tm_mon = month - 1;
    date->tm_mday = day;
    return true;
}

static bool take_clock(struct parley_bytes *text, struct tm *date, int64_t *out_ns) {
    char mark;
    if (!take_digits(text, 2, &date->tm_hour) || !take_char(text, ":", &mark) ||
        !take_digits(text, 2, &date->tm_min) || !take_char(text, ":", &mark) ||
        !take_digits(text, 2, &date->tm_sec)) {
        return false;
    }
    *out_ns = 0;
    if (take_char(text, ".", &mark)) {
        int64_t unit = NS_A_SECOND / 10;
        size_t count = 0;
        for (; text->length > 0 && is_digit(text->data[0]); count++, unit /= 10) {
            *out_ns += unit * (text->data[0] - '0');
            text->data++;
            text->length--;
        }
        if (count == 0) {
            return false;
        }
    }
    return date->tm_hour <= 23 && date->tm_min <= 59 && date->tm_sec <= 60;
}

static bool take_offset(struct parley_bytes *text, int64_t *out_seconds) {
    char sign, colon;
    int hours, minutes;
    *out_seconds = 0;
    if (take_char(text, "Zz", &sign)) {
        return true;
    }
    if (!take_char(text, "+- ", &sign) || !take_digits(text, 2, &hours) ||
        !take_char(text, ":", &colon) || !take_digits(text, 2, &minutes) || hours > 23 ||
        minutes > 59) {
        return false;
    }
    *out_seconds = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
    return true;
}

/* A second of 60 is there at the end of June and December, in UTC, and nowhere else. */
static bool is_leap_second(time_t seconds) {
    struct tm utc;
    time_t before = seconds - 1;
    return gmtime_r(&before, &utc) != NULL && utc.tm_hour == 23 && utc.tm_min == 59 &&
           utc.tm_sec == 59 &&
           ((utc.tm_mon == 5 && utc.tm_mday == 30) || (utc.tm_mon == 11 && utc.tm_mday == 31));
}

bool stream_time_parse(struct parley_bytes text, int64_t *out_ns) {
    struct tm date = {0};
    int64_t ns, offset;
    char mark;
    if (!take_date(&text, &date) || !take_char(&text, "Tt", &mark) ||
        !take_clock(&text, &date, &ns) || !take_offset(&text, &offset) || text.length != 0) {
        return false;
    }
    bool is_sixty = date.tm_sec == 60;
    time_t seconds = timegm(&date) - (time_t)offset;
    if (is_sixty && !is_leap_second(seconds)) {
        return false;
    }
    if (seconds < 0) {
        *out_ns = 0;
    } else if (seconds >= INT64_MAX / NS_A_SECOND) {
        *out_ns = INT64_MAX;
    } else {
        *out_ns = (int64_t)seconds * NS_A_SECOND + ns;
    }
    return true;
}

/* How long ago, as the time of then; beyond 1970 it is 1970. */
static bool parse_duration(struct parley_bytes text, int64_t now_ns, int64_t *out_ns) {
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {
        {"ms", NS_A_MS},
        {"s", NS_A_SECOND},
        {"m", INT64_C(60) * NS_A_SECOND},
        {"h", INT64_C(3600) * NS_A_SECOND},
        {"d", INT64_C(86400) * NS_A_SECOND},
    };
    uint64_t count;
    if (!take_number(&text, &count)) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (parley_bytes_equal(text, parley_bytes_of(units[i].name))) {
            bool is_ancient = count > (uint64_t)(now_ns / units[i].ns);
            *out_ns = is_ancient ? 0 : now_ns - (int64_t)count * units[i].ns;
            return true;
        }
    }
    return false;
}

/* ---- tokens ---- */

struct parley_bytes stream_list_next(const char **list) {
    const char *end = strchrnul(*list, ',');
    struct parley_bytes item = {*list, (size_t)(end - *list)};
    *list = *end == ',' ? end + 1 : NULL;
    return item;
}

/* Cuts a mark such as ":ahead" off. */
static bool take_mark(struct parley_bytes *text, struct parley_bytes mark) {
    if (text->length < mark.length ||
        memcmp(text->data + text->length - mark.length, mark.data, mark.length) != 0) {
        return false;
    }
    text->length -= mark.length;
    return true;
}

static bool parse_token_part(struct parley_bytes part, struct stream_token *out) {
    const char *first = memchr(part.data, ':', part.length);
    const char *last = memrchr(part.data, ':', part.length);
    if (first == NULL || first == part.data || first == last) {
        return false;
    }
    int64_t ignored;
    struct parley_bytes number = {last + 1, (size_t)(part.data + part.length - last - 1)};
    out->stream = (struct parley_bytes){part.data, (size_t)(first - part.data)};
    out->created = (struct parley_bytes){first + 1, (size_t)(last - first - 1)};
    out->is_ahead = take_mark(&out->created, PARLEY_BYTES(":ahead"));
    out->is_reviewed = !out->is_ahead && take_mark(&out->created, PARLEY_BYTES(":reviewed"));
    /* One less than the most, because the next one is what will be asked for. */
    return stream_time_parse(out->created, &ignored) && take_number(&number, &out->sequence) &&
           number.length == 0 && out->sequence < UINT64_MAX;
}

static bool is_token(const char *text) {
    struct stream_token token;
    while (text != NULL) {
        if (!parse_token_part(stream_list_next(&text), &token)) {
            return false;
        }
    }
    return true;
}

bool stream_token_find(const char *text, const char *stream, struct stream_token *out) {
    while (text != NULL) {
        if (parse_token_part(stream_list_next(&text), out) &&
            parley_bytes_equal(out->stream, parley_bytes_of(stream))) {
            return true;
        }
    }
    return false;
}

bool stream_place_parse(const char *text, struct stream_token *out) {
    const struct parley_bytes whole = parley_bytes_of(text);
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text) {
        return false;
    }
    struct parley_bytes number = parley_bytes_of(colon + 1);
    *out = (struct stream_token){.stream = {text, (size_t)(colon - text)}};
    const bool is_number = take_number(&number, &out->sequence) && number.length == 0;
    return is_number ? out->sequence > 0 && out->sequence < UINT64_MAX
                     : parse_token_part(whole, out);
}

bool stream_list_has(const char *list, struct parley_bytes value) {
    while (list != NULL) {
        if (parley_bytes_equal(stream_list_next(&list), value)) {
            return true;
        }
    }
    return false;
}

bool stream_list_has_caseless(const char *list, struct parley_bytes value) {
    while (list != NULL) {
        const struct parley_bytes item = stream_list_next(&list);
        if (item.length == value.length && strncasecmp(item.data, value.data, item.length) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- options ---- */

static bool set_since(struct stream_query *query, const char *value, int64_t now_ns) {
    struct parley_bytes text = parley_bytes_of(value), rest = text;
    if (strcmp(value, "now") == 0) {
        query->since = STREAM_SINCE_NOW;
        return true;
    }
    if (strcmp(value, "all") == 0) {
        query->since = STREAM_SINCE_ALL;
        return true;
    }
    if (take_number(&rest, &query->sequence) && rest.length == 0) {
        query->since = STREAM_SINCE_SEQUENCE;
        return query->sequence > 0;
    }
    if (stream_time_parse(text, &query->time_ns) || parse_duration(text, now_ns, &query->time_ns)) {
        query->since = STREAM_SINCE_TIME;
        query->is_future = query->time_ns > now_ns;
        return true;
    }
    query->since = STREAM_SINCE_TOKEN;
    query->token = value;
    return is_token(value);
}

static bool set_follow(struct stream_query *query, const char *value, int64_t now_ns) {
    (void)now_ns;
    query->is_ending = strcmp(value, "false") == 0;
    return query->is_ending || strcmp(value, "true") == 0;
}

static bool set_limit(struct stream_query *query, const char *value, int64_t now_ns) {
    (void)now_ns;
    struct parley_bytes text = parley_bytes_of(value);
    return take_number(&text, &query->limit) && text.length == 0 && query->limit > 0;
}

static bool set_envelope(struct stream_query *query, const char *value, int64_t now_ns) {
    (void)now_ns;
    query->is_bare = strcmp(value, "none") == 0;
    return query->is_bare;
}

static bool set_reviewed(struct stream_query *query, const char *value, int64_t now_ns) {
    (void)now_ns;
    query->is_reviewed = strcmp(value, "true") == 0;
    return query->is_reviewed || strcmp(value, "false") == 0;
}

static bool is_filled(struct parley_bytes item) {
    return item.length > 0;
}

#define TEXT "{\"type\":\"string\"}"
#define LIST_OF(items)                                                                             \
    "{\"type\":\"array\",\"items\":{\"type\":\"string\"," items "},\"minItems\":1}"
#define LIST LIST_OF("\"minLength\":1")

static const struct option {
    struct parley_option_help help;
    bool (*set)(struct stream_query *query, const char *value, int64_t now_ns);
    enum stream_filter filter;                 /* without a `set` */
    bool is_about_reviews;                     /* only protocols that have them have a use for it */
    bool (*is_item)(struct parley_bytes item); /* of a filter's list; NULL: any that is not empty */
} options[] = {
    {.help = {"since",
              "Where to begin: `now` (default), `all`, a sequence number (of one protocol, "
              "inclusive), an RFC 3339 time of storage, a duration before now, such as `15m`, or "
              "the `resume` of an event (exclusive).",
              "now, all, a sequence number from 1 on, an RFC 3339 time, a duration such as 15m "
              "(ms, s, m, h or d), or the resume token of an event",
              TEXT},
     .set = set_since},
    {.help = {"follow", "`false` ends the response after the last message that is stored now.",
              "true or false", "{\"type\":\"boolean\"}"},
     .set = set_follow},
    {.help = {"limit", "Ends the response after so many events.", "an integer of 1 or more",
              "{\"type\":\"integer\",\"minimum\":1}"},
     .set = set_limit},
    {.help = {"envelope",
              "`none`: the bare messages, one per line, and a blank line in place of parley.open "
              "and parley.keepalive.",
              "none, for the bare messages; without this option they come as CloudEvents",
              "{\"type\":\"string\",\"enum\":[\"none\"]}"},
     .set = set_envelope},
    {.help = {"reviewed",
              "`true`: also the messages that people approve, each at the moment of its approval, "
              "with `reviewed`; of the filters, `lane` is not asked of them.",
              "true or false", "{\"type\":\"boolean\"}"},
     .set = set_reviewed,
     .is_about_reviews = true},
    {.help = {"type", "Only these types, such as `claim` or `vlp.claim`.",
              "comma-separated types, such as claim or vlp.claim", LIST},
     .filter = STREAM_FILTER_TYPE},
    {.help = {"lane", "Only these lanes.", "comma-separated lanes", LIST},
     .filter = STREAM_FILTER_LANE},
    {.help = {"sender", "Only from these senders.", "comma-separated senders", LIST},
     .filter = STREAM_FILTER_SENDER},
    {.help = {"receiver", "Only to these receivers.", "comma-separated receivers", LIST},
     .filter = STREAM_FILTER_RECEIVER},
    {.help = {"thread", "Only of these threads: sessions, conversations, requests.",
              "comma-separated threads", LIST},
     .filter = STREAM_FILTER_THREAD},
    {.help = {"for", "Only what is addressed to one of these agents, or to no agent.",
              "comma-separated agents: messages addressed to one of them, or to no agent", LIST},
     .filter = STREAM_FILTER_FOR},
    {.help = {"domain", "Only requests, results and failures of these domains.",
              "comma-separated domains, each 1 to 128 of A-Z a-z 0-9 _ -; only messages whose "
              "subject has a domain match",
              LIST_OF("\"pattern\":\"^[A-Za-z0-9_-]{1,128}$\"")},
     .filter = STREAM_FILTER_DOMAIN,
     .is_item = text_is_domain},
    {.help = {"priority", "Only these priorities.",
              "comma-separated priorities, such as high,critical", LIST},
     .filter = STREAM_FILTER_PRIORITY},
    {.help = {"agent", "Only messages of these agents.",
              "comma-separated agents, each 1 to 64 of A-Z a-z 0-9 _ -, the first a letter or a "
              "digit; messages that name no agent (`_`) are nobody's",
              LIST_OF("\"pattern\":\"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$\"")},
     .filter = STREAM_FILTER_AGENT,
     .is_item = text_is_agent},
};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static bool set_filter(struct stream_query *query, const struct option *option, const char *value) {
    bool (*is_item)(struct parley_bytes) = option->is_item != NULL ? option->is_item : is_filled;
    stream_query_filter(query, option->filter, value);
    while (value != NULL) {
        if (!is_item(stream_list_next(&value))) {
            return false;
        }
    }
    return true;
}

const char *const stream_query_names[] = {"since",    "follow",   "limit",    "type",     "lane",
                                          "sender",   "receiver", "for",      "thread",   "domain",
                                          "priority", "agent",    "reviewed", "envelope", NULL};

/* An option of other endpoints and other protocols. */
static bool is_elsewhere(const char *name) {
    return strcmp(name, "results") == 0 || strcmp(name, "emit") == 0 ||
           parley_option_help(NULL, name) != NULL;
}

static const struct option *find_option(const char *name) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(options[i].help.name, name) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

const struct parley_option_help *stream_query_help(const char *name) {
    const struct option *option = find_option(name);
    return option != NULL ? &option->help : NULL;
}

bool stream_query_is_filter(const char *name) {
    const struct option *option = find_option(name);
    return option != NULL && option->set == NULL;
}

bool stream_query_concerns_refused(const char *name) {
    const struct option *option = find_option(name);
    return option != NULL && option->set != NULL && !option->is_about_reviews;
}

bool stream_query_concerns(const char *name, const struct parley_protocol *protocol) {
    const struct option *option = find_option(name);
    if (option == NULL || protocol == NULL) {
        return option != NULL;
    }
    if (option->set != NULL) {
        return !option->is_about_reviews || protocol->reviews != NULL;
    }
    switch (option->filter) {
    case STREAM_FILTER_LANE:
        return protocol->lanes != NULL;
    case STREAM_FILTER_RECEIVER:
    case STREAM_FILTER_FOR:
        return protocol->has_receivers;
    case STREAM_FILTER_PRIORITY:
        return protocol->priorities != NULL;
    case STREAM_FILTER_DOMAIN:
        return protocol->has_domains;
    case STREAM_FILTER_AGENT:
        return protocol->sender_field == NULL;
    default:
        return true;
    }
}

void stream_query_init(struct stream_query *query) {
    *query = (struct stream_query){.since = STREAM_SINCE_NOW, .limit = UINT64_MAX};
}

enum stream_query_result stream_query_set(struct stream_query *query, const char *name,
                                          const char *value, int64_t now_ns,
                                          const char **out_wants) {
    const struct option *option = find_option(name);
    if (option != NULL) {
        *out_wants = option->help.wants;
        bool is_valid = option->set != NULL ? option->set(query, value, now_ns)
                                            : set_filter(query, option, value);
        return is_valid ? STREAM_QUERY_SET : STREAM_QUERY_INVALID;
    }
    return is_elsewhere(name) ? STREAM_QUERY_IGNORED : STREAM_QUERY_UNKNOWN;
}

enum stream_query_result stream_query_set_last_event(struct stream_query *query, const char *value,
                                                     const char **out_wants) {
    *out_wants = "the resume token of an event, which is the id of a server-sent event";
    if (value[0] == '\0') {
        return STREAM_QUERY_IGNORED; /* an event source that has seen no event yet */
    }
    query->since = STREAM_SINCE_TOKEN;
    query->token = value;
    return is_token(value) ? STREAM_QUERY_SET : STREAM_QUERY_INVALID;
}
