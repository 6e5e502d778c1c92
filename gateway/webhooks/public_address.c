/* SPDX-License-Identifier: Apache-2.0 */

#include "public_address.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <netinet/in.h>

/* What is not in 2000::/3 is not globally reachable; the rows are exceptions within it, and IPv4.
 */
struct range {
    unsigned char prefix[16];
    unsigned bits;
};

static const struct range special_4[] = {
    {{0}, 8},             /* this network */
    {{10}, 8},            /* private */
    {{100, 64}, 10},      /* shared by customers of a provider */
    {{127}, 8},           /* loopback */
    {{169, 254}, 16},     /* link-local: the metadata of clouds */
    {{172, 16}, 12},      /* private */
    {{192, 0, 0}, 24},    /* protocol assignments */
    {{192, 0, 2}, 24},    /* documentation */
    {{192, 88, 99}, 24},  /* relays of 6to4 */
    {{192, 168}, 16},     /* private */
    {{198, 18}, 15},      /* benchmarks */
    {{198, 51, 100}, 24}, /* documentation */
    {{203, 0, 113}, 24},  /* documentation */
    {{224}, 3},           /* multicast, reserved, broadcast */
};

static const struct range special_6[] = {
    {{0x20, 0x01, 0x00}, 23},       /* protocol assignments, Teredo */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x3f, 0xff, 0x00}, 20},       /* documentation */
};

/* Their last 4 bytes, or those after the first 2, are an IPv4 address. */
static const struct range mapped = {{[10] = 0xff, [11] = 0xff}, 96};
static const struct range translated = {{0x00, 0x64, 0xff, 0x9b}, 96};
static const struct range six_to_four = {{0x20, 0x02}, 16};
static const struct range global_6 = {{0x20}, 3};

static bool has_prefix(const unsigned char *address, const struct range *range) {
    const size_t bytes = range->bits / 8, rest = range->bits % 8;
    const unsigned mask = rest > 0 ? 0xffU << (8 - rest) & 0xffU : 0;
    return memcmp(address, range->prefix, bytes) == 0 &&
           (rest == 0 || (address[bytes] & mask) == (range->prefix[bytes] & mask));
}

static bool is_public_4(const unsigned char address[4]) {
    for (size_t i = 0; i < sizeof special_4 / sizeof special_4[0]; i++) {
        if (has_prefix(address, &special_4[i])) {
            return false;
        }
    }
    return true;
}

static bool is_public_6(const unsigned char address[16]) {
    if (has_prefix(address, &mapped) || has_prefix(address, &translated)) {
        return is_public_4(address + 12);
    }
    if (has_prefix(address, &six_to_four)) {
        return is_public_4(address + 2);
    }
    for (size_t i = 0; i < sizeof special_6 / sizeof special_6[0]; i++) {
        if (has_prefix(address, &special_6[i])) {
            return false;
        }
    }
    return has_prefix(address, &global_6);
}

bool public_address_is(const struct sockaddr *address) {
    unsigned char bytes[16];
    if (address->sa_family == AF_INET) {
        memcpy(bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return is_public_4(bytes);
    }
    if (address->sa_family == AF_INET6) {
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
        return is_public_6(bytes);
    }
    return false;
}
