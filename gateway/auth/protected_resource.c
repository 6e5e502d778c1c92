/* SPDX-License-Identifier: Apache-2.0 */

#include "protected_resource.h"

#include <stdio.h>
#include <string.h>

/* The length of "https://host:8080"; 0: it is no URL. */
static size_t origin_length(const char *url) {
    static const char *const schemes[] = {"https://", "http://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t scheme = strlen(schemes[i]);
        if (strncmp(url, schemes[i], scheme) == 0) {
            const size_t host = strcspn(url + scheme, "/?#");
            return host > 0 ? scheme + host : 0;
        }
    }
    return 0;
}

/* It is repeated in a header, in quotes. */
static bool is_plain(const char *text) {
    while (*text > ' ' && *text < '\x7F' && *text != '"' && *text != '\\') {
        text++;
    }
    return *text == '\0';
}

bool protected_resource_url(const char *audience, char out[PROTECTED_RESOURCE_URL_MAX]) {
    const size_t length = audience != NULL && is_plain(audience) ? origin_length(audience) : 0;
    if (length == 0 || length + sizeof PROTECTED_RESOURCE_PATH > PROTECTED_RESOURCE_URL_MAX) {
        return false;
    }
    snprintf(out, PROTECTED_RESOURCE_URL_MAX, "%.*s" PROTECTED_RESOURCE_PATH, (int)length,
             audience);
    return true;
}

void protected_resource_write(const char *audience, const char *issuer, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"resource\":");
    parley_buffer_json(out, parley_bytes_of(audience));
    parley_buffer_text(out, ",\"authorization_servers\":[");
    parley_buffer_json(out, parley_bytes_of(issuer));
    parley_buffer_text(
        out, "],\"bearer_methods_supported\":[\"header\"],\"resource_name\":\"parley\"}\n");
}
