/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The thread that keeps the index: it has a reactor and a connection to NATS of its own, reads all
 * streams of the protocols from where the file ends, and removes what they no longer hold. */

#include "channel.h"
#include "jetstream.h"

struct index_keeper;

struct index_keeper_options {
    const char *folder;
    const struct channel *channels;       /* of parley_protocols, and of refused messages */
    struct parley_schema *const *schemas; /* of parley_protocols */
    struct bus_options bus;
    const char *nats_store; /* as of jetstream_options */
    unsigned replicas;
    int64_t dedupe_window_ms;
    uint64_t bytes_max; /* of the file; beyond it the oldest messages go */
    bool has_words;     /* the words of messages are kept, for search */
};

enum index_state {
    INDEX_KEPT,
    INDEX_UNWRITABLE, /* its file cannot be used: it is tried again every two seconds */
    INDEX_REMADE,     /* its file was damaged or of another version, and does not have all so far */
};

/* What it has done so far.  Threads: any. */
struct index_progress {
    enum index_state state;
    bool is_known;  /* the streams were looked at, and the file is there */
    uint64_t lag;   /* messages that the streams hold and the index does not, about */
    uint64_t bytes; /* of the file */
};

/* Starts the thread.  Owns: everything in `options` is borrowed for its life; returns a new keeper,
 * which the caller destroys.  Returns: PARLEY_E_IO: `error` says why. */
enum parley_status index_keeper_create(const struct index_keeper_options *options,
                                       struct index_keeper **out,
                                       char error[512]) PARLEY_MUST_CHECK;
/* Ends the thread. NULL is allowed. */
void index_keeper_destroy(struct index_keeper *keeper);

struct index_progress index_keeper_progress(const struct index_keeper *keeper);

/* A question waits for what is not in the file: for a second nothing is held back for the sake of
 * senders (index_pace.h), and rows are committed soon.  Threads: any. */
void index_keeper_hurry(struct index_keeper *keeper);

/* The time, on reactor_clock_ms, before which all messages of parley_protocols[protocol] that NATS
 * then had are in the file, for every question that begins from now on; 0: it is not known, as
 * while the file is made again.  Threads: any. */
int64_t index_keeper_covered_ms(const struct index_keeper *keeper, size_t protocol);
