/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Who may send a request, on one reactor: what the request shows, verified once and kept with its
 * connection. */

#include "http.h"
#include "principal.h"

/* Who sends the request. It may do nothing where nobody was let in.  Owns: borrowed until the
 * request is closed; principal_ref keeps it longer. */
const struct principal *guard_principal(const struct http_request *request);
