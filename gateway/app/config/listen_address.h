/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Addresses to listen on: ADDR:PORT, [ADDR6]:PORT, or :PORT for loopback. */

#include <stdbool.h>

/* Parses `text`. "localhost" is 127.0.0.1; other names are refused, since their address may change
 * between the check and the use. Returns: NULL, or the mistake as the end of a sentence: "has …".
 */
const char *listen_address_read(const char *text, char address[64], unsigned *out_port);

/* Whether only this machine can reach the address, which listen_address_read returned. */
bool listen_address_is_loopback(const char *address);

/* Whether it means every address of the machine: 0.0.0.0 or ::. */
bool listen_address_is_any(const char *address);
