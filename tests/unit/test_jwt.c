/* SPDX-License-Identifier: Apache-2.0 */

/* JSON Web Tokens, signed here with OpenSSL: what is accepted, and what each check refuses. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <sodium.h>

#include "jansson_setup.h"
#include "../lib/fault_heap.h"
#include "jwt.h"

enum { NOW = 1000000, TOKEN_MAX = 32 * 1024, JWKS_MAX = 8 * 1024 };

enum signer {
    SIGNER_RSA,
    SIGNER_P256,
    SIGNER_ED25519,
    SIGNER_STRANGER, /* a P-256 key that is not in the set */
    SIGNER_SHORT,    /* RSA, 1,024 bits */
    SIGNER_COUNT,
    SIGNER_NOBODY = SIGNER_COUNT, /* an empty signature */
    SIGNER_PUBLIC_KEY,            /* HMAC with the modulus of the RSA key, as if it were a secret */
};

struct world {
    EVP_PKEY *keys[SIGNER_COUNT];
    char jwks_text[JWKS_MAX];
    struct jwks *jwks;
};

static const struct jwt_rules rules = {"https://issuer.example", "parley"};

/* ---- keys ---- */

static void write_base64(const unsigned char *bytes, size_t length, char *out, size_t size) {
    assert_non_null(
        sodium_bin2base64(out, size, bytes, length, sodium_base64_VARIANT_URLSAFE_NO_PADDING));
}

static void read_number(EVP_PKEY *key, const char *name, size_t length, char *out, size_t size) {
    BIGNUM *number = NULL;
    unsigned char bytes[512];
    assert_int_equal(EVP_PKEY_get_bn_param(key, name, &number), 1);
    length = length > 0 ? length : (size_t)BN_num_bytes(number);
    assert_int_equal(BN_bn2binpad(number, bytes, (int)length), (int)length);
    BN_free(number);
    write_base64(bytes, length, out, size);
}

static void write_rsa(EVP_PKEY *key, char *out, size_t size) {
    char n[1024], e[16];
    read_number(key, OSSL_PKEY_PARAM_RSA_N, 0, n, sizeof n);
    read_number(key, OSSL_PKEY_PARAM_RSA_E, 0, e, sizeof e);
    snprintf(out, size, "\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"", n, e);
}

static void write_p256(EVP_PKEY *key, char *out, size_t size) {
    char x[64], y[64];
    read_number(key, OSSL_PKEY_PARAM_EC_PUB_X, 32, x, sizeof x);
    read_number(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32, y, sizeof y);
    snprintf(out, size, "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\",\"y\":\"%s\"", x, y);
}

static void write_ed25519(EVP_PKEY *key, char *out, size_t size) {
    unsigned char bytes[32];
    size_t length = sizeof bytes;
    char x[64];
    assert_int_equal(EVP_PKEY_get_raw_public_key(key, bytes, &length), 1);
    write_base64(bytes, length, x, sizeof x);
    snprintf(out, size, "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%s\"", x);
}

static void write_key(const struct world *world, enum signer signer, char out[1024]) {
    void (*const writers[])(EVP_PKEY * key, char *out, size_t size) = {
        write_rsa, write_p256, write_ed25519, write_p256, write_rsa};
    writers[signer](world->keys[signer], out, 1024);
}

/* Every key that there is, and what they are for. */
static void write_jwks(struct world *world) {
    static const struct {
        enum signer signer;
        const char *more;
    } rows[] = {
        {SIGNER_RSA, "\"kid\":\"rsa\",\"use\":\"sig\",\"alg\":\"RS256\""},
        {SIGNER_P256, "\"kid\":\"p256\",\"key_ops\":[\"verify\"]"},
        {SIGNER_ED25519, "\"kid\":\"ed\""},
        {SIGNER_SHORT, "\"kid\":\"short\""},
        {SIGNER_P256, "\"kid\":\"encrypts\",\"use\":\"enc\""},
        {SIGNER_P256, "\"kid\":\"derives\",\"key_ops\":[\"deriveKey\"]"},
        {SIGNER_RSA, "\"kid\":\"pss\",\"alg\":\"PS256\""},
    };
    char *at = world->jwks_text, *end = at + JWKS_MAX;
    at += snprintf(at, (size_t)(end - at), "{\"keys\":[");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char key[1024];
        write_key(world, rows[i].signer, key);
        at += snprintf(at, (size_t)(end - at), "{%s,%s},", key, rows[i].more);
    }
    snprintf(at, (size_t)(end - at), "{\"kty\":\"oct\",\"kid\":\"secret\",\"k\":\"c2VjcmV0\"}]}");
}

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    jansson_set_up();
    assert_true(sodium_init() >= 0);
    world->keys[SIGNER_RSA] = EVP_RSA_gen(2048U);
    world->keys[SIGNER_SHORT] = EVP_RSA_gen(1024U);
    world->keys[SIGNER_P256] = EVP_EC_gen("P-256");
    world->keys[SIGNER_STRANGER] = EVP_EC_gen("P-256");
    world->keys[SIGNER_ED25519] = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    write_jwks(world);
    char error[JWKS_ERROR_MAX];
    assert_int_equal(jwks_read(parley_bytes_of(world->jwks_text), &world->jwks, error), PARLEY_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    jwks_unref(world->jwks);
    for (size_t i = 0; i < SIGNER_COUNT; i++) {
        EVP_PKEY_free(world->keys[i]);
    }
    free(world);
    return 0;
}

