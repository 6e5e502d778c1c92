/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Events that programs outside are told of by webhooks (docs/webhooks.md): what in a protocol is
 * one. That a conversation was halted is not among them: the gateway keeps the halts
 * (parley/halts.h). */

#include <stdbool.h>

struct parley_notice {
    const char *event; /* "task.ended": one word for the same thing in all protocols */
    /* One of the two: the subjects of the messages, each of which is the event if it is valid,
     * below the protocol's first token and within one of its families; or the keys of facts
     * (parley/facts.h), each of which is the event of the message that it names, and is created
     * once: "*.end". The other is NULL. */
    const char *subjects, *keys;
    /* The keys are those of moments of tasks (parley/tasks.h), which gateways write: their values
     * are the event, and name no message. */
    bool is_moment;
};
