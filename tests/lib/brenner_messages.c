/* SPDX-License-Identifier: Apache-2.0 */

/* What is made is mostly right, or nothing would be learnt of what comes behind the first fault. */

#include "brenner_messages.h"

#include <stdlib.h>
#include <string.h>

#include "brenner/brenner.h"
#include "mutate.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- damage ---- */

/* Puts `token` in the place of `cut` bytes at `at`. */
static void replace(struct parley_buffer *text, size_t at, size_t cut, const char *token) {
    const size_t rest = at + cut < text->length ? at + cut : text->length;
    const struct parley_bytes behind = {text->length > 0 ? text->data + rest : "",
                                        text->length - rest};
    char *copy = malloc(behind.length + 1);
    if (copy == NULL) {
        abort();
    }
    if (behind.length > 0) {
        memcpy(copy, behind.data, behind.length);
    }
    text->length = at;
    parley_buffer_text(text, token);
    parley_buffer_append(text, (struct parley_bytes){copy, behind.length});
    free(copy);
}

static const char *const yaml_tokens[] = {"",
                                          " ",
                                          ":",
                                          ": ",
                                          "#",
                                          " #",
                                          "\n",
                                          "\n\n",
                                          "  ",
                                          "\t",
                                          "\r\n",
                                          "-",
                                          "- ",
                                          "\n- ",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          ",",
                                          ", ",
                                          "\"",
                                          "'",
                                          "''",
                                          "\\",
                                          "\\\"",
                                          "&a ",
                                          "*a",
                                          "!!str ",
                                          "|\n",
                                          ">\n",
                                          "%",
                                          "@",
                                          "`",
                                          "?",
                                          "? ",
                                          "null",
                                          "true",
                                          "~",
                                          "1e3",
                                          "0x1F",
                                          ".inf",
                                          "1e999",
                                          "\xC2\x85",
                                          "\xE2\x80\xA8",
                                          "\xC2\xA0",
                                          "\xEF\xBB\xBF",
                                          "\xC3\xA9",
                                          "\xFF",
                                          "\x7F",
                                          "\x01",
                                          "a: b\n",
                                          "body: x\n",
                                          "id: 7\n",
                                          "---\n",
                                          "...\n",
                                          "\nto:\n- a\n- b\n",
                                          "\nto:\n  - a\n",
                                          "_"};

static const char *const markdown_tokens[] = {
    "",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\n# v3\n",
    "\n## Context\n",
    "\n## Status\nReceived\n",
    "\n## Target\n",
    "\nTitle\n===\n",
    "\nTitle\n---\n",
    "\n```delta\n",
    "\n```\n",
    "\n~~~ delta x\n",
    "\n    ",
    "> ",
    "\n> ",
    "\n- ",
    "\n1. ",
    "\t",
    "*",
    "**",
    "`",
    "[",
    "](x)",
    "![",
    "<b>",
    "&amp;",
    "\\",
    "{",
    "}",
    "{\"operation\":1,\"section\":2}",
    "\n> {\"operation\":1,\n> \"section\":2}",
    "\"operation\": \"EDIT\",",
    "\"target_id\": \"H1\",",
    "\"payload\": {},",
    "null",
    ",",
    "\"",
    "\\u00e9",
    "\xC2\xA7\x34\x32",
    "\xC3\xA9",
    "\xFF",
    " (optional)",
    "                                                                    x",
    "\n> > > > > > > > > > > > > > > > > > x",
    "\n- - - - - - - - - - - - - - - - - - -",
    "\n--------------------",
    "###### x"};

static void damage(struct random_source *source, struct parley_buffer *text, size_t start,
                   size_t end, const char *const *tokens, size_t token_count) {
    const size_t at = start + random_below(source, end - start + 1);
    const size_t cut = random_below(source, 3) == 0 ? random_below(source, 12) : 0;
    replace(text, at, cut, tokens[random_below(source, token_count)]);
    if (random_below(source, 64) == 0) {
        const size_t length = text->length - start;
        if (length > 0) {
            text->data[start + random_below(source, length)] = (char)random_below(source, 256);
        }
    }
}

/* ---- front matter ---- */

