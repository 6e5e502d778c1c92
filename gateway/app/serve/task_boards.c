/* SPDX-License-Identifier: Apache-2.0 */

#include "task_boards.h"

#include <stdlib.h>

#include "board.h"
#include "channel.h"

static uint64_t value_of(const struct configuration *configuration, const struct channel *channel,
                         const struct parley_option *option) {
    const struct parley_option *first = channel->protocol->options;
    return option != NULL ? configuration_values(configuration, channel)[option - first].number : 0;
}

static void on_moment(void *context, const struct moment *moment) {
    moments_add(context, moment);
}

static bool has_room(void *context) {
    return moments_have_room(context);
}

enum parley_status task_boards_create(const struct configuration *configuration,
                                      struct moments *moments, int64_t past_ms,
                                      struct board ***out) {
    const struct board_teller teller = {
        .tell = on_moment, .has_room = has_room, .context = moments, .past_ms = past_ms};
    const struct channel *channels = configuration->channels;
    struct board **boards = calloc(parley_protocol_count(), sizeof(struct board *));
    if (boards == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        if (protocol->tasks == NULL) {
            continue;
        }
        const struct board_limits limits = {
            .attempts_max = value_of(configuration, &channels[i], protocol->tasks->attempts)};
        if (board_create(protocol, channels[i].fact_bucket, &limits, &boards[i]) != PARLEY_OK) {
            task_boards_destroy(boards);
            return PARLEY_E_MEMORY;
        }
        board_on_moment(boards[i], &teller);
    }
    *out = boards;
    return PARLEY_OK;
}

void task_boards_destroy(struct board **boards) {
    for (size_t i = 0; boards != NULL && i < parley_protocol_count(); i++) {
        board_destroy(boards[i]);
    }
    free(boards);
}
