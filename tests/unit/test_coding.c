/* SPDX-License-Identifier: Apache-2.0 */

/* Compression and decompression, beside zlib and zstd themselves. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>

#include "../lib/fault_heap.h"
#include "decoder.h"
#include "encoder.h"

enum { MIB = 1 << 20 };

static const enum coding codings[] = {CODING_GZIP, CODING_ZSTD};

/* Lines that resemble each other, or noise, which no coding makes smaller. */
static struct parley_buffer make_text(size_t length, bool is_noise) {
    struct parley_buffer text;
    unsigned random = 1;
    parley_buffer_init(&text);
    for (size_t i = 0; text.length < length; i++) {
        random = random * 1103515245 + 12345;
        if (is_noise) {
            parley_buffer_char(&text, (char)(random >> 16));
        } else {
            parley_buffer_format(&text, "{\"id\":\"MSG%zu\",\"confidence\":0.%u}\n", i,
                                 random >> 20);
        }
    }
    return text;
}

static void compress_to(enum coding coding, struct parley_bytes plain, struct parley_buffer *out) {
    assert_int_equal(coding_compress(coding, plain, out), PARLEY_OK);
}

/* What a decoder makes of `data` in pieces, with room for `room` bytes each.
 * Returns: its fault, in the end. */
static enum decoder_fault decode(enum coding coding, struct parley_bytes data, size_t piece,
                                 size_t room, struct parley_buffer *out) {
    struct decoder *decoder;
    enum decoder_fault fault = DECODER_NO_FAULT;
    char *buffer = malloc(room);
    assert_int_equal(decoder_create(coding, &decoder), PARLEY_OK);
    for (size_t at = 0; at < data.length && fault == DECODER_NO_FAULT; at += piece) {
        const size_t left = data.length - at;
        struct parley_bytes input = {data.data + at, left < piece ? left : piece};
        size_t length = room;
        while (fault == DECODER_NO_FAULT && (input.length > 0 || length == room)) {
            fault = decoder_read(decoder, &input, buffer, room, &length);
            parley_buffer_append(out, (struct parley_bytes){buffer, length});
        }
    }
    fault = fault != DECODER_NO_FAULT ? fault : decoder_end(decoder);
    decoder_destroy(decoder);
    free(buffer);
    return fault;
}

static void assert_decodes(enum coding coding, struct parley_bytes data, size_t piece, size_t room,
                           struct parley_bytes plain) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    assert_int_equal(decode(coding, data, piece, room, &out), DECODER_NO_FAULT);
    assert_true(parley_bytes_equal(parley_buffer_bytes(&out), plain));
    parley_buffer_finish(&out);
}

static void assert_fault(enum coding coding, struct parley_bytes data, enum decoder_fault wanted) {
    static const size_t pieces[] = {1, 7, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        assert_int_equal(decode(coding, data, pieces[i], 4096, &out), wanted);
        parley_buffer_finish(&out);
    }
}

/* ---- names ---- */

static void test_codings_are_found_by_their_names_in_any_case(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum coding coding;
    } rows[] = {
        {"gzip", CODING_GZIP},         {"GZip", CODING_GZIP},       {"x-gzip", CODING_GZIP},
        {"zstd", CODING_ZSTD},         {"ZSTD", CODING_ZSTD},       {"identity", CODING_IDENTITY},
        {"br", CODING_UNKNOWN},        {"deflate", CODING_UNKNOWN}, {"gzip, gzip", CODING_UNKNOWN},
        {"gzip,zstd", CODING_UNKNOWN}, {"", CODING_UNKNOWN},        {"gzi", CODING_UNKNOWN},
        {"gzipp", CODING_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(coding_find(parley_bytes_of(rows[i].name)), rows[i].coding);
    }
    for (size_t i = 0; i < CODING_COUNT; i++) {
        assert_int_equal(coding_find(parley_bytes_of(coding_name((enum coding)i))), i);
    }
}

