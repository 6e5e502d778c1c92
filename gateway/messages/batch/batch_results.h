/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The results of a batch, in the order sent: each is kept until those before it are known, and goes
 * to the outlet then, which is the answer. How many may wait for that is bounded: the window. */

#include "result_writer.h"
#include "submission.h"

struct batch_results;
struct pending;

/* One message's result. */
struct batch_result {
    struct batch_results *results;
    struct batch_result *next;
    size_t number;
    enum result_status status; /* RESULT_AWAITED until it is known */
    /* While it is awaited; the text of its receipt is the line then, "" for none. */
    struct submission submission;
    struct pending *pending; /* while its message waits, or may be examined again */
    size_t counted_bytes;    /* of its receipt, in the window */
};

/* The owner embeds it. */
struct batch_results {
    const struct request_options *options;
    struct result_writer outlet;
    struct batch_result *first, **end; /* that are not written yet */
    struct batch_result *unused;       /* to be used again */
    size_t window_count,
        window_bytes; /* of results not yet written, and of messages kept for them */
    uint64_t counts[RESULT_STATUS_COUNT], received_count, omitted_count;
    bool has_failed; /* on our side: the answer cannot be whole, and nothing more is read */
    bool has_logged; /* that, or another internal error: once is enough */
};

/* `on_room`: the outlet has room again.  Owns: everything is borrowed. */
void batch_results_init(struct batch_results *results, const struct request_options *options,
                        struct http_request *request, void (*on_room)(void *context),
                        void *context);
void batch_results_finish(struct batch_results *results);
/* The request is gone. */
void batch_results_close(struct batch_results *results);

/* Whether one more may be awaited. */
bool batch_results_have_room(struct batch_results *results);
/* Writes the known results, up to the first unknown one. */
void batch_results_flush(struct batch_results *results);
/* Whether the first is known, and waits for room in the outlet. */
bool batch_results_wait_for_outlet(const struct batch_results *results);

/* Adds one that is awaited.  Returns: NULL: no memory, and the results have failed. */
struct batch_result *batch_results_add(struct batch_results *results, size_t number);
/* Adds one that is known: of a message that was validated and waits for nothing, after none that
 * waits. */
void batch_results_add_verdict(struct batch_results *results, const struct verdict *verdict);

/* ---- an awaited one ---- */

/* Notes why it is invalid. */
void batch_result_note_invalid(struct batch_result *result, struct parley_message *message,
                               bool is_halting);

/* Makes it known, and writes it if it is the first. */
void batch_result_end_verdict(struct batch_result *result, const struct verdict *verdict);
/* As batch_result_note_invalid noted. */
void batch_result_end_invalid(struct batch_result *result);
void batch_result_end_failed(struct batch_result *result, const struct failure *failure);
void batch_result_end_internal(struct batch_result *result, enum parley_status status);
/* As its submission says; the window counts its receipt. */
void batch_result_end_submitted(struct batch_result *result,
                                const struct submission_outcome *outcome);

/* ---- the answer ---- */

/* All results are written: ends the answer, with a summary, or breaks it off. */
void batch_results_end(struct batch_results *results);
/* As body_handler's read.  `is_ended`: batch_results_end was called. */
ssize_t batch_results_read(struct batch_results *results, bool is_ended, char *buffer, size_t size);
