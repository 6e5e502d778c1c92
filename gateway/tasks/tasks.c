/* SPDX-License-Identifier: Apache-2.0 */

#include "tasks.h"

#include <stdio.h>
#include <string.h>

#include "board.h"
#include "channel.h"
#include "problem.h"

struct board *tasks_board(const struct tasks *tasks, struct http_request *request,
                          const struct parley_protocol *protocol) {
    const struct gateway *gateway = tasks->gateway;
    const struct channel *channels = gateway->configuration->channels;
    struct board *board = tasks->boards[channel_find(channels, protocol) - channels];
    if (board == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "%s has no tasks.", protocol->title);
        return NULL;
    }
    if (board_begin(board, gateway->reactor, gateway->jetstream) != PARLEY_OK) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return NULL;
    }
    return board;
}

bool tasks_write_id(const struct parley_protocol *protocol, const char *id,
                    char out[BOARD_ID_MAX]) {
    struct parley_buffer key;
    parley_buffer_init(&key);
    const bool is_id = protocol->tasks->write_key(parley_bytes_of(id), PARLEY_TASK_REQUEST, &key) &&
                       !key.has_failed && key.length < BOARD_ID_MAX;
    if (is_id) {
        memcpy(out, key.data, key.length);
        out[key.length] = '\0';
    }
    parley_buffer_finish(&key);
    return is_id;
}

bool tasks_open_query(struct fact_query *query, struct fact_store *store,
                      const struct parley_protocol *protocol, const char *id) {
    const struct parley_task_kind *kind = protocol->tasks;
    struct parley_bytes keys[PARLEY_FACT_KEYS_MAX] = {{0}};
    struct parley_buffer texts[PARLEY_TASK_FACTS];
    bool is_open = true;
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        parley_buffer_init(&texts[i]);
        is_open = kind->write_key(parley_bytes_of(id), (enum parley_task_fact)i, &texts[i]) &&
                  !texts[i].has_failed && is_open;
        keys[kind->places[i]] = parley_buffer_bytes(&texts[i]);
    }
    is_open = is_open && fact_query_init(query, store, keys, 0);
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        parley_buffer_finish(&texts[i]);
    }
    return is_open;
}

bool tasks_are_known(const struct fact_query *query) {
    bool is_known = false;
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        is_known = is_known || query->values[i] != NULL;
    }
    return is_known;
}

void tasks_refuse_id(struct http_request *request, const char *id) {
    problem_respond_format(request, PROBLEM_NOT_FOUND,
                           "`%.64s` is not the id of a task: that is the id of its request.", id);
}

bool tasks_are_queue(const struct gateway *gateway, const struct parley_protocol *protocol) {
    const struct channel *channel = channel_find(gateway->configuration->channels, protocol);
    char subject[256];
    snprintf(subject, sizeof subject, "%s.%s",
             channel->prefix != NULL ? channel->prefix : protocol->name, protocol->tasks->requests);
    const struct jetstream_place *place = jetstream_place_find(gateway->jetstream, subject);
    return place != NULL && !jetstream_place_takes_consumers(place);
}
