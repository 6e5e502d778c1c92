/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Maps subjects to the streams of NATS that store them: a stream that an operator made for these
 * subjects is used where it is, so that the messages of one protocol can be stored in several
 * streams, which the last look-up has found. */

#include "jetstream_types.h"

/* Where messages on `subject` are stored; it may have wildcards, as families do.  Owns: borrowed,
 * for the jetstream's life; its content changes.  Returns: NULL if that is not known so far, or no
 * stream has that subject. */
const struct jetstream_place *jetstream_place_find(const struct jetstream *jetstream,
                                                   const char *subject);

/* The places of options.streams[number], those that are not in use as well, one after the other:
 * first its own stream.  Owns: as above.  Returns: NULL after the last. */
const struct jetstream_place *jetstream_place_at(const struct jetstream *jetstream, size_t number,
                                                 size_t index);

/* The largest message that can be stored on `subject`, headers and payload together: the server's
 * max_payload, or less if the stream takes less.  Returns: 0: that is not known. */
size_t jetstream_message_bytes_max(const struct jetstream *jetstream, const char *subject);
/* The least that it is on any subject. */
size_t jetstream_message_bytes_max_least(const struct jetstream *jetstream);

/* How long a stream keeps its messages.  Returns: 0: always, or it is not known. */
int64_t jetstream_kept_ms(const struct jetstream *jetstream, const char *stream);

/* Whether parley may create consumers there. In a work queue a consumer would take work from those
 * whose queue it is; in a stream with interest retention it would keep messages that no reader
 * wants. NULL is allowed: no. */
static inline bool jetstream_place_takes_consumers(const struct jetstream_place *place) {
    return place != NULL && place->retention == JETSTREAM_LIMITS;
}

/* As in the configuration of a stream: "workqueue".  Owns: static. */
static inline const char *jetstream_retention_name(enum jetstream_retention retention) {
    static const char *const names[] = {[JETSTREAM_LIMITS] = "limits",
                                        [JETSTREAM_WORK_QUEUE] = "workqueue",
                                        [JETSTREAM_INTEREST] = "interest"};
    return names[retention];
}
