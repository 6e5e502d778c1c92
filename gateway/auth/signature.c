/* SPDX-License-Identifier: Apache-2.0 */

/* See signature.h. OpenSSL's EVP for all three algorithms: its keys are counted, not changed by a
 * verification, and so shared by threads. Nothing is computed here: values that JOSE and OpenSSL
 * write differently are only converted. */

#include "signature.h"

#include <assert.h>
#include <stdlib.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

enum {
    RSA_BITS_MIN = 2048,
    RSA_BITS_MAX = 8192, /* the cost of a verification grows with the square */
    RSA_EXPONENT_BITS_MAX = 33,
    P256_BYTES = 32,
    P256_POINT_BYTES = 1 + 2 * P256_BYTES,
    P256_SIGNATURE_DER_MAX = 80,
    ED25519_BYTES = 32,
};

struct signature_key {
    enum signature_algorithm algorithm;
    EVP_PKEY *native;
};

static const unsigned char *octets(struct parley_bytes bytes) {
    return (const unsigned char *)bytes.data;
}

/* ---- keys ---- */

/* Returns: NULL if the numbers are not a key, or there is no memory. */
static EVP_PKEY *build(const char *type, OSSL_PARAM_BLD *builder) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (params == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *build_rsa(const struct signature_numbers *numbers) {
    BIGNUM *n = BN_bin2bn(octets(numbers->first), (int)numbers->first.length, NULL);
    BIGNUM *e = BN_bin2bn(octets(numbers->second), (int)numbers->second.length, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (n != NULL && e != NULL && builder != NULL &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1) {
        key = build("RSA", builder);
    }
    OSSL_PARAM_BLD_free(builder);
    BN_free(n);
    BN_free(e);
    return key;
}

static EVP_PKEY *build_p256(const struct signature_numbers *numbers) {
    unsigned char point[P256_POINT_BYTES] = {POINT_CONVERSION_UNCOMPRESSED};
    memcpy(point + 1, numbers->first.data, P256_BYTES);
    memcpy(point + 1 + P256_BYTES, numbers->second.data, P256_BYTES);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (builder != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point) ==
            1) {
        key = build("EC", builder);
    }
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static EVP_PKEY *build_ed25519(const struct signature_numbers *numbers) {
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, octets(numbers->first),
                                       numbers->first.length);
}

static size_t bits_of(struct parley_bytes number) {
    size_t zeros = 0;
    while (zeros < number.length && number.data[zeros] == 0) {
        zeros++;
    }
    size_t bits = 8 * (number.length - zeros);
    for (unsigned top = zeros < number.length ? (unsigned char)number.data[zeros] : 0x80;
         top < 0x80; top <<= 1) {
        bits--;
    }
    return bits;
}

/* Returns the error in the sizes of the numbers; NULL if there is none. */
static const char *size_fault(enum signature_algorithm algorithm,
                              const struct signature_numbers *numbers) {
    const size_t bits = bits_of(numbers->first);
    switch (algorithm) {
    case SIGNATURE_RS256:
        return bits < RSA_BITS_MIN   ? "has fewer than 2,048 bits"
               : bits > RSA_BITS_MAX ? "has more than 8,192 bits"
               : bits_of(numbers->second) > RSA_EXPONENT_BITS_MAX
                   ? "has an exponent of more than 33 bits"
                   : NULL;
    case SIGNATURE_ES256:
        return numbers->first.length != P256_BYTES || numbers->second.length != P256_BYTES
                   ? "has coordinates that are not 32 bytes long"
                   : NULL;
    default:
        return numbers->first.length != ED25519_BYTES ? "is not 32 bytes long" : NULL;
    }
}

static bool is_sound(EVP_PKEY *native, enum signature_algorithm algorithm) {
    if (algorithm == SIGNATURE_EDDSA) {
        return true; /* OpenSSL has no such check: any 32 bytes are a key */
    }
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, native, NULL);
    const bool is_good = context != NULL && EVP_PKEY_public_check(context) == 1;
    EVP_PKEY_CTX_free(context);
    return is_good;
}

enum parley_status signature_key_create(enum signature_algorithm algorithm,
                                        const struct signature_numbers *numbers,
                                        struct signature_key **out, const char **out_fault) {
    static EVP_PKEY *(*const builders[])(const struct signature_numbers *numbers) = {
        [SIGNATURE_RS256] = build_rsa,
        [SIGNATURE_ES256] = build_p256,
        [SIGNATURE_EDDSA] = build_ed25519,
    };
    *out = NULL;
    *out_fault = size_fault(algorithm, numbers);
    if (*out_fault != NULL) {
        return PARLEY_OK;
    }
    struct signature_key *key = malloc(sizeof *key);
    if (key == NULL) {
        return PARLEY_E_MEMORY;
    }
    *key = (struct signature_key){algorithm, builders[algorithm](numbers)};
    if (key->native == NULL || !is_sound(key->native, algorithm)) {
        *out_fault = "has numbers that are not a key";
        signature_key_destroy(key);
        key = NULL;
    }
    ERR_clear_error();
    *out = key;
    return PARLEY_OK;
}

void signature_key_destroy(struct signature_key *key) {
    if (key != NULL) {
        EVP_PKEY_free(key->native);
        free(key);
    }
}

/* ---- signatures ---- */

/* JOSE writes the two numbers of an ECDSA signature side by side, OpenSSL reads them as DER.
 * Returns: the length of `out`; 0 if it is not such a signature, or there is no memory. */
static size_t write_der(struct parley_bytes signature, unsigned char out[P256_SIGNATURE_DER_MAX]) {
    if (signature.length != 2 * P256_BYTES) {
        return 0;
    }
    int length = 0;
    BIGNUM *r = BN_bin2bn(octets(signature), P256_BYTES, NULL);
    BIGNUM *s = BN_bin2bn(octets(signature) + P256_BYTES, P256_BYTES, NULL);
    ECDSA_SIG *pair = ECDSA_SIG_new();
    if (r != NULL && s != NULL && pair != NULL && ECDSA_SIG_set0(pair, r, s) == 1) {
        r = NULL; /* the pair's now */
        s = NULL;
        length = i2d_ECDSA_SIG(pair, &out);
    }
    ECDSA_SIG_free(pair);
    BN_free(r);
    BN_free(s);
    return length > 0 ? (size_t)length : 0;
}

enum parley_status signature_verify(const struct signature_key *key, struct parley_bytes text,
                                    struct parley_bytes signature, bool *out_is_valid) {
    unsigned char der[P256_SIGNATURE_DER_MAX];
    if (key->algorithm == SIGNATURE_ES256) {
        signature = (struct parley_bytes){(const char *)der, write_der(signature, der)};
    }
    *out_is_valid = false;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *digest = key->algorithm == SIGNATURE_EDDSA ? NULL : EVP_sha256();
    if (context == NULL || EVP_DigestVerifyInit(context, NULL, digest, NULL, key->native) != 1) {
        EVP_MD_CTX_free(context);
        ERR_clear_error();
        return PARLEY_E_MEMORY;
    }
    *out_is_valid = EVP_DigestVerify(context, octets(signature), signature.length, octets(text),
                                     text.length) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return PARLEY_OK;
}
