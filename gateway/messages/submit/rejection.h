/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Handles a message that is refused, besides its answer: logs it, and keeps it for people who fix a
 * rule or a sender, on `rejected.PROTOCOL`, as channel_rejected says (ADR 16). */

#include "failure.h"
#include "verdict.h"

#define QUARANTINE_DAYS 1
#define QUARANTINE_BYTES_MAX (INT64_C(1) << 30)
/* While there is no such stream: NATS reserves its bytes. */
#define QUARANTINE_WITHOUT                                                                         \
    "what is refused is not kept meanwhile (--quarantine needs 1 GiB of storage in NATS; a "       \
    "smaller stream that exists with these subjects is used as it is)"

/* Logs a message that was to be forwarded, where a rule that it breaks asks for that
 * (parley_rule.is_logged), once a message. And keeps it, if --quarantine is given and NATS takes it
 * at once: its answer waits for nothing, and does not depend on it. Dropped messages are counted. A
 * message over its limit is not kept, since not all its bytes are known.  `request` NULL: it is
 * gone. */
void rejection_note(const struct request_options *options, const struct http_request *request,
                    const struct verdict *verdict);
/* Keeps a valid message that is refused for another reason, such as a halt, in the same way. */
void rejection_keep_failed(const struct request_options *options, const struct verdict *verdict,
                           const struct failure *failure);
