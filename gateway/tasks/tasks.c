/* SPDX-License-Identifier: Apache-2.0 */

#include "tasks.h"

#include <stdio.h>

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

bool tasks_are_queue(const struct gateway *gateway, const struct parley_protocol *protocol) {
    const struct channel *channel = channel_find(gateway->configuration->channels, protocol);
    char subject[256];
    snprintf(subject, sizeof subject, "%s.%s",
             channel->prefix != NULL ? channel->prefix : protocol->name, protocol->tasks->requests);
    const struct jetstream_place *place = jetstream_place_find(gateway->jetstream, subject);
    return place != NULL && !jetstream_place_takes_consumers(place);
}
