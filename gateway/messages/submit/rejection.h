/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Handles a message that is refused as invalid, besides its answer. */

#include "verdict.h"

/* Logs it, where a rule that it breaks asks for that (parley_rule.is_logged), once a message; and
 * keeps it (quarantine.h). Only of a message that was to be forwarded.  `request` NULL: it is
 * gone. */
void rejection_note(const struct request_options *options, const struct http_request *request,
                    const struct verdict *verdict);
