/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks whether a stream can be used, by the server's description of it. Private to nats/. */

#include <jansson.h>

#include "jetstream_state.h"

/* Whether each subject that matches `inner` matches `outer` too. */
bool jetstream_covers(const char *outer, const char *inner);
/* Sets grade and trouble by the answer to STREAM.INFO. */
enum jetstream_grade jetstream_judge(struct jetstream_check *check, const json_t *answer);
enum jetstream_grade jetstream_grade_set(struct jetstream_check *check, enum jetstream_grade grade,
                                         const char *format, ...)
    __attribute__((format(printf, 3, 4)));
