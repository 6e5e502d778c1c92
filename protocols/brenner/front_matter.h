/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The YAML of a Markdown message's front matter, read by libyaml's events into JSON: one mapping of
 * strings to values. It does not know the meaning of the members. */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/rule.h>

/* A member of the top mapping. Places are offsets in bytes from the front matter's start. */
struct front_matter_member {
    struct parley_bytes name;
    size_t at;           /* of its value */
    const size_t *items; /* of its value's items, if that is a sequence */
    size_t item_count;
};

struct front_matter {
    const struct front_matter_member *members; /* in the order written */
    size_t member_count;
};

struct front_matter_fault {
    enum parley_gateway_rule rule;
    size_t offset;
    const char *message, *hint;
    const char *path; /* of GW-003 and GW-004; "" otherwise */
};

enum front_matter_result {
    FRONT_MATTER_READ,
    FRONT_MATTER_FAULT,
    FRONT_MATTER_MEMORY,
};

/* Reads `yaml`, the lines between the dashes, and appends its members to `out` as JSON on one line,
 * without braces. Of several faults the first in the order of the bytes is reported.
 * Owns: all results are in the arena. */
enum front_matter_result front_matter_read(struct parley_bytes yaml, struct parley_arena *arena,
                                           struct parley_buffer *out,
                                           struct front_matter *out_members,
                                           struct front_matter_fault *out_fault);
