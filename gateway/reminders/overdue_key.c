/* SPDX-License-Identifier: Apache-2.0 */

/* See overdue_key.h. Other bytes than letters, digits, _ and - are written as = and two digits, in
 * upper case. No text is written as what stands for anyone, for an empty name, or for the digest of
 * one that is too long. */

#include "overdue_key.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "digest.h"

enum { TOKEN_MAX = 96, TOKEN_SIZE = TOKEN_MAX + 1 };

#define ANYONE "="
#define EMPTY "=="
#define DIGEST_PREFIX "=d"

_Static_assert(2 * TOKEN_MAX + sizeof ".18446744073709551615.overdue." <= OVERDUE_KEY_SIZE,
               "a key has room for two tokens");

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* Returns: false: it does not fit. */
static bool encode(struct parley_bytes text, char out[TOKEN_SIZE]) {
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        const bool is_sent_as_is = is_plain(text.data[i]);
        if (length + (is_sent_as_is ? 1 : 3) > TOKEN_MAX) {
            return false;
        }
        if (is_sent_as_is) {
            out[length++] = text.data[i];
        } else {
            snprintf(out + length, 4, "=%02X", (unsigned)(unsigned char)text.data[i]);
            length += 3;
        }
    }
    out[length] = '\0';
    return true;
}

static void write_token(struct parley_bytes text, char out[TOKEN_SIZE]) {
    if (text.data == NULL || text.length == 0) {
        snprintf(out, TOKEN_SIZE, "%s", text.data == NULL ? ANYONE : EMPTY);
    } else if (!encode(text, out)) {
        char digest[DIGEST_LENGTH + 1];
        digest_write((struct parley_bytes){0}, text, digest);
        snprintf(out, TOKEN_SIZE, DIGEST_PREFIX "%s", digest);
    }
}

void overdue_key_write(struct parley_bytes place, struct parley_bytes recipient,
                       char out[OVERDUE_KEY_SIZE]) {
    char stream[TOKEN_SIZE], sequence[TOKEN_SIZE], agent[TOKEN_SIZE];
    size_t length = place.length;
    while (length > 0 && place.data[length - 1] != ':') {
        length--;
    }
    write_token((struct parley_bytes){place.data, length > 0 ? length - 1 : 0}, stream);
    write_token((struct parley_bytes){place.data + length, place.length - length}, sequence);
    write_token(recipient, agent);
    snprintf(out, OVERDUE_KEY_SIZE, "%s.%.20s.overdue.%s", stream, sequence, agent);
}
