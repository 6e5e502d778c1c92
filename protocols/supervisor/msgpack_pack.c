/* SPDX-License-Identifier: Apache-2.0 */

/* MessagePack written by msgpack-c's packer: from the text of a JSON message, whose tree holds
 * every number as a double and so no longer knows large integers; and stamps. The head of an array
 * or map says how many there are, and the text does only behind them: so it is read twice. */

#include <errno.h>
#include <stdlib.h>

#include <msgpack/pack.h>

#include "../engine/json_text.h"
#include "msgpack_read.h"

static int append(void *buffer, const char *data, size_t length) {
    parley_buffer_append(buffer, (struct parley_bytes){data, length});
    return 0;
}

static int add_up(void *size, const char *data, size_t length) {
    (void)data;
    *(size_t *)size += length;
    return 0;
}

static void pack_text(msgpack_packer *packer, struct parley_bytes text) {
    msgpack_pack_str(packer, text.length);
    msgpack_pack_str_body(packer, text.data, text.length);
}

/* A number as it is spelled at `at`: without a point and an exponent it is an integer, if 64 bits
 * hold it, and if it is not -0, which as an integer would lose its sign. */
static bool is_integer(const char *at, int64_t *out) {
    char *end;
    errno = 0;
    *out = strtoll(at, &end, 10);
    return errno == 0 && strchr(".eE", *end) == NULL && !(*out == 0 && *at == '-');
}
