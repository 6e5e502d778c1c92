/* SPDX-License-Identifier: Apache-2.0 */

/* The decompressed bytes count as the body: the limit of a message, the budget and the window of
 * results bound them, since no more are made until the last piece was taken.
 *
 * The bytes of a body count as taken only once all their output was: a library keeps some of
 * its output, so the last byte may be owed (as in batch.c). */

#include "decoding.h"

#include <stdlib.h>

#include "decoder.h"

enum {
    PIECE_BYTES = 16 * 1024,
    TURN_BYTES = 64 * 1024, /* of one body, as much as is read of one that is not compressed */
};

struct decoding {
    struct decoding_target target;
    struct budget *budget;
    struct budget_share held;
    struct decoder *decoder;
    const struct body_fault *fault;
    size_t start, end; /* of the part not taken, in `piece` */
    bool owes_byte;
    char piece[PIECE_BYTES];
};

static const char again[] = "Compress the body again, and send all of it.";

static const struct body_fault faults[] = {
    [DECODER_FOREIGN] = {"the body is not compressed as its Content-Encoding says",
                         "Send it with the Content-Encoding that it has, or without one."},
    [DECODER_TRAILING] = {"unexpected data after the end of the compressed body",
                          "Send nothing after the compressed data, or compress all of it."},
    [DECODER_DAMAGED] = {"the compressed body is damaged", again},
    [DECODER_WINDOW] = {"the compressed body needs a zstd window of more than 8 MiB",
                        "Compress it with a level of 19 at most, and without --long."},
    [DECODER_DICTIONARY] = {"the compressed body needs a zstd dictionary",
                            "Compress it without a dictionary."},
    [DECODER_RATIO] = {"the compressed body becomes more than 2000 times its size",
                       "Send it uncompressed, or in several requests."},
    [DECODER_CUT] = {"the compressed body ends too early", again},
};

static const struct body_fault overloaded;

struct decoding *decoding_create(const struct request_options *options,
                                 const struct decoding_target *target) {
    struct decoding *decoding = malloc(sizeof *decoding);
    if (decoding == NULL) {
        return NULL;
    }
    decoding->target = *target;
    decoding->budget = options->gateway->budget;
    decoding->held = (struct budget_share){0};
    decoding->fault = NULL;
    decoding->start = decoding->end = 0;
    decoding->owes_byte = false;
    if (decoder_create(options->coding, &decoding->decoder) != PARLEY_OK) {
        free(decoding);
        return NULL;
    }
    return decoding;
}

void decoding_destroy(struct decoding *decoding) {
    if (decoding != NULL) {
        budget_uncover(decoding->budget, &decoding->held);
        decoder_destroy(decoding->decoder);
        free(decoding);
    }
}

static const struct body_fault *fault_of(enum decoder_fault fault) {
    return fault == DECODER_NO_FAULT ? NULL
           : fault == DECODER_MEMORY ? &overloaded
                                     : &faults[fault];
}

/* Makes the next piece.  Returns: whether there is one. */
static bool make_piece(struct decoding *decoding, struct parley_bytes *input) {
    const enum decoder_fault fault = decoder_read(decoding->decoder, input, decoding->piece,
                                                  sizeof decoding->piece, &decoding->end);
    const size_t bytes = sizeof *decoding + decoder_memory_bytes(decoding->decoder);
    decoding->start = 0;
    decoding->fault =
        budget_cover(decoding->budget, &decoding->held, bytes) ? fault_of(fault) : &overloaded;
    return decoding->end > 0;
}

/* Returns: whether all of the piece was taken. */
static bool give_piece(struct decoding *decoding, struct http_request *request) {
    const struct parley_bytes left = {decoding->piece + decoding->start,
                                      decoding->end - decoding->start};
    decoding->start += decoding->target.take(decoding->target.context, request, left);
    return decoding->start == decoding->end || http_request_is_discarding(request);
}

/* Returns: how many of the bytes may be called taken, when there is more to do. */
static size_t pause(struct decoding *decoding, struct parley_bytes bytes,
                    struct parley_bytes left) {
    decoding->owes_byte = left.length == 0;
    return bytes.length - left.length - decoding->owes_byte;
}

size_t decoding_body(struct decoding *decoding, struct http_request *request,
                     struct parley_bytes bytes) {
    struct parley_bytes left = {bytes.data + decoding->owes_byte,
                                bytes.length - decoding->owes_byte};
    size_t made_bytes = 0;
    decoding->owes_byte = false;
    do {
        if (decoding->start < decoding->end && !give_piece(decoding, request)) {
            return pause(decoding, bytes, left);
        }
        if (decoding->fault != NULL || http_request_is_discarding(request)) {
            return bytes.length;
        }
        if (made_bytes >= TURN_BYTES) {
            http_wake(request);
            return pause(decoding, bytes, left);
        }
        made_bytes += sizeof decoding->piece;
    } while (make_piece(decoding, &left));
    return bytes.length;
}

void decoding_end(struct decoding *decoding) {
    if (decoding->fault == NULL) {
        decoding->fault = fault_of(decoder_end(decoding->decoder));
    }
}

const struct body_fault *decoding_fault(const struct decoding *decoding) {
    return decoding->fault;
}
