/* SPDX-License-Identifier: Apache-2.0 */

/* Parses URLs of NATS servers. It resolves no names and decodes nothing: nats.c does. A comma
 * always separates two URLs, so a comma in a password must be written as %2C. What looks like the
 * second half of such a password is refused: its first half would be taken for a host, and logged.
 */

#include "nats_urls.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "quantity.h"

static const char expected[] =
    "nats://HOST:4222, nats://USER:PASSWORD@HOST:4222, nats://TOKEN@HOST:4222, or the same with "
    "tls://; several with commas between them";

/* The parts of one URL, borrowed from the text. */
struct url {
    struct parley_bytes scheme; /* empty: none was given */
    struct parley_bytes host;   /* with its brackets, for IPv6 */
    struct parley_bytes port;   /* empty: none was given */
    bool has_user;
};

static struct parley_bytes until(const char *from, const char *to) {
    return (struct parley_bytes){from, (size_t)(to - from)};
}

static const char *find_last(struct parley_bytes in, char wanted) {
    return in.length > 0 ? memrchr(in.data, wanted, in.length) : NULL;
}

static struct url parse(struct parley_bytes text) {
    struct url url = {.has_user = false};
    const char *end = text.data + text.length;
    const char *at = text.data;
    const char *scheme_end = memmem(text.data, text.length, "://", 3);
    if (scheme_end != NULL) {
        url.scheme = until(at, scheme_end);
        at = scheme_end + 3;
    }
    const char *user_end = find_last(until(at, end), '@');
    if (user_end != NULL) {
        url.has_user = true;
        at = user_end + 1;
    }
    if (end > at && end[-1] == '/') {
        end--;
    }
    const char *bracket = find_last(until(at, end), ']');
    const char *colon = find_last(until(bracket != NULL ? bracket : at, end), ':');
    url.host = until(at, colon != NULL ? colon : end);
    url.port = colon != NULL ? until(colon + 1, end) : until(end, end);
    return url;
}

static bool is_host(struct parley_bytes host) {
    const bool has_brackets =
        host.length > 2 && host.data[0] == '[' && host.data[host.length - 1] == ']';
    for (size_t i = 0; i < host.length; i++) {
        const char c = host.data[i];
        const bool is_edge = i == 0 || i == host.length - 1;
        if (!isalnum((unsigned char)c) && strchr(has_brackets ? "-._:%" : "-._", c) == NULL &&
            !(has_brackets && is_edge)) {
            return false;
        }
    }
    return host.length > 0 && host.length < 256;
}

static bool is_scheme(struct parley_bytes scheme) {
    return scheme.length == 0 || parley_bytes_equal(scheme, PARLEY_BYTES("nats")) ||
           parley_bytes_equal(scheme, PARLEY_BYTES("tls"));
}

/* A scheme is quoted only if it cannot be part of a password. */
static bool is_word(struct parley_bytes scheme) {
    for (size_t i = 0; i < scheme.length; i++) {
        if (!isalpha((unsigned char)scheme.data[i])) {
            return false;
        }
    }
    return scheme.length <= 8;
}

static bool check_url(struct parley_bytes text, unsigned number, char *error) {
    const struct url url = parse(text);
    char what[160] = "";
    if (!is_scheme(url.scheme)) {
        snprintf(what, sizeof what, "has an unknown scheme%s%.*s%s",
                 is_word(url.scheme) ? " (" : "", is_word(url.scheme) ? (int)url.scheme.length : 0,
                 url.scheme.data, is_word(url.scheme) ? "://)" : "");
    } else if (url.scheme.length == 0 && url.has_user) {
        snprintf(what, sizeof what,
                 "has a user but no scheme (write a comma in a password as %%2C)");
    } else if (!is_host(url.host)) {
        snprintf(what, sizeof what, "has no valid host");
    } else if (url.port.length > 0 && !quantity_is_port(url.port)) {
        snprintf(what, sizeof what, "has an invalid port (expected 1 to 65535)");
    }
    if (what[0] != '\0') {
        snprintf(error, NATS_URLS_ERROR_MAX, "URL %u of NATS %s; expected %s", number, what,
                 expected);
    }
    return what[0] == '\0';
}

/* The next URL of a list; `at` moves past it.  Returns: false at the end. */
static bool next_url(const char **at, struct parley_bytes *out) {
    *at += strspn(*at, ", ");
    *out = (struct parley_bytes){*at, strcspn(*at, ", ")};
    *at += out->length;
    return out->length > 0;
}

bool nats_urls_check(const char *urls, char error[NATS_URLS_ERROR_MAX]) {
    enum { URLS_MAX = 64 };
    struct parley_bytes url;
    unsigned count = 0;
    while (next_url(&urls, &url)) {
        if (!check_url(url, ++count, error)) {
            return false;
        }
    }
    if (count == 0 || count > URLS_MAX) {
        snprintf(error, NATS_URLS_ERROR_MAX, "expected 1 to %d URLs of NATS servers: %s", URLS_MAX,
                 expected);
    }
    return count > 0 && count <= URLS_MAX;
}

void nats_urls_describe(const char *urls, struct parley_buffer *out) {
    struct parley_bytes text;
    for (bool is_first = true; next_url(&urls, &text); is_first = false) {
        const struct url url = parse(text);
        parley_buffer_text(out, is_first ? "" : ", ");
        parley_buffer_append(out, url.scheme.length > 0 ? url.scheme : PARLEY_BYTES("nats"));
        parley_buffer_text(out, "://");
        parley_buffer_append(out, url.host);
        parley_buffer_text(out, ":");
        parley_buffer_append(out, url.port.length > 0 ? url.port : PARLEY_BYTES("4222"));
    }
}
