/* SPDX-License-Identifier: Apache-2.0 */

/* A recipient that guesses at a charset, or reads past a parameter that it cannot parse, may read
 * another message than the sender wrote. So nothing is guessed here. */

#include "media_type.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t");
}

/* RFC 9110, section 5.6.2. */
static size_t token_length(const char *text) {
    return strspn(text, "!#$%&'*+-.^_`|~0123456789"
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static void append(char out[MEDIA_TYPE_CHARSET_MAX], size_t *length, char c) {
    if (*length < MEDIA_TYPE_CHARSET_MAX - 1) {
        out[(*length)++] = c;
    }
    out[*length] = '\0';
}

/* Reads a token or a quoted string.  Returns: the text after it, NULL when it is neither. */
static const char *read_value(const char *at, char out[MEDIA_TYPE_CHARSET_MAX]) {
    size_t length = 0;
    out[0] = '\0';
    if (*at != '"') {
        const char *end = at + token_length(at);
        for (const char *c = at; c < end; c++) {
            append(out, &length, *c);
        }
        return end > at ? end : NULL;
    }
    for (at++; *at != '\0' && *at != '"'; at++) {
        if (*at == '\\' && *++at == '\0') {
            return NULL;
        }
        append(out, &length, *at);
    }
    return *at == '"' ? at + 1 : NULL;
}

static bool is_utf8(const char *charset) {
    return strcasecmp(charset, "utf-8") == 0 || strcasecmp(charset, "utf8") == 0;
}

enum media_type_parameters media_type_read(const char *content_type,
                                           char charset[MEDIA_TYPE_CHARSET_MAX]) {
    char value[MEDIA_TYPE_CHARSET_MAX];
    bool has_charset = false;
    const char *at = content_type + strcspn(content_type, ";");
    charset[0] = '\0';
    while (*at == ';') {
        at = skip_blanks(at + 1);
        const char *name = at;
        const size_t name_length = token_length(name);
        if (name_length > 0) { /* RFC 9110 allows nothing between two semicolons, or after one */
            at = name[name_length] == '=' ? read_value(name + name_length + 1, value) : NULL;
        }
        if (at == NULL) {
            return MEDIA_TYPE_MALFORMED;
        }
        if (name_length == strlen("charset") && strncasecmp(name, "charset", name_length) == 0) {
            if (has_charset) {
                return MEDIA_TYPE_MALFORMED;
            }
            has_charset = true;
            memcpy(charset, value, sizeof value);
        }
        at = skip_blanks(at);
    }
    if (*at != '\0') {
        return MEDIA_TYPE_MALFORMED;
    }
    return !has_charset || is_utf8(charset) ? MEDIA_TYPE_FINE : MEDIA_TYPE_CHARSET;
}
