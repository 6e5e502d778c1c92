/* SPDX-License-Identifier: Apache-2.0 */

#include "message_fixture.h"

#include <stdlib.h>

static int set_up(void **state, const char *protocol) {
    struct message_fixture *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL) {
        return -1;
    }
    fixture->protocol = parley_protocol_find(parley_bytes_of(protocol));
    if (parley_schema_create(fixture->protocol, &fixture->schema) != PARLEY_OK) {
        free(fixture);
        return -1;
    }
    parley_message_init(&fixture->message, fixture->schema);
    parley_message_init(&fixture->other, fixture->schema);
    parley_buffer_init(&fixture->out);
    parley_buffer_init(&fixture->second);
    parley_buffer_init(&fixture->wanted);
    *state = fixture;
    return 0;
}

int message_set_up_brenner(void **state) {
    return set_up(state, "brenner");
}

int message_set_up_roundtable(void **state) {
    return set_up(state, "roundtable");
}

int message_set_up_supervisor(void **state) {
    return set_up(state, "supervisor");
}

int message_set_up_vlp(void **state) {
    return set_up(state, "vlp");
}

int message_tear_down(void **state) {
    struct message_fixture *fixture = *state;
    parley_message_finish(&fixture->message);
    parley_message_finish(&fixture->other);
    parley_buffer_finish(&fixture->out);
    parley_buffer_finish(&fixture->second);
    parley_buffer_finish(&fixture->wanted);
    parley_schema_destroy(fixture->schema);
    free(fixture);
    return 0;
}
