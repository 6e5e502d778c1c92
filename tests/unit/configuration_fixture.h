/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Configurations for tests: loaded from arguments, variables and files, with what was printed. */

#include "configuration_load.h"

/* What a load said, and what it returned. */
struct loaded {
    struct configuration configuration;
    int status;
    char out[32768], error[4096];
};

/* Owns: finish it with finish_loaded. */
void load_arguments(struct loaded *loaded, const char *const argv[]);
void finish_loaded(struct loaded *loaded);

#define LOAD(loaded, ...) load_arguments(loaded, (const char *const[]){__VA_ARGS__})

void assert_says(const char *text, const char *part);

/* That these arguments are refused with exit status 2, in words with this part. */
#define ASSERT_REFUSED(part, ...)                                                                  \
    do {                                                                                           \
        struct loaded refused;                                                                     \
        LOAD(&refused, __VA_ARGS__);                                                               \
        assert_int_equal(refused.status, 2);                                                       \
        assert_string_equal(refused.out, "");                                                      \
        assert_int_equal(strncmp(refused.error, "parley: ", 8), 0);                                \
        assert_says(refused.error, part);                                                          \
        finish_loaded(&refused);                                                                   \
    } while (0)

/* A configuration file with this text.  Owns: the caller unlinks it. */
void write_configuration(char path[32], const char *text);

/* That a file with this text is refused, in words with this part and the file's name. */
void assert_file_refused(const char *text, const char *part);

/* The names of streams, in which the prefixes are. */
const char *vlp_stream(const struct loaded *loaded);
const char *roundtable_stream(const struct loaded *loaded);

/* Before each test: no variable of parley's. */
int clean_environment(void **state);
