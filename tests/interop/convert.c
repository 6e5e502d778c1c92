/* SPDX-License-Identifier: Apache-2.0 */

/* MessagePack and JSON by parley's readers and writers, for programs that compare them with another
 * implementation's. Each line of the input is a message, as JSON or as MessagePack in hexadecimal;
 * the line that answers it is the same in the other encoding, or begins with "GW-". */

#include <stdio.h>
#include <stdlib.h>

#include "lib/hex.h"
#include "lib/msgpack_protocol.h"
#include "msgpack/msgpack_message.h"

static void check(struct parley_message *message, struct parley_bytes bytes,
                  const struct parley_codec *codec) {
    const struct parley_options options = {.message_bytes_max = 64u << 20};
    if (parley_message_check(message, bytes, codec, &options, (struct parley_position){1, 1}) !=
        PARLEY_OK) {
        abort();
    }
}

static bool has_fault(const struct parley_message *message) {
    if (!message->is_decoded) {
        printf("%s %s\n", message->findings.items[0].rule->id, message->findings.items[0].message);
    }
    return !message->is_decoded;
}

static void answer_msgpack(struct parley_message *message, const char *hex) {
    struct parley_buffer json;
    size_t length;
    unsigned char *bytes = hex_bytes(hex, &length);
    parley_buffer_init(&json);
    check(message, (struct parley_bytes){(const char *)bytes, length}, &msgpack_protocol_codec);
    if (!has_fault(message) && msgpack_encode(message, &json) == PARLEY_OK) {
        printf("%.*s\n", (int)json.length, json.data);
    }
    parley_buffer_finish(&json);
    free(bytes);
}

static void answer_json(struct parley_message *message, struct parley_bytes text) {
    struct parley_buffer bytes;
    parley_buffer_init(&bytes);
    check(message, text, &parley_codec_json);
    if (!has_fault(message) && msgpack_from_json(message, &bytes) == PARLEY_OK) {
        for (size_t i = 0; i < bytes.length; i++) {
            printf("%02x", (unsigned char)bytes.data[i]);
        }
        printf("\n");
    }
    parley_buffer_finish(&bytes);
}

int main(void) {
    struct parley_schema *schema;
    struct parley_message message;
    char *line = NULL;
    size_t capacity = 0;
    if (parley_schema_create(&msgpack_protocol, &schema) != PARLEY_OK) {
        return 1;
    }
    parley_message_init(&message, schema);
    for (ssize_t length; (length = getline(&line, &capacity, stdin)) > 0;) {
        line[length - 1] = '\0';
        if (line[0] == '{') {
            answer_json(&message, parley_bytes_of(line));
        } else {
            answer_msgpack(&message, line);
        }
    }
    free(line);
    parley_message_finish(&message);
    parley_schema_destroy(schema);
    return 0;
}
