/* SPDX-License-Identifier: Apache-2.0 */

/* The pages on which parley describes itself: a table of pages and media types. */

#include "describe_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <parley/describe.h>

#include "asyncapi.h"
#include "guide.h"
#include "kept_page.h"
#include "negotiate.h"
#include "pages.h"
#include "problem.h"

/* The data of a form. */
struct subject {
    const struct parley_protocol *protocol; /* NULL: all */
    const struct channel *channels;         /* the protocol's, or all */
    contract_route_fn *route;               /* of all addresses */
};

/* ---- the forms ---- */

static void write_index(struct parley_buffer *out, const struct subject *subject) {
    static const char mark[] = "<!-- protocols -->\n";
    const struct parley_bytes page = page_index();
    const char *at = memmem(page.data, page.length, mark, sizeof mark - 1);
    (void)subject;
    if (at == NULL) {
        parley_buffer_append(out, page);
        return;
    }
    const char *rest = at + sizeof mark - 1;
    parley_buffer_append(out, (struct parley_bytes){page.data, (size_t)(at - page.data)});
    describe_protocols_rows(out);
    parley_buffer_append(out,
                         (struct parley_bytes){rest, page.length - (size_t)(rest - page.data)});
}

static void write_script(struct parley_buffer *out, const struct subject *subject) {
    (void)subject;
    parley_buffer_append(out, page_script());
}

static void write_style(struct parley_buffer *out, const struct subject *subject) {
    (void)subject;
    parley_buffer_append(out, page_style());
}

static void write_openapi(struct parley_buffer *out, const struct subject *subject) {
    openapi_write(out, subject->route);
}

static void write_asyncapi(struct parley_buffer *out, const struct subject *subject) {
    asyncapi_write(out, subject->channels);
}

static void write_guide(struct parley_buffer *out, const struct subject *subject) {
    (void)subject;
    guide_write(out);
}

static void write_protocols(struct parley_buffer *out, const struct subject *subject) {
    describe_protocols(out, subject->channels);
}

static void write_protocol(struct parley_buffer *out, const struct subject *subject) {
    describe_protocol(out, subject->protocol, subject->channels);
    parley_buffer_char(out, '\n');
}

static void write_schema(struct parley_buffer *out, const struct subject *subject) {
    out->has_failed |= parley_protocol_write_json_schema(subject->protocol, out) != PARLEY_OK;
}

static void write_rules(struct parley_buffer *out, const struct subject *subject) {
    describe_rules(out, subject->protocol);
}

static void write_rules_page(struct parley_buffer *out, const struct subject *subject) {
    describe_rules_page(out, subject->protocol);
}

static void write_examples(struct parley_buffer *out, const struct subject *subject) {
    describe_examples(out, subject->protocol);
}

/* A client that accepts anything gets the first form of a page. */
static const struct form {
    enum describe_page page;
    const char *media_type, *content_type;
    void (*write)(struct parley_buffer *out, const struct subject *subject);
} forms[] = {
    {DESCRIBE_INDEX, "text/html", "text/html; charset=utf-8", write_index},
    {DESCRIBE_SCRIPT, "text/javascript", "text/javascript; charset=utf-8", write_script},
    {DESCRIBE_STYLE, "text/css", "text/css; charset=utf-8", write_style},
    {DESCRIBE_PROTOCOLS, "application/json", "application/json", write_protocols},
    {DESCRIBE_PROTOCOL, "application/json", "application/json", write_protocol},
    {DESCRIBE_SCHEMA, "application/schema+json", "application/schema+json", write_schema},
    {DESCRIBE_SCHEMA, "application/json", "application/json", write_schema},
    {DESCRIBE_RULES, "application/json", "application/json", write_rules},
    {DESCRIBE_RULES, "text/markdown", "text/markdown; charset=utf-8", write_rules_page},
    {DESCRIBE_EXAMPLES, "application/json", "application/json", write_examples},
    {DESCRIBE_GUIDE, "text/plain", "text/plain; charset=utf-8", write_guide},
    {DESCRIBE_GUIDE, "text/markdown", "text/markdown; charset=utf-8", write_guide},
    {DESCRIBE_OPENAPI, "application/json", "application/json", write_openapi},
    {DESCRIBE_ASYNCAPI, "application/json", "application/json", write_asyncapi},
};
enum { FORM_COUNT = sizeof forms / sizeof forms[0], FORMS_OF_A_PAGE_MAX = 2 };

