/* SPDX-License-Identifier: Apache-2.0 */

/* The options, one row each. */

#include "agent_query.h"

#include <string.h>

#include "agent_options.h"
#include "query_options.h"

enum { LIMIT_DEFAULT = 100, STATE_ANY = (1 << AGENT_STATE_COUNT) - 1 };

static unsigned state_bit(const char *name, size_t length) {
    for (unsigned i = 0; i < AGENT_STATE_COUNT; i++) {
        if (strlen(agent_state_names[i]) == length &&
            memcmp(agent_state_names[i], name, length) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

static bool set_states(struct agent_query *query, const char *value) {
    query->states = 0;
    while (true) {
        const size_t length = strcspn(value, ",");
        const unsigned bit = state_bit(value, length);
        query->states |= bit;
        if (bit == 0 || value[length] == '\0') {
            return bit != 0;
        }
        value += length + 1;
    }
}

/* The rows of agent_query_options, and then the protocol's own. */
enum { STATE, LIMIT, CURSOR, OWN, COUNT };

static bool set_option(void *context, size_t number, const char *value) {
    struct agent_query *query = context;
    switch (number) {
    case STATE:
        return set_states(query, value);
    case LIMIT:
        return query_option_count(value, AGENT_LIMIT_MAX, &query->limit);
    case CURSOR:
        query->after = value;
        return value[0] != '\0';
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
    return query_options_read(request, options, set_option, out);
}
