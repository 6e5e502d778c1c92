/* SPDX-License-Identifier: Apache-2.0 */

/* See task_ender.h. Looks at the board every few seconds. A message that is refused changes
 * nothing: either the keys of the task have changed, which the board will read, or it is sent once
 * more at the next look. */

#include "task_ender.h"

#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "internal_submit.h"

enum { LOOK_MS = 5000, AT_ONCE_MAX = 32 };

struct task_ender {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    struct board *board;
    struct reactor_timer timer;
    size_t under_way_count;
};

static void on_answer(void *context, const struct internal_submit_answer *answer) {
    struct task_ender *ender = context;
    (void)answer;
    ender->under_way_count--;
}

/* As strict as can be: a message that does not end its task is not stored. */
static struct request_options options_of(const struct task_ender *ender) {
    const struct parley_option *mode = ender->protocol->facts->mode;
    struct request_options options = {.gateway = ender->gateway,
                                      .protocol = ender->protocol,
                                      .codec = &parley_codec_json,
                                      .task = INGEST_FORWARD};
    request_options_of_server(&options);
    if (mode != NULL) {
        options.check.values[mode - ender->protocol->options].number = PARLEY_LIFECYCLE_STRICT;
    }
    return options;
}

static void end_task(struct task_ender *ender, const struct board_spent *spent) {
    const struct request_options options = options_of(ender);
    struct parley_buffer text;
    char id[37], now[32];
    id_new_from(&ender->gateway->identities, id);
    clock_now_text(now);
    parley_buffer_init(&text);
    ender->protocol->tasks->write_end(parley_bytes_of(spent->id),
                                      parley_bytes_of(spent->from[0] != '\0' ? spent->from : NULL),
                                      id, now, &text);
    if (parley_buffer_status(&text) == PARLEY_OK &&
        internal_submit_begin(&options, parley_buffer_bytes(&text), on_answer, ender) ==
            PARLEY_OK) {
        ender->under_way_count++;
    }
    parley_buffer_finish(&text);
}

static void on_timer(struct reactor_timer *timer) {
    struct task_ender *ender = OWNER_OF(timer, struct task_ender, timer);
    struct board_spent spent[AT_ONCE_MAX];
    if (ender->under_way_count == 0 && jetstream_is_ready(ender->gateway->jetstream)) {
        const size_t count = board_spent(ender->board, spent, AT_ONCE_MAX);
        for (size_t i = 0; i < count; i++) {
            end_task(ender, &spent[i]);
        }
    }
    reactor_timer_set(ender->gateway->reactor, timer, LOOK_MS);
}

enum parley_status task_ender_create(struct gateway *gateway,
                                     const struct parley_protocol *protocol, struct board *board,
                                     struct task_ender **out) {
    struct task_ender *ender = calloc(1, sizeof *ender);
    if (ender == NULL) {
        return PARLEY_E_MEMORY;
    }
    *ender = (struct task_ender){.gateway = gateway, .protocol = protocol, .board = board};
    ender->timer.fire = on_timer;
    *out = ender;
    PARLEY_TRY(board_begin(board, gateway->reactor, gateway->jetstream));
    reactor_timer_set(gateway->reactor, &ender->timer, LOOK_MS);
    return PARLEY_OK;
}

void task_ender_stop(struct task_ender *ender) {
    if (ender != NULL) {
        reactor_timer_clear(ender->gateway->reactor, &ender->timer);
    }
}

void task_ender_destroy(struct task_ender *ender) {
    free(ender);
}
