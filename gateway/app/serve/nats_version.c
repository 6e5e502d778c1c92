/* SPDX-License-Identifier: Apache-2.0 */

#include "nats_version.h"

#include "log.h"
#include "server_version.h"

/* The oldest version that lost nothing in tests with three copies
 * (docs/operations.md#nats-server); 2.9.10 did. Versions between them were not available. */
enum { SAFE_VERSION = SERVER_VERSION(2, 10, 27) };

void nats_version_tell(const struct jetstream *jetstream, atomic_uint *told) {
    const uint32_t version = jetstream_server_version(jetstream);
    const unsigned copies = jetstream_copies(jetstream);
    char text[SERVER_VERSION_MAX];
    if (version == 0 || atomic_exchange(told, version) == version) {
        return;
    }
    server_version_text(version, text);
    log_event(LOG_NATS_VERSION,
              LOG_FIELDS(LOG_TEXT("version", text), LOG_NUMBER("copies", copies)));
    if (version < SAFE_VERSION && copies > 1) {
        log_event(LOG_NATS_COPIES,
                  LOG_FIELDS(LOG_TEXT("version", text), LOG_NUMBER("copies", copies)));
    }
}
