/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Remembers the keys that the process has written in the last seconds, on any reactor. The shared
 * consumers, which run on one reactor and see every message again, need not ask NATS for those. It
 * keeps only a number for each key, in a table of fixed size: a key that it does not know may have
 * been written nevertheless.
 *
 * Threads: any, for all functions but creating and destroying. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/bytes.h>

struct fact_ledger;

/* How long a key is known, at most: as long as a reactor caches its value. */
#define FACT_LEDGER_MS 10000

/* Returns: NULL without memory.  Owns: the caller destroys it. */
struct fact_ledger *fact_ledger_create(void);
/* NULL is allowed, here and below: then nothing is known. */
void fact_ledger_destroy(struct fact_ledger *ledger);

/* `subject`: of the key, with its bucket. */
void fact_ledger_note(struct fact_ledger *ledger, struct parley_bytes subject, int64_t now_ms);
bool fact_ledger_knows(const struct fact_ledger *ledger, struct parley_bytes subject,
                       int64_t now_ms);