/* ---- rendering ---- */

struct describe_pages {
    size_t set_count;
    struct kept_page (*sets)[FORM_COUNT]; /* of all protocols together, then of each */
};

static bool is_of_one_protocol(const struct form *form) {
    return form->page >= DESCRIBE_PROTOCOL;
}

static enum parley_status render_set(const struct subject *subject,
                                     struct kept_page set[FORM_COUNT]) {
    for (size_t i = 0; i < FORM_COUNT; i++) {
        kept_page_init(&set[i]);
    }
    for (size_t i = 0; i < FORM_COUNT; i++) {
        if (is_of_one_protocol(&forms[i]) == (subject->protocol != NULL)) {
            forms[i].write(&set[i].bodies[CODING_IDENTITY], subject);
            PARLEY_TRY(kept_page_complete(&set[i]));
        }
    }
    return PARLEY_OK;
}

static enum parley_status render_all(struct describe_pages *pages, const struct channel *channels,
                                     contract_route_fn *route) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        PARLEY_TRY(render_set(&(struct subject){parley_protocols[i], &channels[i], route},
                              pages->sets[i + 1]));
    }
    return render_set(&(struct subject){NULL, channels, route}, pages->sets[0]);
}

enum parley_status describe_pages_create(const struct channel *channels, contract_route_fn *route,
                                         struct describe_pages **out) {
    struct describe_pages *pages = calloc(1, sizeof *pages);
    if (pages == NULL) {
        return PARLEY_E_MEMORY;
    }
    pages->set_count = 1 + parley_protocol_count();
    pages->sets = calloc(pages->set_count, sizeof *pages->sets);
    const enum parley_status status =
        pages->sets != NULL ? render_all(pages, channels, route) : PARLEY_E_MEMORY;
    if (status != PARLEY_OK) {
        describe_pages_destroy(pages);
        return status;
    }
    *out = pages;
    return PARLEY_OK;
}

void describe_pages_destroy(struct describe_pages *pages) {
    if (pages == NULL) {
        return;
    }
    for (size_t i = 0; pages->sets != NULL && i < pages->set_count; i++) {
        for (size_t j = 0; j < FORM_COUNT; j++) {
            kept_page_finish(&pages->sets[i][j]);
        }
    }
    free(pages->sets);
    free(pages);
}

/* ---- serving ---- */

static const struct kept_page *set_of(const struct describe_pages *pages,
                                      const struct parley_protocol *protocol) {
    size_t i = 0;
    while (protocol != NULL && parley_protocols[i++] != protocol) {
    }
    return pages->sets[i];
}

void describe_pages_serve(const struct describe_pages *pages, struct http_request *request,
                          enum describe_page page, const struct parley_protocol *protocol) {
    const char *offers[FORMS_OF_A_PAGE_MAX + 1] = {NULL};
    size_t first = 0, count = 0;
    while (forms[first].page != page) {
        first++;
    }
    for (; first + count < FORM_COUNT && forms[first + count].page == page; count++) {
        offers[count] = forms[first + count].media_type;
    }
    const int chosen = negotiate(http_request_header(request, "Accept"), offers);
    http_header(request, "Vary", count > 1 ? "Accept, Accept-Encoding" : "Accept-Encoding");
    if (chosen < 0) {
        problem_respond_format(request, PROBLEM_NOT_ACCEPTABLE,
                               "%s is available as %s%s%s: accept that, or omit the Accept header.",
                               http_request_path(request), offers[0], count > 1 ? " or " : "",
                               count > 1 ? offers[1] : "");
        return;
    }
    const size_t form = first + (size_t)chosen;
    kept_page_respond(request, forms[form].content_type, &set_of(pages, protocol)[form]);
}