/* ---- tokens ---- */

/* As JOSE writes it: both numbers with all their zeros. */
static size_t flatten(unsigned char *signature, size_t length) {
    const unsigned char *der = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)length);
    assert_non_null(pair);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(pair), signature, 32), 32);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(pair), signature + 32, 32), 32);
    ECDSA_SIG_free(pair);
    return 64;
}

static size_t sign(const struct world *world, enum signer signer, const char *text,
                   unsigned char out[1024]) {
    const unsigned char *bytes = (const unsigned char *)text;
    if (signer == SIGNER_NOBODY) {
        return 0;
    }
    if (signer == SIGNER_PUBLIC_KEY) {
        char key[1024];
        unsigned length;
        write_key(world, SIGNER_RSA, key);
        assert_non_null(
            HMAC(EVP_sha256(), key, (int)strlen(key), bytes, strlen(text), out, &length));
        return length;
    }
    size_t length = 1024;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *digest = signer == SIGNER_ED25519 ? NULL : EVP_sha256();
    assert_int_equal(EVP_DigestSignInit(context, NULL, digest, NULL, world->keys[signer]), 1);
    assert_int_equal(EVP_DigestSign(context, out, &length, bytes, strlen(text)), 1);
    EVP_MD_CTX_free(context);
    const bool is_p256 = signer == SIGNER_P256 || signer == SIGNER_STRANGER;
    return is_p256 ? flatten(out, length) : length;
}

static void make_token(const struct world *world, enum signer signer, const char *header,
                       const char *claims, char out[TOKEN_MAX]) {
    unsigned char signature[1024];
    write_base64((const unsigned char *)header, strlen(header), out, TOKEN_MAX);
    char *at = out + strlen(out);
    *at++ = '.';
    write_base64((const unsigned char *)claims, strlen(claims), at, TOKEN_MAX / 2);
    const size_t length = sign(world, signer, out, signature);
    at += strlen(at);
    *at++ = '.';
    write_base64(signature, length, at, 2048);
}

static const char *verify(const struct world *world, const char *token, struct principal **out) {
    const char *fault = "";
    assert_int_equal(jwt_verify(parley_bytes_of(token), world->jwks, &rules, NOW, out, &fault),
                     PARLEY_OK);
    assert_true((*out == NULL) == (fault != NULL));
    return fault;
}

/* ---- rows ---- */