/* ---- decoding ---- */

static void test_pieces_and_rooms_of_every_size_give_the_same(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 17, 100, 4096, 1000000};
    for (size_t noise = 0; noise < 2; noise++) {
        struct parley_buffer text = make_text(4000, noise == 1);
        for (size_t c = 0; c < 2; c++) {
            struct parley_buffer data;
            parley_buffer_init(&data);
            compress_to(codings[c], parley_buffer_bytes(&text), &data);
            for (size_t i = 0; i < 7; i++) {
                for (size_t j = 0; j < 7; j++) {
                    assert_decodes(codings[c], parley_buffer_bytes(&data), sizes[i], sizes[j],
                                   parley_buffer_bytes(&text));
                }
            }
            parley_buffer_finish(&data);
        }
        parley_buffer_finish(&text);
    }
}

static void test_members_and_frames_follow_each_other(void **state) {
    (void)state;
    static const char skippable[] = "\x50\x2A\x4D\x18\x03\0\0\0abc\x5F\x2A\x4D\x18\0\0\0";
    for (size_t c = 0; c < 2; c++) {
        struct parley_buffer data;
        parley_buffer_init(&data);
        if (codings[c] == CODING_ZSTD) {
            parley_buffer_append(&data, (struct parley_bytes){skippable, sizeof skippable});
        }
        compress_to(codings[c], PARLEY_BYTES("one "), &data);
        compress_to(codings[c], PARLEY_BYTES(""), &data);
        compress_to(codings[c], PARLEY_BYTES("two"), &data);
        if (codings[c] == CODING_ZSTD) {
            parley_buffer_append(&data, (struct parley_bytes){skippable, sizeof skippable});
        }
        for (size_t piece = 1; piece <= data.length; piece++) {
            assert_decodes(codings[c], parley_buffer_bytes(&data), piece, 2,
                           PARLEY_BYTES("one two"));
        }
        parley_buffer_finish(&data);
    }
}

static void test_no_data_at_all_is_no_fault(void **state) {
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        assert_decodes(codings[c], PARLEY_BYTES(""), 1, 1, PARLEY_BYTES(""));
    }
}

static void test_data_that_is_cut_anywhere_has_a_fault(void **state) {
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        struct parley_buffer data;
        parley_buffer_init(&data);
        compress_to(codings[c], PARLEY_BYTES("some text, some text"), &data);
        for (size_t length = 1; length < data.length; length++) {
            assert_fault(codings[c], (struct parley_bytes){data.data, length}, DECODER_CUT);
        }
        parley_buffer_finish(&data);
    }
}

static void test_what_follows_the_end_is_another_one_or_a_fault(void **state) {
    (void)state;
    static const char *const garbage[] = {
        "x", "\n", "\x1F", "xxxxxxxxxx", "{\"a\":1}", "\x1F\x8C\x08", "\x28\xB5\x2F\xFC."};
    for (size_t c = 0; c < 2; c++) {
        for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
            struct parley_buffer data;
            parley_buffer_init(&data);
            compress_to(codings[c], PARLEY_BYTES("text"), &data);
            parley_buffer_text(&data, garbage[i]);
            assert_fault(codings[c], parley_buffer_bytes(&data), DECODER_TRAILING);
            parley_buffer_finish(&data);
        }
    }
}

