/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes the index. Its rows say what each message says of itself, and nothing that spans messages:
 * they do not depend on how many are written at once, and made again from the same streams they are
 * the same. Threads: one. */

#include <parley/index.h>

#include <parley/protocol.h>

#include "index_file.h"

struct index_store;

/* Where a stream's rows are, and where they go on. */
struct index_place {
    unsigned number;
    uint64_t next; /* the first sequence that was not read so far */
    bool is_left;  /* rows of an earlier stream of this name are: find it again, until none is */
};

/* The type of a message that is not valid, or of no type of its protocol. */
enum { INDEX_TYPE_FOREIGN = 255 };

#define INDEX_SEQUENCE_BITS 40

/* A message.  Owns: everything is borrowed. */
struct index_row {
    unsigned stream; /* its place's number */
    uint64_t sequence;
    int64_t stored_ms;      /* Unix time */
    unsigned protocol;      /* index into parley_protocols */
    unsigned type;          /* index into its types, or INDEX_TYPE_FOREIGN */
    struct parley_bytes id; /* of the entry, else the header's; data NULL: it has none */
    struct parley_bytes subject, trace, words; /* words: empty where they are not kept */
    size_t size;                               /* of the payload, in bytes */
    const struct parley_index_entry *entry;    /* NULL: the message is not valid */
};

/* Opens the file, which a damaged or foreign one is set aside for.
 * `out_is_new`: rows have to be made again, and `error` says why.  Owns: returns a new store.
 * Returns: PARLEY_E_IO: `error` says why. */
enum parley_status index_store_open(const char *folder, struct index_store **out, bool *out_is_new,
                                    char error[INDEX_ERROR_MAX]) PARLEY_MUST_CHECK;
/* What was not committed is lost. NULL is allowed. */
void index_store_close(struct index_store *store);

/* These return PARLEY_E_IO, after which the store is of no use: see index_store_is_damaged. */

/* Whether words of messages are kept from now on (without this call: not); before anything is
 * written. If not, those that are there are removed.  `out_is_lacking`: the file has rows without
 * words: it has to be made again. */
enum parley_status index_store_keep_words(struct index_store *store, bool is_wanted,
                                          bool *out_is_lacking) PARLEY_MUST_CHECK;

/* Finds the place of a stream. One that was created at another time is another stream: the rows of
 * the old one are removed, at most `count` of them at once. */
enum parley_status index_store_place(struct index_store *store, const char *stream,
                                     unsigned protocol, const char *created, size_t count,
                                     struct index_place *out) PARLEY_MUST_CHECK;
/* Writes a row, in a transaction that lasts until index_store_commit. */
enum parley_status index_store_add(struct index_store *store,
                                   const struct index_row *row) PARLEY_MUST_CHECK;
/* The stream was read up to there. */
enum parley_status index_store_commit(struct index_store *store) PARLEY_MUST_CHECK;
/* Removes at most `count` of the rows of messages before `first`.  `out_left`: there are more. */
enum parley_status index_store_prune(struct index_store *store, unsigned stream, uint64_t first,
                                     size_t count, bool *out_left) PARLEY_MUST_CHECK;

/* The sequence of the oldest row of a stream; 0: it has none. */
enum parley_status index_store_first(struct index_store *store, unsigned stream,
                                     uint64_t *out) PARLEY_MUST_CHECK;

/* Rows of the transaction that is open. */
size_t index_store_pending(const struct index_store *store);
/* Bytes of the file that are in use. */
uint64_t index_store_bytes(struct index_store *store);
/* Whether the last failure says that the file is damaged. */
bool index_store_is_damaged(const struct index_store *store);

/* The text as it is kept: one of more than 256 bytes as its digest, "sha:" and hexadecimal.
 * Owns: borrows `text`, or `room`. */
#define INDEX_DIGEST_SIZE 37
struct parley_bytes index_short_text(struct parley_bytes text, char room[INDEX_DIGEST_SIZE]);

/* A thread's text as it is kept: in lower case where its protocol ignores case.
 * Owns: borrows `text`, or `room`. */
#define INDEX_TEXT_MAX 256
struct parley_bytes index_thread_text(const struct parley_protocol *protocol,
                                      struct parley_bytes text, char room[INDEX_TEXT_MAX]);

/* The key of a text under the file's own secret; texts that differ in case have the same. */
int64_t index_key(const unsigned char secret[16], struct parley_bytes text);
