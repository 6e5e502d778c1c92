/* SPDX-License-Identifier: Apache-2.0 */

/* Mutations of a tree, then of its text. It aims at the limits of rules, not at all of JSON: for
 * that there is the fuzzer. */

#include "mutate.h"

#include <stdlib.h>

static const char *const values[] = {
    "null",
    "true",
    "false",
    "0",
    "-0.0",
    "1",
    "1.0",
    "-1",
    "2",
    "1.5",
    "0.9",
    "0.8999999999999999",
    "0.90000000000000002",
    "1.0000000000000002",
    "1e308",
    "-1e-320",
    "9223372036854775807",
    "1e300",
    "\"\"",
    "\"a\"",
    "\"ab\"",
    "\"abc\"",
    "\"\\u0000\"",
    "\"a\\u0000b\"",
    "\"\\u00e9\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"tab\\t and \\\"quotes\\\" / \\\\ \"",
    "\"claim\"",
    "\"evidence\"",
    "\"query\"",
    "\"response\"",
    "\"correction\"",
    "\"notice\"",
    "\"session_context\"",
    "\"Claim\"",
    "\"safe\"",
    "\"review\"",
    "\"block\"",
    "\"url\"",
    "\"VLP/1.1\"",
    "\"VLP/1.0\"",
    "\"2025-12-14T10:30:00Z\"",
    "\"2025-12-14T10:30:00+01:00\"",
    "\"2016-12-31t23:59:60z\"",
    "\"2025-02-29T10:30:00Z\"",
    "\"2025-12-14 10:30:00Z\"",
    "[]",
    "{}",
    "[\"\"]",
    "[null,1,\"a\",{},[]]",
    "[{\"ref\":\"a\"},{\"ref\":\"\"},{\"ref\":1,\"kind\":\"x\"},{\"kind\":\"url\"}]",
    "{\"level\":\"review\"}",
    "{\"level\":\"block\",\"issues\":[{\"code\":\"a\",\"detail\":1},{},3]}",
    "{\"level\":1,\"issues\":{\"code\":2}}",
    "{\"ref\":\"a\",\"a~b/c\":{\"*\":1}}",
    "\"task.request\"",
    "\"task.progress\"",
    "\"task.result\"",
    "\"task.failed\"",
    "\"heartbeat\"",
    "\"security.briefing\"",
    "\"rate_limited\"",
    "\"skill_missing\"",
    "\"completed\"",
    "\"failed\"",
    "\"critical\"",
    "\"2.0\"",
    "\"01.0\"",
    "\"550e8400-e29b-41d4-a716-446655440000\"",
    "\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\"",
    "[{\"id\":\"a\",\"status\":\"pending\"},{\"status\":\"done\"},1]",
    "{\"status\":\"completed\",\"result\":{\"format\":1}}",
    "{\"task\":\"x\",\"params\":[],\"maxTokens\":0}",
    "{\"error\":\"timeout\",\"retryable\":false}",
    "\"checkpoint\"",
    "\"wal_entry\"",
    "\"wal_batch\"",
    "\"metrics\"",
    "\"restore\"",
    "\"process_request\"",
    "\"error\"",
    "\"zstd\"",
    "\"memory_add\"",
    "\"promoted\"",
    "\"rejected\"",
    "\"acting\"",
    "\"assistant\"",
    "\"KLUv/SATmQAAgathZ2VudF9zdGF0ZYGiaWShYQ==\"",
    "[{\"operation\":\"memory_add\",\"params\":{},\"sequence\":1},{\"sequence\":2}]",
    "[{\"id\":\"m\",\"text\":\"t\",\"embedding\":[0,0.5,1e9],\"importance\":1}]",
    "{\"p50_latency\":1,\"p95_latency\":2,\"p99_latency\":3,\"error_rate\":0.5}",
};

static const char *const keys[] = {
    "id",         "protocol",   "type",     "timestamp",   "sender",     "content",
    "seq",        "confidence", "safety",   "refers_to",   "session_id", "topic",
    "provenance", "receiver",   "keywords", "constraints", "payload",    "_extras",
    "level",      "issues",     "code",     "detail",      "ref",        "kind",
    "version",    "from",       "to",       "ttl",         "priority",   "correlationId",
    "task",       "status",     "result",   "error",       "retryable",  "subTasks",
    "data",       "compressed", "params",   "compression", "sequence",   "operation",
    "metrics",    "snapshot",   "reason",   "size",        "metadata",   "wal_entries",
    "*",          "",           "~/",       "id ",         "Id"};

