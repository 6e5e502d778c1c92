/* SPDX-License-Identifier: Apache-2.0 */

#include "server_version.h"

#include <stdio.h>

void server_version_text(uint32_t version, char out[SERVER_VERSION_MAX]) {
    out[0] = '\0';
    if (version > 0) {
        snprintf(out, SERVER_VERSION_MAX, "%u.%u.%u", version / 1000000 % 1000,
                 version / 1000 % 1000, version % 1000);
    }
}
