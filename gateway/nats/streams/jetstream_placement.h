/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the places of a group change (jetstream_map.h says what they are). Private to nats/. */

#include "jetstream_map.h"
#include "jetstream_map_build.h"

/* Whether all of its group's messages lie in that stream. */
bool jetstream_place_is_whole(const struct jetstream_check *check);
/* The stream where messages on `subject` lie; NULL: none is known. */
struct jetstream_check *jetstream_place_check(const struct jetstream *jetstream,
                                              const char *subject);
/* The subjects of its group that lie in that stream, for texts: those of the whole group, or the
 * first family. */
const char *jetstream_place_subjects(const struct jetstream_check *check);

/* The families lie where `placing` says.  `found`: what it counts in. */
void jetstream_map_assign(struct jetstream_group *group, const struct jetstream_map_build *placing,
                          const struct jetstream_found found[]);
/* They cannot be placed: whatever is wrong with its own stream is said of all of them. */
void jetstream_map_give_up(struct jetstream_group *group);
/* What the stream is: retention, largest message, other subjects. */
void jetstream_place_describe(struct jetstream_check *check, const json_t *config);
