/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The header Prefer (RFC 7240), of which parley supports one preference: how many seconds the
 * client is willing to wait for an answer. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/bytes.h>

/* Looks for the preference `wait` in one header's value. Unreadable parts are skipped, as section 2
 * says.  *seconds: its value; 0 where it has no value, or one that is not a number; at most
 * UINT32_MAX.  Returns: whether it is there. */
bool prefer_find_wait(struct parley_bytes value, uint32_t *seconds);
