/* SPDX-License-Identifier: Apache-2.0 */

/* It bypasses stdio, so that the line is not mixed with buffered text. */

#include "progress.h"

#include <stdio.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, INTERVAL_MS = 200 };

void progress_init(struct progress *progress, int fd, int64_t now_ms) {
    *progress = (struct progress){.fd = isatty(fd) ? fd : -1, .next_ms = now_ms + PATIENCE_MS};
}

bool progress_is_due(const struct progress *progress, int64_t now_ms) {
    return progress->fd >= 0 && now_ms >= progress->next_ms;
}

void progress_show(struct progress *progress, int64_t now_ms, const char *text) {
    if (progress->fd < 0) {
        return;
    }
    progress->is_shown = true;
    progress->next_ms = now_ms + INTERVAL_MS;
    dprintf(progress->fd, "\r%s\033[K", text);
}

void progress_clear(struct progress *progress) {
    if (progress->is_shown) {
        dprintf(progress->fd, "\r\033[K");
        progress->is_shown = false;
    }
}
