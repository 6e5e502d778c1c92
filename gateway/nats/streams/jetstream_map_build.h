/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decides which streams store which families, by the server's description of the streams. It asks
 * nothing and changes nothing. Private to nats/. */

#include <jansson.h>

#include "jetstream_state.h"

/* A stream that has subjects of a family, or all.  Owns: borrowed. */
struct jetstream_found {
    const char *name;
    const json_t *config; /* as STREAM.INFO has it */
};

struct jetstream_map_build {
    int at[JETSTREAM_FAMILIES_MAX];    /* the index of the stream found; -1: its own stream */
    char fault[JETSTREAM_TROUBLE_MAX]; /* why they cannot be placed; "" if they can */
};

/* Whether some subject matches both. */
bool jetstream_collides(const char *one, const char *other);
/* Finds a place for each family: the stream that covers it, else, if no stream has any of its
 * subjects, the own stream. */
void jetstream_map_build_find(const struct jetstream_stream *stream,
                              const struct jetstream_found found[], size_t count,
                              struct jetstream_map_build *out);
