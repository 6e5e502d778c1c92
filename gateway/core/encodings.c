/* SPDX-License-Identifier: Apache-2.0 */

/* Lists from the protocols' tables of codecs. */

#include "encodings.h"

#include <stdio.h>

const struct parley_codec *encodings_find(const struct parley_protocol *protocol,
                                          const char *name) {
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        if (strcmp((*codec)->name, name) == 0) {
            return *codec;
        }
    }
    return NULL;
}

bool encodings_holds_many(const struct parley_codec *codec) {
    return codec->framing != PARLEY_FRAMING_WHOLE;
}

const struct parley_codec *encodings_for_many(const struct parley_codec *codec) {
    return codec->framing == PARLEY_FRAMING_JSON ? &parley_codec_ndjson : codec;
}

const struct parley_codec *encodings_for_answers(const struct parley_protocol *protocol) {
    const struct parley_codec *const *codec = protocol->codecs;
    while (*codec != NULL && (*codec)->from_json == NULL) {
        codec++;
    }
    return *codec;
}

static void append(char out[ENCODINGS_TEXT_MAX], const char *between, const char *text) {
    const size_t length = strlen(out);
    snprintf(out + length, ENCODINGS_TEXT_MAX - length, "%s%s", between, text);
}

void encodings_list(const struct parley_protocol *protocol, bool is_for_many,
                    char out[ENCODINGS_TEXT_MAX]) {
    const struct parley_codec *last = NULL;
    out[0] = '\0';
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        if (is_for_many && !encodings_holds_many(*codec)) {
            continue;
        }
        if (last != NULL) {
            append(out, out[0] != '\0' ? ", " : "", last->name);
        }
        last = *codec;
    }
    if (last != NULL) {
        append(out, out[0] != '\0' ? " or " : "", last->name);
    }
}

void encodings_list_media_types(const struct parley_protocol *protocol,
                                char out[ENCODINGS_TEXT_MAX]) {
    out[0] = '\0';
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        append(out, codec == protocol->codecs ? "" : ", ", (*codec)->media_types[0]);
    }
}