static const char *const tokens[] = {"{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "\"",
                                     "\\",
                                     "\\u",
                                     "\\ud800",
                                     "\\u0000",
                                     "\n",
                                     "\r\n",
                                     " ",
                                     "1e400",
                                     "-",
                                     "00",
                                     "0.",
                                     "1e",
                                     "nul",
                                     "true",
                                     "\xEF\xBB\xBF",
                                     "\xC0\xAF",
                                     "\xED\xA0\x80",
                                     "\xF4\x90\x80\x80",
                                     "\x80",
                                     "\x01",
                                     "\x7F",
                                     "\"id\":1,",
                                     ",\"type\":\"claim\""};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static json_t *random_value(struct random_source *source) {
    json_t *value = json_loads(values[random_below(source, COUNT(values))],
                               JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    const size_t depth = random_below(source, 12) == 0 ? random_below(source, 70) : 0;
    for (size_t i = 0; i < depth; i++) {
        json_t *outer = random_below(source, 2) == 0 ? json_array() : json_object();
        if (json_is_array(outer)) {
            json_array_append_new(outer, value);
        } else {
            json_object_set_new_nocheck(outer, keys[random_below(source, COUNT(keys))], value);
        }
        value = outer;
    }
    return value;
}

static const char *random_member(struct random_source *source, json_t *object) {
    size_t left = random_below(source, json_object_size(object));
    void *at = json_object_iter(object);
    while (left-- > 0) {
        at = json_object_iter_next(object, at);
    }
    return json_object_iter_key(at);
}

static void mutate_array(struct random_source *source, json_t *array) {
    const size_t size = json_array_size(array);
    const size_t at = random_below(source, size + 1);
    if (at == size || random_below(source, 3) == 0) {
        json_array_insert_new(array, at, random_value(source));
    } else if (random_below(source, 2) == 0) {
        json_array_remove(array, at);
    } else {
        json_array_set_new(array, at, random_value(source));
    }
}

static void mutate_object(struct random_source *source, json_t *object) {
    if (json_object_size(object) == 0 || random_below(source, 4) == 0) {
        json_object_set_new_nocheck(object, keys[random_below(source, COUNT(keys))],
                                    random_value(source));
    } else if (random_below(source, 3) == 0) {
        json_object_del(object, random_member(source, object));
    } else {
        json_object_set_new_nocheck(object, random_member(source, object), random_value(source));
    }
}

/* Goes down to some array or object, and breaks that. */
static void mutate_tree(struct random_source *source, json_t *node) {
    json_t *inner = NULL;
    if (json_is_object(node) && json_object_size(node) > 0) {
        inner = json_object_get(node, random_member(source, node));
    } else if (json_is_array(node) && json_array_size(node) > 0) {
        inner = json_array_get(node, random_below(source, json_array_size(node)));
    }
    const bool has_inner = json_is_object(inner) || json_is_array(inner);
    if (has_inner && random_below(source, 2) == 0) {
        mutate_tree(source, inner);
    } else if (json_is_array(node)) {
        mutate_array(source, node);
    } else {
        mutate_object(source, node);
    }
}

static void mutate_text(struct random_source *source, struct parley_buffer *text) {
    const size_t at = random_below(source, text->length + 1);
    const char *token = tokens[random_below(source, COUNT(tokens))];
    const size_t cut = random_below(source, 4) == 0 ? random_below(source, 8) : 0;
    const size_t rest = at + cut < text->length ? at + cut : text->length;
    const size_t behind_length = text->length - rest;
    char *behind = malloc(behind_length + 1);
    if (behind == NULL) {
        abort();
    }
    memcpy(behind, text->data + rest, behind_length);
    text->length = at;
    parley_buffer_text(text, random_below(source, 16) == 0 ? "" : token);
    if (random_below(source, 32) == 0) {
        parley_buffer_char(text, '\0');
    }
    parley_buffer_append(text, (struct parley_bytes){behind, behind_length});
    free(behind);
}

void mutate(struct random_source *source, const json_t *message, struct parley_buffer *out) {
    static const size_t styles[] = {JSON_COMPACT, JSON_INDENT(2), JSON_ENSURE_ASCII,
                                    JSON_ESCAPE_SLASH, JSON_INDENT(1) | JSON_SORT_KEYS};
    json_t *copy = json_deep_copy(message);
    for (size_t i = random_below(source, 4); i > 0; i--) {
        mutate_tree(source, copy);
    }
    char *dump = json_dumps(copy, styles[random_below(source, COUNT(styles))]);
    parley_buffer_text(out, dump);
    free(dump);
    json_decref(copy);
    if (random_below(source, 3) == 0) {
        mutate_text(source, out);
    }
}
