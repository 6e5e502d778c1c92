/* SPDX-License-Identifier: Apache-2.0 */

/* The conformance runner: asks for the verdict on each case of a file, or the verdicts on the many
 * messages of its body, from libparley in this process or, with --url, from a running server, and
 * compares rule ids, order, path and place. It also asks that every rule has a failing case, a
 * passing one, one whose place is checked, and one in which doing what the hint says mends the
 * message.
 *
 *   run [--url http://127.0.0.1:PORT] [--filter TEXT] FILE…
 *
 * A case is a line of JSON (tests/conformance/README.md). */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <parley/message.h>
#include <parley/splitter.h>

struct runner {
    int port; /* 0: in this process */
    const char *filter;
    size_t run_count, failed_count;
    json_t *failing, *passing, *placed, *mended; /* sets of rule ids */
};

/* ---- the two ways to verdicts; both return an array to be released: one a message ---- */

static void set_options(struct parley_options *options, const struct parley_protocol *protocol,
                        char *query) {
    for (char *pair = strtok(query, "&"); pair != NULL; pair = strtok(NULL, "&")) {
        char *equals = strchr(pair, '=');
        const char *wants;
        *equals = '\0';
        if (parley_options_set(options, protocol, pair, equals + 1, &wants) != PARLEY_OPTION_SET) {
            fprintf(stderr, "no such option: %s\n", pair);
            exit(2);
        }
    }
}

/* What the library or a server is asked for. */
struct question {
    const char *protocol, *media_type, *query;
    struct parley_bytes body;
    bool is_many, is_stored;
};

/* Made once, and kept for the next cases. */
static struct parley_schema *schema_of(const struct parley_protocol *protocol) {
    static struct parley_schema *schemas[16];
    size_t i = 0;
    while (parley_protocols[i] != protocol) {
        i++;
    }
    if (i >= sizeof schemas / sizeof schemas[0] ||
        (schemas[i] == NULL && parley_schema_create(protocol, &schemas[i]) != PARLEY_OK)) {
        fprintf(stderr, "there is no schema of %s\n", protocol->name);
        exit(2);
    }
    return schemas[i];
}

/* What a body is checked with in this process. */
struct library {
    struct parley_message message;
    const struct parley_codec *codec;
    struct parley_options options;
    struct parley_splitter splitter;
    json_t *verdicts;
};

/* What would be published, as the member `payload`. */
static void add_payload(struct parley_message *message, json_t *verdict) {
    struct parley_buffer payload;
    parley_buffer_init(&payload);
    if (parley_message_is_valid(message) &&
        message->protocol->encode(message, &payload) != PARLEY_OK) {
        payload.length = 0;
    }
    json_object_set_new(verdict, "payload", json_stringn(payload.data, payload.length));
    parley_buffer_finish(&payload);
}

static void add_verdict(struct library *library, enum parley_split split,
                        const struct parley_slice *slice) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_char(&out, '{');
    if (parley_splitter_check(&library->splitter, split, slice, &library->message, library->codec,
                              &library->options) == PARLEY_OK &&
        parley_message_write_verdict(&library->message, &out) == PARLEY_OK) {
        parley_buffer_char(&out, '}');
        json_t *verdict = json_loadb(out.data, out.length, JSON_ALLOW_NUL, NULL);
        add_payload(&library->message, verdict);
        json_array_append_new(library->verdicts, verdict);
    }
    parley_buffer_finish(&out);
}

static void add_verdicts(struct library *library, struct parley_bytes body) {
    struct parley_slice slice;
    enum parley_split split;
    while ((split = parley_splitter_next(&library->splitter, &body, &slice)) != PARLEY_SPLIT_MORE) {
        add_verdict(library, split, &slice);
    }
    while ((split = parley_splitter_end(&library->splitter, &slice)) != PARLEY_SPLIT_END) {
        add_verdict(library, split, &slice);
    }
}

