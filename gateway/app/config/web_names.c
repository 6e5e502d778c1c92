/* SPDX-License-Identifier: Apache-2.0 */

#include "web_names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <parley/bytes.h>

#include "quantity.h"

static bool consists_of(struct parley_bytes text, const char *allowed) {
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\0' || strchr(allowed, text.data[i]) == NULL) {
            return false;
        }
    }
    return text.length > 0 && text.length < 256;
}

static bool is_host(struct parley_bytes host) {
    static const char digits[] = "0123456789abcdefABCDEF:.";
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    const bool has_brackets =
        host.length > 2 && host.data[0] == '[' && host.data[host.length - 1] == ']';
    return has_brackets ? consists_of((struct parley_bytes){host.data + 1, host.length - 2}, digits)
                        : consists_of(host, letters);
}

/* A browser writes neither a path nor the port that goes with the scheme. */
static bool is_origin(struct parley_bytes origin) {
    static const struct {
        struct parley_bytes scheme, port;
    } rows[] = {{{"http://", 7}, {"80", 2}}, {{"https://", 8}, {"443", 3}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t length = rows[i].scheme.length;
        if (origin.length <= length || memcmp(origin.data, rows[i].scheme.data, length) != 0) {
            continue;
        }
        const struct parley_bytes rest = {origin.data + length, origin.length - length};
        const char *bracket = memrchr(rest.data, ']', rest.length);
        const char *from = bracket != NULL ? bracket : rest.data;
        const char *colon = memchr(from, ':', (size_t)(rest.data + rest.length - from));
        const size_t host = colon != NULL ? (size_t)(colon - rest.data) : rest.length;
        const struct parley_bytes port = {rest.data + host + 1, rest.length - host - 1};
        return is_host((struct parley_bytes){rest.data, host}) &&
               (colon == NULL ||
                (quantity_is_port(port) && !parley_bytes_equal(port, rows[i].port)));
    }
    return false;
}

static bool check(const char *list, bool (*is_one)(struct parley_bytes), const char *expected,
                  char *error) {
    for (const char *at = list;; at++) {
        const struct parley_bytes item = {at, strcspn(at, ",")};
        if (!is_one(item)) {
            snprintf(error, WEB_NAMES_ERROR_MAX, "'%.*s' is not %s",
                     item.length > 100 ? 100 : (int)item.length, item.data, expected);
            return false;
        }
        at += item.length;
        if (*at == '\0') {
            return true;
        }
    }
}

bool web_names_check_hosts(const char *list, char error[WEB_NAMES_ERROR_MAX]) {
    return check(list, is_host,
                 "a host; expected a name or an address without scheme and port, such as "
                 "parley.example or [fd00::1]",
                 error);
}

bool web_names_check_origins(const char *list, char error[WEB_NAMES_ERROR_MAX]) {
    return check(list, is_origin,
                 "an origin; expected a scheme, a host and, unless it is the scheme's own, a port, "
                 "such as https://console.example or http://localhost:3000",
                 error);
}
