/* SPDX-License-Identifier: Apache-2.0 */

#include "etag.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#define ETAG_SIZE 40

bool etag_is_known(const struct http_request *request, const char *etag) {
    const char *known;
    for (size_t i = 0; (known = http_request_header_at(request, "If-None-Match", i)) != NULL; i++) {
        if (strcmp(known, "*") == 0 || strstr(known, etag) != NULL) {
            return true;
        }
    }
    return false;
}

/* Weak: the compressed text is another sequence of bytes. */
static void write_etag(struct parley_bytes text, char out[ETAG_SIZE]) {
    unsigned char digest[16];
    char hex[2 * sizeof digest + 1];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)text.data, text.length, NULL,
                       0);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    snprintf(out, ETAG_SIZE, "W/\"%s\"", hex);
}

void etag_respond(struct http_request *request, const char *cache_control, const char *type,
                  struct parley_bytes text) {
    char etag[ETAG_SIZE];
    write_etag(text, etag);
    http_header(request, "ETag", etag);
    http_header(request, "Cache-Control", cache_control);
    http_compress(request);
    http_respond(request, etag_is_known(request, etag) ? HTTP_NOT_MODIFIED : 200, type, text);
}
