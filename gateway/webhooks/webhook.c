/* SPDX-License-Identifier: Apache-2.0 */

#include "webhook.h"

#include <string.h>

#include <parley/agents.h>
#include <parley/index.h>
#include <parley/notice.h>

const char webhook_halted[] = "halted";
const char webhook_lost[] = "agent.lost";
const char webhook_overdue[] = "ack.overdue";

static bool has_losses(const struct parley_protocol *protocol) {
    return protocol->agents != NULL && protocol->agents->loss_bucket != NULL;
}

static bool has_acks(const struct parley_protocol *protocol) {
    return protocol->index != NULL && protocol->index->acks != NULL;
}

void webhook_events_visit(void (*visit)(void *context, const struct parley_protocol *protocol,
                                        const char *event),
                          void *context) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        const struct parley_notice *notice = protocol->notices;
        for (; notice != NULL && notice->event != NULL; notice++) {
            visit(context, protocol, notice->event);
        }
        if (protocol->halts != NULL) {
            visit(context, protocol, webhook_halted);
        }
        if (has_losses(protocol)) {
            visit(context, protocol, webhook_lost);
        }
        if (has_acks(protocol)) {
            visit(context, protocol, webhook_overdue);
        }
    }
}

static bool wants(const struct webhook *webhook, const struct parley_protocol *protocol,
                  const char *event) {
    return webhook_list_has(webhook->events, parley_bytes_of(event)) &&
           webhook_list_has(webhook->protocols, parley_bytes_of(protocol->name));
}

bool webhook_wants_moments(const struct webhook *webhook, const struct parley_protocol *protocol) {
    const struct parley_notice *notice = protocol->notices;
    for (; notice != NULL && notice->event != NULL; notice++) {
        if (notice->is_moment && wants(webhook, protocol, notice->event)) {
            return true;
        }
    }
    return false;
}

bool webhook_wants_losses(const struct webhook *webhook, const struct parley_protocol *protocol) {
    return has_losses(protocol) && wants(webhook, protocol, webhook_lost);
}

bool webhook_wants_overdue(const struct webhook *webhook, const struct parley_protocol *protocol) {
    return has_acks(protocol) && wants(webhook, protocol, webhook_overdue);
}

bool webhook_list_has(const char *list, struct parley_bytes text) {
    if (list == NULL) {
        return true;
    }
    for (;;) {
        const struct parley_bytes item = {list, strcspn(list, ",")};
        if (parley_bytes_equal(item, text)) {
            return true;
        }
        if (list[item.length] == '\0') {
            return false;
        }
        list += item.length + 1;
    }
}
