/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Changes the places of a group (jetstream_map.h explains them). Private to nats/. */

#include "jetstream_map.h"
#include "jetstream_map_build.h"

/* Whether that stream stores all messages of its group. */
bool jetstream_place_is_whole(const struct jetstream_check *check);
/* The stream that stores messages on `subject`; NULL if none is known. */
struct jetstream_check *jetstream_place_check(const struct jetstream *jetstream,
                                              const char *subject);
/* The subjects of its group that are stored in that stream, for texts: those of the whole group, or
 * the first family. */
const char *jetstream_place_subjects(const struct jetstream_check *check);

/* Assigns the families to the streams of `placing`.  `found`: the list that it indexes. */
void jetstream_map_assign(struct jetstream_group *group, const struct jetstream_map_build *placing,
                          const struct jetstream_found found[]);
/* They cannot be placed: whatever is wrong with its own stream is said of all of them. */
void jetstream_map_give_up(struct jetstream_group *group);
/* Copies the properties of the stream: retention, largest message, other subjects. */
void jetstream_place_describe(struct jetstream_check *check, const json_t *config);
