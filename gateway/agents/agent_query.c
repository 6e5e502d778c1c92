/* SPDX-License-Identifier: Apache-2.0 */

/* The options, one row each. */

#include "agent_query.h"

#include <stdlib.h>
#include <string.h>

#include "agent_options.h"
#include "query_names.h"
#include "query_problem.h"

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

static bool set_limit(struct agent_query *query, const char *value) {
    const size_t length = strlen(value);
    query->limit = strtoul(value, NULL, 10);
    return length <= 4 && strspn(value, "0123456789") == length && query->limit >= 1 &&
           query->limit <= AGENT_LIMIT_MAX;
}

static bool set_option(struct agent_query *query, const char *name, const char *value) {
    if (strcmp(name, "state") == 0) {
        return set_states(query, value);
    }
    if (strcmp(name, "limit") == 0) {
        return set_limit(query, value);
    }
    query->after = value;
    return value[0] != '\0';
}

struct parsing {
    struct http_request *request;
    const struct parley_agents *agents;
    struct agent_query *query;
    struct query_names seen;
    bool is_refused;
};

static bool refuse_unknown(const struct parsing *parsing, const char *name) {
    const char *known[] = {"state", "limit", "cursor", parsing->agents->option, NULL};
    query_problem_unknown(parsing->request, name, known);
    return false;
}

static bool read_option(const struct parsing *parsing, const char *name, const char *value) {
    const char *own = parsing->agents->option;
    const struct parley_option_help *option = agent_query_options;
    if (own != NULL && strcmp(name, own) == 0) {
        parsing->query->value = value;
        return true;
    }
    while (option->name != NULL && strcmp(option->name, name) != 0) {
        option++;
    }
    if (option->name == NULL) {
        return refuse_unknown(parsing, name);
    }
    if (!set_option(parsing->query, name, value)) {
        query_problem_value(parsing->request, name, value, option->wants);
        return false;
    }
    return true;
}

static bool parse_option(void *context, const char *name, const char *value) {
    struct parsing *parsing = context;
    if (query_names_add(&parsing->seen, name)) {
        query_problem_twice(parsing->request, name);
        parsing->is_refused = true;
    } else {
        parsing->is_refused = !read_option(parsing, name, value);
    }
    return !parsing->is_refused;
}

bool agent_query_parse(struct http_request *request, const struct parley_agents *agents,
                       struct agent_query *out) {
    *out = (struct agent_query){.states = STATE_ANY, .after = "", .limit = LIMIT_DEFAULT};
    struct parsing parsing = {.request = request, .agents = agents, .query = out};
    http_request_each_query(request, parse_option, &parsing);
    return !parsing.is_refused;
}