static void test_data_in_another_coding_is_foreign(void **state) {
    (void)state;
    struct parley_buffer gzip, zstd;
    parley_buffer_init(&gzip);
    parley_buffer_init(&zstd);
    compress_to(CODING_GZIP, PARLEY_BYTES("text"), &gzip);
    compress_to(CODING_ZSTD, PARLEY_BYTES("text"), &zstd);
    assert_fault(CODING_GZIP, parley_buffer_bytes(&zstd), DECODER_FOREIGN);
    assert_fault(CODING_ZSTD, parley_buffer_bytes(&gzip), DECODER_FOREIGN);
    for (size_t c = 0; c < 2; c++) {
        assert_fault(codings[c], PARLEY_BYTES("{\"a\":1}"), DECODER_FOREIGN);
        /* zlib, and zstd's formats of old */
        assert_fault(codings[c], PARLEY_BYTES("\x78\x9C\x03\x00"), DECODER_FOREIGN);
        assert_fault(codings[c], PARLEY_BYTES("\x27\xB5\x2F\xFD...."), DECODER_FOREIGN);
        assert_fault(codings[c], PARLEY_BYTES("\x1E\xB5\x2F\xFD...."), DECODER_FOREIGN);
    }
    parley_buffer_finish(&gzip);
    parley_buffer_finish(&zstd);
}

/* Each bit of it in turn: no change of the text is missed where there is a checksum, and nothing
 * worse happens where there is none. */
static void test_damage_is_a_fault(void **state) {
    (void)state;
    const struct parley_bytes text = PARLEY_BYTES("some text, some more text, and an end");
    for (size_t c = 0; c < 2; c++) {
        struct parley_buffer data;
        parley_buffer_init(&data);
        compress_to(codings[c], text, &data);
        for (size_t bit = 0; bit < data.length * 8; bit++) {
            struct parley_buffer out;
            parley_buffer_init(&out);
            data.data[bit / 8] = (char)(data.data[bit / 8] ^ 1 << bit % 8);
            const enum decoder_fault fault =
                decode(codings[c], parley_buffer_bytes(&data), 5, 16, &out);
            if (codings[c] == CODING_GZIP && fault == DECODER_NO_FAULT) {
                assert_true(parley_bytes_equal(parley_buffer_bytes(&out), text));
            }
            data.data[bit / 8] = (char)(data.data[bit / 8] ^ 1 << bit % 8);
            parley_buffer_finish(&out);
        }
        parley_buffer_finish(&data);
    }
}

/* ---- zstd's windows ---- */

static size_t compress_with_window(int window_log, bool has_checksum, char *out, size_t size) {
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    char text[] = "text that fills no window";
    ZSTD_inBuffer in = {text, sizeof text, 0};
    ZSTD_outBuffer to = {out, size, 0};
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, has_checksum);
    /* Not known to be short, it gets the window that was asked for. */
    ZSTD_compressStream2(zstd, &to, &in, ZSTD_e_flush);
    ZSTD_compressStream2(zstd, &to, &in, ZSTD_e_end);
    ZSTD_freeCCtx(zstd);
    return to.pos;
}

static void test_a_window_of_8_mib_is_taken_and_a_larger_one_is_not(void **state) {
    (void)state;
    char data[256];
    size_t length = compress_with_window(23, true, data, sizeof data);
    assert_fault(CODING_ZSTD, (struct parley_bytes){data, length}, DECODER_NO_FAULT);
    length = compress_with_window(24, true, data, sizeof data);
    assert_fault(CODING_ZSTD, (struct parley_bytes){data, length}, DECODER_WINDOW);
    length = compress_with_window(27, false, data, sizeof data);
    assert_fault(CODING_ZSTD, (struct parley_bytes){data, length}, DECODER_WINDOW);
}

static void test_a_decoder_says_what_memory_it_has(void **state) {
    (void)state;
    char data[256], out[64];
    size_t length;
    struct decoder *decoder;
    assert_int_equal(decoder_create(CODING_ZSTD, &decoder), PARLEY_OK);
    assert_in_range(decoder_memory_bytes(decoder), 1, MIB);
    struct parley_bytes input = {data, compress_with_window(23, false, data, sizeof data)};
    assert_int_equal(decoder_read(decoder, &input, out, sizeof out, &length), DECODER_NO_FAULT);
    assert_in_range(decoder_memory_bytes(decoder), 8 * MIB, 9 * MIB);
    decoder_destroy(decoder);
    assert_int_equal(decoder_create(CODING_GZIP, &decoder), PARLEY_OK);
    assert_in_range(decoder_memory_bytes(decoder), 39 * 1024, 48 * 1024);
    decoder_destroy(decoder);
}

