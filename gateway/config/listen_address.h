/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where a server listens, as people write it: ADDR:PORT, [ADDR6]:PORT, or :PORT for loopback. */

#include <stdbool.h>

/* Takes `text` apart; "localhost" is 127.0.0.1, any other name is refused, since what it stands
 * for may change between the check and the use.
 * Returns: NULL, or what is wrong with it. */
const char *listen_address_read(const char *text, char address[64], unsigned *out_port);

/* Whether only this machine can reach an address that was read above. */
bool listen_address_is_loopback(const char *address);

/* Whether it stands for every address of the machine: 0.0.0.0 or ::. */
bool listen_address_is_any(const char *address);
