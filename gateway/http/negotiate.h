/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Content negotiation (RFC 9110, section 12.5.1). */

#include "coding.h"

/* The index of the offer that `accept` likes best (quality first, then the more specific range,
 * then the order of the offers), or -1 when it takes none. NULL or an empty `accept` takes
 * anything: 0.  `offers`: media types without parameters, NULL-terminated. */
int negotiate(const char *accept, const char *const offers[]);

/* How much `accept` likes one media type, in thousandths; 0: it does not take it. */
int negotiate_quality(const char *accept, const char *offer);

/* The same of a media type that has several names, NULL-terminated: the range that fits one of them
 * most precisely decides. */
int negotiate_quality_of_any(const char *accept, const char *const names[]);

/* The coding that `accept_encoding` likes best; of several the one that costs least: zstd, gzip,
 * none. NULL or empty: none. "Identity" counts only where it is named: else it is what remains
 * (RFC 9110, section 12.5.3). */
enum coding negotiate_coding(const char *accept_encoding);
