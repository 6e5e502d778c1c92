/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Numbers with units, on the command line and in the configuration file. Each reader returns
 * whether the whole text is valid, and otherwise leaves *out unchanged. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/buffer.h>

/* 16384 */
bool quantity_read_count(const char *text, uint64_t *out);

/* Whether it is a count from 1 to 65535. */
bool quantity_is_port(struct parley_bytes port);

/* Bytes: 65536, 64k, 1m, 4g, in powers of 1024, in either case. */
bool quantity_read_size(const char *text, uint64_t *out_bytes);

/* A number and ms, s, m, h or d; 0 needs no unit. */
bool quantity_read_duration(const char *text, int64_t *out_ms);

/* In the largest unit that needs no fraction: 4g, 90s. */
void quantity_write_size(struct parley_buffer *out, uint64_t bytes);
void quantity_write_duration(struct parley_buffer *out, int64_t duration_ms);
