/* SPDX-License-Identifier: Apache-2.0 */

/* JSON, Markdown and HTML about protocols and rules. Summaries, sources and hints are Markdown in
 * the tables already, so that there only what would break a table's cell is escaped. */

#include "describe.h"

#include "index_view.h"

const char describe_gateway_title[] = "GW: every protocol";

/* ---- paths and hints of a rule's places, each once ---- */

static bool is_listed(const char *text, const struct parley_rule *rule, size_t before,
                      bool is_path) {
    for (size_t i = 0; i < before; i++) {
        const char *other = is_path ? rule->places[i].path : rule->places[i].hint;
        if (other != NULL && strcmp(other, text) == 0) {
            return true;
        }
    }
    return false;
}

const char *describe_rule_path(const struct parley_rule *rule, size_t place) {
    const char *path = rule->places[place].path;
    return is_listed(path, rule, place, true) ? NULL : path;
}

static const char *new_hint(const struct parley_rule *rule, size_t place) {
    const char *hint = rule->places[place].hint;
    return hint == NULL || is_listed(hint, rule, place, false) ? NULL : hint;
}

void describe_rule_hints(struct parley_buffer *out, const struct parley_rule *rule,
                         const char *separator) {
    parley_buffer_text(out, rule->hint != NULL ? rule->hint : "");
    bool is_first = rule->hint == NULL;
    for (size_t i = 0; i < rule->place_count; i++) {
        const char *hint = new_hint(rule, i);
        if (hint != NULL) {
            parley_buffer_text(out, is_first ? "" : separator);
            parley_buffer_text(out, hint);
            is_first = false;
        }
    }
}

/* ---- JSON ---- */

static void append_member(struct parley_buffer *out, const char *name, const char *text) {
    parley_buffer_format(out, "\"%s\":", name);
    parley_buffer_json(out, parley_bytes_of(text));
}

static void append_list(struct parley_buffer *out, const char *name, const char *const texts[]) {
    parley_buffer_format(out, ",\"%s\":", name);
    if (texts == NULL) {
        parley_buffer_text(out, "null");
        return;
    }
    parley_buffer_char(out, '[');
    for (size_t i = 0; texts[i] != NULL; i++) {
        parley_buffer_text(out, i == 0 ? "" : ",");
        parley_buffer_json(out, parley_bytes_of(texts[i]));
    }
    parley_buffer_char(out, ']');
}

static void append_encodings(struct parley_buffer *out, const struct parley_protocol *protocol) {
    parley_buffer_text(out, ",\"encodings\":[");
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        parley_buffer_text(out, codec == protocol->codecs ? "{" : ",{");
        append_member(out, "name", (*codec)->name);
        append_list(out, "media_types", (*codec)->media_types);
        append_list(out, "extensions", (*codec)->extensions);
        parley_buffer_char(out, '}');
    }
    parley_buffer_char(out, ']');
}

static void append_links(struct parley_buffer *out, const struct parley_protocol *protocol) {
    const char *name = protocol->name;
    const struct {
        const char *name;
        bool is_there;
    } lists[] = {{"tasks", protocol->tasks != NULL},
                 {"agents", protocol->agents != NULL},
                 {"halts", protocol->halts != NULL},
                 {"reviews", protocol->reviews != NULL}};
    static const char *const describing[] = {"schema", "rules", "examples"};
    static const char *const doing[] = {"messages", "validate", "convert", "stream"};
    parley_buffer_format(out, ",\"links\":{\"self\":\"/v1/protocols/%s\"", name);
    for (size_t i = 0; i < sizeof describing / sizeof describing[0]; i++) {
        parley_buffer_format(out, ",\"%s\":\"/v1/protocols/%s/%s\"", describing[i], name,
                             describing[i]);
    }
    for (size_t i = 0; i < sizeof doing / sizeof doing[0]; i++) {
        parley_buffer_format(out, ",\"%s\":\"/v1/%s/%s\"", doing[i], name, doing[i]);
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (lists[i].is_there) {
            parley_buffer_format(out, ",\"%s\":\"/v1/%s/%s\"", lists[i].name, name, lists[i].name);
        }
    }
    parley_buffer_char(out, '}');
}

