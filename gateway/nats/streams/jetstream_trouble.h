/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Describes problems of the connection, of JetStream, of the store's disk or of a stream. */

#include "jetstream_types.h"

/* Why messages are not accepted, or only in part, as half a sentence without secrets; NULL if no
 * problem is known that affects all streams or needs an operator.  Owns: borrowed, for this
 * turn. */
const char *jetstream_trouble(const struct jetstream *jetstream);
/* Whether messages are accepted despite a trouble: it has lasted for less than
 * jetstream_options.patience_ms, may be resolved soon, and is not that of the start. */
bool jetstream_is_patient(const struct jetstream *jetstream);
/* The problems of single streams or permissions, counted from 0; NULL after the last one.  Owns:
 * borrowed, for this turn. */
const char *jetstream_remark(const struct jetstream *jetstream, size_t number);
/* Why the last publication was JETSTREAM_BARRED, as half a sentence; NULL if none ever was.  Owns:
 * borrowed, for this turn. */
const char *jetstream_bar(const struct jetstream *jetstream);

/* How many more bytes may be stored on `subject`, as far as known: the limit of its stream, as it
 * was last read, and the disk of an embedded server. UINT64_MAX: no limit is known. */
uint64_t jetstream_room_left(const struct jetstream *jetstream, const char *subject);

/* ---- for the other files of nats/ ---- */

void jetstream_trouble_begin(struct jetstream *jetstream);
void jetstream_trouble_end(struct jetstream *jetstream);
/* Reports every trouble that changed. */
void jetstream_trouble_review(struct jetstream *jetstream);
/* Whether nothing may be published to this subject, since its stream is unusable. */
bool jetstream_is_barred(struct jetstream *jetstream, const char *subject);
/* Whether the problem may be resolved soon without an operator: no connection, or no answer. */
bool jetstream_is_curable(const struct jetstream *jetstream);
/* The server refused a message of `stream` because room is missing. */
void jetstream_refusal_note(struct jetstream *jetstream, const char *stream, int error,
                            const char *text);
/* NATS does not permit this user to publish or subscribe to `subject`. */
void jetstream_violation_note(struct jetstream *jetstream, bool is_publish, const char *subject);
