/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Single members of a JSON object that JetStream answers, read without jansson, which ends the
 * process when memory runs out. Memory is allocated only for strings that have escapes. */

#include <parley/arena.h>
#include <parley/rule.h>

struct answer_member {
    const char *object; /* the member of the answer that contains it; NULL for the answer itself */
    const char *name;
    struct parley_value value; /* PARLEY_ABSENT if missing */
};

/* Reads the values of `members`, all of which are absent if `answer` is not JSON. Of objects and
 * arrays only the kind is read.  Owns: texts are in `answer` or in the arena.
 * Returns: PARLEY_E_MEMORY: the string that found no memory and all later members are absent. */
enum parley_status api_fields_read(struct parley_bytes answer, struct answer_member *members,
                                   size_t count, struct parley_arena *arena) PARLEY_MUST_CHECK;

/* The members that describe an error, in this order. */
enum { ANSWER_ERROR, ANSWER_ERR_CODE, ANSWER_CODE, ANSWER_DESCRIPTION, ANSWER_ERROR_COUNT };
#define ANSWER_ERROR_MEMBERS                                                                       \
    [ANSWER_ERROR] = {.name = "error"},                                                            \
    [ANSWER_ERR_CODE] = {.object = "error", .name = "err_code"},                                   \
    [ANSWER_CODE] = {.object = "error", .name = "code"},                                           \
    [ANSWER_DESCRIPTION] = {.object = "error", .name = "description"}

/* Returns: the answer's err_code, or else its code; 0 if it is not an error. */
int answer_error(struct parley_bytes answer,
                 const struct answer_member members[ANSWER_ERROR_COUNT]);

/* Returns: the value of an integer that is not negative; else 0. */
uint64_t answer_member_number(struct parley_bytes answer, const struct answer_member *member);
