/* SPDX-License-Identifier: Apache-2.0 */

#include "task_boards.h"

#include <stdlib.h>

#include "board.h"

enum parley_status task_boards_create(const struct channel *channels, struct board ***out) {
    static const struct board_limits usual;
    struct board **boards = calloc(parley_protocol_count(), sizeof(struct board *));
    if (boards == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        if (protocol->tasks != NULL &&
            board_create(protocol, channels[i].fact_bucket, &usual, &boards[i]) != PARLEY_OK) {
            task_boards_destroy(boards);
            return PARLEY_E_MEMORY;
        }
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
