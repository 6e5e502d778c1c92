/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A message that was checked, and the answers that are not a receipt: the message in another
 * encoding, or as it would be published. What the worker pool has prepared is used as it is. */

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
