/* SPDX-License-Identifier: Apache-2.0 */

/* The id of a message whose member may be stored in an object store (object_layout.h): one that is
 * sent again has an equal id, and so writes one object. */

#include <sodium.h>
#include <stdio.h>

#include "object_layout.h"

enum { ID_BYTES = 16 };

static void add(crypto_generichash_state *state, struct parley_bytes bytes) {
    crypto_generichash_update(state, (const unsigned char *)bytes.data, bytes.length);
}

void object_id_write(struct parley_bytes agent, const struct parley_bytes parts[2],
                     const char *digest, char out[OBJECT_ID_SIZE]) {
    unsigned char hash[ID_BYTES];
    char hex[2 * ID_BYTES + 1];
    const unsigned char length = (unsigned char)agent.length; /* 64 at most */
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    crypto_generichash_update(&state, &length, 1);
    add(&state, agent);
    add(&state, parts[0]);
    add(&state, parley_bytes_of(digest));
    add(&state, parts[1]);
    crypto_generichash_final(&state, hash, sizeof hash);
    hash[6] = (unsigned char)(0x80 | (hash[6] & 0x0F));
    hash[8] = (unsigned char)(0x80 | (hash[8] & 0x3F));
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    snprintf(out, OBJECT_ID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
}

enum parley_status object_id_of(struct parley_bytes agent, struct parley_bytes payload,
                                const char *member, char out[OBJECT_ID_SIZE]) {
    size_t start, end;
    char text[OBJECT_DIGEST_MAX];
    struct object_digest digest;
    if (object_place_find(payload, member, &start, &end) != PARLEY_OK) {
        start = end = payload.length; /* it is not there */
    }
    const struct parley_bytes parts[] = {{payload.data, start},
                                         {payload.data + end, payload.length - end}};
    object_digest_begin(&digest);
    object_digest_add(&digest, (struct parley_bytes){payload.data + start, end - start});
    if (!object_digest_end(&digest, text)) {
        return PARLEY_E_MEMORY;
    }
    object_id_write(agent, parts, text, out);
    return PARLEY_OK;
}
