/* SPDX-License-Identifier: Apache-2.0 */

/* The codecs that several protocols share, and finding one for a media type. */

#include <strings.h>

#include <parley/protocol.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct parley_codec parley_codec_json = {
    .name = "json",
    .media_types = LIST("application/json"),
    .extensions = LIST("json"),
    .framing = PARLEY_FRAMING_JSON,
};

const struct parley_codec parley_codec_ndjson = {
    .name = "ndjson",
    .media_types = LIST("application/x-ndjson", "application/ndjson", "application/jsonl"),
    .extensions = LIST("ndjson", "jsonl"),
    .framing = PARLEY_FRAMING_LINES,
};

static struct parley_bytes without_parameters(struct parley_bytes media_type) {
    const char *semicolon = memchr(media_type.data, ';', media_type.length);
    if (semicolon != NULL) {
        media_type.length = (size_t)(semicolon - media_type.data);
    }
    while (media_type.length > 0 && strchr(" \t", media_type.data[media_type.length - 1])) {
        media_type.length--;
    }
    while (media_type.length > 0 && strchr(" \t", media_type.data[0])) {
        media_type.data++;
        media_type.length--;
    }
    return media_type;
}

const struct parley_codec *parley_codec_find(const struct parley_protocol *protocol,
                                             struct parley_bytes media_type) {
    if (media_type.length == 0) {
        return NULL;
    }
    const struct parley_bytes name = without_parameters(media_type);
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        for (const char *const *known = (*codec)->media_types; *known != NULL; known++) {
            if (strlen(*known) == name.length && strncasecmp(*known, name.data, name.length) == 0) {
                return *codec;
            }
        }
    }
    return NULL;
}
