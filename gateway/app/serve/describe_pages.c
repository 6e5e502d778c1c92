/* SPDX-License-Identifier: Apache-2.0 */

/* The pages on which parley describes itself: a table of pages and media types. Each is compressed
 * once, when it is rendered. */

#include "describe_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include <parley/describe.h>

#include "asyncapi.h"
#include "console_files.h"
#include "guide.h"
#include "negotiate.h"
#include "page.h"
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

struct rendered {
    struct parley_buffer bodies[CODING_COUNT]; /* empty: it is not worth compressing */
    char digest[32 + 1];
};

struct describe_pages {
    size_t set_count;
    struct rendered (*sets)[FORM_COUNT]; /* of all protocols together, then of each */
    const char *web;                     /* the folder of the console's files, or NULL */
    size_t file_count;
    struct rendered *files; /* console_files */
};

static bool is_of_one_protocol(const struct form *form) {
    return form->page >= DESCRIBE_PROTOCOL;
}

static void begin(struct rendered *rendered) {
    for (size_t i = 0; i < CODING_COUNT; i++) {
        parley_buffer_init(&rendered->bodies[i]);
    }
}

/* Completes what has its plain body. */
static enum parley_status render(struct rendered *out) {
    unsigned char digest[16];
    const struct parley_buffer *plain = &out->bodies[CODING_IDENTITY];
    PARLEY_TRY(parley_buffer_status(plain));
    crypto_generichash(digest, sizeof digest, (const unsigned char *)plain->data, plain->length,
                       NULL, 0);
    sodium_bin2hex(out->digest, sizeof out->digest, digest, sizeof digest);
    for (size_t i = CODING_GZIP; i < CODING_COUNT && plain->length >= HTTP_COMPRESSED_BYTES_MIN;
         i++) {
        PARLEY_TRY(coding_compress((enum coding)i, parley_buffer_bytes(plain), &out->bodies[i]));
    }
    return PARLEY_OK;
}

static enum parley_status render_set(const struct subject *subject,
                                     struct rendered set[FORM_COUNT]) {
    for (size_t i = 0; i < FORM_COUNT; i++) {
        begin(&set[i]);
    }
    for (size_t i = 0; i < FORM_COUNT; i++) {
        if (is_of_one_protocol(&forms[i]) == (subject->protocol != NULL)) {
            forms[i].write(&set[i].bodies[CODING_IDENTITY], subject);
            PARLEY_TRY(render(&set[i]));
        }
    }
    return PARLEY_OK;
}

static enum parley_status render_files(struct describe_pages *pages) {
    size_t count = 0;
    while (console_files[count].name != NULL) {
        count++;
    }
    pages->files = calloc(count, sizeof *pages->files);
    if (pages->files == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (; pages->file_count < count; pages->file_count++) {
        begin(&pages->files[pages->file_count]);
    }
    for (size_t i = 0; i < count; i++) {
        parley_buffer_append(&pages->files[i].bodies[CODING_IDENTITY], console_files[i].content());
        PARLEY_TRY(render(&pages->files[i]));
    }
    return PARLEY_OK;
}

static enum parley_status render_all(struct describe_pages *pages, const struct channel *channels,
                                     contract_route_fn *route) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        PARLEY_TRY(render_set(&(struct subject){parley_protocols[i], &channels[i], route},
                              pages->sets[i + 1]));
    }
    PARLEY_TRY(render_set(&(struct subject){NULL, channels, route}, pages->sets[0]));
    return render_files(pages);
}