static json_t *ask_library(const struct question *asked) {
    const struct parley_protocol *protocol = parley_protocol_find(parley_bytes_of(asked->protocol));
    char now[32];
    const time_t now_seconds = time(NULL); /* as a server has it: cases are far past or far ahead */
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now_seconds));
    struct library library = {.codec =
                                  parley_codec_find(protocol, parley_bytes_of(asked->media_type)),
                              .options = {.now = now,
                                          .now_seconds = now_seconds,
                                          .has_object = asked->is_stored,
                                          .has_spelling = !asked->is_stored,
                                          .fresh_id = "0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b"},
                              .verdicts = json_array()};
    char *options_text = strdup(asked->query);
    set_options(&library.options, protocol, options_text);
    if (library.codec == NULL) {
        fprintf(stderr, "%s does not know %s\n", protocol->name, asked->media_type);
        exit(2);
    }
    parley_message_init(&library.message, schema_of(protocol));
    parley_splitter_init(&library.splitter,
                         asked->is_many ? library.codec->framing : PARLEY_FRAMING_WHOLE,
                         protocol->message_bytes_max);
    if (asked->is_many) {
        add_verdicts(&library, asked->body);
    } else {
        add_verdict(&library, PARLEY_SPLIT_MESSAGE,
                    &(struct parley_slice){.bytes = asked->body, .origin = {1, 1}});
    }
    parley_splitter_finish(&library.splitter);
    parley_message_finish(&library.message);
    free(options_text);
    return library.verdicts;
}

static bool send_all(int fd, const char *data, size_t length) {
    while (length > 0) {
        const ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        data += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* One verdict, or one a line and then the summary. */
static json_t *read_verdicts(const char *text, bool is_many) {
    json_t *verdicts = json_array();
    for (bool has_ended = false; text != NULL && *text != '\0' && !has_ended;) {
        const char *end = is_many ? strchrnul(text, '\n') : text + strlen(text);
        json_t *verdict = json_loadb(text, (size_t)(end - text), JSON_ALLOW_NUL, NULL);
        has_ended = verdict == NULL || json_object_get(verdict, "summary") != NULL;
        if (has_ended) {
            json_decref(verdict);
        } else {
            json_array_append_new(verdicts, verdict);
        }
        text = end + (*end != '\0');
    }
    return verdicts;
}

static json_t *ask_server(int port, const struct question *asked) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char head[1024];
    const int head_length =
        snprintf(head, sizeof head,
                 "POST /v1/%s/validate?%s HTTP/1.0\r\nHost: localhost\r\nContent-Type: %s\r\n"
                 "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                 asked->protocol, asked->query, asked->media_type, asked->body.length);
    struct parley_buffer answer;
    parley_buffer_init(&answer);
    json_t *verdicts = NULL;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        send_all(fd, head, (size_t)head_length) &&
        send_all(fd, asked->body.data, asked->body.length)) {
        char piece[65536];
        for (ssize_t got; (got = recv(fd, piece, sizeof piece, 0)) > 0;) {
            parley_buffer_append(&answer, (struct parley_bytes){piece, (size_t)got});
        }
        parley_buffer_char(&answer, '\0');
        const char *start = strstr(answer.data, "\r\n\r\n");
        verdicts = read_verdicts(start == NULL ? "" : start + 4, asked->is_many);
    }
    close(fd);
    parley_buffer_finish(&answer);
    return verdicts != NULL ? verdicts : json_array();
}

/* ---- cases ---- */

/* Decodes base64; returns the length. */
static size_t decode_base64(const char *text, char *out) {
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = 0;
    unsigned bits = 0, value = 0;
    for (; *text != '\0' && *text != '='; text++) {
        value = value << 6 | (unsigned)(strchr(alphabet, *text) - alphabet);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[length++] = (char)(value >> bits & 255);
        }
    }
    return length;
}

/* `body_repeat`: prefix + unit * count + suffix. */
static void repeat(json_t *form, struct parley_buffer *out) {
    parley_buffer_text(out, json_string_value(json_object_get(form, "prefix")));
    const char *unit = json_string_value(json_object_get(form, "unit"));
    for (json_int_t i = json_integer_value(json_object_get(form, "count")); i > 0; i--) {
        parley_buffer_text(out, unit);
    }
    parley_buffer_text(out, json_string_value(json_object_get(form, "suffix")));
}

