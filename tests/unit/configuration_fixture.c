/* SPDX-License-Identifier: Apache-2.0 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "configuration_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "channel.h"

static void redirect(FILE *stream, int *out_saved, int *out_file) {
    fflush(stream);
    *out_saved = dup(fileno(stream));
    *out_file = memfd_create("captured", 0);
    assert_true(*out_saved >= 0 && *out_file >= 0);
    assert_true(dup2(*out_file, fileno(stream)) >= 0);
}

static void restore(FILE *stream, int saved, int file, char *out, size_t size) {
    fflush(stream);
    assert_true(dup2(saved, fileno(stream)) >= 0);
    const ssize_t got = pread(file, out, size - 1, 0);
    assert_true(got >= 0);
    out[got] = '\0';
    close(saved);
    close(file);
}

void load_arguments(struct loaded *loaded, const char *const argv[]) {
    int argc = 0, saved[2], files[2];
    while (argv[argc] != NULL) {
        argc++;
    }
    redirect(stdout, &saved[0], &files[0]);
    redirect(stderr, &saved[1], &files[1]);
    loaded->status = configuration_load(&loaded->configuration, argc, (char **)argv);
    if (loaded->status < 0 && loaded->configuration.check_config) {
        loaded->status = configuration_print(&loaded->configuration);
    }
    restore(stdout, saved[0], files[0], loaded->out, sizeof loaded->out);
    restore(stderr, saved[1], files[1], loaded->error, sizeof loaded->error);
}

void finish_loaded(struct loaded *loaded) {
    configuration_finish(&loaded->configuration);
}

void assert_says(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, part);
    }
}

/* Also those that are not known, such as PARLEY_TEST_ROUNDS, which would be warned of. */
static void unset_variables(void) {
    for (char **entry = environ; *entry != NULL;) {
        char name[128];
        if (strncmp(*entry, "PARLEY_", strlen("PARLEY_")) == 0) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
            unsetenv(name);
            entry = environ;
        } else {
            entry++;
        }
    }
}

int clean_environment(void **state) {
    (void)state;
    unset_variables();
    unsetenv("XDG_STATE_HOME");
    return setenv("HOME", "/home/somebody", 1);
}

void write_configuration(char path[32], const char *text) {
    memcpy(path, "/tmp/parley-conf-XXXXXX", sizeof "/tmp/parley-conf-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

void assert_file_refused(const char *text, const char *part) {
    char path[32];
    write_configuration(path, text);
    ASSERT_REFUSED(part, "--config", path, NULL);
    ASSERT_REFUSED(path, "--config", path, NULL);
    unlink(path);
}

const char *vlp_stream(const struct loaded *loaded) {
    const struct parley_protocol *vlp = parley_protocol_find(PARLEY_BYTES("vlp"));
    return channel_find(loaded->configuration.channels, vlp)->stream;
}

const char *roundtable_stream(const struct loaded *loaded) {
    const struct parley_protocol *other = parley_protocol_find(PARLEY_BYTES("roundtable"));
    return channel_find(loaded->configuration.channels, other)->stream;
}