static void test_a_dictionary_is_a_fault(void **state) {
    (void)state;
    /* A frame whose head names the dictionary 7. */
    assert_fault(CODING_ZSTD, PARLEY_BYTES("\x28\xB5\x2F\xFD\x21\x07\x01\x09\x00\x00x"),
                 DECODER_DICTIONARY);
}

/* ---- bombs ---- */

static void test_a_bomb_ends_at_the_ratio(void **state) {
    (void)state;
    /* A frame of blocks of one byte each, which stand for 128 KiB: four bytes a block. */
    struct parley_buffer bomb;
    parley_buffer_init(&bomb);
    parley_buffer_append(&bomb, PARLEY_BYTES("\x28\xB5\x2F\xFD\x00\x58"));
    for (size_t i = 0; i < 8192; i++) {
        parley_buffer_append(&bomb, PARLEY_BYTES("\x02\x00\x10\n"));
    }
    struct decoder *decoder;
    struct parley_bytes input = parley_buffer_bytes(&bomb);
    static char out[16 * 1024];
    size_t length, total = 0;
    enum decoder_fault fault = DECODER_NO_FAULT;
    assert_int_equal(decoder_create(CODING_ZSTD, &decoder), PARLEY_OK);
    while (fault == DECODER_NO_FAULT) {
        fault = decoder_read(decoder, &input, out, sizeof out, &length);
        total += length;
        assert_true(length > 0);
    }
    assert_int_equal(fault, DECODER_RATIO);
    assert_in_range(total, MIB, 2 * MIB);
    decoder_destroy(decoder);
    parley_buffer_finish(&bomb);
}

static void test_a_large_body_that_gzip_makes_as_small_as_it_can_is_taken(void **state) {
    (void)state;
    enum { LENGTH = 8 * MIB };
    char *text = calloc(1, LENGTH);
    struct parley_buffer data;
    parley_buffer_init(&data);
    compress_to(CODING_GZIP, (struct parley_bytes){text, LENGTH}, &data);
    assert_in_range(data.length, 1, LENGTH / 1000);
    assert_decodes(CODING_GZIP, parley_buffer_bytes(&data), 4096, 16384,
                   (struct parley_bytes){text, LENGTH});
    parley_buffer_finish(&data);
    free(text);
}

/* ---- encoding ---- */

/* A piece is there as soon as it was written. */
static void test_each_piece_can_be_read_before_the_next_is_written(void **state) {
    (void)state;
    static const size_t lengths[] = {1, 600, 0, 5000, 100000, 3};
    for (size_t noise = 0; noise < 2; noise++) {
        struct parley_buffer text = make_text(110000, noise == 1);
        for (size_t c = 0; c < 2; c++) {
            struct coding_quota quota = {.max_bytes = MIB};
            struct encoder *encoder;
            struct decoder *decoder;
            const char *at = text.data;
            assert_int_equal(encoder_create(codings[c], &quota, &encoder), PARLEY_OK);
            assert_int_equal(encoder_coding(encoder), codings[c]);
            assert_int_equal(decoder_create(codings[c], &decoder), PARLEY_OK);
            for (size_t i = 0; i < 6; i++) {
                static char out[120000], back[120000];
                size_t length;
                const struct parley_bytes piece = {at, lengths[i]};
                const ssize_t written =
                    encoder_write(encoder, piece, i == 5, out, encoder_bound(piece.length));
                assert_true(written >= 0);
                struct parley_bytes input = {out, (size_t)written};
                assert_int_equal(decoder_read(decoder, &input, back, sizeof back, &length),
                                 DECODER_NO_FAULT);
                assert_true(parley_bytes_equal((struct parley_bytes){back, length}, piece));
                at += piece.length;
            }
            assert_int_equal(decoder_end(decoder), DECODER_NO_FAULT);
            decoder_destroy(decoder);
            encoder_destroy(encoder);
            assert_int_equal(quota.used_bytes, 0);
        }
        parley_buffer_finish(&text);
    }
}

