/* SPDX-License-Identifier: Apache-2.0 */

/* What a session_context says is open. The types document shows three places for it: keywords such
 * as "pending:manual-review", and `pending` and `next_session_hints` of the payload, which may be
 * any JSON. */

#include "vlp.h"

#include <parley/index.h>

#include "json_members.h"

struct keywords {
    struct parley_buffer *out;
    size_t count;
};

static bool is_pending(struct parley_bytes keyword) {
    static const char word[] = "pending";
    const size_t length = sizeof word - 1;
    return keyword.length >= length && memcmp(keyword.data, word, length) == 0 &&
           (keyword.length == length || keyword.data[length] == ':');
}

static bool add_keyword(void *context, struct parley_bytes keyword) {
    struct keywords *keywords = context;
    if (is_pending(keyword)) {
        parley_buffer_text(keywords->out, keywords->count++ > 0 ? "," : "");
        parley_buffer_json(keywords->out, keyword);
    }
    return true;
}

enum parley_status vlp_write_open(struct parley_message *message, struct parley_buffer *out) {
    static const struct json_member members[] = {{.name = "pending", .as = NULL},
                                                 {.name = "next_session_hints", .as = NULL},
                                                 {.name = NULL, .as = NULL}};
    struct keywords keywords = {.out = out};
    parley_buffer_text(out, "{\"keywords\":[");
    PARLEY_TRY(json_members_each_text(message, NULL, "keywords", add_keyword, &keywords));
    parley_buffer_char(out, ']');
    PARLEY_TRY(json_members_append(message, "payload", members, out));
    parley_buffer_char(out, '}');
    return parley_buffer_status(out);
}
