/* SPDX-License-Identifier: Apache-2.0 */

/* The digest of an object (object_layout.h), by OpenSSL, which uses the processor's instructions
 * for it. */

#include <openssl/evp.h>
#include <sodium.h>

#include "object_layout.h"

static const char kind[] = "SHA-256=";

void object_digest_begin(struct object_digest *digest) {
    EVP_MD_CTX *native = EVP_MD_CTX_new();
    if (native != NULL && EVP_DigestInit_ex(native, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(native);
        native = NULL;
    }
    digest->native = native;
}

void object_digest_add(struct object_digest *digest, struct parley_bytes bytes) {
    if (digest->native != NULL && EVP_DigestUpdate(digest->native, bytes.data, bytes.length) != 1) {
        object_digest_finish(digest);
    }
}

bool object_digest_end(struct object_digest *digest, char out[OBJECT_DIGEST_MAX]) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    const bool is_known =
        digest->native != NULL && EVP_DigestFinal_ex(digest->native, hash, &length) == 1;
    object_digest_finish(digest);
    out[0] = '\0';
    if (is_known) {
        const size_t start = sizeof kind - 1;
        memcpy(out, kind, start);
        sodium_bin2base64(out + start, OBJECT_DIGEST_MAX - start, hash, length,
                          sodium_base64_VARIANT_URLSAFE);
    }
    return is_known;
}

void object_digest_finish(struct object_digest *digest) {
    EVP_MD_CTX_free(digest->native);
    digest->native = NULL;
}
