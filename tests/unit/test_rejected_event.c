/* SPDX-License-Identifier: Apache-2.0 */

/* Lines of GET /v1/rejected/stream, as `parley check --rejected` reads them. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "rejected_event.h"

#define EVENT                                                                                      \
    "{\"specversion\":\"1.0\",\"id\":\"REJECTED:7\",\"type\":\"parley.rejected\",\"subject\":"     \
    "\"rejected.vlp\""

static const struct row {
    const char *line;
    enum rejected_event_result result;
    const char *protocol, *rules, *content_type, *payload; /* of one that was read */
} rows[] = {
    {EVENT ",\"rules\":\"VLP-005\",\"datacontenttype\":\"application/json\",\"data\":{\"a\":1.50}}",
     REJECTED_EVENT_READ, "vlp", "VLP-005", "application/json", "{\"a\":1.50}"},
    {EVENT ",\"data_base64\":\"eA==\"}", REJECTED_EVENT_READ, "vlp", "", NULL, "x"},
    /* Members may come in any order, and whitespace too. */
    {"{ \"data\" : { \"type\" : [ {} ] } , \"subject\" : \"rejected.brenner\" ,"
     " \"type\" : \"parley.rejected\" , \"id\" : \"a\" , \"specversion\" : \"1.0\" }",
     REJECTED_EVENT_READ, "brenner", "", NULL, "{\"type\":[{}]}"},
    {"{\"specversion\":\"1.0\",\"id\":\"a\",\"type\":\"parley.rejected\",\"data\":{}}",
     REJECTED_EVENT_READ, "", "", NULL, "{}"},

    {"{\"specversion\":\"1.0\",\"id\":\"a\",\"type\":\"parley.open\",\"data\":{}}",
     .result = REJECTED_EVENT_OTHER},
    {"{\"specversion\":\"1.0\",\"id\":\"a\",\"type\":\"vlp.claim\",\"data\":{}}",
     .result = REJECTED_EVENT_OTHER},

    {EVENT ",\"problem\":\"halted\",\"data\":{\"a\":1}}", .result = REJECTED_EVENT_OTHER},

    {"", .result = REJECTED_EVENT_WRONG},
    {"x", .result = REJECTED_EVENT_WRONG},
    {"[1]", .result = REJECTED_EVENT_WRONG},
    {"{\"id\":\"a\",\"type\":\"claim\"}", .result = REJECTED_EVENT_WRONG}, /* a message */
    {"{\"specversion\":\"1.0\",\"type\":1,\"id\":\"a\"}", .result = REJECTED_EVENT_WRONG},
    {EVENT "}", .result = REJECTED_EVENT_WRONG},
    {EVENT ",\"data\":[{}]}", .result = REJECTED_EVENT_WRONG},
    {EVENT ",\"data_base64\":\"*\"}", .result = REJECTED_EVENT_WRONG},
    {EVENT ",\"data_base64\":\"eA\"}", .result = REJECTED_EVENT_WRONG},
};

static void assert_text(const char *text, const char *expected) {
    if (expected == NULL) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_string_equal(text, expected);
    }
}

static void test_an_event_has_what_was_refused_as_it_was_sent(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        struct rejected_event event;
        const enum rejected_event_result result =
            rejected_event_read(parley_bytes_of(row->line), &event);
        if (result != row->result) {
            fail_msg("%s: %d", row->line, (int)result);
        }
        if (result == REJECTED_EVENT_READ) {
            assert_true(parley_bytes_equal(event.protocol, parley_bytes_of(row->protocol)));
            assert_true(parley_bytes_equal(event.payload, parley_bytes_of(row->payload)));
            assert_text(event.rules, row->rules);
            assert_text(event.content_type, row->content_type);
        }
        rejected_event_finish(&event);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event_has_what_was_refused_as_it_was_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
