/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads a stored message for the index. */

#include <parley/message.h>

#include "channel.h"
#include "index_store.h"
#include "jetstream_types.h"

struct index_reader {
    const struct channel *channel;
    unsigned protocol; /* index into parley_protocols */
    struct parley_message message;
    struct parley_index_entry entry;
    bool has_words; /* set after index_reader_init: rows have their words */
    struct parley_buffer words;
};

/* `schema`: of the channel's protocol.  Owns: borrows both. */
void index_reader_init(struct index_reader *reader, const struct parley_schema *schema,
                       const struct channel *channel);
void index_reader_finish(struct index_reader *reader);

/* Any client may have published it: one that is not valid has a row without an entry.
 * Owns: `out` borrows from `stored`, and from the reader until the next call.  Returns:
 * PARLEY_E_MEMORY. */
enum parley_status index_reader_read(struct index_reader *reader, unsigned stream,
                                     const struct jetstream_stored *stored,
                                     struct index_row *out) PARLEY_MUST_CHECK;
