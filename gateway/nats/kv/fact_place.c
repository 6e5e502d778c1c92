/* SPDX-License-Identifier: Apache-2.0 */

#include "fact_place.h"

#include <string.h>

#include "api_fields.h"

bool fact_place_read(struct parley_bytes value, struct fact_place *out) {
    struct answer_member members[] = {{.name = "stream"}, {.name = "seq"}};
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    const bool is_read = api_fields_read(value, members, 2, &arena) == PARLEY_OK &&
                         members[0].value.kind == PARLEY_STRING;
    const struct parley_bytes stream = members[0].value.text;
    const uint64_t sequence = is_read ? answer_member_number(value, &members[1]) : 0;
    const bool is_place = sequence > 0 && stream.length > 0 && stream.length < sizeof out->stream;
    if (is_place) {
        memcpy(out->stream, stream.data, stream.length);
        out->stream[stream.length] = '\0';
        out->sequence = sequence;
    }
    parley_arena_finish(&arena);
    return is_place;
}
