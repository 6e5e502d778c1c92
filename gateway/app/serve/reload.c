/* SPDX-License-Identifier: Apache-2.0 */

#include "reload.h"

#include "configuration_load.h"
#include "log.h"
#include "tls_context.h"

static void log_changes(const struct configuration_changes *changes) {
    log_event(LOG_CONFIGURATION_READ,
              LOG_FIELDS(LOG_BYTES("changed", parley_buffer_bytes(&changes->taken))));
    if (changes->waiting.length > 0) {
        log_event(LOG_CONFIGURATION_WAITS,
                  LOG_FIELDS(LOG_BYTES("options", parley_buffer_bytes(&changes->waiting))));
    }
}

bool reload_configuration(struct configuration *configuration, int argc, char **argv) {
    struct configuration_changes changes = {0};
    if (configuration->config == NULL) {
        return false; /* flags and variables stay as they were */
    }
    const bool is_sound = configuration_reload(configuration, argc, argv, &changes);
    if (is_sound) {
        log_changes(&changes);
    } else {
        log_buffer(LOG_CONFIGURATION_KEPT, &changes.error);
    }
    parley_buffer_finish(&changes.taken);
    parley_buffer_finish(&changes.waiting);
    parley_buffer_finish(&changes.error);
    return is_sound;
}

void reload_tls(struct tls_context *tls) {
    char error[TLS_ERROR_MAX];
    if (tls == NULL) {
        return;
    }
    if (tls_context_reload(tls, error) == PARLEY_OK) {
        log_event(LOG_TLS_READ, NULL);
    } else {
        log_format(LOG_TLS_KEPT, "the certificate that was read before stays in use: %s", error);
    }
}
