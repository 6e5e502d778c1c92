/* SPDX-License-Identifier: Apache-2.0 */

/* Reads an Accept header and chooses among our media types. It is lenient where clients are: a
 * range's parameters other than q are ignored (parley's types have none), a lone `*` is any type,
 * and an element that cannot be read counts as not sent. */

#include "negotiate.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include <parley/bytes.h>

enum { QUALITY_ONE = 1000 };

/* From the least specific to the most. */
enum precision { PRECISION_NONE, PRECISION_ANY, PRECISION_TYPE, PRECISION_EXACT };

/* How an offer is rated. */
struct liking {
    enum precision precision;
    int quality; /* in thousandths */
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static struct parley_bytes trim(struct parley_bytes text) {
    while (text.length > 0 && is_blank(text.data[0])) {
        text.data++;
        text.length--;
    }
    while (text.length > 0 && is_blank(text.data[text.length - 1])) {
        text.length--;
    }
    return text;
}

/* The length of the text before the next `delimiter`, which does not count in a quoted string. */
static size_t quoted_length(struct parley_bytes text, char delimiter) {
    bool is_quoted = false;
    size_t i = 0;
    for (; i < text.length && (is_quoted || text.data[i] != delimiter); i++) {
        if (text.data[i] == '"') {
            is_quoted = !is_quoted;
        } else if (is_quoted && text.data[i] == '\\' && i + 1 < text.length) {
            i++;
        }
    }
    return i;
}

/* Cuts that text off the front of `rest`. */
static struct parley_bytes cut(struct parley_bytes *rest, char delimiter) {
    const char *found = memchr(rest->data, delimiter, rest->length);
    size_t length = found != NULL ? (size_t)(found - rest->data) : rest->length;
    if (memchr(rest->data, '"', length) != NULL) {
        length = quoted_length(*rest, delimiter);
    }
    const struct parley_bytes piece = {rest->data, length};
    const size_t skipped = length < rest->length ? length + 1 : length;
    rest->data += skipped;
    rest->length -= skipped;
    return trim(piece);
}

/* Returns: thousandths, or -1 when it is not a qvalue. Digits after the third are ignored. */
static int read_quality(struct parley_bytes text) {
    int quality = 0;
    int unit = QUALITY_ONE;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (c == '.' && i <= 1) {
            unit = unit > QUALITY_ONE / 10 ? QUALITY_ONE / 10 : unit;
            continue;
        }
        bool is_whole = i == 0;
        if (c < '0' || c > '9' || (i == 1 && text.data[0] != '.')) {
            return -1;
        }
        quality += (c - '0') * unit;
        unit = is_whole ? QUALITY_ONE / 10 : unit / 10;
    }
    return text.length > 0 && quality <= QUALITY_ONE ? quality : -1;
}

/* The q among a range's parameters; QUALITY_ONE without one. */
static int quality_of(struct parley_bytes parameters) {
    while (parameters.length > 0) {
        struct parley_bytes parameter = cut(&parameters, ';');
        struct parley_bytes value = parameter;
        struct parley_bytes name = cut(&value, '=');
        if (name.length == 1 && (name.data[0] == 'q' || name.data[0] == 'Q')) {
            return read_quality(trim(value));
        }
    }
    return QUALITY_ONE;
}

static enum precision match(struct parley_bytes range, struct parley_bytes offer) {
    if (parley_bytes_equal(range, PARLEY_BYTES("*/*")) ||
        parley_bytes_equal(range, PARLEY_BYTES("*"))) {
        return PRECISION_ANY;
    }
    if (range.length == offer.length && strncasecmp(range.data, offer.data, range.length) == 0) {
        return PRECISION_EXACT;
    }
    const char *slash = memchr(range.data, '/', range.length);
    if (slash == NULL || (size_t)(slash - range.data) + 2 != range.length || slash[1] != '*') {
        return PRECISION_NONE;
    }
    size_t type_length = (size_t)(slash - range.data) + 1; /* with the slash */
    return offer.length > type_length && strncasecmp(range.data, offer.data, type_length) == 0
               ? PRECISION_TYPE
               : PRECISION_NONE;
}