#define RSA "{\"alg\":\"RS256\",\"kid\":\"rsa\"}"
#define BODY(times, more) "{\"iss\":\"https://issuer.example\",\"aud\":\"parley\"" times more "}"
#define EXP ",\"exp\":1000300"
#define SUB ",\"sub\":\"robin\""
#define GOOD BODY(EXP, SUB)

struct row {
    const char *name;
    enum signer signer;
    const char *header, *claims;
    const char *fault; /* NULL: it is accepted */
};

static void test_a_token_is_accepted_or_the_check_that_failed_is_named(void **state) {
    static const char wrong_alg[] = "has an alg other than RS256, ES256 and EdDSA";
    static const char confused[] = "has an alg that is not that of its key";
    static const char unusable[] =
        "names a key that may not verify it (the key's use, alg or size)";
    static const char forged[] = "has a signature that is not valid";
    static const char bad_header[] = "has a header that is not base64url of a JSON object";
    static const char bad_claims[] = "has claims that are not base64url of a JSON object";
    static const char issuer[] = "is not from the issuer that --jwt-issuer names (iss)";
    static const char audience[] = "is not for the audience that --jwt-audience names (aud)";
    static const char bad_exp[] = "has an exp that is not whole seconds";
    static const char no_sub[] = "has no sub of 1 to 255 visible ASCII characters";
    static const char bad_agent[] = "has an agent that is not a name of 1 to 255 bytes";
    static const struct row rows[] = {
        {"RS256", SIGNER_RSA, RSA, GOOD, NULL},
        {"ES256", SIGNER_P256, "{\"alg\":\"ES256\",\"kid\":\"p256\"}", GOOD, NULL},
        {"EdDSA", SIGNER_ED25519, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}", GOOD, NULL},
        {"no kid, one key", SIGNER_ED25519, "{\"alg\":\"EdDSA\"}", GOOD, NULL},
        {"typ JWT", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"typ\":\"jwt\"}", GOOD, NULL},
        {"typ at+jwt", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"typ\":\"at+jwt\"}", GOOD,
         NULL},
        {"a header that is not needed", SIGNER_RSA,
         "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"jku\":\"https://elsewhere.example/keys\"}", GOOD,
         NULL},

        /* which key, and how it is used */
        {"alg none", SIGNER_NOBODY, "{\"alg\":\"none\"}", GOOD, wrong_alg},
        {"alg None", SIGNER_NOBODY, "{\"alg\":\"None\",\"kid\":\"rsa\"}", GOOD, wrong_alg},
        {"no alg", SIGNER_RSA, "{\"kid\":\"rsa\"}", GOOD, wrong_alg},
        {"an alg that is a number", SIGNER_RSA, "{\"alg\":256,\"kid\":\"rsa\"}", GOOD, wrong_alg},
        {"HS256 with the public key", SIGNER_PUBLIC_KEY, "{\"alg\":\"HS256\",\"kid\":\"rsa\"}",
         GOOD, wrong_alg},
        {"RS256 with HS256's signature", SIGNER_PUBLIC_KEY, RSA, GOOD, forged},
        {"RS512", SIGNER_RSA, "{\"alg\":\"RS512\",\"kid\":\"rsa\"}", GOOD, wrong_alg},
        {"ES256 with an RSA key", SIGNER_P256, "{\"alg\":\"ES256\",\"kid\":\"rsa\"}", GOOD,
         confused},
        {"RS256 with an Ed25519 key", SIGNER_ED25519, "{\"alg\":\"RS256\",\"kid\":\"ed\"}", GOOD,
         confused},
        {"a key of 1,024 bits", SIGNER_SHORT, "{\"alg\":\"RS256\",\"kid\":\"short\"}", GOOD,
         unusable},
        {"a key for encryption", SIGNER_P256, "{\"alg\":\"ES256\",\"kid\":\"encrypts\"}", GOOD,
         unusable},
        {"a key for derivation", SIGNER_P256, "{\"alg\":\"ES256\",\"kid\":\"derives\"}", GOOD,
         unusable},
        {"a key of another alg", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"pss\"}", GOOD, unusable},
        {"a shared secret", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"secret\"}", GOOD, unusable},
        {"an unknown kid", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"../rsa\"}", GOOD,
         "names a key that --jwks does not have (kid)"},
        {"an empty kid", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"\"}", GOOD,
         "names a key that --jwks does not have (kid)"},
        {"a kid that is a number", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":1}", GOOD,
         "has a kid that is not a string"},
        {"crit", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"crit\":[\"exp\"]}", GOOD,
         "has extensions that must be understood (crit)"},
        {"an empty crit", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"crit\":null}", GOOD,
         "has extensions that must be understood (crit)"},
        {"a logout token", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"typ\":\"logout+jwt\"}",
         GOOD, "is not an access token (typ)"},
        {"another's signature", SIGNER_STRANGER, "{\"alg\":\"ES256\",\"kid\":\"p256\"}", GOOD,
         forged},
        {"no signature", SIGNER_NOBODY, RSA, GOOD, forged},
        {"no signature of ES256", SIGNER_NOBODY, "{\"alg\":\"ES256\",\"kid\":\"p256\"}", GOOD,
         forged},
        {"no signature of EdDSA", SIGNER_NOBODY, "{\"alg\":\"EdDSA\"}", GOOD, forged},
        {"a signature of another length", SIGNER_RSA, "{\"alg\":\"ES256\",\"kid\":\"p256\"}", GOOD,
         forged},

        /* JSON */
        {"alg twice", SIGNER_RSA, "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"alg\":\"none\"}", GOOD,
         bad_header},
        {"a header that is an array", SIGNER_RSA, "[\"RS256\"]", GOOD, bad_header},
        {"a header that is not JSON", SIGNER_RSA, "{\"alg\":RS256}", GOOD, bad_header},
        {"an empty header", SIGNER_RSA, "", GOOD, bad_header},
        {"a header without members", SIGNER_RSA, "{}", GOOD, wrong_alg},
        {"exp twice", SIGNER_RSA, RSA, BODY(EXP ",\"exp\":9999999", SUB), bad_claims},
        {"exp twice, once escaped", SIGNER_RSA, RSA, BODY(EXP ",\"e\\u0078p\":9999999", SUB),
         bad_claims},
        {"a member twice that is not read", SIGNER_RSA, RSA, BODY(EXP ",\"a\":1,\"a\":2", SUB),
         bad_claims},
        {"claims that are a string", SIGNER_RSA, RSA, "\"robin\"", bad_claims},
        {"text after the claims", SIGNER_RSA, RSA, GOOD "{}", bad_claims},
        {"claims that are not UTF-8", SIGNER_RSA, RSA, BODY(EXP, ",\"sub\":\"\xff\""), bad_claims},

        /* iss and aud */
        {"no claims", SIGNER_RSA, RSA, "{}", issuer},
        {"another issuer", SIGNER_RSA, RSA,
         "{\"iss\":\"https://issuer.example/\",\"aud\":\"parley\"" EXP SUB "}", issuer},
        {"a list of issuers", SIGNER_RSA, RSA,
         "{\"iss\":[\"https://issuer.example\"],\"aud\":\"parley\"" EXP SUB "}", issuer},
        {"one of several audiences", SIGNER_RSA, RSA,
         "{\"iss\":\"https://issuer.example\",\"aud\":[\"billing\",\"parley\"]" EXP SUB "}", NULL},
        {"no audience", SIGNER_RSA, RSA, "{\"iss\":\"https://issuer.example\"" EXP SUB "}",
         audience},
        {"other audiences", SIGNER_RSA, RSA,
         "{\"iss\":\"https://issuer.example\",\"aud\":[\"billing\",\"parleys\"]" EXP SUB "}",
         audience},
        {"an audience within a list within the list", SIGNER_RSA, RSA,
         "{\"iss\":\"https://issuer.example\",\"aud\":[[\"parley\"]]" EXP SUB "}", audience},
        {"an audience in another member", SIGNER_RSA, RSA,
         "{\"iss\":\"https://issuer.example\",\"aud\":\"x\",\"azp\":\"parley\"" EXP SUB "}",
         audience},

        /* times: it is 1,000,000 */
        {"expired within the leeway", SIGNER_RSA, RSA, BODY(",\"exp\":999941", SUB), NULL},
        {"expired", SIGNER_RSA, RSA, BODY(",\"exp\":999940", SUB), "has expired (exp)"},
        {"expired long ago", SIGNER_RSA, RSA, BODY(",\"exp\":0", SUB), "has expired (exp)"},
        {"no exp", SIGNER_RSA, RSA, BODY("", SUB), "has no expiry time (exp)"},
        {"an exp that is a string", SIGNER_RSA, RSA, BODY(",\"exp\":\"1000300\"", SUB), bad_exp},
        {"an exp that is null", SIGNER_RSA, RSA, BODY(",\"exp\":null", SUB), bad_exp},
        {"an exp with a fraction", SIGNER_RSA, RSA, BODY(",\"exp\":1000300.5", SUB), bad_exp},
        {"a negative exp", SIGNER_RSA, RSA, BODY(",\"exp\":-1", SUB), bad_exp},
        {"a huge exp", SIGNER_RSA, RSA, BODY(",\"exp\":1e300", SUB), bad_exp},
        {"an exp beyond a double", SIGNER_RSA, RSA, BODY(",\"exp\":1e400", SUB), bad_claims},
        {"an exp beyond 64 bits", SIGNER_RSA, RSA, BODY(",\"exp\":18446744073710551616", SUB),
         bad_exp},
        {"valid since now", SIGNER_RSA, RSA, BODY(EXP ",\"nbf\":1000000", SUB), NULL},
        {"valid soon, within the leeway", SIGNER_RSA, RSA, BODY(EXP ",\"nbf\":1000060", SUB), NULL},
        {"not valid yet", SIGNER_RSA, RSA, BODY(EXP ",\"nbf\":1000061", SUB),
         "is not valid yet (nbf)"},
        {"a huge nbf", SIGNER_RSA, RSA, BODY(EXP ",\"nbf\":1e19", SUB),
         "has an nbf that is not whole seconds"},

        /* who it is */
        {"no sub", SIGNER_RSA, RSA, BODY(EXP, ""), no_sub},
        {"an empty sub", SIGNER_RSA, RSA, BODY(EXP, ",\"sub\":\"\""), no_sub},
        {"a sub with a line break", SIGNER_RSA, RSA, BODY(EXP, ",\"sub\":\"a\\nb\""), no_sub},
        {"a sub with a NUL", SIGNER_RSA, RSA, BODY(EXP, ",\"sub\":\"a\\u0000b\""), no_sub},
        {"a sub that is a number", SIGNER_RSA, RSA, BODY(EXP, ",\"sub\":7"), no_sub},
        {"an agent with a NUL", SIGNER_RSA, RSA, BODY(EXP SUB, ",\"agent\":\"a\\u0000b\""),
         bad_agent},
        {"an agent that is a list", SIGNER_RSA, RSA, BODY(EXP SUB, ",\"agent\":[\"a\"]"),
         bad_agent},
        {"an empty agent", SIGNER_RSA, RSA, BODY(EXP SUB, ",\"agent\":\"\""), bad_agent},
        {"an agent that is null", SIGNER_RSA, RSA, BODY(EXP SUB, ",\"agent\":null"), bad_agent},
        {"a scope that is a list", SIGNER_RSA, RSA, BODY(EXP SUB, ",\"scope\":[\"send:*\"]"),
         "has a scope that is not a string"},
    };
    char *token = malloc(TOKEN_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        struct principal *principal;
        make_token(*state, row->signer, row->header, row->claims, token);
        const char *fault = verify(*state, token, &principal);
        principal_unref(principal);
        if ((fault == NULL) != (row->fault == NULL) ||
            (fault != NULL && strcmp(fault, row->fault) != 0)) {
            fail_msg("%s: %s", row->name, fault != NULL ? fault : "accepted");
        }
    }
    free(token);
}

