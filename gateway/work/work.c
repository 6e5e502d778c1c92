/* SPDX-License-Identifier: Apache-2.0 */

#include "work.h"

#include "board.h"
#include "problem.h"

struct board *work_board(struct gateway *gateway, struct http_request *request,
                         const struct parley_protocol *protocol) {
    struct board *board = gateway_board(gateway, protocol);
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