/* The views of an index, if the server keeps one. */
static void append_views(struct parley_buffer *out, const struct parley_protocol *protocol) {
    const char *between = "";
    parley_buffer_text(out, ",\"views\":[");
    for (const struct index_view *view = index_views; view->name != NULL; view++) {
        if (view->is_of_all || view->is_of_one || !index_view_is_of(view, protocol)) {
            continue;
        }
        parley_buffer_format(out, "%s{\"name\":\"%s\",\"address\":\"/v1/%s/%s\",\"parameters\":[",
                             between, view->name, protocol->name, view->name);
        for (size_t i = 0; view->options[i].name != NULL; i++) {
            parley_buffer_format(out, "%s\"%s\"", i > 0 ? "," : "", view->options[i].name);
        }
        parley_buffer_text(out, "]}");
        between = ",";
    }
    parley_buffer_char(out, ']');
}

void describe_protocol(struct parley_buffer *out, const struct parley_protocol *protocol,
                       const struct channel *channel) {
    parley_buffer_char(out, '{');
    append_member(out, "name", protocol->name);
    parley_buffer_char(out, ',');
    append_member(out, "title", protocol->title);
    parley_buffer_char(out, ',');
    append_member(out, "version", protocol->spec_version);
    parley_buffer_char(out, ',');
    append_member(out, "stream", channel != NULL ? channel->stream : protocol->stream);
    parley_buffer_char(out, ',');
    append_member(out, "subjects", channel != NULL ? channel->subjects : protocol->subjects);
    append_list(out, "types", protocol->types);
    append_list(out, "lanes", protocol->lanes);
    append_encodings(out, protocol);
    parley_buffer_format(out, ",\"rules\":%zu", protocol->rule_count);
    if (channel != NULL) {
        append_links(out, protocol);
        append_views(out, protocol);
    }
    parley_buffer_char(out, '}');
}

void describe_protocols(struct parley_buffer *out, const struct channel *channels) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        parley_buffer_text(out, i == 0 ? "[" : ",\n");
        describe_protocol(out, parley_protocols[i], channels != NULL ? &channels[i] : NULL);
    }
    parley_buffer_text(out, "]\n");
}

void describe_examples(struct parley_buffer *out, const struct parley_protocol *protocol) {
    const struct parley_example *example = protocol->examples;
    parley_buffer_char(out, '[');
    for (; example != NULL && example->name != NULL; example++) {
        parley_buffer_text(out, example == protocol->examples ? "{" : ",\n{");
        append_member(out, "name", example->name);
        parley_buffer_char(out, ',');
        append_member(out, "title", example->title);
        parley_buffer_format(out, ",\"message\":%s}", example->text);
    }
    parley_buffer_text(out, "]\n");
}

void describe_rule(struct parley_buffer *out, const struct parley_rule *rule) {
    struct parley_buffer hints;
    parley_buffer_init(&hints);
    describe_rule_hints(&hints, rule, " ");
    parley_buffer_format(out, "{\"id\":\"%s\",\"severity\":\"%s\",", rule->id,
                         parley_severity_name(rule->severity));
    append_member(out, "summary", rule->summary);
    parley_buffer_char(out, ',');
    append_member(out, "source", rule->source);
    parley_buffer_text(out, ",\"paths\":[");
    for (size_t i = 0; i < rule->place_count; i++) {
        const char *path = describe_rule_path(rule, i);
        if (path != NULL) {
            parley_buffer_text(out, i == 0 ? "" : ",");
            parley_buffer_json(out, parley_bytes_of(path));
        }
    }
    parley_buffer_text(out, "],\"hint\":");
    parley_buffer_json(out, parley_buffer_bytes(&hints));
    parley_buffer_char(out, '}');
    out->has_failed |= hints.has_failed;
    parley_buffer_finish(&hints);
}

static void append_rules(struct parley_buffer *out, const struct parley_rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++) {
        parley_buffer_text(out, ",\n");
        describe_rule(out, &rules[i]);
    }
}

void describe_rules(struct parley_buffer *out, const struct parley_protocol *protocol) {
    parley_buffer_char(out, '[');
    describe_rule(out, &parley_gateway_rules[0]);
    append_rules(out, parley_gateway_rules + 1, PARLEY_GW_COUNT - 1);
    for (const struct parley_protocol *const *at = parley_protocols; *at != NULL; at++) {
        if (protocol == NULL || protocol == *at) {
            append_rules(out, (*at)->rules, (*at)->rule_count);
        }
    }
    parley_buffer_text(out, "]\n");
}

/* ---- Markdown ---- */

/* A table's cell ends at a bar, even within a code span. */
static void append_cell(struct parley_buffer *out, const char *text) {
    for (; *text != '\0'; text++) {
        parley_buffer_text(out, *text == '|' ? "\\" : "");
        parley_buffer_char(out, *text == '\n' ? ' ' : *text);
    }
    parley_buffer_text(out, " | ");
}

