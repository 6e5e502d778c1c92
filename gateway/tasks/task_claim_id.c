/* SPDX-License-Identifier: Apache-2.0 */

#include "task_claim_id.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static void hash_line(crypto_generichash_state *state, struct parley_bytes text) {
    crypto_generichash_update(state, (const unsigned char *)text.data, text.length);
    crypto_generichash_update(state, (const unsigned char *)"\n", 1);
}

void task_claim_id_write(const struct publication_context *sent, struct parley_bytes agent,
                         char out[WORK_CLAIM_ID_SIZE]) {
    unsigned char hash[16];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    if (sent->key_owner[0] != '\0') {
        hash_line(&state, parley_bytes_of(sent->key_owner));
    }
    hash_line(&state, agent);
    crypto_generichash_update(&state, (const unsigned char *)sent->idempotency_key,
                              strlen(sent->idempotency_key));
    crypto_generichash_final(&state, hash, sizeof hash);
    hash[6] = (unsigned char)((hash[6] & 0x0F) | 0x40);
    hash[8] = (unsigned char)((hash[8] & 0x3F) | 0x80);
    size_t length = 0;
    for (size_t i = 0; i < sizeof hash; i++) {
        length += (size_t)snprintf(out + length, WORK_CLAIM_ID_SIZE - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", hash[i]);
    }
}
