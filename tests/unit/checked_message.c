/* SPDX-License-Identifier: Apache-2.0 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "checked_message.h"

void checked_message_make(struct checked_message *checked, const char *protocol, const char *text) {
    const struct parley_options options = {.message_bytes_max = 4 << 20};
    assert_int_equal(
        parley_schema_create(parley_protocol_find(parley_bytes_of(protocol)), &checked->schema),
        PARLEY_OK);
    parley_message_init(&checked->message, checked->schema);
    assert_int_equal(parley_message_check(&checked->message, parley_bytes_of(text),
                                          &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    if (!parley_message_is_valid(&checked->message)) {
        fail_msg("not valid (%s): %s", checked->message.findings.items[0].message, text);
    }
}

void checked_message_finish(struct checked_message *checked) {
    parley_message_finish(&checked->message);
    parley_schema_destroy(checked->schema);
}
