/* SPDX-License-Identifier: Apache-2.0 */

#include "loading.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <parley/arena.h>

#include "arguments.h"
#include "terminal.h"

void loading_init(struct loading *loading, struct configuration *configuration) {
    *loading = (struct loading){.configuration = configuration};
    parley_buffer_init(&loading->faults);
}

void loading_fault(struct loading *loading, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    parley_buffer_append(&loading->faults, (struct parley_bytes){text, strlen(text) + 1});
    loading->fault_count++;
}

/* Values, files and names of variables can have control characters, which must not reach a
 * terminal. */
static void print_clean(const char *text) {
    struct parley_buffer clean;
    parley_buffer_init(&clean);
    terminal_append_clean(&clean, text);
    parley_buffer_char(&clean, '\0');
    terminal_error("%s", clean.has_failed ? text : clean.data);
    parley_buffer_finish(&clean);
}

void loading_warn(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_clean(text);
}

const char *loading_keep(struct loading *loading, struct parley_buffer *text) {
    const char *copy = text->has_failed ? NULL
                                        : parley_arena_copy(loading->configuration->storage,
                                                            parley_buffer_bytes(text));
    parley_buffer_finish(text);
    loading->is_out_of_memory = loading->is_out_of_memory || copy == NULL;
    return copy;
}

const char *loading_keep_joined(struct loading *loading, const char *a, const char *b) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, a);
    parley_buffer_text(&text, b);
    return loading_keep(loading, &text);
}

size_t option_index(size_t field) {
    size_t i = 0;
    while (option_at(i).field != field) {
        i++;
    }
    return i;
}

const char *loading_source(const struct loading *loading, size_t option) {
    return loading->by[option];
}

bool loading_is_sound(const struct loading *loading) {
    return loading->fault_count == 0 && !loading->is_out_of_memory && !loading->faults.has_failed;
}

int loading_end(struct loading *loading) {
    const bool is_out_of_memory = loading->is_out_of_memory || loading->faults.has_failed;
    const struct parley_bytes faults = parley_buffer_bytes(&loading->faults);
    for (size_t at = 0; at < faults.length; at += strlen(faults.data + at) + 1) {
        print_clean(faults.data + at);
    }
    if (is_out_of_memory) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
    }
    parley_buffer_finish(&loading->faults);
    return is_out_of_memory ? EXIT_FAILURE : loading->fault_count > 0 ? EXIT_USAGE : -1;
}
