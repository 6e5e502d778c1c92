/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The view messages with `q`: those whose text has all words and phrases, in the order of the view.
 */

#include <parley/buffer.h>

#include "index_view.h"

#define INDEX_WORDS_EXPECTED                                                                       \
    "The query option `q` takes words and \"phrases\", all of which a message must have: at most " \
    "32, in at most 1024 bytes, and at least one letter or digit."

struct index_asking;

extern const char *const index_search_statements[];
enum index_answered index_search_write(struct index_asking *asking);

/* Writes what FTS5 is asked for `q`, in which each word and phrase is in quotes, so that nothing of
 * its language has a meaning; what has no letter or digit, such as a symbol, is left out.
 * `file`: any.  Returns: false: see INDEX_WORDS_EXPECTED. */
bool index_search_expression(struct sqlite3 *file, const char *q, struct parley_buffer *out);

/* The question to the words of one part (index_words.h). */
#define INDEX_SEARCH_SQL_MAX 640
void index_search_sql(int64_t part, char out[INDEX_SEARCH_SQL_MAX]);
