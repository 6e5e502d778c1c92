/* SPDX-License-Identifier: Apache-2.0 */

/* SIGHUP: compares the options that a start would read now with those in use. Only numbers and
 * switches are applied: an old text would need to outlive the last thread that reads it. */

#include "configuration_load.h"

#include <string.h>

#include "loading.h"

static void append_name(struct parley_buffer *list, const char *name) {
    parley_buffer_text(list, list->length > 0 ? ", " : "");
    parley_buffer_text(list, name);
}

static bool is_same(const struct option *option, const struct configuration *a,
                    const struct configuration *b) {
    struct parley_buffer texts[2];
    parley_buffer_init(&texts[0]);
    parley_buffer_init(&texts[1]);
    option_write_json(option, a, &texts[0]);
    option_write_json(option, b, &texts[1]);
    const bool is_equal = !texts[0].has_failed && !texts[1].has_failed &&
                          texts[0].length == texts[1].length &&
                          memcmp(texts[0].data, texts[1].data, texts[0].length) == 0;
    parley_buffer_finish(&texts[0]);
    parley_buffer_finish(&texts[1]);
    return is_equal;
}

static void take(const struct option *option, const struct configuration *from,
                 struct configuration *to, struct parley_buffer *taken) {
    append_name(taken, option->flag);
    parley_buffer_char(taken, ' ');
    option_write_text(option, to, taken);
    parley_buffer_text(taken, " -> ");
    option_write_text(option, from, taken);
    option_copy(option, from, to);
}

static void take_all(const struct configuration *from, struct configuration *to,
                     struct configuration_changes *changes) {
    for (size_t i = 0; i < option_count(); i++) {
        const struct option row = option_at(i);
        const struct option *option = &row;
        if (option->is_not_in_file || is_same(option, from, to)) {
            continue;
        }
        if (option->is_reloadable) {
            take(option, from, to, &changes->taken);
        } else {
            append_name(&changes->waiting, option->flag);
        }
    }
}

/* The sentences of all faults, one after another. */
static void append_faults(const struct loading *loading, struct parley_buffer *out) {
    const struct parley_bytes faults = parley_buffer_bytes(&loading->faults);
    for (size_t at = 0; at < faults.length; at += strlen(faults.data + at) + 1) {
        parley_buffer_text(out, at > 0 ? "; " : "");
        parley_buffer_text(out, faults.data + at);
    }
    if (loading->is_out_of_memory || loading->faults.has_failed) {
        parley_buffer_text(out, parley_status_text(PARLEY_E_MEMORY));
    }
}

bool configuration_reload(struct configuration *configuration, int argc, char **argv,
                          struct configuration_changes *changes) {
    struct configuration next;
    struct loading loading;
    loading_init(&loading, &next);
    loading.is_again = true;
    if (!configuration_init(&next)) {
        loading.is_out_of_memory = true;
    } else if (loading_read_flags(&loading, argc, argv) < 0) { /* as at the start */
        loading_fill(&loading);
    }
    const bool is_sound = loading_is_sound(&loading);
    if (is_sound) {
        take_all(&next, configuration, changes);
    } else {
        append_faults(&loading, &changes->error);
    }
    parley_buffer_finish(&loading.faults);
    configuration_finish(&next);
    return is_sound;
}