/* Read again as parley stored it, which no server is asked for. */
static bool is_stored(json_t *test) {
    return json_is_true(json_object_get(test, "is_stored"));
}

/* Verdicts on the body of a case: more than one where it expects lines. */
static json_t *ask(const struct runner *runner, json_t *test, const char *body_key) {
    json_t *body = json_object_get(test, body_key);
    const char *base64 = json_string_value(json_object_get(test, "body_base64"));
    struct parley_buffer made;
    parley_buffer_init(&made);
    if (body == NULL && base64 != NULL && parley_buffer_reserve(&made, strlen(base64) + 1)) {
        made.length = decode_base64(base64, made.data);
    } else if (body == NULL) {
        repeat(json_object_get(test, "body_repeat"), &made);
    }
    const struct question asked = {
        .protocol = json_string_value(json_object_get(test, "protocol")),
        .media_type = json_string_value(json_object_get(test, "media_type")),
        .query = json_string_value(json_object_get(test, "query")),
        .body = body != NULL
                    ? (struct parley_bytes){json_string_value(body), json_string_length(body)}
                    : parley_buffer_bytes(&made),
        .is_many = json_object_get(json_object_get(test, "expect"), "lines") != NULL,
        .is_stored = is_stored(test)};
    json_t *verdicts = runner->port == 0 ? ask_library(&asked) : ask_server(runner->port, &asked);
    parley_buffer_finish(&made);
    return verdicts;
}

static void add(json_t *set, const char *rule) {
    json_object_set_new(set, rule, json_true());
}

/* The set of the ids of one severity, as sorted text; notes them as failing. */
static char *ids_of(json_t *violations, const char *severity) {
    json_t *ids = json_object();
    size_t i;
    json_t *violation;
    json_array_foreach(violations, i, violation) {
        const char *found = json_string_value(json_object_get(violation, "severity"));
        if (found != NULL && strcmp(found, severity) == 0) {
            add(ids, json_string_value(json_object_get(violation, "rule")));
        }
    }
    char *text = json_dumps(ids, JSON_SORT_KEYS | JSON_COMPACT);
    json_decref(ids);
    return text;
}

static char *expected_ids(struct runner *runner, json_t *list) {
    json_t *ids = json_object();
    size_t i;
    json_t *id;
    json_array_foreach(list, i, id) {
        add(ids, json_string_value(id));
        add(runner->failing, json_string_value(id));
    }
    char *text = json_dumps(ids, JSON_SORT_KEYS | JSON_COMPACT);
    json_decref(ids);
    return text;
}

static bool differs(const char *name, const char *what, const char *wanted, const char *got) {
    if (strcmp(wanted, got) == 0) {
        return false;
    }
    printf("not ok  %s: %s\n    wanted %s\n    got    %s\n", name, what, wanted, got);
    return true;
}

static size_t rule_index(const struct parley_protocol *protocol, const char *id) {
    for (size_t i = 0; i < protocol->rule_count; i++) {
        if (strcmp(protocol->rules[i].id, id) == 0) {
            return i;
        }
    }
    return 0; /* a GW rule stands alone */
}

static bool is_out_of_order(const struct parley_protocol *protocol, const char *name,
                            json_t *violations) {
    size_t i, last = 0;
    json_t *violation;
    json_array_foreach(violations, i, violation) {
        const size_t index =
            rule_index(protocol, json_string_value(json_object_get(violation, "rule")));
        if (index < last) {
            printf("not ok  %s: violations are not in the order of the rule table\n", name);
            return true;
        }
        last = index;
    }
    return false;
}

