/* SPDX-License-Identifier: Apache-2.0 */

/* Checks a VLP message with libparley: cc check.c $(pkg-config --cflags --libs libparley) */

#include <parley/message.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const struct parley_protocol *protocol = parley_protocol_find(parley_bytes_of("vlp"));
    const struct parley_bytes text = parley_bytes_of(argc > 1 ? argv[1] : "{}");
    struct parley_schema *schema;
    struct parley_message message;
    if (parley_schema_create(protocol, &schema) != PARLEY_OK) {
        return 2;
    }
    parley_message_init(&message, schema);
    const enum parley_status status =
        parley_message_check(&message, text, &parley_codec_json, &(struct parley_options){0},
                             (struct parley_position){.line = 1, .column = 1});
    for (size_t i = 0; i < message.findings.count; i++) {
        const struct parley_finding *finding = &message.findings.items[i];
        printf("%s %s: %s\n", finding->rule->id, finding->path, finding->message);
    }
    const int result = status != PARLEY_OK ? 2 : !parley_message_is_valid(&message);
    parley_message_finish(&message);
    parley_schema_destroy(schema);
    return result;
}
