/* SPDX-License-Identifier: Apache-2.0 */

#include "vlp_history.h"

#include <stdio.h>
#include <string.h>

#include "index_fixture.h"

const char *const said_types[] = {"claim",      "evidence", "query",           "response",
                                  "correction", "notice",   "session_context", NULL};
const char *const said_lanes[] = {"safe", "review", "block", NULL};

void history_make(struct said said[MESSAGES], unsigned seed, enum said_type types) {
    index_fixture_seed(seed);
    for (int i = 0; i < MESSAGES; i++) {
        said[i] =
            (struct said){.id = index_fixture_chance(3) == 0 ? index_fixture_chance(IDS) : i % IDS,
                          .sender = index_fixture_chance(SENDERS),
                          .session = index_fixture_chance(SESSIONS),
                          .type = (enum said_type)index_fixture_chance((int)types),
                          .lane = (enum said_lane)index_fixture_chance(SAID_LANES),
                          .is_bare = index_fixture_chance(3) > 0,
                          .reference_count = 1 + index_fixture_chance(REFERENCES)};
        for (int j = 0; j < said[i].reference_count; j++) {
            said[i].references[j] = index_fixture_chance(IDS + 2);
        }
    }
}

void history_store(int history, const struct said *said) {
    const bool is_bare = said->is_bare && said->type != EVIDENCE;
    char text[1024], references[128] = "", session[64] = "";
    for (int i = 0; i < said->reference_count; i++) {
        const size_t length = strlen(references);
        snprintf(references + length, sizeof references - length, "%s\"%d-%d\"", i > 0 ? "," : "",
                 history, said->references[i]);
    }
    if (said->session != 0) {
        snprintf(session, sizeof session, "\"session_id\":\"%d-%d\",", history, said->session);
    }
    snprintf(text, sizeof text,
             "{\"protocol\":\"VLP/1.1\",\"id\":\"%d-%d\",\"type\":\"%s\",%s"
             "\"timestamp\":\"2026-01-01T00:00:00Z\",\"sender\":\"A%d\",\"content\":\"x\","
             "\"confidence\":0.5,\"provenance\":[%s],\"refers_to\":[%s],"
             "\"safety\":{\"level\":\"%s\"}}",
             history, said->id, said_types[said->type], session, said->sender,
             is_bare ? "" : "\"p\"", references, said_lanes[said->lane]);
    index_fixture_store(NULL, NULL, text);
}

int history_set_up(void **state) {
    (void)state;
    return index_fixture_open(VLP);
}

int history_tear_down(void **state) {
    (void)state;
    return index_fixture_close();
}

uint64_t history_begin(int history, struct said said[MESSAGES], enum said_type types) {
    const uint64_t first = index_fixture_last() + 1;
    history_make(said, (unsigned)history, types);
    for (int i = 0; i < MESSAGES; i++) {
        history_store(history, &said[i]);
    }
    index_fixture_commit();
    return first;
}

int history_meant(const struct said *said, int from, int id) {
    for (int tier = 0; tier < 3; tier++) {
        int before = NONE, newest = NONE;
        for (int i = 0; i < MESSAGES; i++) {
            const bool is_near = tier == 0
                                     ? said[i].session != 0 && said[i].session == said[from].session
                                     : tier == 2 || said[i].sender == said[from].sender;
            if (i != from && said[i].id == id && is_near) {
                newest = i;
                before = i < from ? i : before;
            }
        }
        if (newest != NONE) {
            return before != NONE ? before : newest;
        }
    }
    return NONE;
}

bool history_refers(const struct said *said, int from, int to) {
    for (int i = 0; i < said[from].reference_count; i++) {
        if (said[from].references[i] == said[to].id &&
            history_meant(said, from, said[to].id) == to) {
            return true;
        }
    }
    return false;
}

bool history_is_kin(const struct said *one, const struct said *other) {
    return one->sender == other->sender || (one->session != 0 && one->session == other->session);
}
