/* SPDX-License-Identifier: Apache-2.0 */

/* The pages on which parley describes itself. HTTP is played by this file. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <sodium.h>

#include "decoder.h"
#include "describe_pages.h"
#include "lib/fault_heap.h"
#include "lib/rounds.h"
#include "pages.h"

struct http_request {
    const char *accept, *accept_encoding, *if_none_match;
    unsigned status;
    char etag[64], cache_control[32], vary[32], content_type[64], content_encoding[16];
    struct parley_bytes body;
    bool is_kept; /* it was not copied */
    char problem[512];
};

const char *http_request_id(const struct http_request *request) {
    (void)request;
    return "r1";
}

const char *http_request_path(const struct http_request *request) {
    (void)request;
    return "/v1/protocols";
}

const char *http_request_header(const struct http_request *request, const char *name) {
    return strcmp(name, "Accept") == 0            ? request->accept
           : strcmp(name, "Accept-Encoding") == 0 ? request->accept_encoding
           : strcmp(name, "If-None-Match") == 0   ? request->if_none_match
                                                  : NULL;
}

const char *http_request_header_at(const struct http_request *request, const char *name,
                                   size_t number) {
    return number == 0 ? http_request_header(request, name) : NULL;
}

void http_header(struct http_request *request, const char *name, const char *value) {
    char *to = strcmp(name, "ETag") == 0               ? request->etag
               : strcmp(name, "Cache-Control") == 0    ? request->cache_control
               : strcmp(name, "Vary") == 0             ? request->vary
               : strcmp(name, "Content-Encoding") == 0 ? request->content_encoding
                                                       : NULL;
    assert_non_null(to);
    strcpy(to, value);
}

void http_request_remark(struct http_request *request, enum http_remark remark,
                         struct parley_bytes text) {
    (void)request;
    (void)remark;
    (void)text;
}

void http_request_note(struct http_request *request, enum http_note note, unsigned char value) {
    (void)request;
    (void)note;
    (void)value;
}

/* Pages live until they are destroyed; a problem does not outlive the call. */
void http_compress(struct http_request *request) {
    (void)request;
}

const char *http_request_query(const struct http_request *request, const char *name) {
    (void)request;
    (void)name;
    return NULL;
}

const struct http_encoding *http_request_encoding(const struct http_request *request) {
    static const struct http_encoding json = {.protocol = NULL};
    (void)request;
    return &json;
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    assert_int_equal(request->status, 0);
    request->status = status;
    strcpy(request->content_type, content_type != NULL ? content_type : "");
    request->body = body;
    if (status >= 400) {
        snprintf(request->problem, sizeof request->problem, "%.*s", (int)body.length, body.data);
    }
}

/* However many clients read one slowly, there is one copy of it. */
void http_respond_kept(struct http_request *request, unsigned status, const char *content_type,
                       struct parley_bytes body) {
    http_respond(request, status, content_type, body);
    request->is_kept = true;
}

struct parley_bytes page_index(void) {
    return PARLEY_BYTES("<table>\n<!-- protocols -->\n</table>\n");
}

struct parley_bytes page_script(void) {
    return PARLEY_BYTES("'use strict';\n");
}

static bool only_livez(size_t index, struct contract_route *out) {
    *out = (struct contract_route){
        .path = "/livez", .need = GUARD_OPEN, .operation = &operation_livez, .has_get = true};
    return index == 0;
}

struct world {
    struct parley_arena arena;
    const struct channel *channels;
};

static struct world world;

static int set_up(void **state) {
    char error[CHANNEL_ERROR_MAX];
    parley_arena_init(&world.arena, 0);
    if (sodium_init() < 0 ||
        channels_create("vlp=fleet-a", &world.arena, &world.channels, error) != PARLEY_OK) {
        return -1;
    }
    *state = NULL;
    return describe_pages_create(world.channels, only_livez, (struct describe_pages **)state) ==
                   PARLEY_OK
               ? 0
               : -1;
}

static int tear_down(void **state) {
    describe_pages_destroy(*state);
    parley_arena_finish(&world.arena);
    return 0;
}

static struct http_request get(const struct describe_pages *pages, enum describe_page page,
                               const char *accept) {
    struct http_request request = {.accept = accept};
    describe_pages_serve(pages, &request, page,
                         page < DESCRIBE_PROTOCOL ? NULL : parley_protocols[0]);
    assert_int_equal(request.is_kept, request.status == 200);
    return request;
}

