/* SPDX-License-Identifier: Apache-2.0 */

#include "jetstream_delivery.h"

#include <stddef.h>
#include <string.h>

enum { ACK_TOKENS_MAX = 12 };

/* Digits up to the next dot or the end. */
static uint64_t read_number(const char *text) {
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (uint64_t)(*text - '0');
    }
    return number;
}

bool jetstream_delivery_read(const char *reply, struct jetstream_delivery *out) {
    const char *tokens[ACK_TOKENS_MAX];
    size_t count = 0;
    if (reply == NULL || strncmp(reply, "$JS.ACK.", 8) != 0) {
        return false;
    }
    for (const char *at = reply; at != NULL && count < ACK_TOKENS_MAX;
         at = strchr(at, '.'), at = at != NULL ? at + 1 : NULL) {
        tokens[count++] = at;
    }
    if (count < 9 || count == 10) {
        return false;
    }
    const char *const *numbers = &tokens[count == 9 ? 5 : 7];
    out->tries = read_number(numbers[-1]);
    out->stream_sequence = read_number(numbers[0]);
    out->consumer_sequence = read_number(numbers[1]);
    out->time_ns = (int64_t)read_number(numbers[2]);
    out->pending = read_number(numbers[3]);
    return true;
}

/* Reads a dot and the digits after it.  Returns: where they end; NULL if something else is
 * there. */
static const char *read_token(const char *at, uint64_t *out) {
    if (at == NULL || *at != '.' || at[1] < '0' || at[1] > '9') {
        return NULL;
    }
    uint64_t number = 0;
    for (at++; *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    *out = number;
    return at;
}

bool jetstream_delivery_read_tail(const char *tail, struct jetstream_delivery *out) {
    uint64_t tries = 0, time_ns = 0;
    const char *at = read_token(tail, &tries);
    at = read_token(at, &out->stream_sequence);
    at = read_token(at, &out->consumer_sequence);
    at = read_token(read_token(at, &time_ns), &out->pending);
    if (at == NULL) {
        return false;
    }
    out->time_ns = (int64_t)time_ns;
    return true;
}
