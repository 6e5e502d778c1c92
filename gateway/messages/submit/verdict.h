/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A message that was checked, with its possible results: a publication, or the message in another
 * encoding. Results that the worker pool has prepared are used as they are. */

#include "halting.h"
#include "offload.h"

/* Owns: everything is borrowed, for the call. */
struct verdict {
    struct parley_message *message;
    const struct parley_slice *slice;
    enum parley_status status; /* of the check: if it failed, the message says nothing */
    struct offload *offload;   /* that checked it; NULL: this reactor did … */
    struct kept_message *kept; /* … in this object; NULL: in gateway_message() */
};

/* Whether the worker pool found that NATS does not take it. */
bool verdict_is_too_large(const struct verdict *verdict);

/* Makes a publication of a valid message; the payload is the gateway's or the offload's.
 * `decided`: as of publication_prepare.
 * Returns: PARLEY_E_LIMIT when it would be over what NATS takes, without having written more than
 * that: JETSTREAM_TOO_LARGE. */
enum parley_status verdict_prepare(const struct request_options *options,
                                   const struct verdict *verdict, struct parley_bytes decided,
                                   struct publication *out) PARLEY_MUST_CHECK;
/* Writes a valid message in the encoding that the request asks for (INGEST_CONVERT) to `out`, whose
 * contents are replaced. */
enum parley_status verdict_convert(const struct request_options *options,
                                   const struct verdict *verdict,
                                   struct parley_buffer *out) PARLEY_MUST_CHECK;
/* Appends a valid message as it would be published. */
enum parley_status verdict_encode(const struct verdict *verdict,
                                  struct parley_buffer *out) PARLEY_MUST_CHECK;
/* check_warn_of_size, for a message whose verdict the client reads. */
enum parley_status verdict_warn_of_size(const struct request_options *options,
                                        const struct verdict *verdict) PARLEY_MUST_CHECK;
