/* SPDX-License-Identifier: Apache-2.0 */

#include "guide.h"

#include <parley/message.h>

#include "encodings.h"
#include "contract_files.h"
#include "stream_query.h"

/* The shortest that a shell takes between single quotes; NULL if there is none. */
static const struct parley_example *choose_example(const struct parley_protocol *protocol) {
    const struct parley_example *chosen = NULL, *example = protocol->examples;
    for (; example != NULL && example->name != NULL; example++) {
        const bool is_plain = strchr(example->text, '\'') == NULL;
        if (is_plain && (chosen == NULL || strlen(example->text) < strlen(chosen->text))) {
            chosen = example;
        }
    }
    return chosen;
}

static void write_names(struct parley_buffer *out, const char *title, const char *const *names) {
    for (const char *const *name = names; name != NULL && *name != NULL; name++) {
        parley_buffer_format(out, "%s`%s`", name == names ? title : ", ", *name);
    }
    parley_buffer_text(out, names != NULL ? ".\n" : "");
}

/* Those that not all protocols have. */
static void write_encodings(struct parley_buffer *out, const struct parley_protocol *protocol) {
    const char *before = "- More encodings: ";
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        if (*codec != &parley_codec_json && *codec != &parley_codec_ndjson) {
            parley_buffer_format(out, "%s%s (`%s`)", before, (*codec)->name,
                                 (*codec)->media_types[0]);
            before = ", ";
        }
    }
    parley_buffer_text(out, before[0] == ',' ? ".\n" : "");
    const struct parley_codec *of_answers = encodings_for_answers(protocol);
    if (of_answers != NULL) {
        parley_buffer_format(out, "- Answers as %s instead of JSON: `Accept: %s`.\n",
                             of_answers->name, of_answers->media_types[0]);
    }
}

static void write_options(struct parley_buffer *out, const struct parley_protocol *protocol) {
    const struct parley_option *option;
    for (size_t i = 0; (option = parley_option_at(protocol, i)) != NULL; i++) {
        const struct parley_option_help *help = &option->help;
        if (!option->is_of_dialects) { /* who reads this writes the contract's messages */
            parley_buffer_format(out, "- Query option `%s` (%s): %s\n", help->name, help->wants,
                                 help->does);
        }
    }
}

static void write_filters(struct parley_buffer *out, const struct parley_protocol *protocol) {
    const char *before = "- Filters: ";
    for (const char *const *name = stream_query_names; *name != NULL; name++) {
        if (stream_query_is_filter(*name) && stream_query_concerns(*name, protocol)) {
            parley_buffer_format(out, "%s`%s`", before, *name);
            before = ", ";
        }
    }
    parley_buffer_text(out, ".\n");
}

static void write_protocol(struct parley_buffer *out, const struct parley_protocol *protocol) {
    const struct parley_example *example = choose_example(protocol);
    parley_buffer_format(out, "### %s: %s (%s)\n\n", protocol->name, protocol->title,
                         protocol->spec_version);
    write_names(out, "- Types: ", protocol->types);
    write_names(out, "- Lanes: ", protocol->lanes);
    write_encodings(out, protocol);
    write_filters(out, protocol);
    write_options(out, protocol);
    if (example != NULL) {
        parley_buffer_format(out,
                             "\n```sh\ncurl -sS \"$PARLEY/v1/%s/messages\" "
                             "-H 'Content-Type: application/json' -d '%s'\n```\n",
                             protocol->name, example->text);
    }
    parley_buffer_char(out, '\n');
}

void guide_write(struct parley_buffer *out) {
    static const char mark[] = "{protocols}\n";
    const struct parley_bytes page = contract_guide();
    const char *at = memmem(page.data, page.length, mark, sizeof mark - 1);
    const size_t before = at != NULL ? (size_t)(at - page.data) : page.length;
    parley_buffer_append(out, (struct parley_bytes){page.data, before});
    for (size_t i = 0; at != NULL && parley_protocols[i] != NULL; i++) {
        write_protocol(out, parley_protocols[i]);
    }
    if (at != NULL) {
        const char *rest = at + sizeof mark - 1;
        parley_buffer_append(out,
                             (struct parley_bytes){rest, page.length - (size_t)(rest - page.data)});
    }
}
