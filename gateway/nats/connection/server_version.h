/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Versions of nats-server as one number: 2010027 is 2.10.27; 0: not known. */

#include <stdint.h>

enum { SERVER_VERSION_MAX = 16 };

#define SERVER_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

/* Writes it as people do, or "". */
void server_version_text(uint32_t version, char out[SERVER_VERSION_MAX]);
