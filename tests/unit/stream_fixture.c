/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "core_subscription.h"

extern const struct parley_protocol vlp_protocol;
const struct channel vlp_channel = {
    .name = "vlp", .protocol = &vlp_protocol, .stream = "VLP", .subjects = "vlp.>"};

struct parley_schema *vlp_schema(void) {
    struct parley_schema *schema = NULL;
    assert_int_equal(parley_schema_create(&vlp_protocol, &schema), PARLEY_OK);
    return schema;
}

enum parley_status core_subscription_open_place(struct jetstream *jetstream,
                                                const struct jetstream_place *place,
                                                core_subscription_fn *delivered, void *context,
                                                struct core_subscription **out) {
    (void)jetstream, (void)place, (void)delivered, (void)context, (void)out;
    abort();
}

void core_subscription_close(struct core_subscription *reading) {
    assert_null(reading);
}