/* The pointer to the whole message is empty, and a code span cannot be. */
static void append_path(struct parley_buffer *out, const char *path) {
    if (path[0] == '\0') {
        parley_buffer_text(out, "the whole message");
    } else {
        parley_buffer_format(out, "`%s`", path);
    }
}

/* "docs/PAGE#SECTION" as a link from docs/rules/. */
static void append_source(struct parley_buffer *out, const char *source) {
    const char *page = strchr(source, '/') + 1;
    parley_buffer_format(out, "[%s](../%s) |\n", page, page);
}

static void append_row(struct parley_buffer *out, const struct parley_rule *rule) {
    parley_buffer_format(out, "| <a id=\"%s\"></a>%s | %s | ", rule->id, rule->id,
                         parley_severity_name(rule->severity));
    append_cell(out, rule->summary);
    for (size_t i = 0; i < rule->place_count; i++) {
        const char *path = describe_rule_path(rule, i);
        if (path != NULL) {
            parley_buffer_text(out, i == 0 ? "" : "<br>");
            append_path(out, path);
        }
    }
    parley_buffer_text(out, rule->place_count == 0 ? "the whole message | " : " | ");
    struct parley_buffer hints;
    parley_buffer_init(&hints);
    describe_rule_hints(&hints, rule, "<br>");
    parley_buffer_char(&hints, '\0');
    append_cell(out, hints.has_failed ? "" : hints.data);
    out->has_failed |= hints.has_failed;
    parley_buffer_finish(&hints);
    append_source(out, rule->source);
}

static void append_table(struct parley_buffer *out, const struct parley_rule *rules, size_t count) {
    parley_buffer_text(out, "| rule | severity | what must hold | where | how to fix it "
                            "| source |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        append_row(out, &rules[i]);
    }
}

/* Writes the content of the column `source`. */
static void append_sources(struct parley_buffer *out) {
    parley_buffer_text(
        out, "*Source* is the section of parley's documents that explains a rule: which "
             "part of the protocol's own document it follows from, or what parley "
             "decided where that is silent. [rules.md](../rules.md) is the overview.\n\n");
}

void describe_rules_page(struct parley_buffer *out, const struct parley_protocol *protocol) {
    const char *of = protocol != NULL ? protocol->name : "every protocol";
    parley_buffer_format(out, "# Rules: %s\n\n", protocol != NULL ? protocol->title : of);
    parley_buffer_format(out,
                         "<!-- Written by `parley rules%s%s --format markdown`: change the tables, "
                         "not this page. -->\n\n",
                         protocol != NULL ? " " : "", protocol != NULL ? protocol->name : "");
    parley_buffer_text(
        out,
        "The rules that parley checks, in the order in which it reports violations. A broken rule "
        "of severity error makes the message invalid; a warning is reported and changes "
        "nothing else. An id never changes its meaning, so it is safe to filter and "
        "count by it. *Where* is a JSON Pointer; `*` stands for every item or member.\n\n");
    append_sources(out);
    parley_buffer_format(out, "## %s\n\n", describe_gateway_title);
    append_table(out, parley_gateway_rules, PARLEY_GW_COUNT);
    parley_buffer_text(out, "\nIf a message breaks a GW rule of severity error, the rules below "
                            "are not checked.\n");
    for (const struct parley_protocol *const *at = parley_protocols; *at != NULL; at++) {
        if (protocol == NULL || protocol == *at) {
            parley_buffer_format(out, "\n## %s: %s (%s)\n\n", (*at)->name, (*at)->title,
                                 (*at)->spec_version);
            append_table(out, (*at)->rules, (*at)->rule_count);
        }
    }
}

/* ---- HTML ---- */

static void append_html(struct parley_buffer *out, const char *text) {
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            parley_buffer_text(out, "&lt;");
            break;
        case '&':
            parley_buffer_text(out, "&amp;");
            break;
        default:
            parley_buffer_char(out, *text);
        }
    }
}

void describe_protocols_rows(struct parley_buffer *out) {
    for (const struct parley_protocol *const *at = parley_protocols; *at != NULL; at++) {
        parley_buffer_format(out,
                             "<tr><td><a href=\"/v1/protocols/%s\"><code>%s</code></a></td><td>",
                             (*at)->name, (*at)->name);
        append_html(out, (*at)->title);
        parley_buffer_text(out, " (");
        append_html(out, (*at)->spec_version);
        parley_buffer_text(out, "), as ");
        for (const struct parley_codec *const *codec = (*at)->codecs; *codec != NULL; codec++) {
            parley_buffer_text(out, codec == (*at)->codecs ? "" : ", ");
            append_html(out, (*codec)->name);
        }
        parley_buffer_text(out, "</td></tr>\n");
    }
}
