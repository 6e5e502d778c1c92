/* SPDX-License-Identifier: Apache-2.0 */

#include "task_agent.h"

#include "check.h"
#include "clock_and_ids.h"
#include "problem.h"
#include "small_body.h"

/* A claim of no task is checked in the agent's name. */
bool task_agent_is_allowed(struct request_options *options, struct http_request *request,
                           struct parley_bytes agent) {
    static const char nothing[] = "00000000-0000-4000-8000-000000000000";
    struct gateway *gateway = options->gateway;
    struct parley_message *message = gateway_message(gateway, options->protocol);
    struct parley_buffer text;
    char now[32];
    clock_now_text(now);
    parley_buffer_init(&text);
    options->protocol->tasks->write_claim(agent, parley_bytes_of(nothing), nothing, now, &text);
    enum parley_status status = parley_buffer_status(&text);
    if (status == PARLEY_OK) {
        status = check_message(options, parley_buffer_bytes(&text), (struct parley_position){1, 1});
    }
    const bool is_valid = status == PARLEY_OK && parley_message_is_valid(message);
    if (status != PARLEY_OK) {
        problem_respond(request, PROBLEM_INTERNAL, parley_status_text(status));
    } else if (!is_valid) {
        small_body_refuse_sender(request, message, "/agent", "The agent cannot claim tasks");
    }
    gateway_forget_message(gateway, options->protocol);
    parley_buffer_finish(&text);
    return is_valid;
}

static bool claims_are_decided(const struct request_options *options,
                               struct http_request *request) {
    const struct parley_protocol *protocol = options->protocol;
    if (configuration_lifecycle(options->gateway->configuration, protocol) ==
        PARLEY_LIFECYCLE_OFF) {
        problem_respond_format(request, PROBLEM_NOT_FOUND,
                               "This server decides on no claims (--%s off), so no agent holds a "
                               "task.",
                               protocol->facts->mode->help.name);
        return false;
    }
    return true;
}

bool task_options_read(struct request_options *options, struct http_request *request) {
    if (options->protocol->tasks == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "%s has no tasks.",
                               options->protocol->title);
        return false;
    }
    return request_options_read(options, request) && small_body_is_plain(options, request) &&
           claims_are_decided(options, request);
}
