/* SPDX-License-Identifier: Apache-2.0 */

/* check PROTOCOL CODEC FILE SECONDS: what libparley alone makes of the messages in FILE, again and
 * again for so long: they are cut out and validated as the gateway does it, without HTTP and
 * without NATS. It prints how many, and the seconds of the clock and of the processor. All of them
 * must be valid. */

#include "corpus.h"

#include <err.h>
#include <string.h>

#include <parley/message.h>
#include <parley/splitter.h>

struct checker {
    struct parley_message message;
    const struct parley_codec *codec;
    size_t message_bytes_max;
};

static void check_one(struct checker *checker, struct parley_bytes bytes) {
    const struct parley_options options = {0};
    const struct parley_position origin = {.line = 1, .column = 1};
    parley_message_reset(&checker->message);
    if (parley_message_check(&checker->message, bytes, checker->codec, &options, origin) !=
        PARLEY_OK) {
        errx(1, "no verdict could be reached");
    }
    if (!parley_message_is_valid(&checker->message)) {
        errx(1, "a message is not valid");
    }
}

static uint64_t check_all(void *context, const struct corpus *corpus) {
    struct checker *checker = context;
    struct parley_bytes input = {corpus->data, corpus->length};
    struct parley_splitter splitter;
    struct parley_slice slice;
    uint64_t count = 0;
    enum parley_split split = PARLEY_SPLIT_MORE;
    if (checker->codec->framing == PARLEY_FRAMING_WHOLE) {
        check_one(checker, input);
        return 1;
    }
    parley_splitter_init(&splitter, checker->codec->framing, checker->message_bytes_max);
    while ((split = parley_splitter_next(&splitter, &input, &slice)) == PARLEY_SPLIT_MESSAGE) {
        check_one(checker, slice.bytes);
        count++;
    }
    if (split != PARLEY_SPLIT_MORE || parley_splitter_end(&splitter, &slice) != PARLEY_SPLIT_END) {
        errx(1, "that is not whole");
    }
    parley_splitter_finish(&splitter);
    return count;
}

static const struct parley_codec *find_codec(const struct parley_protocol *protocol,
                                             const char *name) {
    for (size_t i = 0; protocol->codecs[i] != NULL; i++) {
        if (strcmp(protocol->codecs[i]->name, name) == 0) {
            return protocol->codecs[i];
        }
    }
    errx(2, "%s has no encoding %s", protocol->name, name);
}

int main(int argc, char **argv) {
    struct checker checker;
    struct parley_schema *schema = NULL;
    if (argc != 5) {
        errx(2, "usage: check PROTOCOL CODEC FILE SECONDS");
    }
    const struct parley_protocol *protocol = parley_protocol_find(parley_bytes_of(argv[1]));
    if (protocol == NULL || parley_schema_create(protocol, &schema) != PARLEY_OK) {
        errx(2, "there is no protocol %s", argv[1]);
    }
    checker.codec = find_codec(protocol, argv[2]);
    checker.message_bytes_max = protocol->message_bytes_max;
    parley_message_init(&checker.message, schema);
    struct corpus corpus = corpus_open(argv[3]);
    corpus_measure(&corpus, argv[4], check_all, &checker);
    corpus_close(&corpus);
    parley_message_finish(&checker.message);
    parley_schema_destroy(schema);
    return 0;
}
