/* SPDX-License-Identifier: Apache-2.0 */

/* Who may ask, and where it lies. */

#include "vault.h"

#include <stdio.h>

#include "problem.h"
#include "request_options.h"
#include "vault_place.h"

static bool has_checkpoints(struct http_request *request, const struct parley_protocol *protocol) {
    if (protocol->restore == NULL || protocol->objects == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "Agents of %s leave no checkpoints.",
                               protocol->title);
        return false;
    }
    return true;
}

/* As in the option that names the agent of what is sent. */
static bool is_agent(struct http_request *request, const char *agent) {
    struct parley_options options = {0};
    const char *wants = NULL;
    if (strlen(agent) >= VAULT_AGENT_MAX ||
        parley_options_set(&options, "agent", agent, &wants) != PARLEY_OPTION_SET) {
        problem_respond(request, PROBLEM_NOT_FOUND, "No agent has such a name.");
        return false;
    }
    return true;
}

static bool is_own(const struct gateway *gateway, struct http_request *request, const char *agent) {
    const char *own = request_only_sender(gateway, request);
    if (own != NULL && strcmp(own, agent) != 0) {
        problem_respond_format(request, PROBLEM_FORBIDDEN,
                               "This token may read the checkpoints of the agent %.64s only.", own);
        return false;
    }
    return true;
}

static bool has_room(const struct gateway *gateway, struct http_request *request) {
    if (gateway->vault_count >= VAULT_READINGS_MAX) {
        problem_respond(request, PROBLEM_OVERLOADED,
                        "Too many checkpoints are being read. Try again later.");
        return false;
    }
    return true;
}

void vault_place_subject(const struct vault_place *place, const char *pattern,
                         char out[VAULT_SUBJECT_MAX]) {
    const char *star = strchr(pattern, '*');
    snprintf(out, VAULT_SUBJECT_MAX, "%s.%.*s%s%s",
             place->channel->prefix != NULL ? place->channel->prefix : place->protocol->name,
             (int)(star - pattern), pattern, place->agent, star + 1);
}

static bool find_stream(struct http_request *request, struct vault_place *place) {
    const struct jetstream *jetstream = place->gateway->jetstream;
    const struct jetstream_place *found =
        jetstream_can_read(jetstream) ? jetstream_place_find(jetstream, place->checkpoints) : NULL;
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
        snprintf(place->stream, sizeof place->stream, "%s", found->stream);
    }
    return found != NULL;
}

bool vault_place_find(struct gateway *gateway, struct http_request *request,
                      const struct parley_protocol *protocol, const char *agent,
                      struct vault_place *out) {
    if (!has_checkpoints(request, protocol) || !is_agent(request, agent) ||
        !is_own(gateway, request, agent) || !has_room(gateway, request)) {
        return false;
    }
    const struct channel *channels = gateway->configuration->channels;
    *out = (struct vault_place){
        .gateway = gateway, .protocol = protocol, .channel = channel_find(channels, protocol)};
    out->schema = gateway->schemas[out->channel - channels];
    snprintf(out->agent, sizeof out->agent, "%s", agent);
    vault_place_subject(out, protocol->restore->checkpoint, out->checkpoints);
    return find_stream(request, out);
}
