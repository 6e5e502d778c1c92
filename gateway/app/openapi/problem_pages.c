/* SPDX-License-Identifier: Apache-2.0 */

#include "problem_pages.h"

#include "page.h"
#include "problem.h"

#define SERVER "http://localhost:8080"
#define LONG "$(head -c 20000 /dev/zero | tr '\\0' a)"
#define AS_JSON "-H 'Content-Type: application/json' "

/* Commands that provoke a problem on a server that is well; the others need trouble, or tokens. A
 * test runs them. */
static const char *const examples[PROBLEM_COUNT] = {
    [PROBLEM_MALFORMED] = "curl -i " SERVER "/v1/vlp/messages " AS_JSON "-d '{\"type\":'",
    [PROBLEM_INVALID_PARAMETER] = "curl -i '" SERVER "/v1/vlp/stream?sinse=all'",
    [PROBLEM_CROSS_ORIGIN] =
        "curl -i " SERVER "/v1/vlp/validate -H 'Origin: https://other.example' "
        "" AS_JSON "-d '{}'",
    [PROBLEM_NOT_FOUND] = "curl -i " SERVER "/v1/vpl/stream",
    [PROBLEM_METHOD_NOT_ALLOWED] = "curl -i -X DELETE " SERVER "/v1/vlp/stream",
    [PROBLEM_NOT_ACCEPTABLE] = "curl -i " SERVER "/v1/vlp/stream -H 'Accept: text/html'",
    [PROBLEM_ID_REUSED] =
        "for name in one two; do\n"
        "  curl -i '" SERVER "/v1/vlp/messages?stamp=true' -H 'Idempotency-Key: example' "
        "" AS_JSON "\\\n"
        "    -d '{\"type\":\"query\",\"sender\":\"me\",\"content\":\"'$name'\",\"confidence\":1}'\n"
        "done",
    [PROBLEM_TOO_LARGE] =
        "(printf '{\"content\":\"'; head -c 2000000 /dev/zero | tr '\\0' a; printf '\"}') |\n"
        "  curl -i " SERVER "/v1/vlp/messages " AS_JSON "--data-binary @-",
    [PROBLEM_URI_TOO_LONG] = "curl -i \"" SERVER "/?" LONG "\"",
    [PROBLEM_UNSUPPORTED_MEDIA_TYPE] =
        "curl -i " SERVER "/v1/vlp/messages -H 'Content-Type: text/plain' -d hello",
    [PROBLEM_EXPECTATION_FAILED] = "curl -i " SERVER "/livez -H 'Expect: a-miracle'",
    [PROBLEM_MISDIRECTED_REQUEST] = "curl -i " SERVER "/livez -H 'Host: other.example'",
    [PROBLEM_INVALID_MESSAGE] =
        "curl -i '" SERVER "/v1/vlp/messages?stamp=true' " AS_JSON "\\\n"
        "  -d '{\"type\":\"claim\",\"sender\":\"me\",\"content\":\"It works.\"}'",
    [PROBLEM_HEAD_TOO_LARGE] = "curl -i " SERVER "/ -H \"X-Long: " LONG "\"",
};

/* Returns: NULL if there is none. */
static const char *example_of(enum problem problem) {
    return problem < PROBLEM_COUNT ? examples[problem] : NULL;
}

/* 429, 503 and 504: the same request may be accepted later. */
static bool is_passing(const struct parley_problem *about) {
    return about->status == 429 || about->status == 503 || about->status == 504;
}

/* ---- one ---- */

static void write_document(struct parley_buffer *out, enum problem problem) {
    problem_write(out, problem, NULL, problem_about(problem)->title, NULL);
}

static void write_html(struct parley_buffer *out, const void *subject) {
    const enum problem problem = *(const enum problem *)subject;
    const struct parley_problem *about = problem_about(problem);
    parley_buffer_format(out, "<h1>%u %s</h1>\n<h2>What happened</h2>\n<p>", about->status,
                         about->name);
    page_prose(out, about->title);
    parley_buffer_text(out, ".</p>\n<h2>What to do</h2>\n<p>");
    page_prose(out, about->advice);
    parley_buffer_format(out, "</p>\n<p>%s</p>\n<h2>Example</h2>\n",
                         is_passing(about) ? "The same request may be accepted later."
                                           : "The same request would be refused again.");
    if (example_of(problem) != NULL) {
        parley_buffer_text(out, "<pre><code>");
        page_text(out, parley_bytes_of(example_of(problem)));
        parley_buffer_text(out, "</code></pre>\n");
    }
    struct parley_buffer document;
    parley_buffer_init(&document);
    write_document(&document, problem);
    parley_buffer_text(out, "<pre><code>");
    page_text(out, parley_buffer_bytes(&document));
    parley_buffer_text(out, "</code></pre>\n<p><a href=\"/problems\">All problems</a>, "
                            "<a href=\"/rules\">all rules</a>, "
                            "<a href=\"/openapi.json\">all addresses</a></p>\n");
    out->has_failed |= document.has_failed;
    parley_buffer_finish(&document);
}

static void write_members(struct json_writer *json, enum problem problem) {
    const struct parley_problem *about = problem_about(problem);
    json_link(json, "type", "/problems/", about->name, "");
    json_number(json, "status", about->status);
    json_text(json, "title", about->title);
    json_text(json, "advice", about->advice);
    json_raw(json, "retry", is_passing(about) ? PARLEY_BYTES("true") : PARLEY_BYTES("false"));
}

static void write_json(struct json_writer *json, const void *subject) {
    const enum problem problem = *(const enum problem *)subject;
    struct parley_buffer document;
    json_open(json, NULL, '{');
    write_members(json, problem);
    json_open(json, "example", '{');
    if (example_of(problem) != NULL) {
        json_text(json, "request", example_of(problem));
    }
    parley_buffer_init(&document);
    write_document(&document, problem);
    json_raw(json, "answer", parley_buffer_bytes(&document));
    json->out->has_failed |= document.has_failed;
    parley_buffer_finish(&document);
    json_close(json, '}');
    json_raw(json, "links",
             PARLEY_BYTES("{\"problems\":\"/problems\",\"rules\":\"/rules\","
                          "\"openapi\":\"/openapi.json\"}"));
    json_close(json, '}');
}

void problem_pages_serve(struct http_request *request, const char *name) {
    const unsigned count = problem_count();
    for (enum problem i = 0; i < count; i++) {
        if (strcmp(problem_about(i)->name, name) == 0) {
            page_serve(request, name, write_html, write_json, &i);
            return;
        }
    }
    problem_respond(request, PROBLEM_NOT_FOUND,
                    "There is no problem with this name; /problems lists them.");
}

/* ---- all ---- */

static void write_list_html(struct parley_buffer *out, const void *subject) {
    (void)subject;
    parley_buffer_text(out, "<h1>Problems</h1>\n<ul>\n");
    const unsigned count = problem_count();
    for (enum problem i = 0; i < count; i++) {
        const struct parley_problem *about = problem_about(i);
        parley_buffer_format(out, "<li>%u <a href=\"/problems/%s\">%s</a>: %s</li>\n",
                             about->status, about->name, about->name, about->title);
    }
    parley_buffer_text(out, "</ul>\n");
}

static void write_list_json(struct json_writer *json, const void *subject) {
    (void)subject;
    json_open(json, NULL, '[');
    const unsigned count = problem_count();
    for (enum problem i = 0; i < count; i++) {
        json_open(json, NULL, '{');
        write_members(json, i);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void problem_pages_serve_list(struct http_request *request) {
    page_serve(request, "problems", write_list_html, write_list_json, NULL);
}
