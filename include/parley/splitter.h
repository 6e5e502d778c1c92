/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Cuts a body into messages while it arrives. Pull it: feed what came, ask for the next message
 * until it wants more. Memory: one message of at most message_bytes_max, whatever the body. */

#include <stdbool.h>

#include <parley/buffer.h>
#include <parley/findings.h>
#include <parley/message.h>
#include <parley/protocol.h>

enum parley_split {
    PARLEY_SPLIT_MORE,    /* the input is used up */
    PARLEY_SPLIT_MESSAGE, /* out holds one */
    PARLEY_SPLIT_SIZE,    /* one over the limit went by (GW-002); out holds its position */
    PARLEY_SPLIT_FAULT,   /* not a message (GW-001); out->fault says why */
    PARLEY_SPLIT_END,     /* after finish: nothing is left */
    PARLEY_SPLIT_MEMORY,  /* of ours */
};

struct parley_slice {
    struct parley_bytes bytes;     /* borrowed until the next call */
    struct parley_position origin; /* of its first byte, in the body; of a frame, in bytes: that of
                                      its message, or for a fault that of its length field */
    size_t number;                 /* the physical line of NDJSON, else the ordinal from 1 */
    const char *fault; /* PARLEY_SPLIT_FAULT: what is wrong; borrowed until the next call … */
    const char *hint;  /* … and what would make it right; NULL: the rule's; static */
};

/* A frame that claims more than this is no frame, and where the next one starts is not known. */
#define PARLEY_FRAME_BYTES_MAX (100u << 20)

/* Private; public only to be embedded. */
struct parley_splitter {
    enum parley_framing framing;
    size_t message_bytes_max;
    struct parley_buffer pending; /* the start of a message that is not whole yet */
    struct parley_position here;  /* of the next byte of input */
    struct parley_position start; /* of the message being read */
    size_t number;
    int state;
    size_t depth;
    bool in_string, after_backslash, is_oversize;
    unsigned char head[4]; /* of a frame: as many bytes of its length as have come */
    size_t head_count;
    size_t frame_bytes, frame_left; /* its length, and what is still to come of it */
    char fault_text[160];
};

/* PARLEY_FRAMING_JSON when the body is known to be an array, PARLEY_FRAMING_WHOLE when it is one
 * message, which comes out at the end. `message_bytes_max` is of a message; a frame's length field
 * apart. */
void parley_splitter_init(struct parley_splitter *splitter, enum parley_framing framing,
                          size_t message_bytes_max);
void parley_splitter_finish(struct parley_splitter *splitter);

/* Takes bytes from the front of *input and says what came out. Blank lines are skipped. Behind a
 * fault: after a frame of no bytes the next one is read; a fault in an array, or a length that is
 * no frame's, ends the messages: what is still fed is dropped, and end answers PARLEY_SPLIT_END. */
enum parley_split parley_splitter_next(struct parley_splitter *splitter, struct parley_bytes *input,
                                       struct parley_slice *out);

/* The body has ended: call until PARLEY_SPLIT_END. */
enum parley_split parley_splitter_end(struct parley_splitter *splitter, struct parley_slice *out);

/* Reaches the verdict on what the splitter handed out (`split` is MESSAGE, SIZE or FAULT), which
 * is then in `message`. After an element of an array that proves not to be JSON (GW-001) nothing
 * can be trusted: the splitter is abandoned. A number that nothing holds and a lone surrogate are
 * faults of their element alone.
 * Owns: as parley_message_check.  Returns: the same. */
enum parley_status parley_splitter_check(struct parley_splitter *splitter, enum parley_split split,
                                         const struct parley_slice *slice,
                                         struct parley_message *message,
                                         const struct parley_codec *codec,
                                         const struct parley_options *options) PARLEY_MUST_CHECK;

/* The same of a verdict that was reached elsewhere, on a slice whose bytes were kept. */
void parley_splitter_note_verdict(struct parley_splitter *splitter,
                                  const struct parley_message *message);

/* How much is held of a message that is not whole yet. */
static inline size_t parley_splitter_held_bytes(const struct parley_splitter *splitter) {
    return splitter->pending.length;
}

/* Gives back what is held of such a message, if one has begun: the rest of it goes by, and it comes
 * out as PARLEY_SPLIT_SIZE. */
void parley_splitter_pass_by(struct parley_splitter *splitter);

/* Whether the bytes of what was handed out last lie here, and not in the input: then they stay,
 * whatever becomes of that, until the next call … */
static inline bool parley_splitter_keeps(const struct parley_splitter *splitter,
                                         const struct parley_slice *slice) {
    return slice->bytes.data != NULL && slice->bytes.data == splitter->pending.data;
}

/* … or until this one, between two messages, which gives their memory back. */
void parley_splitter_release(struct parley_splitter *splitter);

/* Lines went by another way: what is fed next is behind them. Only between two lines. */
void parley_splitter_skip_lines(struct parley_splitter *splitter, size_t count);

/* Drops everything that is still fed; end answers PARLEY_SPLIT_END. */
void parley_splitter_abandon(struct parley_splitter *splitter);

/* Whether that is so, by a fault or because it was abandoned. */
bool parley_splitter_has_ended(const struct parley_splitter *splitter);
