/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files share that write a rule table as a JSON Schema (parley/describe.h). All of them
 * append to writer->out; a failure to do so stays there. */

#include <parley/buffer.h>
#include <parley/protocol.h>

#include "schema.h"

struct writer {
    const struct parley_protocol *protocol;
    struct parley_buffer *out;
    unsigned depth;
    uint32_t every_type; /* the set of all types, the unknown one included */
    uint32_t types;      /* whose rows are written now */
};

/* ---- JSON (json_schema_text.c) ---- */

/* Begins the next item of the present array. */
void writer_item(struct writer *writer);

/* Begins the next member of the present object. */
void writer_member(struct writer *writer, struct parley_bytes name);
void writer_keyword(struct writer *writer, const char *name);

void writer_open(struct writer *writer, char bracket);
void writer_close(struct writer *writer, char bracket);

/* A keyword with its value. */
void writer_text(struct writer *writer, const char *name, const char *text);
void writer_number(struct writer *writer, const char *name, double number);
/* Empties `text`. */
void writer_buffer(struct writer *writer, const char *name, struct parley_buffer *text);

/* Appends an item to an array that stands on one line. */
void writer_short_item(struct writer *writer, struct parley_bytes text);

/* ---- rows and values (json_schema.c) ---- */

/* What becomes of a place of a rule in the schema. */
enum schema_form {
    FORM_NODE,   /* it stands with its value */
    FORM_TESTS,  /* it is an if/then of its own */
    FORM_NONE,   /* no schema can say it */
    FORM_OPTION, /* it is asked only where an option of the request says so */
    FORM_WARNING,
};

enum schema_form writer_form_of(const struct writer *writer, const struct parley_rule *rule,
                                const struct parley_place *place);

/* Whether this place stands with its value. */
bool writer_is_expressed(const struct writer *writer, const struct parley_rule *rule,
                         const struct parley_place *place);

/* The types that a row is for; `every_type` where a schema needs no condition. */
uint32_t writer_types_of(const struct writer *writer, const struct parley_place *place);

/* What a value of these kinds must be; `place` NULL: nothing more; `node` NULL: whatever is in it.
 * A kind that is not named may not be; 0: all may. */
void writer_value(struct writer *writer, unsigned kinds, const struct parley_place *place,
                  const struct schema_node *node);

/* ---- conditions (json_schema_conditions.c) ---- */

/* The list of all conditions of the schema whose root this is, unless there are none. */
void writer_conditionals(struct writer *writer, const struct schema_node *root);
