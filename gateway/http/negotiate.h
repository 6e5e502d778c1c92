/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Content negotiation (RFC 9110, section 12.5.1). */

#include "coding.h"

/* Returns the index of the offer that `accept` prefers (quality first, then the more specific
 * range, then the order of the offers), or -1 when it accepts none. NULL or an empty `accept`
 * accepts anything: 0.  `offers`: media types without parameters, NULL-terminated. */
int negotiate(const char *accept, const char *const offers[]);

/* How much `accept` prefers one media type, in thousandths; 0: it does not accept it. */
int negotiate_quality(const char *accept, const char *offer);

/* As negotiate_quality, for a media type that has several names, NULL-terminated: the range that
 * fits one of them most precisely decides. */
int negotiate_quality_of_any(const char *accept, const char *const names[]);

/* Returns the coding that `accept_encoding` prefers; of several equal ones the cheapest: zstd,
 * gzip, none. NULL or empty: none. "Identity" counts only where it is named; otherwise it is the
 * fallback (RFC 9110, section 12.5.3). */
enum coding negotiate_coding(const char *accept_encoding);
