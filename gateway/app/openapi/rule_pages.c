/* SPDX-License-Identifier: Apache-2.0 */

#include "rule_pages.h"

#include <parley/protocol.h>

#include "contract_files.h"
#include "describe.h"
#include "page.h"
#include "problem.h"

struct subject {
    const struct parley_rule *rule;
    const struct parley_protocol *protocol; /* NULL: of every protocol */
};

/* ---- examples ---- */

/* A message that breaks a rule, and the same one after following the hint. */
struct example {
    struct parley_bytes protocol, query, broken, corrected;
};

static struct parley_bytes next_field(struct parley_bytes *line) {
    const char *tab = memchr(line->data, '\t', line->length);
    const size_t length = tab != NULL ? (size_t)(tab - line->data) : line->length;
    const struct parley_bytes field = {line->data, length};
    const size_t taken = tab != NULL ? length + 1 : length;
    *line = (struct parley_bytes){line->data + taken, line->length - taken};
    return field;
}

/* Returns: false: no line of JSON breaks this rule alone (it is about MessagePack, sizes, or who
 * sends). */
static bool find_example(const char *id, struct example *out) {
    struct parley_bytes rest = contract_rule_examples();
    while (rest.length > 0) {
        const char *end = memchr(rest.data, '\n', rest.length);
        const size_t length = end != NULL ? (size_t)(end - rest.data) : rest.length;
        struct parley_bytes line = {rest.data, length};
        rest = (struct parley_bytes){rest.data + length + (end != NULL),
                                     rest.length - length - (end != NULL)};
        if (!parley_bytes_equal(next_field(&line), parley_bytes_of(id))) {
            continue;
        }
        out->protocol = next_field(&line);
        out->query = next_field(&line);
        out->broken = next_field(&line);
        out->corrected = line;
        return true;
    }
    return false;
}

/* ---- HTML ---- */

static void write_code(struct parley_buffer *out, const char *before, struct parley_bytes text) {
    parley_buffer_format(out, "<p>%s</p>\n<pre><code>", before);
    page_text(out, text);
    parley_buffer_text(out, "</code></pre>\n");
}

static void write_places(struct parley_buffer *out, const struct parley_rule *rule) {
    parley_buffer_text(out, "<h2>Where</h2>\n<ul>\n");
    for (size_t i = 0; i < rule->place_count; i++) {
        const char *path = describe_rule_path(rule, i);
        if (path == NULL) {
            continue;
        }
        parley_buffer_text(out, "<li><code>");
        page_text(out, parley_bytes_of(path[0] != '\0' ? path : "the whole message"));
        parley_buffer_text(out, "</code></li>\n");
    }
    parley_buffer_text(out,
                       rule->place_count == 0 ? "<li>the whole message</li>\n</ul>\n" : "</ul>\n");
}

static void write_hints(struct parley_buffer *out, const struct parley_rule *rule) {
    struct parley_buffer hints;
    parley_buffer_init(&hints);
    describe_rule_hints(&hints, rule, " ");
    parley_buffer_char(&hints, '\0');
    parley_buffer_text(out, "<h2>What to do</h2>\n<p>");
    page_prose(out, hints.has_failed ? "" : hints.data);
    parley_buffer_text(out, "</p>\n");
    out->has_failed |= hints.has_failed;
    parley_buffer_finish(&hints);
}

static void write_example(struct parley_buffer *out, const struct parley_rule *rule) {
    struct example example;
    parley_buffer_text(out, "<h2>Example</h2>\n");
    if (!find_example(rule->id, &example)) {
        parley_buffer_text(out, "<p>No message in JSON shows it: it depends on the encoding, on a "
                                "limit, on who sends, or on earlier messages.</p>\n");
        return;
    }
    write_code(out, "This message breaks it:", example.broken);
    if (example.query.length > 0) {
        write_code(out, "… sent with the query options", example.query);
    }
    write_code(out, "This one does not:", example.corrected);
}

static void write_links(struct parley_buffer *out, const struct subject *subject) {
    parley_buffer_text(out, "<p><a href=\"/rules\">All rules</a>");
    if (subject->protocol != NULL) {
        const char *name = subject->protocol->name;
        parley_buffer_format(out,
                             ", <a href=\"/v1/protocols/%s/schema\">the schema</a> and "
                             "<a href=\"/v1/protocols/%s/examples\">examples</a> of %s",
                             name, name, name);
    }
    parley_buffer_format(out, ". The rule is explained in parley's <code>%s</code>.</p>\n",
                         subject->rule->source);
}

