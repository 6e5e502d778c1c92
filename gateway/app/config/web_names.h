/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lists of names as browsers write them: hosts without a port, and origins (RFC 6454). */

#include <stdbool.h>

#define WEB_NAMES_ERROR_MAX 300

/* Checks a comma-separated list of hosts: "parley.example,[fd00::1]".  Returns: whether all are
 * valid; if not, `error` names the first that is not, and the expected form. */
bool web_names_check_hosts(const char *list, char error[WEB_NAMES_ERROR_MAX]);

/* The same for origins: "https://console.example,http://localhost:3000". */
bool web_names_check_origins(const char *list, char error[WEB_NAMES_ERROR_MAX]);
