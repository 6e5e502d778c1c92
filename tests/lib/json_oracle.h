/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* jansson as the judge of the product's own readers: it decides what is JSON, and its tree, walked
 * by the same rules, says what a message holds. The product makes no tree. */

#include <jansson.h>

#include <parley/message.h>

/* The tree of a text that is JSON as parley takes it: nested no deeper than 64, no key twice in an
 * object, no NUL byte between tokens. All numbers are reals.
 * Owns: give it to json_decref.  Returns: NULL: it is not. */
json_t *json_oracle_read(struct parley_bytes text);

/* Sets up a message for json_oracle_walk or a reader, as parley_message_check does, without reading
 * it.  Owns: text is borrowed. */
void json_oracle_prepare(struct parley_message *message, struct parley_bytes text,
                         const struct parley_options *options);

/* Asks the rules by a tree, an object, of a message that was prepared: facts, type and findings,
 * which have no place.  Owns: facts are borrowed from the tree. */
enum parley_status json_oracle_walk(struct parley_message *message, json_t *tree) PARLEY_MUST_CHECK;
