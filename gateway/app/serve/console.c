/* SPDX-License-Identifier: Apache-2.0 */

#include "console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console_files.h"
#include "kept_page.h"
#include "problem.h"

struct console {
    const char *web; /* the folder of the files, or NULL */
    size_t count;
    struct kept_page *files; /* console_files */
};

static enum parley_status keep_files(struct console *console) {
    size_t count = 0;
    while (console_files[count].name != NULL) {
        count++;
    }
    console->files = calloc(count, sizeof *console->files);
    if (console->files == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (; console->count < count; console->count++) {
        kept_page_init(&console->files[console->count]);
    }
    for (size_t i = 0; i < count; i++) {
        parley_buffer_append(&console->files[i].bodies[CODING_IDENTITY],
                             console_files[i].content());
        PARLEY_TRY(kept_page_complete(&console->files[i]));
    }
    return PARLEY_OK;
}

enum parley_status console_create(const char *web, struct console **out) {
    struct console *console = calloc(1, sizeof *console);
    if (console == NULL) {
        return PARLEY_E_MEMORY;
    }
    console->web = web;
    const enum parley_status status = keep_files(console);
    if (status != PARLEY_OK) {
        console_destroy(console);
        return status;
    }
    *out = console;
    return PARLEY_OK;
}

void console_destroy(struct console *console) {
    if (console == NULL) {
        return;
    }
    for (size_t i = 0; i < console->count; i++) {
        kept_page_finish(&console->files[i]);
    }
    free(console->files);
    free(console);
}

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

static void respond_from_folder(const char *folder, struct http_request *request,
                                const struct console_file *file) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    if (read_file(folder, file->path, &text)) {
        http_header(request, "Cache-Control", "no-store");
        http_respond(request, 200, content_type_of(file->name), parley_buffer_bytes(&text));
    } else {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "%s/%s cannot be read.", folder,
                               file->path);
    }
    parley_buffer_finish(&text);
}

void console_serve(const struct console *console, struct http_request *request, const char *name) {
    size_t i = 0;
    while (console_files[i].name != NULL && strcmp(console_files[i].name, name) != 0) {
        i++;
    }
    if (console_files[i].name == NULL) {
        problem_respond(request, PROBLEM_NOT_FOUND, "The console has no file of this name.");
    } else if (console->web != NULL) {
        respond_from_folder(console->web, request, &console_files[i]);
    } else {
        http_header(request, "Vary", "Accept-Encoding");
        kept_page_respond(request, content_type_of(name), &console->files[i]);
    }
}
