/* SPDX-License-Identifier: Apache-2.0 */

/* The options, one row each. */

#include "agent_query.h"

#include <string.h>

#include "agent_options.h"
#include "query_options.h"

enum { LIMIT_DEFAULT = 100, STATE_ANY = (1 << AGENT_STATE_COUNT) - 1 };

static bool add_state(void *context, struct parley_bytes name) {
    struct agent_query *query = context;
    for (unsigned i = 0; i < AGENT_STATE_COUNT; i++) {
        if (parley_bytes_equal(parley_bytes_of(agent_state_names[i]), name)) {
            query->states |= 1u << i;
            return true;
        }
    }
    return false;
}

/* The rows of agent_query_options, and then the protocol's own. */
enum { STATE, LIMIT, CURSOR, FOLLOW, SINCE, OWN, COUNT };

static bool set_option(void *context, size_t number, const char *value) {
    struct agent_query *query = context;
    switch (number) {
    case STATE:
        query->states = 0;
        return query_option_list(value, add_state, query);
    case LIMIT:
        query->has_page = true;
        return query_option_count(value, AGENT_LIMIT_MAX, &query->limit);
    case CURSOR:
        query->has_page = true;
        query->after = value;
        return value[0] != '\0';
    case FOLLOW:
        return follow_query_set(&query->follow, value);
    case SINCE:
        query->follow.token = value;
        return true;
    default:
        query->value = value;
        return value[0] != '\0';
    }
}

bool agent_query_parse(struct http_request *request, const struct parley_agents *agents,
                       struct agent_query *out) {
    struct parley_option_help options[COUNT + 1] = {{.name = NULL}};
    memcpy(options, agent_query_options, OWN * sizeof options[0]);
    options[OWN].name = agents->option;
    options[OWN].wants = agents->option_wants;
    *out = (struct agent_query){.states = STATE_ANY, .after = "", .limit = LIMIT_DEFAULT};
    return query_options_read(request, options, set_option, out) &&
           follow_query_admit(request, &out->follow, out->has_page);
}
