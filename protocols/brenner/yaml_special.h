/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The characters that YAML 1.2 allows between quotes, and that libyaml refuses or takes for the end
 * of a line: DEL, the C1 controls (U+0085 too), U+2028, U+2029, U+FEFF, U+FFFE and U+FFFF. libyaml
 * reads a stand-in for each of them, one character for one, so that its marks stay valid; between
 * quotes the characters are restored, and anywhere else they are a fault. */

#include <stdbool.h>

#include <parley/buffer.h>

struct yaml_specials {
    struct parley_bytes text;
    struct parley_buffer items; /* private: the replaced characters, in the order of the text */
    struct parley_buffer fed;   /* private: the text with stand-ins */
    char stand_in[4];
    size_t next; /* private: the first item that was not passed */
    size_t
        outside; /* where the first of them is that is not between quotes; SIZE_MAX: none so far */
};

/* Owns: `text` is borrowed; the caller must free the rest with yaml_specials_finish().
 * Returns: the text for libyaml: the same text if it has none of those characters; data NULL when
 * there is no memory. If the text has an escape for every possible stand-in, the characters are
 * left to libyaml, which refuses them. */
struct parley_bytes yaml_specials_replace(struct yaml_specials *specials, struct parley_bytes text);
void yaml_specials_finish(struct yaml_specials *specials);

static inline bool yaml_specials_has_any(const struct yaml_specials *specials) {
    return specials->items.length > 0;
}

/* Call these in the order of the text: with the text between quotes that open at `start`, a byte of
 * the text; it gets its characters back (its length only shrinks) … */
void yaml_specials_restore(struct yaml_specials *specials, size_t start, char *value,
                           size_t *length);
/* … and with the end of anything else. */
void yaml_specials_pass(struct yaml_specials *specials, size_t end);
