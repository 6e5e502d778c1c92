/* SPDX-License-Identifier: Apache-2.0 */

/* Who may ask, and where it lies. */

#include "vault.h"

#include <stdio.h>
#include <string.h>

#include <parley/message.h>

#include "agent_reader.h"
#include "channel.h"
#include "guard.h"
#include "problem.h"
#include "vault_place.h"

static bool has_checkpoints(struct http_request *request, const struct parley_protocol *protocol) {
    if (protocol->restore == NULL || protocol->objects == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "Agents of %s leave no checkpoints.",
                               protocol->title);
        return false;
    }
    return true;
}

/* As in the option that names the agent of what is sent.  `out_agent`: what the path says. */
static bool is_agent(struct http_request *request, const char *name,
                     char out_agent[AGENT_TOKEN_SIZE]) {
    struct parley_options options = {0};
    const char *wants = NULL;
    if (!agent_token(name, out_agent) || strlen(out_agent) >= VAULT_AGENT_MAX ||
        parley_options_set(&options, "agent", out_agent, &wants) != PARLEY_OPTION_SET) {
        problem_respond(request, PROBLEM_NOT_FOUND, "No agent has such a name.");
        return false;
    }
    return true;
}

static bool is_own(const struct vault *vault, struct http_request *request, const char *agent) {
    const char *own = principal_agent(guard_principal(request), vault->configuration->bind_sender);
    if (own != NULL && strcmp(own, agent) != 0) {
        problem_respond_format(request, PROBLEM_FORBIDDEN,
                               "This token may read the checkpoints of the agent %.64s only.", own);
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
    const struct jetstream *jetstream = place->vault->jetstream;
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

void vault_place_fill(struct vault_place *place, struct vault *vault,
                      const struct parley_protocol *protocol, const char *agent) {
    const struct channel *channels = vault->configuration->channels;
    *place = (struct vault_place){
        .vault = vault, .protocol = protocol, .channel = channel_find(channels, protocol)};
    place->schema = vault->schemas[place->channel - channels];
    memcpy(place->agent, agent, strlen(agent) + 1);
    vault_place_subject(place, protocol->restore->checkpoint, place->checkpoints);
}

bool vault_place_find(struct vault *vault, struct http_request *request,
                      const struct parley_protocol *protocol, const char *name,
                      struct vault_place *out) {
    char agent[AGENT_TOKEN_SIZE];
    if (!has_checkpoints(request, protocol) || !is_agent(request, name, agent) ||
        !is_own(vault, request, agent)) {
        return false;
    }
    vault_place_fill(out, vault, protocol, agent);
    return share_admit(&vault->shares, VAULT_READINGS_MAX, vault->limits, request, "checkpoints",
                       &out->share) &&
           find_stream(request, out);
}
