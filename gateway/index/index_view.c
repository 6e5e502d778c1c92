/* SPDX-License-Identifier: Apache-2.0 */

/* Answers a question: the secret of the file, where the streams are, and then the view's own rows,
 * all in one transaction, so that they agree. */

#include "index_view.h"

#include <inttypes.h>
#include <stdio.h>

#include "index_asking.h"
#include "reactor.h"

enum { PATIENCE_MS = 2000, STEPS_A_LOOK = 20000 };

struct patience {
    const struct index_question *question;
    int64_t until_ms; /* on reactor_clock_ms */
};

static bool is_unwanted(const struct index_question *question) {
    return question->is_unwanted != NULL && atomic_load(question->is_unwanted);
}

static int is_to_end(void *context) {
    const struct patience *patience = context;
    return is_unwanted(patience->question) || reactor_clock_ms() > patience->until_ms;
}

static void read_secret(struct index_asking *asking) {
    sqlite3_stmt *find = index_prepare(asking, "SELECT value FROM meta WHERE name='key'");
    if (index_step(asking, find) && sqlite3_column_bytes(find, 0) == sizeof asking->secret) {
        memcpy(asking->secret, sqlite3_column_blob(find, 0), sizeof asking->secret);
    }
    sqlite3_finalize(find);
}

/* Up to where the streams of the protocols asked are indexed. */
static void read_progress(struct index_asking *asking, char progress[INDEX_PROGRESS_MAX]) {
    const struct index_question *question = asking->question;
    const struct stream_token *after = &question->after;
    bool has_after = question->values[INDEX_AFTER] == NULL;
    size_t length = 0;
    sqlite3_stmt *find =
        index_prepare(asking, "SELECT name, next, protocol FROM streams ORDER BY stream");
    progress[0] = '\0';
    while (index_step(asking, find)) {
        const char *name = (const char *)sqlite3_column_text(find, 0);
        const uint64_t next = (uint64_t)sqlite3_column_int64(find, 1);
        if ((question->readable >> sqlite3_column_int(find, 2) & 1) == 0) {
            continue;
        }
        if (length < INDEX_PROGRESS_MAX) {
            length += (size_t)snprintf(progress + length, INDEX_PROGRESS_MAX - length,
                                       "%s%s:%" PRIu64, length > 0 ? "," : "", name, next - 1);
        }
        has_after = has_after || (parley_bytes_equal(after->stream, parley_bytes_of(name)) &&
                                  after->sequence < next);
    }
    sqlite3_finalize(find);
    if (!has_after && asking->answered == INDEX_ANSWERED) {
        asking->answered = INDEX_BEHIND;
    }
}

void index_question_list(const struct index_question *question, char out[LIST_NAME_SIZE]) {
    const struct index_view *view = question->view;
    list_name(view->is_of_all ? NULL : parley_protocols[question->protocol]->name, view->name, out);
}

bool index_question_cursor(struct index_question *question) {
    const char **cursor = &question->values[INDEX_CURSOR];
    char name[LIST_NAME_SIZE];
    index_question_list(question, name);
    *cursor = *cursor != NULL ? list_cursor_rest(*cursor, name) : NULL;
    return *cursor != NULL;
}

enum index_answered index_view_answer(struct sqlite3 *file, const struct index_question *question,
                                      struct parley_buffer *out, struct index_places *places,
                                      char progress[INDEX_PROGRESS_MAX]) {
    struct index_asking asking = {.file = file,
                                  .question = question,
                                  .out = out,
                                  .places = question->has_data ? places : NULL};
    const int64_t now_ms = reactor_clock_ms();
    struct patience patience = {.question = question, .until_ms = now_ms + PATIENCE_MS};
    if (is_unwanted(question)) {
        return INDEX_TOO_SLOW;
    }
    if (question->begin_by_ms != 0 && now_ms > question->begin_by_ms) {
        return INDEX_TOO_LATE;
    }
    sqlite3_progress_handler(file, STEPS_A_LOOK, is_to_end, &patience);
    sqlite3_exec(file, "BEGIN", NULL, NULL, NULL);
    read_secret(&asking);
    read_progress(&asking, progress);
    if (asking.answered == INDEX_ANSWERED) {
        const enum index_answered answered = question->view->write(&asking);
        asking.answered = asking.answered == INDEX_ANSWERED ? answered : asking.answered;
    }
    sqlite3_progress_handler(file, 0, NULL, NULL);
    sqlite3_exec(file, "COMMIT", NULL, NULL, NULL);
    return asking.answered == INDEX_ANSWERED && out->has_failed ? INDEX_NO_MEMORY : asking.answered;
}
