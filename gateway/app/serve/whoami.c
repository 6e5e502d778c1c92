/* SPDX-License-Identifier: Apache-2.0 */

#include "whoami.h"

#include "configuration.h"
#include "guard.h"
#include "problem.h"
#include "protected_resource.h"
#include "token_file.h"

static void write_text(struct parley_buffer *out, const char *name, const char *text) {
    parley_buffer_format(out, ",\"%s\":", name);
    parley_buffer_json(out, parley_bytes_of(text));
}

/* No scope has a character that JSON escapes. */
static void write_scopes(struct parley_buffer *out, const struct scopes *scopes) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    scopes_write(scopes, ' ', &text);
    parley_buffer_text(out, "\"scopes\":[");
    parley_buffer_text(out, text.length > 0 ? "\"" : "");
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == ' ') {
            parley_buffer_text(out, "\",\"");
        } else {
            parley_buffer_char(out, text.data[i]);
        }
    }
    parley_buffer_text(out, text.length > 0 ? "\"]" : "]");
    out->has_failed |= text.has_failed;
    parley_buffer_finish(&text);
}

void whoami_serve(const struct services *services, struct http_request *request) {
    const struct principal *principal = guard_principal(request);
    const char *agent = principal_agent(principal, services->gateway.configuration->bind_sender);
    struct parley_buffer body;
    parley_buffer_init(&body);
    parley_buffer_char(&body, '{');
    write_scopes(&body, &principal->scopes);
    if (principal->name[0] != '\0') {
        write_text(&body, "name", principal->name);
    }
    if (agent != NULL) {
        write_text(&body, "agent", agent);
    }
    if (principal->expires_at != 0) {
        char until[TOKEN_TIME_SIZE];
        token_time_write(principal->expires_at, until);
        write_text(&body, "expires_at", until);
    }
    parley_buffer_text(&body, "}\n");
    problem_or_json(request, &body);
}

void whoami_serve_resource(const struct services *services, struct http_request *request) {
    const struct configuration *configuration = services->gateway.configuration;
    const char *audience = configuration->jwt_audience;
    char url[PROTECTED_RESOURCE_URL_MAX];
    struct parley_buffer body;
    if (!protected_resource_url(audience, url)) {
        problem_respond(request, PROBLEM_NOT_FOUND,
                        "This server takes no JSON Web Tokens, or their audience "
                        "(`--jwt-audience`) is not a URL.");
        return;
    }
    parley_buffer_init(&body);
    protected_resource_write(audience, configuration->jwt_issuer, &body);
    problem_or_json(request, &body);
}
