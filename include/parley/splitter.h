/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Splits a body into messages while it arrives. Feed it the bytes that have arrived, and call next
 * until it needs more. Memory: one message of at most message_bytes_max, whatever the body. */

#include <stdbool.h>

#include <parley/buffer.h>
#include <parley/findings.h>
#include <parley/message.h>
#include <parley/protocol.h>

enum parley_split {
    PARLEY_SPLIT_MORE,    /* needs more input */
    PARLEY_SPLIT_MESSAGE, /* `out` is a message */
    PARLEY_SPLIT_SIZE,   /* a message over the limit was skipped (GW-002); `out` has its position */
    PARLEY_SPLIT_FAULT,  /* not a message (GW-001); out->fault says why */
    PARLEY_SPLIT_END,    /* after the end of the body: no message is left */
    PARLEY_SPLIT_MEMORY, /* out of memory */
};

struct parley_slice {
    struct parley_bytes bytes;     /* borrowed until the next call */
    struct parley_position origin; /* of its first byte in the body; for frames in bytes: of the
                                      message, or, for a fault, of the length field */
    size_t number;                 /* the physical line of NDJSON, else the ordinal from 1 */
    const char *fault; /* PARLEY_SPLIT_FAULT: the fault; borrowed until the next call … */
    const char *hint;  /* … and how to fix it; NULL: the rule's; static */
};

/* A frame with a greater length is refused, and the start of the next one is not known. */
#define PARLEY_FRAME_BYTES_MAX (100u << 20)

/* Private; public only to be embedded. */
struct parley_splitter {
    enum parley_framing framing;
    size_t message_bytes_max;
    struct parley_buffer pending; /* the start of an incomplete message */
    struct parley_position here;  /* of the next byte of input */
    struct parley_position start; /* of the message being read */
    size_t number;
    int state;
    size_t depth;
    bool in_string, after_backslash, is_oversize;
    unsigned char head[4]; /* of a frame: the bytes of its length field so far */
    size_t head_count;
    size_t frame_bytes, frame_left; /* its length, and the bytes still to come */
    char fault_text[160];
};

/* PARLEY_FRAMING_JSON: the body is an array. PARLEY_FRAMING_WHOLE: it is one message, which is
 * delivered at the end. `message_bytes_max` does not include the length field of a frame. */
void parley_splitter_init(struct parley_splitter *splitter, enum parley_framing framing,
                          size_t message_bytes_max);
void parley_splitter_finish(struct parley_splitter *splitter);

/* Consumes bytes from the front of *input until there is a result. Blank lines are skipped. After a
 * fault: a frame of length 0 is followed by the next one; a fault in an array, or a length that is
 * too large, ends the messages: further input is dropped, and end returns PARLEY_SPLIT_END. */
enum parley_split parley_splitter_next(struct parley_splitter *splitter, struct parley_bytes *input,
                                       struct parley_slice *out);

/* To be called at the end of the body, until it returns PARLEY_SPLIT_END. */
enum parley_split parley_splitter_end(struct parley_splitter *splitter, struct parley_slice *out);

/* Checks the message that the splitter delivered (`split` is MESSAGE, SIZE or FAULT); the verdict
 * is then in `message`. An array element that is not JSON (GW-001) makes the rest unreliable: the
 * splitter is abandoned. A number too large for a double and a lone surrogate concern their element
 * alone. Owns: as parley_message_check.  Returns: the same. */
enum parley_status parley_splitter_check(struct parley_splitter *splitter, enum parley_split split,
                                         const struct parley_slice *slice,
                                         struct parley_message *message,
                                         const struct parley_codec *codec,
                                         const struct parley_options *options) PARLEY_MUST_CHECK;

/* Notes a verdict that was reached elsewhere, on a copy of a slice's bytes. */
void parley_splitter_note_verdict(struct parley_splitter *splitter,
                                  const struct parley_message *message);

/* How much is held of an incomplete message. */
static inline size_t parley_splitter_held_bytes(const struct parley_splitter *splitter) {
    return splitter->pending.length;
}

/* Frees the buffered part of an incomplete message, if one has begun: the rest of it is skipped,
 * and it is delivered as PARLEY_SPLIT_SIZE. */
void parley_splitter_pass_by(struct parley_splitter *splitter);

/* Whether the bytes of the last slice are in the splitter and not in the input: then they stay
 * valid until the next call, even if the input is freed … */
static inline bool parley_splitter_keeps(const struct parley_splitter *splitter,
                                         const struct parley_slice *slice) {
    return slice->bytes.data != NULL && slice->bytes.data == splitter->pending.data;
}

/* … or until this call, between two messages, which frees their memory. */
void parley_splitter_release(struct parley_splitter *splitter);

/* Counts lines that were processed without the splitter; the next input follows them. Only between
 * two lines. */
void parley_splitter_skip_lines(struct parley_splitter *splitter, size_t count);

/* Drops all further input; end returns PARLEY_SPLIT_END. */
void parley_splitter_abandon(struct parley_splitter *splitter);

/* Ends the body for a reason that is not in its text: drops the buffered part of an incomplete
 * message, and all further input.  `fault`, `hint` (static): as in `out`, which is
 * PARLEY_SPLIT_FAULT for parley_splitter_check. */
void parley_splitter_break(struct parley_splitter *splitter, const char *fault, const char *hint,
                           struct parley_slice *out);

/* Whether further input is dropped, after a fault or because the splitter was abandoned. */
bool parley_splitter_has_ended(const struct parley_splitter *splitter);