static void test_a_piece_of_the_room_for_it_fits(void **state) {
    (void)state;
    static const size_t sizes[] = {ENCODER_OUTPUT_MIN, 200, 1024, 2048, 8192, 65536, 131072};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t room = encoder_room(sizes[i]);
        assert_in_range(encoder_bound(room), sizes[i] / 2, sizes[i]);
        assert_in_range(room, sizes[i] / 3, sizes[i]);
    }
}

static void test_encoders_take_little_memory_and_it_is_counted(void **state) {
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        struct coding_quota quota = {.max_bytes = 200 * 1024};
        struct encoder *encoder, *others[8];
        assert_int_equal(encoder_create(codings[c], &quota, &encoder), PARLEY_OK);
        printf("%s: %zu bytes an encoder\n", coding_name(codings[c]), (size_t)quota.used_bytes);
        assert_in_range(quota.used_bytes, 20 * 1024, 128 * 1024);
        size_t count = 0;
        while (count < 8 && encoder_create(codings[c], &quota, &others[count]) == PARLEY_OK) {
            count++;
        }
        assert_in_range(count, 0, 7);
        assert_true(quota.used_bytes <= quota.max_bytes);
        encoder_destroy(encoder);
        while (count > 0) {
            encoder_destroy(others[--count]);
        }
        assert_int_equal(quota.used_bytes, 0);
        quota.max_bytes = 0;
        assert_int_equal(encoder_create(codings[c], &quota, &encoder), PARLEY_E_LIMIT);
    }
}

static void test_an_allocation_that_fails_is_an_error(void **state) {
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        struct coding_quota quota = {.max_bytes = MIB};
        struct encoder *encoder;
        struct decoder *decoder;
        fault_heap_arm(0, SIZE_MAX);
        const enum parley_status encoding = encoder_create(codings[c], &quota, &encoder);
        const enum parley_status decoding = decoder_create(codings[c], &decoder);
        fault_heap_disarm();
        assert_int_equal(encoding, PARLEY_E_MEMORY);
        assert_int_equal(decoding, PARLEY_E_MEMORY);
        assert_int_equal(quota.used_bytes, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codings_are_found_by_their_names_in_any_case),
        cmocka_unit_test(test_pieces_and_rooms_of_every_size_give_the_same),
        cmocka_unit_test(test_members_and_frames_follow_each_other),
        cmocka_unit_test(test_no_data_at_all_is_no_fault),
        cmocka_unit_test(test_data_that_is_cut_anywhere_has_a_fault),
        cmocka_unit_test(test_what_follows_the_end_is_another_one_or_a_fault),
        cmocka_unit_test(test_data_in_another_coding_is_foreign),
        cmocka_unit_test(test_damage_is_a_fault),
        cmocka_unit_test(test_a_window_of_8_mib_is_taken_and_a_larger_one_is_not),
        cmocka_unit_test(test_a_decoder_says_what_memory_it_has),
        cmocka_unit_test(test_a_dictionary_is_a_fault),
        cmocka_unit_test(test_a_bomb_ends_at_the_ratio),
        cmocka_unit_test(test_a_large_body_that_gzip_makes_as_small_as_it_can_is_taken),
        cmocka_unit_test(test_each_piece_can_be_read_before_the_next_is_written),
        cmocka_unit_test(test_a_piece_of_the_room_for_it_fits),
        cmocka_unit_test(test_encoders_take_little_memory_and_it_is_counted),
        cmocka_unit_test(test_an_allocation_that_fails_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
