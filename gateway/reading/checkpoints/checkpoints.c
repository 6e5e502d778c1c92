/* SPDX-License-Identifier: Apache-2.0 */

/* Checks the permission of a request, and finds the messages' place. */

#include "checkpoints.h"

#include <stdio.h>
#include <string.h>

#include <parley/message.h>

#include "agent_reader.h"
#include "channel.h"
#include "guard.h"
#include "problem.h"
#include "checkpoint_scope.h"

static bool has_checkpoints(struct http_request *request, const struct parley_protocol *protocol) {
    if (protocol->restore == NULL || protocol->objects == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "Agents of %s leave no checkpoints.",
                               protocol->title);
        return false;
    }
    return true;
}

/* As in the option that names the agent of a message.  `out_agent`: from the path. */
static bool is_agent(struct http_request *request, const char *name,
                     char out_agent[AGENT_TOKEN_SIZE]) {
    struct parley_options options = {0};
    const char *wants = NULL;
    if (!agent_token(name, out_agent) || strlen(out_agent) >= CHECKPOINT_AGENT_MAX ||
        parley_options_set(&options, NULL, "agent", out_agent, &wants) != PARLEY_OPTION_SET) {
        problem_respond(request, PROBLEM_NOT_FOUND, "No agent has such a name.");
        return false;
    }
    return true;
}

static bool is_own(const struct checkpoints *checkpoints, struct http_request *request,
                   const char *agent) {
    const char *own =
        principal_agent(guard_principal(request), checkpoints->configuration->bind_sender);
    if (own != NULL && strcmp(own, agent) != 0) {
        problem_respond_format(request, PROBLEM_FORBIDDEN,
                               "This token may read the checkpoints of the agent %.64s only.", own);
        return false;
    }
    return true;
}

void checkpoint_scope_subject(const struct checkpoint_scope *scope, const char *pattern,
                              char out[CHECKPOINT_SUBJECT_MAX]) {
    const char *star = strchr(pattern, '*');
    snprintf(out, CHECKPOINT_SUBJECT_MAX, "%s.%.*s%s%s",
             scope->channel->prefix != NULL ? scope->channel->prefix : scope->protocol->name,
             (int)(star - pattern), pattern, scope->agent, star + 1);
}

static bool find_stream(struct http_request *request, struct checkpoint_scope *scope) {
    const struct jetstream *jetstream = scope->checkpoints->jetstream;
    const struct jetstream_place *found =
        jetstream_can_read(jetstream) ? jetstream_place_find(jetstream, scope->subject) : NULL;
    const char *trouble = jetstream_trouble(jetstream);
    if (found == NULL) {
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE, "%s.",
                               trouble != NULL ? trouble : "NATS cannot be read now");
    } else if (!jetstream_place_takes_consumers(found)) {
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE,
                               "The checkpoints lie in the stream %s, which keeps messages only "
                               "until they are read.",
                               found->stream);
        return false;
    } else {
        snprintf(scope->stream, sizeof scope->stream, "%s", found->stream);
    }
    return found != NULL;
}

void checkpoint_scope_fill(struct checkpoint_scope *scope, struct checkpoints *checkpoints,
                           const struct parley_protocol *protocol, const char *agent) {
    const struct channel *channels = checkpoints->configuration->channels;
    *scope = (struct checkpoint_scope){.checkpoints = checkpoints,
                                       .protocol = protocol,
                                       .channel = channel_find(channels, protocol)};
    scope->schema = checkpoints->schemas[scope->channel - channels];
    memcpy(scope->agent, agent, strlen(agent) + 1);
    checkpoint_scope_subject(scope, protocol->restore->checkpoint, scope->subject);
}

bool checkpoint_scope_find(struct checkpoints *checkpoints, struct http_request *request,
                           const struct parley_protocol *protocol, const char *name,
                           struct checkpoint_scope *out) {
    char agent[AGENT_TOKEN_SIZE];
    if (!has_checkpoints(request, protocol) || !is_agent(request, name, agent) ||
        !is_own(checkpoints, request, agent)) {
        return false;
    }
    checkpoint_scope_fill(out, checkpoints, protocol, agent);
    return request_slots_admit(&checkpoints->slots, CHECKPOINT_READINGS_MAX, checkpoints->limits,
                               request, "checkpoints", &out->slot) &&
           find_stream(request, out);
}
