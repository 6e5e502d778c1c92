/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An index of one protocol's stream in a folder of its own, which tests fill with messages and ask.
 * One at a time. */

#include <sqlite3.h>

#include "index_message.h"
#include "index_view.h"

/* Makes it, of parley_protocols[protocol].  Returns: 0, or -1. */
int index_fixture_open(unsigned protocol);
int index_fixture_close(void);

/* Stores a valid message as the next of the stream; three come in one second.
 * `subject` NULL: any; `id` of its header; NULL: none. */
void index_fixture_store(const char *subject, const char *id, const char *text);
void index_fixture_commit(void);
/* Removes the messages before `first`. */
void index_fixture_prune(uint64_t first);
/* The stream was created again, at another time: it is empty, and begins again. */
void index_fixture_renew(const char *created);
/* The sequence of the last message. */
uint64_t index_fixture_last(void);

/* The view of the protocol, with no parameters. */
struct index_question index_fixture_question(const char *view);
enum index_answered index_fixture_answer(const struct index_question *question,
                                         struct index_places *places, struct parley_buffer *out);
/* Asks, and expects an answer, which it ends with a NUL. */
void index_fixture_ask(const struct index_question *question, struct index_places *places,
                       struct parley_buffer *out);

/* How often the text has the part. */
size_t index_fixture_count(const char *text, const char *part);

/* A number below `count`, from generated ones that a seed begins. */
void index_fixture_seed(unsigned seed);
int index_fixture_chance(int count);
