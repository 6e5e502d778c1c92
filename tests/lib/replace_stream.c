/* SPDX-License-Identifier: Apache-2.0 */

#include "replace_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TRIES_MAX = 100 };

void replace_stream(jsCtx *context, jsStreamConfig *config) {
    natsStatus status = NATS_ERR;
    for (int tries = 0; status != NATS_OK && tries < TRIES_MAX; tries++) {
        const natsStatus deleted = js_DeleteStream(context, config->Name, NULL, NULL);
        assert_true(deleted == NATS_OK || deleted == NATS_NOT_FOUND);
        status = js_AddStream(NULL, context, config, NULL, NULL);
    }
    assert_int_equal(status, NATS_OK);
}
