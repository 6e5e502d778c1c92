/* SPDX-License-Identifier: Apache-2.0 */

/* Parses addresses to listen on. It resolves no names and opens nothing. */

#include "listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "quantity.h"

static bool read_ip(const char *address, struct in_addr *out4, struct in6_addr *out6,
                    bool *out_is_6) {
    *out_is_6 = inet_pton(AF_INET6, address, out6) == 1;
    return *out_is_6 || inet_pton(AF_INET, address, out4) == 1;
}

const char *listen_address_read(const char *text, char address[64], unsigned *out_port) {
    const char *colon = strrchr(text, ':');
    uint64_t port;
    if (colon == NULL || !quantity_read_count(colon + 1, &port) || port > UINT16_MAX) {
        return "does not end with a port from 0 to 65535";
    }
    size_t length = (size_t)(colon - text);
    const bool has_brackets = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    if (has_brackets) {
        text++;
        length -= 2;
    }
    if (length >= 64) {
        return "has an address that is too long";
    }
    memcpy(address, text, length);
    address[length] = '\0';
    if (!has_brackets && (length == 0 || strcmp(address, "localhost") == 0)) {
        memcpy(address, "127.0.0.1", sizeof "127.0.0.1");
    }
    struct in_addr address4;
    struct in6_addr address6;
    bool is_6;
    if (!read_ip(address, &address4, &address6, &is_6)) {
        return "has an address that is neither IPv4 nor IPv6";
    }
    if (is_6 != has_brackets) {
        return is_6 ? "has an IPv6 address without brackets"
                    : "has brackets around an address that is not IPv6";
    }
    *out_port = (unsigned)port;
    return NULL;
}

bool listen_address_is_loopback(const char *address) {
    struct in_addr address4;
    struct in6_addr address6;
    bool is_6;
    if (!read_ip(address, &address4, &address6, &is_6)) {
        return false;
    }
    if (!is_6) {
        return ntohl(address4.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&address6);
    return IN6_IS_ADDR_LOOPBACK(&address6) || (is_mapped && address6.s6_addr[12] == IN_LOOPBACKNET);
}

bool listen_address_is_any(const char *address) {
    struct in_addr address4;
    struct in6_addr address6;
    bool is_6;
    if (!read_ip(address, &address4, &address6, &is_6)) {
        return false;
    }
    return is_6 ? IN6_IS_ADDR_UNSPECIFIED(&address6) : address4.s_addr == INADDR_ANY;
}
