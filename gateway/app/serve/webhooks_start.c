/* SPDX-License-Identifier: Apache-2.0 */

#include "webhooks_start.h"

#include "log.h"
#include "worker_tasks.h"

/* Which acknowledgements are overdue is known to the index alone. */
static bool needs_index(const struct webhook_file *file) {
    bool needs = false;
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        needs = needs || worker_tasks_keep_overdue(file, parley_protocols[i]);
    }
    return needs;
}

bool webhooks_start_read(const struct configuration *configuration, struct webhook_file *out,
                         struct parley_buffer *error) {
    const char *path = configuration->webhooks;
    if (path == NULL) {
        return true;
    }
    if (!webhook_file_read(path, out, error)) {
        return false;
    }
    if (configuration->index == 0 && needs_index(out)) {
        parley_buffer_format(error, "%s: the event %s needs the index: --index on", path,
                             webhook_overdue);
        return false;
    }
    return true;
}

int webhooks_start(const struct configuration *configuration, struct webhook_file *out) {
    struct parley_buffer error;
    parley_buffer_init(&error);
    const bool is_read = webhooks_start_read(configuration, out, &error);
    if (!is_read) {
        log_format(LOG_START_FAILED, "--webhooks: %.*s", (int)error.length,
                   error.data != NULL ? error.data : "");
    } else if (configuration->webhooks != NULL) {
        log_event(LOG_WEBHOOKS_READ, LOG_FIELDS(LOG_NUMBER("count", out->count),
                                                LOG_TEXT("file", configuration->webhooks)));
    }
    parley_buffer_finish(&error);
    return is_read ? 0 : 1;
}
