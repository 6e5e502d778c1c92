/* SPDX-License-Identifier: Apache-2.0 */

#include "scopes.h"

#include <assert.h>

static const struct parley_bytes send_prefix = {"send:", 5}, read_prefix = {"read:", 5};

static unsigned index_of(const struct parley_protocol *protocol) {
    unsigned i = 0;
    while (parley_protocols[i] != protocol) {
        i++;
    }
    assert(i < 64);
    return i;
}

bool scopes_may_send(const struct scopes *scopes, const struct parley_protocol *protocol) {
    return (scopes->send >> index_of(protocol) & 1) != 0;
}

bool scopes_may_read(const struct scopes *scopes, const struct parley_protocol *protocol) {
    return (scopes->read >> index_of(protocol) & 1) != 0;
}

bool scopes_may_measure(const struct scopes *scopes) {
    return scopes->metrics || scopes->admin;
}

bool scopes_may_review(const struct scopes *scopes) {
    return scopes->review || scopes->admin;
}

/* ---- reading ---- */

static bool has_prefix(struct parley_bytes text, struct parley_bytes prefix) {
    return text.length > prefix.length && memcmp(text.data, prefix.data, prefix.length) == 0;
}

static void list(struct parley_bytes prefix, struct parley_buffer *out) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        parley_buffer_format(out, "%s%s, ", prefix.data, parley_protocols[i]->name);
    }
    parley_buffer_format(out, "%s*, ", prefix.data);
}

static void explain(struct parley_bytes scope, struct parley_buffer *out) {
    enum { SHOWN_MAX = 100 };
    parley_buffer_text(out, "there is no scope '");
    parley_buffer_append(out, (struct parley_bytes){
                                  scope.data, scope.length > SHOWN_MAX ? SHOWN_MAX : scope.length});
    parley_buffer_text(out, "'; the scopes are ");
    list(send_prefix, out);
    list(read_prefix, out);
    parley_buffer_text(out, "admin, metrics and review");
}

/* Returns: 0 if there is no such protocol. */
static uint64_t bits_of(struct parley_bytes name) {
    if (parley_bytes_equal(name, PARLEY_BYTES("*"))) {
        return UINT64_MAX;
    }
    const struct parley_protocol *protocol = parley_protocol_find(name);
    return protocol != NULL ? UINT64_C(1) << index_of(protocol) : 0;
}

static bool add_bits(uint64_t *bits, struct parley_bytes scope, struct parley_bytes prefix) {
    if (!has_prefix(scope, prefix)) {
        return false;
    }
    const uint64_t more =
        bits_of((struct parley_bytes){scope.data + prefix.length, scope.length - prefix.length});
    *bits |= more;
    return more != 0;
}

static bool add_flag(bool *flag, struct parley_bytes scope, struct parley_bytes name) {
    const bool is_it = parley_bytes_equal(scope, name);
    *flag = *flag || is_it;
    return is_it;
}

bool scopes_add(struct scopes *scopes, struct parley_bytes scope, struct parley_buffer *out_error) {
    const bool is_known = add_bits(&scopes->send, scope, send_prefix) ||
                          add_bits(&scopes->read, scope, read_prefix) ||
                          add_flag(&scopes->admin, scope, PARLEY_BYTES("admin")) ||
                          add_flag(&scopes->metrics, scope, PARLEY_BYTES("metrics")) ||
                          add_flag(&scopes->review, scope, PARLEY_BYTES("review"));
    if (!is_known && out_error != NULL) {
        explain(scope, out_error);
    }
    return is_known;
}

/* ---- writing ---- */

static void separate(struct parley_buffer *out, size_t start, char separator) {
    if (out->length > start) {
        parley_buffer_char(out, separator);
    }
}

static void write_bits(uint64_t bits, struct parley_bytes prefix, size_t start, char separator,
                       struct parley_buffer *out) {
    if (bits == UINT64_MAX) {
        separate(out, start, separator);
        parley_buffer_append(out, prefix);
        parley_buffer_char(out, '*');
        return;
    }
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        if ((bits >> i & 1) != 0) {
            separate(out, start, separator);
            parley_buffer_append(out, prefix);
            parley_buffer_text(out, parley_protocols[i]->name);
        }
    }
}

static void write_flag(bool flag, const char *name, size_t start, char separator,
                       struct parley_buffer *out) {
    if (flag) {
        separate(out, start, separator);
        parley_buffer_text(out, name);
    }
}

void scopes_write(const struct scopes *scopes, char separator, struct parley_buffer *out) {
    const size_t start = out->length;
    write_bits(scopes->send, send_prefix, start, separator, out);
    write_bits(scopes->read, read_prefix, start, separator, out);
    write_flag(scopes->admin, "admin", start, separator, out);
    write_flag(scopes->metrics, "metrics", start, separator, out);
    write_flag(scopes->review, "review", start, separator, out);
}