/* ---- what the claims become ---- */

static void test_a_principal_is_what_the_claims_say(void **state) {
    struct principal *principal;
    char *token = malloc(TOKEN_MAX);
    make_token(*state, SIGNER_RSA, RSA,
               BODY(EXP SUB, ",\"agent\":\"The Obs\\u0065rver\""
                             ",\"scope\":\"openid send:vlp  read:* nonsense send:nosuch\""),
               token);
    assert_null(verify(*state, token, &principal));
    struct parley_buffer scopes;
    parley_buffer_init(&scopes);
    scopes_write(&principal->scopes, ' ', &scopes);
    parley_buffer_char(&scopes, '\0');
    assert_string_equal(scopes.data, "send:vlp read:*");
    assert_string_equal(principal->name, "robin");
    assert_string_equal(principal->agent, "The Observer");
    assert_int_equal(principal->expires_at, 1000300 + JWT_LEEWAY_S);
    parley_buffer_finish(&scopes);
    principal_unref(principal);
    free(token);
}

static void test_commas_do_not_separate_scopes_and_none_may_be_missing(void **state) {
    static const char *const claims[] = {GOOD, BODY(EXP SUB, ",\"scope\":\"\""),
                                         BODY(EXP SUB, ",\"scope\":\"send:vlp,read:vlp\"")};
    char *token = malloc(TOKEN_MAX);
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        struct principal *principal;
        make_token(*state, SIGNER_RSA, RSA, claims[i], token);
        assert_null(verify(*state, token, &principal));
        assert_memory_equal(&principal->scopes, &(struct scopes){0}, sizeof principal->scopes);
        assert_null(principal->agent);
        principal_unref(principal);
    }
    free(token);
}

