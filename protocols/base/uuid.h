/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* UUIDs that follow from other names. */

#include <parley/bytes.h>

#define UUID_SIZE sizeof "650e8400-e29b-41d4-a716-446655440000"

/* Writes a UUID of version 4 made of the SHA-256 of `kind` and `name`: always the same one, and
 * another one for any other name. */
void uuid_of_digest(const char *kind, struct parley_bytes name, char out[UUID_SIZE]);