/* Each wanted place {rule, path, at} must be among the violations, member for member. */
static bool misses_place(struct runner *runner, const char *name, json_t *places,
                         json_t *violations) {
    size_t i, j;
    json_t *place, *violation;
    json_array_foreach(places, i, place) {
        bool is_found = false;
        json_array_foreach(violations, j, violation) {
            bool fits = true;
            const char *key;
            json_t *value;
            json_object_foreach(place, key, value) {
                fits = fits && json_equal(value, json_object_get(violation, key));
            }
            is_found = is_found || fits;
        }
        add(runner->placed, json_string_value(json_object_get(place, "rule")));
        if (!is_found) {
            char *wanted = json_dumps(place, JSON_COMPACT);
            char *got = json_dumps(violations, JSON_COMPACT);
            differs(name, "place", wanted, got);
            free(wanted);
            free(got);
            return true;
        }
    }
    return false;
}

/* A server does not say it. */
static bool differs_in_payload(const char *name, json_t *wanted, json_t *payload) {
    return wanted != NULL && payload != NULL &&
           differs(name, "payload", json_string_value(wanted), json_string_value(payload));
}

static void note_mended(struct runner *runner, json_t *expect) {
    static const char *const severities[] = {"errors", "warnings"};
    for (size_t k = 0; k < 2; k++) {
        size_t i;
        json_t *id;
        json_array_foreach(json_object_get(expect, severities[k]), i, id) {
            add(runner->mended, json_string_value(id));
        }
    }
}

/* Doing what the hints say must leave none of the rules broken that the case is about. */
static bool is_not_mended(struct runner *runner, json_t *test, const char *name) {
    if (json_object_get(test, "mended") == NULL) {
        return false;
    }
    json_t *verdicts = ask(runner, test, "mended");
    bool is_mended = json_array_size(verdicts) > 0;
    size_t i;
    json_t *verdict;
    json_array_foreach(verdicts, i, verdict) {
        json_t *violations = json_object_get(verdict, "violations");
        is_mended = is_mended && violations != NULL && json_array_size(violations) == 0;
    }
    if (!is_mended) {
        char *left = json_dumps(verdicts, JSON_COMPACT);
        printf("not ok  %s: the mended message is not right\n    got    %s\n", name, left);
        free(left);
    }
    json_decref(verdicts);
    note_mended(runner, json_object_get(test, "expect"));
    return !is_mended;
}

static bool is_unexpected(struct runner *runner, const struct parley_protocol *protocol,
                          json_t *expect, json_t *verdict, const char *name) {
    json_t *violations = json_object_get(verdict, "violations");
    char *errors = ids_of(violations, "error");
    char *warnings = ids_of(violations, "warning");
    char *wanted_errors = expected_ids(runner, json_object_get(expect, "errors"));
    char *wanted_warnings = expected_ids(runner, json_object_get(expect, "warnings"));
    const bool wanted_valid = json_is_true(json_object_get(expect, "valid"));
    const bool is_valid = json_is_true(json_object_get(verdict, "valid"));
    bool has_failed =
        differs(name, "valid", wanted_valid ? "true" : "false", is_valid ? "true" : "false");
    has_failed |= differs(name, "errors", wanted_errors, errors);
    has_failed |= differs(name, "warnings", wanted_warnings, warnings);
    has_failed |= is_out_of_order(protocol, name, violations);
    has_failed |= differs_in_payload(name, json_object_get(expect, "payload"),
                                     json_object_get(verdict, "payload"));
    has_failed |= misses_place(runner, name, json_object_get(expect, "places"), violations);
    for (size_t i = 0; i < protocol->rule_count; i++) {
        if (strstr(errors, protocol->rules[i].id) == NULL &&
            strstr(warnings, protocol->rules[i].id) == NULL) {
            add(runner->passing, protocol->rules[i].id);
        }
    }
    free(errors);
    free(warnings);
    free(wanted_errors);
    free(wanted_warnings);
    return has_failed;
}

