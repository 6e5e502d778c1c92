/* SPDX-License-Identifier: Apache-2.0 */

#include "token_keeper.h"

#include "log.h"
#include "private_file.h"

bool token_keeper_open(struct token_keeper *keeper, const char *path, bool is_required,
                       struct parley_buffer *error) {
    keeper->path = path;
    file_watch_init(&keeper->watch, path);
    if (!is_required && !private_file_exists(path)) {
        return true;
    }
    keeper->tokens = tokens_read(path, error);
    return keeper->tokens != NULL;
}

static void log_kept(const struct token_keeper *keeper, struct parley_buffer *error) {
    parley_buffer_text(error, keeper->tokens != NULL
                                  ? "; the tokens that were read before stay valid"
                                  : "; no token is asked for");
    log_buffer(LOG_TOKENS_KEPT, error);
}

static void log_read(const struct token_keeper *keeper, bool is_first) {
    log_event(LOG_TOKENS_READ,
              LOG_FIELDS(LOG_NUMBER("count", tokens_count(keeper->tokens)),
                         LOG_TEXT("file", keeper->path), LOG_FLAG("first", is_first)));
}

void token_keeper_reload(struct token_keeper *keeper) {
    struct parley_buffer error;
    if (keeper->tokens == NULL && !private_file_exists(keeper->path)) {
        return;
    }
    parley_buffer_init(&error);
    struct tokens *tokens = tokens_read(keeper->path, &error);
    if (tokens == NULL) {
        log_kept(keeper, &error);
    } else {
        const bool is_first = keeper->tokens == NULL;
        tokens_unref(keeper->tokens);
        keeper->tokens = tokens;
        log_read(keeper, is_first);
        keeper->changed(keeper, tokens);
    }
    parley_buffer_finish(&error);
}

static void on_change(struct file_watch *watch) {
    token_keeper_reload(OWNER_OF(watch, struct token_keeper, watch));
}

void token_keeper_watch(struct token_keeper *keeper, struct reactor *reactor,
                        void (*changed)(struct token_keeper *keeper, struct tokens *tokens)) {
    keeper->changed = changed;
    file_watch_start(&keeper->watch, reactor, on_change);
}

void token_keeper_close(struct token_keeper *keeper) {
    file_watch_stop(&keeper->watch);
    tokens_unref(keeper->tokens);
    keeper->tokens = NULL;
}
