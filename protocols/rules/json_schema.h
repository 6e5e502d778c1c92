/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the files that write a rule table as a JSON Schema (parley/describe.h). All functions
 * append to writer->out, which keeps a failure. */

#include <parley/buffer.h>
#include <parley/protocol.h>

#include "schema.h"

struct writer {
    const struct parley_protocol *protocol;
    struct parley_buffer *out;
    unsigned depth;
    uint32_t every_type; /* the set of all types, including the unknown one */
    uint32_t types;      /* the types whose rows are being written */
    bool is_of_one_type; /* `types` is one: rows for some types are written if it is among them */
    bool is_part;        /* an object without members is said to have any: generators of clients
                            take it for an empty one */
    bool is_fragment; /* for a violation (parley_finding_write_expected): on one line, and no words
                         of the row */
    const struct schema_node *draft; /* of its members, those that `stamp` fills in are not
                                        required; NULL: no node */
};

/* ---- JSON (json_schema_text.c) ---- */

/* Begins the next item of the current array. */
void writer_item(struct writer *writer);

/* Begins the next member of the current object. */
void writer_member(struct writer *writer, struct parley_bytes name);
void writer_keyword(struct writer *writer, const char *name);

void writer_open(struct writer *writer, char bracket);
void writer_close(struct writer *writer, char bracket);

/* A keyword with its value. */
void writer_text(struct writer *writer, const char *name, const char *text);
void writer_number(struct writer *writer, const char *name, double number);
/* Empties `text`. */
void writer_buffer(struct writer *writer, const char *name, struct parley_buffer *text);

/* Appends an item to an array written on one line: a string, or null. */
void writer_short_item(struct writer *writer, struct parley_bytes text);
void writer_short_null(struct writer *writer);

/* ---- rows and values (json_schema.c) ---- */

/* How the schema expresses a place of a rule. */
enum schema_form {
    FORM_NODE,   /* in the schema of its value */
    FORM_TESTS,  /* as an if/then */
    FORM_NONE,   /* a schema cannot express it */
    FORM_OPTION, /* checked only if a request option asks for it */
    FORM_WARNING,
};

enum schema_form writer_form_of(const struct writer *writer, const struct parley_rule *rule,
                                const struct parley_place *place);

/* Whether this place is in the schema of its value. */
bool writer_is_expressed(const struct writer *writer, const struct parley_rule *rule,
                         const struct parley_place *place);

/* The types of a row; `every_type` if the schema needs no condition. */
uint32_t writer_types_of(const struct writer *writer, const struct parley_place *place);

/* Whether the rows being written are for the types of this one. */
bool writer_is_due(const struct writer *writer, const struct parley_place *place);

/* The keyword `type` of a value of these kinds: a name, or an array of them. */
void writer_types(struct writer *writer, unsigned kinds);

/* The keywords by which a place constrains strings, numbers and arrays, of those of `kinds`. */
void writer_constraint(struct writer *writer, unsigned kinds, const struct parley_place *place);

/* Writes the schema of a value of these kinds (0: any); `place` NULL: without a constraint; `node`
 * NULL: without its members or items. */
void writer_value(struct writer *writer, unsigned kinds, const struct parley_place *place,
                  const struct schema_node *node);

/* ---- conditions (json_schema_conditions.c) ---- */

/* Writes all conditions of the schema with this root, if there are any. */
void writer_conditionals(struct writer *writer, const struct schema_node *root);

/* The same of rows over several members alone: those for every type, or, where writer->types is one
 * type, those for some types that include it. */
void writer_conditions_across(struct writer *writer);
