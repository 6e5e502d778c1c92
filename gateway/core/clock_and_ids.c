/* SPDX-License-Identifier: Apache-2.0 */

/* Fresh ids and the present time. */

#include "clock_and_ids.h"

#include <stdio.h>
#include <time.h>

#include <sodium.h>

static void write_uuid(unsigned char bytes[16], char out[37]) {
    static const char hex[] = "0123456789abcdef";
    bytes[6] = (unsigned char)((bytes[6] & 0x0F) | 0x40); /* version 4 (RFC 9562, section 5.4) */
    bytes[8] = (unsigned char)((bytes[8] & 0x3F) | 0x80); /* and its variant */
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *out++ = '-';
        }
        *out++ = hex[bytes[i] >> 4];
        *out++ = hex[bytes[i] & 15];
    }
    *out = '\0';
}

void id_new(char out[37]) {
    unsigned char bytes[16];
    randombytes_buf(bytes, sizeof bytes);
    write_uuid(bytes, out);
}

void id_new_from(struct id_pool *pool, char out[37]) {
    if (pool == NULL) {
        id_new(out);
        return;
    }
    if (pool->left == 0) {
        randombytes_buf(pool->bytes, sizeof pool->bytes);
        pool->left = sizeof pool->bytes;
    }
    pool->left -= 16;
    write_uuid(pool->bytes + pool->left, out);
}

void clock_now_text(char out[32]) {
    struct timespec now;
    struct tm parts;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, 32, "%s.%03ldZ", seconds, now.tv_nsec / 1000000 % 1000);
}

int64_t clock_now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); /* the coarse clock may be a tick behind a timer's */
    return now.tv_sec;
}
