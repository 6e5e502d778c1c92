/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which addresses are on the public Internet, so that a webhook's name cannot be made to lead to
 * what only this machine or its network can reach. */

#include <stdbool.h>

#include <sys/socket.h>

/* Whether it is globally reachable unicast: not loopback, private, link-local, shared, reserved,
 * multicast or documentation, nor an IPv6 address that stands for such an IPv4 address.
 * Source: the IANA special-purpose address registries (RFC 6890, RFC 8190). */
bool public_address_is(const struct sockaddr *address);
