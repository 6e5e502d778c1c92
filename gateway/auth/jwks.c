/* SPDX-License-Identifier: Apache-2.0 */

/* See jwks.h. The file is an operator's, so it is read with jansson, like the configuration. */

#include "jwks.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <sodium.h>

#include "private_file.h"

enum {
    NUMBER_BYTES_MAX = 2048, /* of 8,192 bits, and room to detect a longer one */
    REMARK_MAX = 120,
};

/* For each algorithm: which keys are for it, and where their numbers are. */
static const struct form {
    const char *algorithm, *kty, *crv, *first, *second; /* NULL if absent */
} forms[SIGNATURE_ALGORITHM_COUNT] = {
    [SIGNATURE_RS256] = {"RS256", "RSA", NULL, "n", "e"},
    [SIGNATURE_ES256] = {"ES256", "EC", "P-256", "x", "y"},
    [SIGNATURE_EDDSA] = {"EdDSA", "OKP", "Ed25519", "x", NULL},
};

struct jwk {
    char *kid; /* NULL if absent */
    enum signature_algorithm algorithm;
    struct signature_key *key; /* NULL if it is not used */
    char remark[REMARK_MAX];   /* then, why not */
};

struct jwks {
    atomic_size_t references;
    size_t count;
    struct jwk keys[];
};

bool jwks_algorithm(struct parley_bytes name, enum signature_algorithm *out) {
    for (size_t i = 0; i < SIGNATURE_ALGORITHM_COUNT; i++) {
        if (parley_bytes_equal(name, parley_bytes_of(forms[i].algorithm))) {
            *out = (enum signature_algorithm)i;
            return true;
        }
    }
    return false;
}

/* ---- one key ---- */

static bool is_text(const json_t *object, const char *member, const char *text) {
    const char *value = json_string_value(json_object_get(object, member));
    return value != NULL && strcmp(value, text) == 0;
}

/* Checks a member that limits the use of the key: if present, it must have this value. */
static bool is_for(const json_t *key, const char *member, const char *text) {
    return json_object_get(key, member) == NULL || is_text(key, member, text);
}

static bool may_verify(const json_t *key) {
    const json_t *operations = json_object_get(key, "key_ops"), *operation;
    size_t i;
    json_array_foreach(operations, i, operation) {
        if (json_is_string(operation) && strcmp(json_string_value(operation), "verify") == 0) {
            return true;
        }
    }
    return operations == NULL;
}

static bool find_form(const json_t *key, enum signature_algorithm *out) {
    for (size_t i = 0; i < SIGNATURE_ALGORITHM_COUNT; i++) {
        if (is_text(key, "kty", forms[i].kty) &&
            (forms[i].crv == NULL || is_text(key, "crv", forms[i].crv))) {
            *out = (enum signature_algorithm)i;
            return true;
        }
    }
    return false;
}

static const char *use_fault(const json_t *key, enum signature_algorithm *out_algorithm) {
    const json_t *kid = json_object_get(key, "kid");
    return !json_is_object(key)                  ? "is not a JSON object"
           : kid != NULL && !json_is_string(kid) ? "has a kid that is not a string"
           : !find_form(key, out_algorithm)
               ? "is not an RSA, EC P-256 or OKP Ed25519 key (kty, crv)"
           : !is_for(key, "use", "sig") ? "is not for signatures (use)"
           : !may_verify(key)           ? "is not for verifying (key_ops)"
           : !is_for(key, "alg", forms[*out_algorithm].algorithm)
               ? "is for another algorithm than RS256, ES256 or EdDSA (alg)"
               : NULL;
}