/* The most specific range that fits decides, however little it likes the offer. */
static struct liking like(struct parley_bytes accept, const char *offer) {
    struct liking best = {PRECISION_NONE, 0};
    while (accept.length > 0 &&
           !(best.precision == PRECISION_EXACT && best.quality == QUALITY_ONE)) {
        struct parley_bytes parameters = cut(&accept, ',');
        struct parley_bytes range = cut(&parameters, ';');
        enum precision precision = match(range, parley_bytes_of(offer));
        int quality = precision != PRECISION_NONE ? quality_of(parameters) : -1;
        if (quality < 0) {
            continue;
        }
        if (precision > best.precision || (precision == best.precision && quality > best.quality)) {
            best = (struct liking){precision, quality};
        }
    }
    return best;
}

static bool is_empty(struct parley_bytes accept) {
    for (size_t i = 0; i < accept.length; i++) {
        if (!is_blank(accept.data[i]) && accept.data[i] != ',') {
            return false;
        }
    }
    return true;
}

int negotiate_quality(const char *accept, const char *offer) {
    const struct parley_bytes ranges = parley_bytes_of(accept);
    return is_empty(ranges) ? QUALITY_ONE : like(ranges, offer).quality;
}

int negotiate_quality_of_any(const char *accept, const char *const names[]) {
    const struct parley_bytes ranges = parley_bytes_of(accept);
    struct liking best = {PRECISION_NONE, 0};
    for (; *names != NULL; names++) {
        const struct liking liking = like(ranges, *names);
        if (liking.precision > best.precision ||
            (liking.precision == best.precision && liking.quality > best.quality)) {
            best = liking;
        }
    }
    return is_empty(ranges) ? QUALITY_ONE : best.quality;
}

int negotiate(const char *accept, const char *const offers[]) {
    struct parley_bytes ranges = parley_bytes_of(accept);
    if (is_empty(ranges)) {
        return 0;
    }
    int chosen = -1;
    struct liking best = {PRECISION_NONE, 0};
    for (int i = 0; offers[i] != NULL; i++) {
        struct liking liking = like(ranges, offers[i]);
        if (liking.quality > best.quality ||
            (liking.quality > 0 && liking.quality == best.quality &&
             liking.precision > best.precision)) {
            best = liking;
            chosen = i;
        }
    }
    return chosen;
}

static int like_coding(const char *accept_encoding, const char *name) {
    return like(parley_bytes_of(accept_encoding), name).quality;
}

/* "gzip" and "x-gzip" are equivalent (RFC 9110, section 8.4.1.3). */
static int like_gzip(const char *accept_encoding) {
    const struct liking gzip = like(parley_bytes_of(accept_encoding), "gzip");
    const struct liking old = like(parley_bytes_of(accept_encoding), "x-gzip");
    return old.precision > gzip.precision ? old.quality : gzip.quality;
}

static int like_identity(const char *accept_encoding) {
    const struct liking identity = like(parley_bytes_of(accept_encoding), "identity");
    return identity.precision == PRECISION_EXACT ? identity.quality : 0;
}

enum coding negotiate_coding(const char *accept_encoding) {
    if (accept_encoding == NULL) {
        return CODING_IDENTITY;
    }
    const int zstd = like_coding(accept_encoding, coding_name(CODING_ZSTD));
    const int gzip = like_gzip(accept_encoding);
    const int identity = like_identity(accept_encoding);
    if (zstd > 0 && zstd >= gzip && zstd >= identity) {
        return CODING_ZSTD;
    }
    return gzip > 0 && gzip >= identity ? CODING_GZIP : CODING_IDENTITY;
}
