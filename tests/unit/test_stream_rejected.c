/* SPDX-License-Identifier: Apache-2.0 */

/* What was refused as events: how the payload goes in, and that no header can break one. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "stream_event.h"

#define CREATED "2025-12-01T00:00:00.5Z"
#define STORED_NS INT64_C(1765708200000000042) /* 2025-12-14T10:30:00.000000042Z */

#define BEFORE_TIME                                                                                \
    "{\"specversion\":\"1.0\",\"id\":\"REJECTED:7\",\"source\":\"/rejected\","                     \
    "\"type\":\"parley.rejected\",\"subject\":\"rejected.vlp\",\"time\":"
#define STORED_AT "\"2025-12-14T10:30:00.000000042Z\""
#define STORED BEFORE_TIME STORED_AT
#define PLACE                                                                                      \
    ",\"sequence\":\"7\",\"recordedtime\":" STORED_AT ",\"resume\":\"REJECTED:" CREATED ":7\""

struct header {
    const char *name, *value;
};

/* The headers are a table that ends with NULL. */
const char *bus_message_header(const struct bus_message *message, const char *name) {
    const struct header *header = (const struct header *)message->native;
    while (header->name != NULL && strcmp(header->name, name) != 0) {
        header++;
    }
    return header->value;
}

static const struct row {
    struct header headers[10];
    const char *payload, *text, *bare; /* bare NULL: it has no data */
} rows[] = {
    /* All that the quarantine writes. */
    {{{"Parley-Rules", "VLP-005,VLP-012"},
      {"Parley-Violations", "[{%22rule%22:%22VLP-005%22}]"},
      {"Parley-Violations-Omitted", "3"},
      {"Parley-Request", "r-1"},
      {"Parley-Principal", "fleet%20a"},
      {"Parley-Line", "4"},
      {"Parley-Dropped", "2"},
      {"Parley-Time", "2025-12-14T10:29:59Z"},
      {"Content-Type", "application/x-ndjson"}},
     " {\"a\" : 1.50,\n\t\"b\":\"x y\"}\r\n",
     BEFORE_TIME "\"2025-12-14T10:29:59Z\",\"datacontenttype\":\"application/json\"" PLACE
                 ",\"rules\":\"VLP-005,VLP-012\","
                 "\"violations\":\"[{\\\"rule\\\":\\\"VLP-005\\\"}]\",\"omitted\":\"3\","
                 "\"request\":\"r-1\",\"principal\":\"fleet a\",\"line\":\"4\",\"dropped\":\"2\","
                 "\"data\":{\"a\":1.50,\"b\":\"x y\"}}",
     "{\"a\":1.50,\"b\":\"x y\"}"},
    /* Without headers nothing is known of the payload. */
    {{{NULL, NULL}}, "{}", STORED PLACE ",\"data_base64\":\"e30=\"}", NULL},
    /* What is not an object that all readers take for the same. */
    {{{"Content-Type", "application/json"}},
     "{\"a\":1,\"a\":2}",
     STORED ",\"datacontenttype\":\"application/json\"" PLACE
            ",\"data_base64\":\"eyJhIjoxLCJhIjoyfQ==\"}",
     NULL},
    {{{"Content-Type", "application/json"}},
     "[{}]",
     STORED ",\"datacontenttype\":\"application/json\"" PLACE ",\"data_base64\":\"W3t9XQ==\"}",
     NULL},
    {{{"Content-Type", "application/json"}},
     "{\"a\":\377}",
     STORED ",\"datacontenttype\":\"application/json\"" PLACE ",\"data_base64\":\"eyJhIjr/fQ==\"}",
     NULL},
    {{{"Content-Type", "application/json"}},
     "",
     STORED ",\"datacontenttype\":\"application/json\"" PLACE ",\"data_base64\":\"\"}",
     NULL},
    /* Another encoding is what it is, even if it looks like JSON. */
    {{{"Content-Type", "text/markdown"}},
     "{}",
     STORED ",\"datacontenttype\":\"text/markdown\"" PLACE ",\"data_base64\":\"e30=\"}",
     NULL},
    /* Anybody may write these headers. */
    {{{"Parley-Rules", "\"},\"x\":{"},
      {"Parley-Violations", "%"},
      {"Parley-Request", "%4"},
      {"Parley-Principal", "%0A%7F%C2%85%FF%zz"},
      {"Parley-Time", "yesterday"}},
     "x",
     STORED PLACE ",\"rules\":\"\\\"},\\\"x\\\":{\",\"violations\":\"%\",\"request\":\"%4\","
                  "\"principal\":\"    \357\277\275%zz\",\"data_base64\":\"eA==\"}",
     NULL},
};

static void assert_bytes(struct parley_bytes bytes, const char *expected) {
    if (!parley_bytes_equal(bytes, parley_bytes_of(expected))) {
        fail_msg("%.*s\nis not\n%s", (int)bytes.length, bytes.data, expected);
    }
}

static void test_what_was_refused_becomes_an_event_of_one_line(void **state) {
    (void)state;
    struct stream_renderer renderer;
    static const struct channel channel = {.name = "rejected", .stream = "REJECTED"};
    stream_renderer_init(&renderer, NULL, &channel);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct bus_message message = {.native = (void *)(uintptr_t)rows[i].headers};
        const struct jetstream_stored stored = {.sequence = 7,
                                                .time_ns = STORED_NS,
                                                .subject = "rejected.vlp",
                                                .payload = parley_bytes_of(rows[i].payload),
                                                .message = &message};
        struct stream_event *event = stream_render(&renderer, CREATED, &stored);
        assert_non_null(event);
        assert_bytes(event->text, rows[i].text);
        assert_bytes(event->token, "REJECTED:" CREATED ":7");
        assert_int_equal(event->bare.data != NULL, rows[i].bare != NULL);
        if (rows[i].bare != NULL) {
            assert_bytes(event->bare, rows[i].bare);
        }
        assert_int_equal(event->sequence, 7);
        stream_event_unref(event);
    }
    stream_renderer_finish(&renderer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_refused_becomes_an_event_of_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