static json_t *json_of(const struct http_request *request) {
    assert_int_equal(request->status, 200);
    json_t *json =
        json_loadb(request->body.data, request->body.length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    return json;
}

static const char *text(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void test_a_page_comes_in_the_form_that_is_accepted(void **state) {
    static const struct {
        enum describe_page page;
        const char *accept;
        unsigned status;
        const char *content_type;
    } rows[] = {
        {DESCRIBE_INDEX, "text/html,*/*;q=0.8", 200, "text/html; charset=utf-8"},
        {DESCRIBE_PROTOCOLS, NULL, 200, "application/json"},
        {DESCRIBE_PROTOCOL, "application/*", 200, "application/json"},
        {DESCRIBE_PROTOCOL, "text/html", 406, "application/problem+json"},
        {DESCRIBE_SCHEMA, NULL, 200, "application/schema+json"},
        {DESCRIBE_SCHEMA, "*/*", 200, "application/schema+json"},
        {DESCRIBE_SCHEMA, "application/json", 200, "application/json"},
        {DESCRIBE_RULES, "*/*", 200, "application/json"},
        {DESCRIBE_RULES, "text/markdown", 200, "text/markdown; charset=utf-8"},
        {DESCRIBE_RULES, "text/markdown;q=0.5, application/json;q=0.4", 200,
         "text/markdown; charset=utf-8"},
        {DESCRIBE_RULES, "image/png", 406, "application/problem+json"},
        {DESCRIBE_EXAMPLES, "application/json", 200, "application/json"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct http_request request = get(*state, rows[i].page, rows[i].accept);
        assert_int_equal(request.status, rows[i].status);
        assert_string_equal(request.content_type, rows[i].content_type);
        const bool has_choice = rows[i].page == DESCRIBE_SCHEMA || rows[i].page == DESCRIBE_RULES;
        assert_string_equal(request.vary,
                            has_choice ? "Accept, Accept-Encoding" : "Accept-Encoding");
    }
    assert_non_null(strstr(get(*state, DESCRIBE_RULES, "image/png").problem,
                           "application/json or text/markdown"));
}

static void test_a_client_that_has_a_page_is_not_sent_it_again(void **state) {
    const struct http_request first = get(*state, DESCRIBE_RULES, NULL);
    const struct http_request other = get(*state, DESCRIBE_RULES, "text/markdown");
    char list[256];
    assert_int_equal(strlen(first.etag), 34);
    assert_string_equal(first.cache_control, "no-cache");
    assert_string_not_equal(first.etag, other.etag);
    snprintf(list, sizeof list, "\"x\", W/%s", first.etag);
    const char *const known[] = {first.etag, list, "*"};
    for (size_t i = 0; i < 3; i++) {
        struct http_request request = {.if_none_match = known[i]};
        describe_pages_serve(*state, &request, DESCRIBE_RULES, parley_protocols[0]);
        assert_int_equal(request.status, 304);
        assert_string_equal(request.content_type, "");
        assert_string_equal(request.etag, first.etag);
        assert_string_equal(request.vary, "Accept, Accept-Encoding");
    }
    struct http_request request = {.if_none_match = other.etag};
    describe_pages_serve(*state, &request, DESCRIBE_RULES, parley_protocols[0]);
    assert_int_equal(request.status, 200);
}

static void test_a_long_page_is_compressed_once_and_each_form_has_its_etag(void **state) {
    static const enum coding codings[] = {CODING_GZIP, CODING_ZSTD};
    const struct http_request plain = get(*state, DESCRIBE_SCHEMA, NULL);
    assert_string_equal(plain.content_encoding, "");
    for (size_t i = 0; i < 2; i++) {
        struct http_request request = {.accept_encoding = coding_name(codings[i])};
        static char text[1 << 20];
        struct decoder *decoder;
        size_t length;
        describe_pages_serve(*state, &request, DESCRIBE_SCHEMA, parley_protocols[0]);
        assert_int_equal(request.status, 200);
        assert_string_equal(request.content_encoding, coding_name(codings[i]));
        assert_string_equal(request.content_type, "application/schema+json");
        assert_non_null(strstr(request.etag, coding_name(codings[i])));
        assert_true(request.body.length < plain.body.length / 2);
        assert_int_equal(decoder_create(codings[i], &decoder), PARLEY_OK);
        struct parley_bytes input = request.body;
        assert_int_equal(decoder_read(decoder, &input, text, sizeof text, &length),
                         DECODER_NO_FAULT);
        assert_int_equal(decoder_end(decoder), DECODER_NO_FAULT);
        assert_true(parley_bytes_equal((struct parley_bytes){text, length}, plain.body));
        decoder_destroy(decoder);
        struct http_request again = {.accept_encoding = "gzip, zstd;q=0",
                                     .if_none_match = request.etag};
        describe_pages_serve(*state, &again, DESCRIBE_SCHEMA, parley_protocols[0]);
        assert_int_equal(again.status, codings[i] == CODING_GZIP ? 304 : 200);
    }
    struct http_request script = {.accept_encoding = "gzip"}; /* a short one here */
    describe_pages_serve(*state, &script, DESCRIBE_SCRIPT, NULL);
    assert_string_equal(script.content_encoding, "");
}

static void test_the_list_says_where_each_protocol_is_kept(void **state) {
    const struct http_request request = get(*state, DESCRIBE_PROTOCOLS, NULL);
    json_t *list = json_of(&request);
    assert_int_equal(json_array_size(list), parley_protocol_count());
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        const json_t *protocol = json_array_get(list, i);
        char schema[128];
        snprintf(schema, sizeof schema, "/v1/protocols/%s/schema", parley_protocols[i]->name);
        assert_string_equal(text(protocol, "name"), parley_protocols[i]->name);
        assert_string_equal(text(protocol, "stream"), world.channels[i].stream);
        assert_string_equal(text(protocol, "subjects"), world.channels[i].subjects);
        assert_string_equal(text(json_object_get(protocol, "links"), "schema"), schema);
        assert_int_equal(json_integer_value(json_object_get(protocol, "rules")),
                         parley_protocols[i]->rule_count);
        assert_true(json_array_size(json_object_get(protocol, "encodings")) > 0);
    }
    assert_non_null(strstr(request.body.data, "\"stream\":\"VLP_FLEET-A\""));
    const struct http_request one = get(*state, DESCRIBE_PROTOCOL, NULL);
    json_t *protocol = json_of(&one);
    assert_true(json_equal(protocol, json_array_get(list, 0)));
    json_decref(protocol);
    json_decref(list);
}

static void test_every_protocol_has_every_page(void **state) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        struct http_request request = {0};
        describe_pages_serve(*state, &request, DESCRIBE_SCHEMA, protocol);
        json_t *schema = json_of(&request);
        assert_non_null(strstr(text(schema, "$id"), protocol->name));
        json_decref(schema);

        request = (struct http_request){0};
        describe_pages_serve(*state, &request, DESCRIBE_RULES, protocol);
        json_t *rules = json_of(&request);
        assert_int_equal(json_array_size(rules), PARLEY_GW_COUNT + protocol->rule_count);
        assert_string_equal(text(json_array_get(rules, PARLEY_GW_COUNT), "id"),
                            protocol->rules[0].id);
        json_decref(rules);

        request = (struct http_request){0};
        describe_pages_serve(*state, &request, DESCRIBE_EXAMPLES, protocol);
        json_t *examples = json_of(&request), *example;
        size_t k;
        json_array_foreach(examples, k, example) {
            assert_string_equal(text(example, "name"), protocol->examples[k].name);
            assert_true(json_is_object(json_object_get(example, "message")));
        }
        json_decref(examples);
    }
}

