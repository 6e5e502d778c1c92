/* SPDX-License-Identifier: Apache-2.0 */

/* From standard input to standard output, each piece as soon as it was read:
 *
 *   zstd_filter compress [WINDOW_LOG]     zstd_filter decompress
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

static char piece[128 * 1024], result[256 * 1024];

static void fail(const char *why) {
    fprintf(stderr, "zstd_filter: %s\n", why);
    exit(1);
}

static void write_all(size_t length) {
    for (size_t at = 0; at < length;) {
        const ssize_t count = write(STDOUT_FILENO, result + at, length - at);
        if (count <= 0) {
            fail("cannot write");
        }
        at += (size_t)count;
    }
}

static size_t check(size_t code) {
    if (ZSTD_isError(code)) {
        fail(ZSTD_getErrorName(code));
    }
    return code;
}

static void compress(ZSTD_CCtx *zstd, size_t length, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in = {piece, length, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {result, sizeof result, 0};
        left = check(ZSTD_compressStream2(zstd, &out, &in, directive));
        write_all(out.pos);
    } while (left > 0);
}

static void decompress(ZSTD_DCtx *zstd, size_t length) {
    ZSTD_inBuffer in = {piece, length, 0};
    ZSTD_outBuffer out;
    do {
        out = (ZSTD_outBuffer){result, sizeof result, 0};
        check(ZSTD_decompressStream(zstd, &out, &in));
        write_all(out.pos);
    } while (in.pos < in.size || out.pos == out.size);
}

int main(int argc, char **argv) {
    const int is_compressing = argc > 1 && strcmp(argv[1], "compress") == 0;
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    ZSTD_DCtx *decompressor = ZSTD_createDCtx();
    ssize_t length;
    if (argc > 2) {
        check(ZSTD_CCtx_setParameter(compressor, ZSTD_c_windowLog, atoi(argv[2])));
    }
    while ((length = read(STDIN_FILENO, piece, sizeof piece)) > 0) {
        if (is_compressing) {
            compress(compressor, (size_t)length, ZSTD_e_flush);
        } else {
            decompress(decompressor, (size_t)length);
        }
    }
    if (is_compressing) {
        compress(compressor, 0, ZSTD_e_end);
    }
    ZSTD_freeCCtx(compressor);
    ZSTD_freeDCtx(decompressor);
    return 0;
}
