/* SPDX-License-Identifier: Apache-2.0 */

#include "rejection.h"

#include <inttypes.h>
#include <stdio.h>

#include "log.h"
#include "quarantine.h"

/* Returns: NULL if there is none. */
static const struct parley_rule *rule_to_log(const struct parley_findings *findings) {
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_rule *rule = findings->items[i].rule;
        if (rule->is_logged && rule->severity == PARLEY_ERROR) {
            return rule;
        }
    }
    return NULL;
}

/* Without the rule's text on the value: that would have a part of the payload. */
static void log_refused(const struct request_options *options, const struct http_request *request,
                        const struct verdict *verdict, const struct parley_rule *rule) {
    struct parley_message *message = verdict->message;
    struct parley_route route = {0};
    char line[24];
    const char *token = request != NULL ? guard_principal(request)->name : "";
    if (message->is_decoded && parley_message_route(message, &route) != PARLEY_OK) {
        route = (struct parley_route){0};
    }
    snprintf(line, sizeof line, "%zu", verdict->slice->number);
    log_event(LOG_MESSAGE_REFUSED,
              LOG_FIELDS(LOG_TEXT("protocol", options->protocol->name), LOG_TEXT("rule", rule->id),
                         LOG_TEXT("breaks", rule->summary), LOG_BYTES("sender", route.sender),
                         LOG_BYTES("id", route.id),
                         LOG_TEXT("request", request != NULL ? http_request_id(request) : NULL),
                         LOG_TEXT("line", options->publication.is_batch ? line : NULL),
                         LOG_TEXT("token", token[0] != '\0' ? token : NULL)));
}

void rejection_note(const struct request_options *options, const struct http_request *request,
                    const struct verdict *verdict) {
    if (options->task != INGEST_FORWARD) {
        return;
    }
    const struct parley_rule *rule = rule_to_log(&verdict->message->findings);
    if (rule != NULL) {
        log_refused(options, request, verdict, rule);
    }
    quarantine_keep(options, request, verdict);
}
