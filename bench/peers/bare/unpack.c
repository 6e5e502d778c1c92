/* SPDX-License-Identifier: Apache-2.0 */

/* unpack FILE SECONDS: msgpack-c reads the frames in FILE, again and again for so long, and looks
 * at nothing it has read. Its objects lie in one zone that is cleared for each message: that is
 * faster than msgpack_unpack_next(), which gives its zone back and makes another. */

#include "corpus.h"

#include <err.h>

#include <msgpack.h>

enum { LENGTH_BYTES = 4 };

static uint32_t frame_length(const unsigned char *head) {
    return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
}

static uint64_t unpack_all(void *context, const struct corpus *corpus) {
    msgpack_zone *zone = context;
    uint64_t count = 0;
    for (size_t at = 0; at < corpus->length; count++) {
        const size_t length = frame_length((const unsigned char *)corpus->data + at);
        msgpack_object object;
        size_t offset = 0;
        at += LENGTH_BYTES;
        if (at + length > corpus->length ||
            msgpack_unpack(corpus->data + at, length, &offset, zone, &object) !=
                MSGPACK_UNPACK_SUCCESS ||
            offset != length || object.type != MSGPACK_OBJECT_MAP) {
            errx(1, "that is no map in a frame, at byte %zu", at);
        }
        msgpack_zone_clear(zone);
        at += length;
    }
    return count;
}

int main(int argc, char **argv) {
    msgpack_zone zone;
    if (argc != 3) {
        errx(2, "usage: unpack FILE SECONDS");
    }
    if (!msgpack_zone_init(&zone, MSGPACK_ZONE_CHUNK_SIZE)) {
        err(1, "msgpack_zone_init");
    }
    struct corpus corpus = corpus_open(argv[1]);
    corpus_measure(&corpus, argv[2], unpack_all, &zone);
    corpus_close(&corpus);
    msgpack_zone_destroy(&zone);
    return 0;
}