/* A case expects one verdict, or `lines`, a list of them. */
static bool fails(struct runner *runner, json_t *test, const char *name) {
    const struct parley_protocol *protocol =
        parley_protocol_find(parley_bytes_of(json_string_value(json_object_get(test, "protocol"))));
    json_t *expect = json_object_get(test, "expect");
    json_t *lines = json_object_get(expect, "lines");
    json_t *verdicts = ask(runner, test, "body");
    const size_t wanted = lines != NULL ? json_array_size(lines) : 1;
    const size_t count = json_array_size(verdicts);
    bool has_failed = count != wanted;
    if (has_failed) {
        printf("not ok  %s: %zu verdicts, and not %zu\n", name, count, wanted);
    }
    for (size_t i = 0; i < count && i < wanted; i++) {
        char line_name[256];
        snprintf(line_name, sizeof line_name, "%s, message %zu", name, i + 1);
        has_failed |=
            is_unexpected(runner, protocol, lines != NULL ? json_array_get(lines, i) : expect,
                          json_array_get(verdicts, i), lines != NULL ? line_name : name);
    }
    json_decref(verdicts);
    return is_not_mended(runner, test, name) || has_failed;
}

static void run_file(struct runner *runner, const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    for (ssize_t length; (length = getline(&line, &capacity, file)) > 0;) {
        json_t *test = json_loadb(line, (size_t)length, JSON_ALLOW_NUL, NULL);
        const char *name = json_string_value(json_object_get(test, "name"));
        if (name == NULL) {
            printf("not ok  %s holds a line that is no case: %s\n", path, line);
            runner->failed_count++;
        } else if ((runner->filter == NULL || strstr(name, runner->filter) != NULL) &&
                   (runner->port == 0 || !is_stored(test))) {
            runner->run_count++;
            const bool has_failed = fails(runner, test, name);
            runner->failed_count += has_failed;
            if (!has_failed) {
                printf("ok      %s\n", name);
            }
        }
        json_decref(test);
    }
    free(line);
    fclose(file);
}

static void demand(struct runner *runner, const char *rule, json_t *set, const char *what) {
    if (json_object_get(set, rule) == NULL) {
        printf("not ok  %s has no case %s\n", rule, what);
        runner->failed_count++;
    }
}

static void demand_cases(struct runner *runner) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        for (size_t j = 0; j < parley_protocols[i]->rule_count; j++) {
            const char *rule = parley_protocols[i]->rules[j].id;
            if (parley_protocols[i]->rules[j].spans_messages) {
                continue; /* no message alone breaks it: tests/decisions asks */
            }
            demand(runner, rule, runner->failing, "in which it is broken");
            demand(runner, rule, runner->passing, "in which it holds");
            demand(runner, rule, runner->placed, "that checks path and place");
            demand(runner, rule, runner->mended, "in which its hint mends the message");
        }
    }
    for (size_t i = 0; i < PARLEY_GW_COUNT; i++) {
        const char *rule = parley_gateway_rules[i].id;
        if (i == PARLEY_GW_TRANSPORT || i == PARLEY_GW_SENDER) {
            /* What NATS takes, and whose token it is, is no matter of a message:
             * tests/e2e/42_frames and 15_access ask. */
            continue;
        }
        demand(runner, rule, runner->failing, "in which it is broken");
        demand(runner, rule, runner->placed, "that checks path and place");
        demand(runner, rule, runner->mended, "in which its hint mends the message");
    }
}

int main(int argc, char **argv) {
    struct runner runner = {.failing = json_object(),
                            .passing = json_object(),
                            .placed = json_object(),
                            .mended = json_object()};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--url") == 0) {
            runner.port = atoi(strrchr(argv[at + 1], ':') + 1);
        } else if (strcmp(argv[at], "--filter") == 0) {
            runner.filter = argv[at + 1];
        }
    }
    if (at == argc) {
        fprintf(stderr, "usage: run [--url http://127.0.0.1:PORT] [--filter TEXT] FILE…\n");
        return 2;
    }
    for (; at < argc; at++) {
        run_file(&runner, argv[at]);
    }
    if (runner.filter == NULL) {
        demand_cases(&runner);
    }
    printf("%zu passed, %zu failed\n",
           runner.run_count > runner.failed_count ? runner.run_count - runner.failed_count : 0,
           runner.failed_count);
    json_decref(runner.failing);
    json_decref(runner.passing);
    json_decref(runner.placed);
    json_decref(runner.mended);
    return runner.failed_count == 0 ? 0 : 1;
}