static void write_html(struct parley_buffer *out, const void *context) {
    const struct subject *subject = context;
    const struct parley_rule *rule = subject->rule;
    parley_buffer_format(out, "<h1>%s</h1>\n<h2>What must hold</h2>\n<p>", rule->id);
    page_prose(out, rule->summary);
    parley_buffer_format(out, ".</p>\n<p>%s</p>\n",
                         rule->severity == PARLEY_ERROR
                             ? "A message that breaks this rule is invalid."
                             : "This is a warning: the message is valid all the same.");
    write_places(out, rule);
    write_hints(out, rule);
    write_example(out, rule);
    write_links(out, subject);
}

/* ---- JSON ---- */

static void write_bytes(struct json_writer *json, const char *key, struct parley_bytes text) {
    struct parley_buffer value;
    parley_buffer_init(&value);
    parley_buffer_json(&value, text);
    json_raw(json, key, parley_buffer_bytes(&value));
    json->out->has_failed |= value.has_failed;
    parley_buffer_finish(&value);
}

static void write_example_json(struct json_writer *json, const struct parley_rule *rule) {
    struct example example;
    if (!find_example(rule->id, &example)) {
        json_raw(json, "example", PARLEY_BYTES("null"));
        return;
    }
    json_open(json, "example", '{');
    write_bytes(json, "protocol", example.protocol);
    write_bytes(json, "query", example.query);
    write_bytes(json, "broken", example.broken);
    write_bytes(json, "corrected", example.corrected);
    json_close(json, '}');
}

static void write_links_json(struct json_writer *json, const struct parley_protocol *protocol) {
    json_open(json, "links", '{');
    json_text(json, "rules", "/rules");
    if (protocol != NULL) {
        json_link(json, "protocol", "/v1/protocols/", protocol->name, "");
        json_link(json, "schema", "/v1/protocols/", protocol->name, "/schema");
        json_link(json, "validate", "/v1/", protocol->name, "/validate");
    }
    json_close(json, '}');
}

static void write_json(struct json_writer *json, const void *context) {
    const struct subject *subject = context;
    struct parley_buffer rule;
    parley_buffer_init(&rule);
    describe_rule(&rule, subject->rule);
    json_open(json, NULL, '{');
    json_members(json, parley_buffer_bytes(&rule));
    write_example_json(json, subject->rule);
    write_links_json(json, subject->protocol);
    json_close(json, '}');
    json->out->has_failed |= rule.has_failed;
    parley_buffer_finish(&rule);
}

/* ---- one ---- */

static const struct parley_rule *find(const struct parley_rule *rules, size_t count,
                                      const char *id) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rules[i].id, id) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

void rule_pages_serve(struct http_request *request, const char *id) {
    struct subject subject = {.rule = find(parley_gateway_rules, PARLEY_GW_COUNT, id)};
    for (size_t i = 0; subject.rule == NULL && parley_protocols[i] != NULL; i++) {
        subject.protocol = parley_protocols[i];
        subject.rule = find(subject.protocol->rules, subject.protocol->rule_count, id);
    }
    if (subject.rule == NULL) {
        problem_respond(request, PROBLEM_NOT_FOUND,
                        "There is no rule with this id; /rules lists them.");
        return;
    }
    page_serve(request, id, write_html, write_json, &subject);
}

/* ---- all ---- */

static void write_rows(struct parley_buffer *out, const char *title,
                       const struct parley_rule *rules, size_t count) {
    parley_buffer_format(out, "<h2>%s</h2>\n<ul>\n", title);
    for (size_t i = 0; i < count; i++) {
        parley_buffer_format(out, "<li><a href=\"/rules/%s\">%s</a>, %s: ", rules[i].id,
                             rules[i].id, parley_severity_name(rules[i].severity));
        page_prose(out, rules[i].summary);
        parley_buffer_text(out, "</li>\n");
    }
    parley_buffer_text(out, "</ul>\n");
}

static void write_list_html(struct parley_buffer *out, const void *subject) {
    (void)subject;
    parley_buffer_text(out, "<h1>Rules</h1>\n");
    write_rows(out, describe_gateway_title, parley_gateway_rules, PARLEY_GW_COUNT);
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        write_rows(out, protocol->title, protocol->rules, protocol->rule_count);
    }
}

static void write_list_json(struct json_writer *json, const void *subject) {
    (void)subject;
    describe_rules(json->out, NULL);
}

void rule_pages_serve_list(struct http_request *request) {
    page_serve(request, "rules", write_list_html, write_list_json, NULL);
}
