/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The folder of --data: made where it is missing, and refused where others could put files or links
 * into it, since the files there hold a token and are trusted. */

#include <stdbool.h>
#include <stddef.h>

/* mkdir -p with mode 0700, then the check: the folder must belong to this user or root, and be
 * writable by this process, and by no other user except in one of its groups. Returns: false:
 * `error` gets a sentence with the reason and the remedy. */
bool data_folder_prepare(const char *folder, char *error, size_t error_size);

/* Returns the answer that data_folder_prepare would give, without making anything: a folder that is
 * missing can be made if the first one above it that exists can be written. */
bool data_folder_check(const char *folder, char *error, size_t error_size);
