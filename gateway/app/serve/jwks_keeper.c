/* SPDX-License-Identifier: Apache-2.0 */

#include "jwks_keeper.h"

#include "log.h"

/* A set may have keys for others: that is no error, but may be a mistake. */
static void log_unused(const struct jwks_keeper *keeper) {
    const char *remark;
    for (size_t i = 0; (remark = jwks_remark(keeper->jwks, i)) != NULL; i++) {
        log_write(LOG_KEY_UNUSED, parley_bytes_of(remark),
                  LOG_FIELDS(LOG_TEXT("file", keeper->path)));
    }
}

bool jwks_keeper_open(struct jwks_keeper *keeper, const char *path, struct parley_buffer *error) {
    keeper->path = path;
    if (path == NULL) {
        return true;
    }
    file_watch_init(&keeper->watch, path);
    keeper->jwks = jwks_read_file(path, error);
    if (keeper->jwks != NULL) {
        log_unused(keeper);
    }
    return keeper->jwks != NULL;
}

void jwks_keeper_reload(struct jwks_keeper *keeper) {
    struct parley_buffer error;
    if (keeper->path == NULL) {
        return;
    }
    parley_buffer_init(&error);
    struct jwks *jwks = jwks_read_file(keeper->path, &error);
    if (jwks == NULL) {
        parley_buffer_text(&error, "; the keys that were read before stay valid");
        log_buffer(LOG_KEYS_KEPT, &error);
    } else {
        jwks_unref(keeper->jwks);
        keeper->jwks = jwks;
        log_event(LOG_KEYS_READ, LOG_FIELDS(LOG_TEXT("file", keeper->path)));
        log_unused(keeper);
        keeper->changed(keeper, jwks);
    }
    parley_buffer_finish(&error);
}

static void on_change(struct file_watch *watch) {
    jwks_keeper_reload(OWNER_OF(watch, struct jwks_keeper, watch));
}

void jwks_keeper_watch(struct jwks_keeper *keeper, struct reactor *reactor,
                       void (*changed)(struct jwks_keeper *keeper, struct jwks *jwks)) {
    keeper->changed = changed;
    if (keeper->path != NULL) {
        file_watch_start(&keeper->watch, reactor, on_change);
    }
}

void jwks_keeper_close(struct jwks_keeper *keeper) {
    file_watch_stop(&keeper->watch);
    jwks_unref(keeper->jwks);
    keeper->jwks = NULL;
}