static void test_the_index_lists_the_protocols(void **state) {
    const struct http_request request = get(*state, DESCRIBE_INDEX, NULL);
    char row[128];
    assert_memory_equal(request.body.data, "<table>\n<tr>", 12);
    assert_memory_equal(request.body.data + request.body.length - 15, "</tr>\n</table>\n", 15);
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const int length =
            snprintf(row, sizeof row, "<a href=\"/v1/protocols/%s\">", parley_protocols[i]->name);
        assert_non_null(memmem(request.body.data, request.body.length, row, (size_t)length));
    }
}

static void test_all_pages_are_made_or_none(void **state) {
    (void)state;
    struct describe_pages *pages = NULL;
    fault_heap_arm(SIZE_MAX, 0);
    assert_int_equal(describe_pages_create(world.channels, only_livez, &pages), PARLEY_OK);
    const size_t count = fault_heap_disarm();
    describe_pages_destroy(pages);
    describe_pages_destroy(NULL);
    for (size_t first = 0; first < count; first += test_stride(count, 40)) {
        fault_heap_arm(first, 1);
        assert_int_equal(describe_pages_create(world.channels, only_livez, &pages),
                         PARLEY_E_MEMORY);
        fault_heap_disarm();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_page_comes_in_the_form_that_is_accepted),
        cmocka_unit_test(test_a_client_that_has_a_page_is_not_sent_it_again),
        cmocka_unit_test(test_a_long_page_is_compressed_once_and_each_form_has_its_etag),
        cmocka_unit_test(test_the_list_says_where_each_protocol_is_kept),
        cmocka_unit_test(test_every_protocol_has_every_page),
        cmocka_unit_test(test_the_index_lists_the_protocols),
        cmocka_unit_test(test_all_pages_are_made_or_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