static void test_without_memory_nobody_is_let_in(void **state) {
    const struct world *world = *state;
    char *token = malloc(TOKEN_MAX);
    make_token(world, SIGNER_ED25519, "{\"alg\":\"EdDSA\"}",
               BODY(EXP SUB, ",\"agent\":\"The Obs\\u0065rver\",\"scope\":\"send:*\""), token);
    for (size_t first = 0, count = 1; first < count; first++) {
        struct principal *principal = NULL;
        const char *fault = NULL;
        fault_heap_arm(first, 1);
        const enum parley_status status =
            jwt_verify(parley_bytes_of(token), world->jwks, &rules, NOW, &principal, &fault);
        count = fault_heap_disarm();
        if (fault_heap_has_failed()) {
            assert_int_equal(status, PARLEY_E_MEMORY);
            assert_null(principal);
            count++;
        }
        principal_unref(principal);
    }
    free(token);
}

/* ---- tokens that are not written as they should be ---- */

static void pad(char *token) {
    strcat(token, "==");
}
static void add_blank(char *token) {
    memmove(token + 1, token, strlen(token) + 1);
    token[0] = ' ';
}
static void use_the_other_alphabet(char *token) {
    token[strlen(token) - 5] = '+';
}
/* 256 bytes are 342 characters: the last one has four bits that say nothing. */
static void set_a_spare_bit(char *token) {
    char *last = token + strlen(token) - 1;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    *last = digits[(strchr(digits, *last) - digits) | 1];
}
static void change_the_signature(char *token) {
    char *at = token + strlen(token) - 20;
    *at = *at == 'A' ? 'B' : 'A';
}
static void change_the_claims(char *token) {
    char *at = strchr(token, '.') + 10;
    *at = *at == 'A' ? 'B' : 'A';
}
static void drop_the_signature(char *token) {
    *strrchr(token, '.') = '\0';
}
static void add_a_part(char *token) {
    strcat(token, ".e30");
}
static void clear(char *token) {
    token[0] = '\0';
}
static void keep_only_dots(char *token) {
    strcpy(token, "..");
}
static void fill_up(char *token) {
    memset(token, 'A', 16 * 1024);
    token[100] = token[200] = '.';
    token[16 * 1024] = '\0';
}

