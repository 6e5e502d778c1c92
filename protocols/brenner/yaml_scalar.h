/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads a plain (unquoted) YAML scalar as a value. libyaml returns text and leaves that to its
 * users. Source: YAML 1.2.2, section 10.3 (core schema), but of the booleans only `true` and
 * `false` (docs/protocols/brenner.md#front-matter). */

#include <parley/buffer.h>

enum yaml_scalar {
    YAML_SCALAR_STRING,   /* nothing was appended */
    YAML_SCALAR_WRITTEN,  /* null, a boolean or a number: as JSON */
    YAML_SCALAR_INFINITE, /* .inf, .nan, or a number that no double holds; `out` is garbage */
};

/* Appends to `out` what `text` means unless that is a string. A number keeps its spelling where
 * JSON has it too; 0o17 and 0x1F become decimal. */
enum yaml_scalar yaml_scalar_write(struct parley_bytes text, struct parley_buffer *out);
