/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What fuzz targets share. Without libFuzzer, replay.c gives them a main. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program when `holds` is false. */
void require(bool holds, const char *what);
