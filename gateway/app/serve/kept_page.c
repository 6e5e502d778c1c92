/* SPDX-License-Identifier: Apache-2.0 */

#include "kept_page.h"

#include <stdio.h>

#include <sodium.h>

#include "etag.h"

void kept_page_init(struct kept_page *page) {
    for (size_t i = 0; i < CODING_COUNT; i++) {
        parley_buffer_init(&page->bodies[i]);
    }
}

void kept_page_finish(struct kept_page *page) {
    for (size_t i = 0; i < CODING_COUNT; i++) {
        parley_buffer_finish(&page->bodies[i]);
    }
}

enum parley_status kept_page_complete(struct kept_page *page) {
    unsigned char digest[16];
    const struct parley_buffer *plain = &page->bodies[CODING_IDENTITY];
    PARLEY_TRY(parley_buffer_status(plain));
    crypto_generichash(digest, sizeof digest, (const unsigned char *)plain->data, plain->length,
                       NULL, 0);
    sodium_bin2hex(page->digest, sizeof page->digest, digest, sizeof digest);
    for (size_t i = CODING_GZIP; i < CODING_COUNT && plain->length >= HTTP_COMPRESSED_BYTES_MIN;
         i++) {
        PARLEY_TRY(coding_compress((enum coding)i, parley_buffer_bytes(plain), &page->bodies[i]));
    }
    return PARLEY_OK;
}

static enum coding coding_for(const struct http_request *request, const struct kept_page *page) {
    const enum coding coding = negotiate_coding(http_request_header(request, "Accept-Encoding"));
    return page->bodies[coding].length > 0 ? coding : CODING_IDENTITY;
}

void kept_page_respond(struct http_request *request, const char *content_type,
                       const struct kept_page *page) {
    const enum coding coding = coding_for(request, page);
    char etag[64];
    /* A page and its compressed forms are not the same to a strong validator. */
    snprintf(etag, sizeof etag, "\"%s%s%s\"", page->digest, coding != CODING_IDENTITY ? "-" : "",
             coding != CODING_IDENTITY ? coding_name(coding) : "");
    http_header(request, "ETag", etag);
    /* Another version may answer differently: cache it, but revalidate. */
    http_header(request, "Cache-Control", "no-cache");
    const struct parley_bytes body = parley_buffer_bytes(&page->bodies[coding]);
    if (etag_is_known(request, etag)) {
        http_respond_kept(request, HTTP_NOT_MODIFIED, NULL, body);
        return;
    }
    if (coding != CODING_IDENTITY) {
        http_header(request, "Content-Encoding", coding_name(coding));
    }
    http_respond_kept(request, 200, content_type, body);
}