/* Decodes a number.  Returns: false if it is not base64url, is empty or too long. */
static bool read_number(const json_t *key, const char *member, char out[NUMBER_BYTES_MAX],
                        struct parley_bytes *out_number) {
    const json_t *value = json_object_get(key, member);
    *out_number = (struct parley_bytes){out, 0};
    return json_is_string(value) &&
           sodium_base642bin((unsigned char *)out, NUMBER_BYTES_MAX, json_string_value(value),
                             json_string_length(value), NULL, &out_number->length, NULL,
                             sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           out_number->length > 0;
}

static enum parley_status create_key(const json_t *key, struct jwk *out, const char **out_fault) {
    char first[NUMBER_BYTES_MAX], second[NUMBER_BYTES_MAX];
    struct signature_numbers numbers = {.second = {0}};
    const struct form *form = &forms[out->algorithm];
    if (!read_number(key, form->first, first, &numbers.first) ||
        (form->second != NULL && !read_number(key, form->second, second, &numbers.second))) {
        *out_fault = "has a number that is missing or is not base64url";
        return PARLEY_OK;
    }
    return signature_key_create(out->algorithm, &numbers, &out->key, out_fault);
}

static enum parley_status read_key(const json_t *key, size_t number, struct jwk *out) {
    const char *kid = json_string_value(json_object_get(key, "kid"));
    if (kid != NULL && (out->kid = strdup(kid)) == NULL) {
        return PARLEY_E_MEMORY;
    }
    const char *fault = use_fault(key, &out->algorithm);
    if (fault == NULL) {
        PARLEY_TRY(create_key(key, out, &fault));
    }
    if (fault != NULL) {
        snprintf(out->remark, sizeof out->remark, "key %zu %s", number, fault);
    }
    return PARLEY_OK;
}

/* ---- the set ---- */

static bool has_private_key(const json_t *keys) {
    const json_t *key;
    size_t i;
    json_array_foreach(keys, i, key) {
        if (json_object_get(key, "d") != NULL) {
            return true;
        }
    }
    return false;
}

static bool has_usable_key(const struct jwks *jwks) {
    bool is_there = false;
    for (size_t i = 0; i < jwks->count; i++) {
        is_there |= jwks->keys[i].key != NULL;
    }
    return is_there;
}

static const char *set_fault(const json_t *keys) {
    return !json_is_array(keys) ? "must be a JWK set: an object with an array `keys`"
           : json_array_size(keys) > JWKS_KEYS_MAX
               ? "has more than 64 keys: leave only those of the issuer"
           : has_private_key(keys)
               ? "has a private key (member `d`): keep that with the issuer, and give parley the "
                 "public keys only"
               : NULL;
}

static enum parley_status read_keys(const json_t *keys, struct jwks **out,
                                    char error[JWKS_ERROR_MAX]) {
    const char *fault = set_fault(keys);
    if (fault != NULL) {
        snprintf(error, JWKS_ERROR_MAX, "%s", fault);
        return PARLEY_E_UNSUPPORTED;
    }
    struct jwks *jwks = calloc(1, sizeof *jwks + json_array_size(keys) * sizeof jwks->keys[0]);
    enum parley_status status = jwks != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    if (jwks != NULL) {
        atomic_init(&jwks->references, 1);
    }
    for (size_t i = 0; status == PARLEY_OK && i < json_array_size(keys); i++) {
        status = read_key(json_array_get(keys, i), i + 1, &jwks->keys[jwks->count++]);
    }
    if (status == PARLEY_OK && !has_usable_key(jwks)) {
        snprintf(error, JWKS_ERROR_MAX, "has no key that can verify a token%s%.120s",
                 jwks->count > 0 ? ": " : "", jwks->count > 0 ? jwks->keys[0].remark : "");
        status = PARLEY_E_UNSUPPORTED;
    }
    if (status != PARLEY_OK) {
        jwks_unref(jwks);
        return status;
    }
    *out = jwks;
    return PARLEY_OK;
}

enum parley_status jwks_read(struct parley_bytes text, struct jwks **out,
                             char error[JWKS_ERROR_MAX]) {
    json_error_t fault;
    json_t *root = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, &fault);
    if (root == NULL) { /* the library's text may quote the file, and so a private key */
        snprintf(error, JWKS_ERROR_MAX, "is not valid JSON (line %d, column %d)", fault.line,
                 fault.column);
        return PARLEY_E_UNSUPPORTED;
    }
    const enum parley_status status = read_keys(json_object_get(root, "keys"), out, error);
    json_decref(root);
    return status;
}

struct jwks *jwks_read_file(const char *path, struct parley_buffer *error) {
    struct parley_buffer text, why;
    char fault[JWKS_ERROR_MAX];
    struct jwks *jwks = NULL;
    parley_buffer_init(&text);
    parley_buffer_init(&why);
    if (!public_file_read(path, JWKS_BYTES_MAX, &text, &why)) {
        parley_buffer_format(error, "%s: ", path);
        parley_buffer_append(error, parley_buffer_bytes(&why));
    } else {
        const enum parley_status status = jwks_read(parley_buffer_bytes(&text), &jwks, fault);
        if (status != PARLEY_OK) {
            jwks = NULL;
            parley_buffer_format(error, "%s %s", path,
                                 status == PARLEY_E_UNSUPPORTED ? fault
                                                                : parley_status_text(status));
        }
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&why);
    return jwks;
}

struct jwks *jwks_ref(struct jwks *jwks) {
    if (jwks != NULL) {
        atomic_fetch_add(&jwks->references, 1);
    }
    return jwks;
}

void jwks_unref(struct jwks *jwks) {
    if (jwks == NULL || atomic_fetch_sub(&jwks->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < jwks->count; i++) {
        free(jwks->keys[i].kid);
        signature_key_destroy(jwks->keys[i].key);
    }
    free(jwks);
}

const char *jwks_remark(const struct jwks *jwks, size_t number) {
    for (size_t i = 0; i < jwks->count; i++) {
        if (jwks->keys[i].key == NULL && number-- == 0) {
            return jwks->keys[i].remark;
        }
    }
    return NULL;
}

/* ---- looking up ---- */

static bool is_named(const struct jwk *jwk, struct parley_bytes kid) {
    return kid.data == NULL ||
           (jwk->kid != NULL && parley_bytes_equal(kid, parley_bytes_of(jwk->kid)));
}

const struct signature_key *jwks_find(const struct jwks *jwks, struct parley_bytes kid,
                                      enum signature_algorithm algorithm, const char **out_fault) {
    const struct signature_key *found = NULL;
    const char *fault = kid.data != NULL ? "names a key that --jwks does not have (kid)"
                                         : "has no kid, and no key of --jwks has its alg";
    for (size_t i = 0; i < jwks->count; i++) {
        const struct jwk *jwk = &jwks->keys[i];
        if (!is_named(jwk, kid)) {
            continue;
        }
        if (jwk->key == NULL || jwk->algorithm != algorithm) {
            fault = kid.data == NULL ? fault
                    : jwk->key == NULL
                        ? "names a key that may not verify it (the key's use, alg or size)"
                        : "has an alg that is not that of its key";
        } else if (found != NULL) {
            *out_fault = "could be signed with several keys of --jwks: give each key a kid";
            return NULL;
        } else {
            found = jwk->key;
        }
    }
    *out_fault = fault;
    return found;
}
