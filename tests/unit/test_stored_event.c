/* SPDX-License-Identifier: Apache-2.0 */

/* Lines of GET /v1/PROTOCOL/stream, as `parley check --stored` reads them. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "stored_event.h"

#define EVENT(source, type)                                                                        \
    "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"" source "\",\"type\":\"" type "\""

static const struct row {
    const char *line;
    enum stored_event_result result;
    const char *protocol, *payload; /* of one that was read */
    bool is_foreign;
} rows[] = {
    {EVENT("/vlp/a%20b", "vlp.claim") ",\"data\":{\"a\":1.50}}", STORED_EVENT_READ, "vlp",
     "{\"a\":1.50}", false},
    {EVENT("/vlp", "vlp.claim") ",\"data\":{}}", STORED_EVENT_READ, "vlp", "{}", false},
    /* As it is in the line: places are those of its text. */
    {"{ \"data\" : { \"type\" : [ {}, \"}\\\"\" ] } , \"source\" : \"/brenner/x\" ,"
     " \"type\" : \"brenner.info\" , \"id\" : \"a\" , \"specversion\" : \"1.0\" }",
     STORED_EVENT_READ, "brenner", "{ \"type\" : [ {}, \"}\\\"\" ] }", false},
    {EVENT("/vlp", "parley.foreign") ",\"reason\":\"x\",\"data_base64\":\"eA==\"}",
     STORED_EVENT_READ, "vlp", "x", true},
    {EVENT("/vlp", "parley.foreign") ",\"data_base64\":\"\"}", STORED_EVENT_READ, "vlp", "", true},
    {EVENT("vlp", "vlp.claim") ",\"data\":{}}", STORED_EVENT_READ, "", "{}", false},

    {EVENT("/vlp", "parley.open") "}", .result = STORED_EVENT_OTHER},
    {EVENT("/vlp", "parley.gap") ",\"data\":{\"first\":1}}", .result = STORED_EVENT_OTHER},
    {EVENT("/vlp", "vlp.claim") "}", .result = STORED_EVENT_OTHER},
    {EVENT("/vlp", "vlp.claim") ",\"data\":[{}]}", .result = STORED_EVENT_OTHER},

    {"", .result = STORED_EVENT_NONE},
    {"x", .result = STORED_EVENT_NONE},
    {"[1]", .result = STORED_EVENT_NONE},
    {"{\"id\":\"a\",\"type\":\"claim\",\"data\":{}}", .result = STORED_EVENT_NONE}, /* a message */
    {EVENT("/vlp", "vlp.claim") ",\"data\":{}", .result = STORED_EVENT_NONE},
    {EVENT("/vlp", "parley.foreign") "}", .result = STORED_EVENT_NONE},
    {EVENT("/vlp", "parley.foreign") ",\"data_base64\":\"*\"}", .result = STORED_EVENT_NONE},
};

static void test_an_event_has_the_message_as_it_is_in_its_line(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        struct stored_event event;
        const enum stored_event_result result =
            stored_event_read(parley_bytes_of(row->line), &event);
        if (result != row->result) {
            fail_msg("%s: %d", row->line, (int)result);
        }
        if (result == STORED_EVENT_READ) {
            assert_true(parley_bytes_equal(event.protocol, parley_bytes_of(row->protocol)));
            assert_true(parley_bytes_equal(event.payload, parley_bytes_of(row->payload)));
            assert_int_equal(event.is_foreign, row->is_foreign);
            assert_true(event.is_foreign || event.payload.data == row->line + event.offset);
        }
        stored_event_finish(&event);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event_has_the_message_as_it_is_in_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