static void test_a_token_that_was_changed_is_refused(void **state) {
    static const char forged[] = "has a signature that is not valid";
    static const char parts[] = "does not have three parts";
    static const char header[] = "has a header that is not base64url of a JSON object";
    static const struct {
        const char *name;
        void (*change)(char *token);
        const char *fault;
    } rows[] = {
        {"padding", pad, forged},
        {"a blank", add_blank, header},
        {"the other alphabet", use_the_other_alphabet, forged},
        {"a spare bit", set_a_spare_bit, forged},
        {"another signature", change_the_signature, forged},
        {"other claims", change_the_claims, forged},
        {"two parts", drop_the_signature, parts},
        {"four parts", add_a_part, parts},
        {"nothing", clear, parts},
        {"dots", keep_only_dots, header},
        {"16 KiB", fill_up, "is longer than 8 KiB"},
    };
    char *token = malloc(TOKEN_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct principal *principal;
        make_token(*state, SIGNER_RSA, RSA, GOOD, token);
        rows[i].change(token);
        const char *fault = verify(*state, token, &principal);
        if (fault == NULL || strcmp(fault, rows[i].fault) != 0) {
            fail_msg("%s: %s", rows[i].name, fault != NULL ? fault : "accepted");
        }
    }
    free(token);
}

