/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The key of an acknowledgement that is overdue, STREAM.SEQUENCE.overdue.AGENT: another one for
 * each message and recipient, of characters that clients of buckets take. */

#include <parley/bytes.h>

enum { OVERDUE_KEY_SIZE = 256 };

/* `place`: STREAM:SEQUENCE; `recipient`: data NULL: anyone. */
void overdue_key_write(struct parley_bytes place, struct parley_bytes recipient,
                       char out[OVERDUE_KEY_SIZE]);
