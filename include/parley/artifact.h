/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The document that the messages of a thread make together: a protocol that has one folds them, one
 * after the other, in the order of their stream. The gateway reads the stream; a fold is pure. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

struct parley_message;

/* A document that is being made; the protocol's own. */
struct parley_artifact;

/* Where a message is stored. */
struct parley_artifact_place {
    uint64_t sequence; /* of its stream; greater than that of the message before */
    double seconds;    /* Unix time at which it was stored */
};

enum parley_artifact_form {
    PARLEY_ARTIFACT_JSON,
    PARLEY_ARTIFACT_MARKDOWN,
    PARLEY_ARTIFACT_COMPILED, /* Markdown: the body of a message that publishes the document */
};

/* What an answer says about how far the document goes. */
struct parley_artifact_extent {
    uint64_t at;           /* sequence of the last message of the thread that was read; 0: none */
    uint64_t read_count;   /* messages of the thread that were read … */
    uint64_t unread_count; /* … of which so many were not valid */
    bool is_cut;           /* there are more, beyond the limits */
};

struct parley_artifact_kind {
    /* The subjects of a thread's messages below the first token; the thread follows: "*." */
    const char *subjects;

    /* Owns: copies the thread; the caller destroys `out`.  `bytes_max`: of what it holds, about.
     * Returns: PARLEY_E_MEMORY. */
    enum parley_status (*create)(struct parley_bytes thread, size_t bytes_max,
                                 struct parley_artifact **out);
    /* NULL is allowed. */
    void (*destroy)(struct parley_artifact *artifact);
    /* Folds a valid message of the thread, of any type. After another status than PARLEY_OK nothing
     * more may be folded; after PARLEY_E_LIMIT (`bytes_max`) the document may be written: it ends
     * within this message. */
    enum parley_status (*fold)(struct parley_artifact *artifact, struct parley_message *message,
                               const struct parley_artifact_place *place);
    /* Appends the document. Nothing in it changes.  Returns: PARLEY_E_MEMORY. */
    enum parley_status (*write)(const struct parley_artifact *artifact,
                                const struct parley_artifact_extent *extent,
                                enum parley_artifact_form form, struct parley_buffer *out);
    /* Appends what differs from an earlier document of the same thread. `form` is not
     * PARLEY_ARTIFACT_COMPILED.  Returns: PARLEY_E_MEMORY. */
    enum parley_status (*write_difference)(const struct parley_artifact *before,
                                           const struct parley_artifact_extent *before_extent,
                                           const struct parley_artifact *after,
                                           const struct parley_artifact_extent *after_extent,
                                           enum parley_artifact_form form,
                                           struct parley_buffer *out);
};