static void test_two_dots_make_a_token_a_jwt(void **state) {
    (void)state;
    assert_true(jwt_is_shaped(PARLEY_BYTES("a.b.c")));
    assert_true(jwt_is_shaped(PARLEY_BYTES("..")));
    assert_false(jwt_is_shaped(PARLEY_BYTES("parley_0123456789")));
    assert_false(jwt_is_shaped(PARLEY_BYTES("a.b")));
    assert_false(jwt_is_shaped(PARLEY_BYTES("a.b.c.d")));
    assert_false(jwt_is_shaped(PARLEY_BYTES("")));
}

/* ---- sets ---- */

static void test_keys_that_are_not_used_are_named_with_the_reason(void **state) {
    const struct world *world = *state;
    static const char *const remarks[] = {
        "key 4 has fewer than 2,048 bits",
        "key 5 is not for signatures (use)",
        "key 6 is not for verifying (key_ops)",
        "key 7 is for another algorithm than RS256, ES256 or EdDSA (alg)",
        "key 8 is not an RSA, EC P-256 or OKP Ed25519 key (kty, crv)",
    };
    for (size_t i = 0; i < sizeof remarks / sizeof remarks[0]; i++) {
        assert_string_equal(jwks_remark(world->jwks, i), remarks[i]);
    }
    assert_null(jwks_remark(world->jwks, sizeof remarks / sizeof remarks[0]));
}

