/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks the values of the options, beyond their types. Mistakes are noted in `loading`. Within
 * gateway/config. */

#include "loading.h"

/* Checks each by itself: addresses, URLs, names, prefixes. Fills in the members derived from them:
 * the parts of `listen`, `nats_shown`, `channels`. */
void configuration_check_values(struct loading *loading);

/* Fills in `data` and `token_file` where they are not given. */
void configuration_find_data(struct loading *loading);
void configuration_find_tokens(struct loading *loading);

/* How they fit together, when each is right by itself. */
void configuration_check_together(struct loading *loading);