enum parley_status describe_pages_create(const struct channel *channels, contract_route_fn *route,
                                         const char *web, struct describe_pages **out) {
    struct describe_pages *pages = calloc(1, sizeof *pages);
    if (pages == NULL) {
        return PARLEY_E_MEMORY;
    }
    pages->web = web;
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

static void finish(struct rendered *rendered) {
    for (size_t i = 0; i < CODING_COUNT; i++) {
        parley_buffer_finish(&rendered->bodies[i]);
    }
}

void describe_pages_destroy(struct describe_pages *pages) {
    if (pages == NULL) {
        return;
    }
    for (size_t i = 0; pages->sets != NULL && i < pages->set_count; i++) {
        for (size_t j = 0; j < FORM_COUNT; j++) {
            finish(&pages->sets[i][j]);
        }
    }
    for (size_t i = 0; i < pages->file_count; i++) {
        finish(&pages->files[i]);
    }
    free(pages->files);
    free(pages->sets);
    free(pages);
}

/* ---- serving ---- */

static enum coding coding_for(const struct http_request *request, const struct rendered *rendered) {
    const enum coding coding = negotiate_coding(http_request_header(request, "Accept-Encoding"));
    return rendered->bodies[coding].length > 0 ? coding : CODING_IDENTITY;
}

static void respond(struct http_request *request, const char *content_type,
                    const struct rendered *rendered) {
    const enum coding coding = coding_for(request, rendered);
    char etag[64];
    /* A page and its compressed forms are not the same to a strong validator. */
    snprintf(etag, sizeof etag, "\"%s%s%s\"", rendered->digest,
             coding != CODING_IDENTITY ? "-" : "",
             coding != CODING_IDENTITY ? coding_name(coding) : "");
    http_header(request, "ETag", etag);
    /* Another version may answer differently: cache it, but revalidate. */
    http_header(request, "Cache-Control", "no-cache");
    if (page_is_known(request, etag)) {
        http_respond(request, 304, NULL, (struct parley_bytes){0});
        return;
    }
    if (coding != CODING_IDENTITY) {
        http_header(request, "Content-Encoding", coding_name(coding));
    }
    http_respond_kept(request, 200, content_type, parley_buffer_bytes(&rendered->bodies[coding]));
}

static const struct rendered *set_of(const struct describe_pages *pages,
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
    respond(request, forms[form].content_type, &set_of(pages, protocol)[form]);
}

/* ---- the console's files ---- */

static const char *content_type_of(const char *name) {
    static const struct {
        const char *end, *type;
    } types[] = {{".js", "text/javascript; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".svg", "image/svg+xml"}};
    const char *end = strrchr(name, '.');
    for (size_t i = 0; end != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(end, types[i].end) == 0) {
            return types[i].type;
        }
    }
    return "text/plain; charset=utf-8";
}

/* Reads the file anew, so that a change shows at the next request.  Returns: false if the file
 * cannot be read. */
static bool read_file(const char *folder, const char *path, struct parley_buffer *out) {
    char name[4096], piece[4096];
    const int length = snprintf(name, sizeof name, "%s/%s", folder, path);
    FILE *file = length > 0 && (size_t)length < sizeof name ? fopen(name, "rbe") : NULL;
    if (file == NULL) {
        return false;
    }
    size_t got;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0) {
        parley_buffer_append(out, (struct parley_bytes){piece, got});
    }
    const bool is_read = ferror(file) == 0 && !out->has_failed;
    fclose(file);
    return is_read;
}

static void respond_from_folder(const struct describe_pages *pages, struct http_request *request,
                                const struct console_file *file) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    if (read_file(pages->web, file->path, &text)) {
        http_header(request, "Cache-Control", "no-store");
        http_respond(request, 200, content_type_of(file->name), parley_buffer_bytes(&text));
    } else {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "%s/%s cannot be read.", pages->web,
                               file->path);
    }
    parley_buffer_finish(&text);
}

void describe_pages_serve_file(const struct describe_pages *pages, struct http_request *request,
                               const char *name) {
    size_t i = 0;
    while (console_files[i].name != NULL && strcmp(console_files[i].name, name) != 0) {
        i++;
    }
    if (console_files[i].name == NULL) {
        problem_respond(request, PROBLEM_NOT_FOUND, "The console has no file of this name.");
    } else if (pages->web != NULL) {
        respond_from_folder(pages, request, &console_files[i]);
    } else {
        http_header(request, "Vary", "Accept-Encoding");
        respond(request, content_type_of(name), &pages->files[i]);
    }
}