#define ED_X "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" /* RFC 8037, appendix A */
#define ED "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" ED_X "\""
#define ZEROS_32 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void test_a_set_that_is_of_no_use_is_refused_with_the_reason(void **state) {
    (void)state;
    static const char none[] = "has no key that can verify a token";
    static const struct {
        const char *text, *error; /* error NULL: it is read */
    } rows[] = {
        {"{\"keys\":[{" ED "}]}", NULL},
        {"{\"keys\":[{" ED "}],\"issuer\":\"x\"}", NULL},
        {"", "is not valid JSON (line 1, column 0)"},
        {"{\"keys\":[}", "is not valid JSON (line 1, column 10)"},
        {"{\"keys\":[],\"keys\":[{" ED "}]}", "is not valid JSON (line 1, column 17)"},
        {"[]", "must be a JWK set: an object with an array `keys`"},
        {"{" ED "}", "must be a JWK set: an object with an array `keys`"},
        {"{\"keys\":{}}", "must be a JWK set: an object with an array `keys`"},
        {"{\"keys\":[]}", none},
        {"{\"keys\":[7]}", "has no key that can verify a token: key 1 is not a JSON object"},
        {"{\"keys\":[{" ED ",\"d\":\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\"}]}",
         "has a private key (member `d`): keep that with the issuer, and give parley the public "
         "keys only"},
        {"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}]}",
         "has no key that can verify a token: key 1 is not 32 bytes long"},
        {"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" ED_X "=\"}]}",
         "has no key that can verify a token: key 1 has a number that is missing or is not "
         "base64url"},
        {"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\"}]}",
         "has no key that can verify a token: key 1 has a number that is missing or is not "
         "base64url"},
        {"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" ED_X "\",\"y\":\"" ED_X "\"}]}",
         "has no key that can verify a token: key 1 has numbers that are not a key"},
        {"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" ZEROS_32 "\",\"y\":\"" ZEROS_32
         "\"}]}",
         "has no key that can verify a token: key 1 has numbers that are not a key"},
        {"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}]}",
         "has no key that can verify a token: key 1 has coordinates that are not 32 bytes long"},
        {"{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
         "has no key that can verify a token: key 1 has fewer than 2,048 bits"},
        {"{\"keys\":[{" ED ",\"kid\":7}]}",
         "has no key that can verify a token: key 1 has a kid that is not a string"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct jwks *jwks = NULL;
        char error[JWKS_ERROR_MAX] = "";
        const enum parley_status status = jwks_read(parley_bytes_of(rows[i].text), &jwks, error);
        assert_int_equal(status, rows[i].error == NULL ? PARLEY_OK : PARLEY_E_UNSUPPORTED);
        assert_string_equal(error, rows[i].error != NULL ? rows[i].error : "");
        jwks_unref(jwks);
    }
}

static void test_an_even_rsa_modulus_is_not_a_key(void **state) {
    const struct world *world = *state;
    char key[1024], text[2048], error[JWKS_ERROR_MAX];
    struct jwks *jwks;
    write_key(world, SIGNER_RSA, key);
    char *last = strstr(key, "\",\"e\"") - 1;
    *last = 'A'; /* the low bits of the modulus */
    snprintf(text, sizeof text, "{\"keys\":[{%s}]}", key);
    assert_int_equal(jwks_read(parley_bytes_of(text), &jwks, error), PARLEY_E_UNSUPPORTED);
    assert_non_null(strstr(error, "has numbers that are not a key"));
}

static void test_without_a_kid_one_of_several_keys_is_not_guessed(void **state) {
    struct world *world = *state;
    char first[1024], second[1024], text[4096], error[JWKS_ERROR_MAX];
    struct jwks *jwks;
    write_key(world, SIGNER_P256, first);
    write_key(world, SIGNER_STRANGER, second);
    snprintf(text, sizeof text, "{\"keys\":[{%s},{%s}]}", first, second);
    assert_int_equal(jwks_read(parley_bytes_of(text), &jwks, error), PARLEY_OK);
    const char *fault;
    assert_null(jwks_find(jwks, (struct parley_bytes){0}, SIGNATURE_ES256, &fault));
    assert_string_equal(fault, "could be signed with several keys of --jwks: give each key a kid");
    assert_null(jwks_find(jwks, (struct parley_bytes){0}, SIGNATURE_RS256, &fault));
    assert_string_equal(fault, "has no kid, and no key of --jwks has its alg");
    jwks_unref(jwks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_token_is_accepted_or_the_check_that_failed_is_named),
        cmocka_unit_test(test_a_principal_is_what_the_claims_say),
        cmocka_unit_test(test_commas_do_not_separate_scopes_and_none_may_be_missing),
        cmocka_unit_test(test_without_memory_nobody_is_let_in),
        cmocka_unit_test(test_a_token_that_was_changed_is_refused),
        cmocka_unit_test(test_two_dots_make_a_token_a_jwt),
        cmocka_unit_test(test_keys_that_are_not_used_are_named_with_the_reason),
        cmocka_unit_test(test_a_set_that_is_of_no_use_is_refused_with_the_reason),
        cmocka_unit_test(test_an_even_rsa_modulus_is_not_a_key),
        cmocka_unit_test(test_without_a_kid_one_of_several_keys_is_not_guessed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