static void append_scalar(struct random_source *source, const char *text,
                          struct parley_buffer *out) {
    switch (random_below(source, 4)) {
    case 0:
        parley_buffer_text(out, text); /* which may not be what it was */
        break;
    case 1:
        parley_buffer_format(out, "'%s'", text);
        break;
    default:
        parley_buffer_json(out, parley_bytes_of(text));
    }
}

static void append_list(struct random_source *source, const json_t *list,
                        struct parley_buffer *out) {
    const bool is_flow = random_below(source, 2) == 0;
    const size_t indent = random_below(source, 4);
    parley_buffer_text(out, is_flow ? "[" : "\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *item = json_string_value(json_array_get(list, i));
        if (is_flow) {
            parley_buffer_text(out, i > 0 ? ", " : "");
        } else {
            parley_buffer_format(out, "%*s- ", (int)indent, "");
        }
        append_scalar(source, item != NULL ? item : "1", out);
        parley_buffer_text(out, is_flow || i + 1 == json_array_size(list) ? "" : "\n");
    }
    parley_buffer_text(out, is_flow ? "]" : "");
}

static void append_value(struct random_source *source, const json_t *value,
                         struct parley_buffer *out) {
    if (json_is_string(value)) {
        append_scalar(source, json_string_value(value), out);
    } else if (json_is_array(value)) {
        append_list(source, value, out);
    } else {
        char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        parley_buffer_text(out, dump);
        free(dump);
    }
}

static void write_markdown(struct random_source *source, json_t *message,
                           struct parley_buffer *out) {
    const char *key;
    json_t *value;
    const char *body = json_string_value(json_object_get(message, "body_md"));
    parley_buffer_text(out, "---\n");
    json_object_foreach(message, key, value) {
        if (strncmp(key, "body", 4) != 0) {
            parley_buffer_format(out, "%s: ", key);
            append_value(source, value, out);
            parley_buffer_char(out, '\n');
        }
    }
    const size_t end = out->length;
    parley_buffer_format(out, "---\n%s", body != NULL ? body : "");
    if (random_below(source, 2) == 0) {
        damage(source, out, end + 4, out->length, markdown_tokens, COUNT(markdown_tokens));
    }
    if (random_below(source, 2) == 0) {
        damage(source, out, 4, end, yaml_tokens, COUNT(yaml_tokens));
    }
}

/* ---- messages ---- */

static void damage_body(struct random_source *source, json_t *message) {
    struct parley_buffer body;
    parley_buffer_init(&body);
    const char *text = json_string_value(json_object_get(message, "body_md"));
    if (text != NULL) {
        parley_buffer_text(&body, text);
        for (size_t i = random_below(source, 3); i > 0; i--) {
            damage(source, &body, 0, body.length, markdown_tokens, COUNT(markdown_tokens));
        }
        json_object_set_new(message, "body_md", json_stringn_nocheck(body.data, body.length));
    }
    parley_buffer_finish(&body);
}

/* A whole message: a case's, or an example. */
static json_t *choose(struct random_source *source, const struct test_cases *cases) {
    enum { EXAMPLES = 10 };
    const struct test_case *test = &cases->items[random_below(source, cases->count)];
    if (random_below(source, 4) == 0) {
        return json_loads(brenner_examples[random_below(source, EXAMPLES)].text, 0, NULL);
    }
    const bool is_usable =
        test->is_valid && test->body.length < 4000 && test->codec == &parley_codec_json;
    return is_usable ? json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL) : NULL;
}

const struct parley_codec *brenner_message_make(struct random_source *source,
                                                const struct test_cases *cases,
                                                struct parley_buffer *out) {
    json_t *message = NULL;
    while (!json_is_object(message)) {
        json_decref(message);
        message = choose(source, cases);
    }
    const bool is_markdown = random_below(source, 2) == 0;
    if (is_markdown) {
        write_markdown(source, message, out);
    } else if (random_below(source, 2) == 0) {
        mutate(source, message, out);
    } else {
        damage_body(source, message);
        char *dump =
            json_dumps(message, random_below(source, 2) == 0 ? JSON_COMPACT : JSON_ENSURE_ASCII);
        parley_buffer_text(out, dump != NULL ? dump : "{}");
        free(dump);
    }
    json_decref(message);
    return is_markdown ? &brenner_codec_markdown : &parley_codec_json;
}
