/* SPDX-License-Identifier: Apache-2.0 */

/* `parley index`: checks the index of a data folder, or removes it, so that the next server makes
 * it again. Both while no server keeps it. */

#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "configuration_load.h"
#include "index_file.h"

static const char help[] =
    "Usage: parley index check [--data DIR]\n"
    "       parley index rebuild [--data DIR]\n"
    "\n"
    "check reads the whole index of a data folder and says whether it is intact. rebuild removes\n"
    "it: the next parley serve --index on makes it again from the streams. No server may be\n"
    "running with this data folder and --index on.\n"
    "\n"
    "Options:\n"
    "  --data DIR  the data folder [PARLEY_DATA, else as for parley serve]\n"
    "  -h, --help  print this text\n"
    "\n"
    "Exit status: 0 intact, or removed; 1 damaged, or of another version; 2 wrong usage, or the\n"
    "index is in use, or is not there.\n"
    "\n"
    "Example:\n"
    "  parley index check --data /var/lib/parley\n";

enum { DATA, HELP, FLAG_COUNT };
static const struct argument_flag flags[] = {
    [DATA] = {"data", 0, true}, [HELP] = {"help", 'h', false}, {NULL, 0, false}};

static int check(const char *folder) {
    char error[INDEX_ERROR_MAX];
    switch (index_file_check(folder, error)) {
    case INDEX_OPENED:
        puts("the index is intact");
        return EXIT_SUCCESS;
    case INDEX_UNUSABLE:
        terminal_error("%s", error);
        return EXIT_FAILURE;
    case INDEX_FAILED:
        break;
    }
    terminal_error("%s", error);
    return EXIT_USAGE;
}

static int rebuild(const char *folder) {
    if (!index_file_remove(folder)) {
        terminal_error("the index in %s cannot be removed", folder);
        return EXIT_USAGE;
    }
    puts("the index is removed; parley serve --index on makes it again");
    return EXIT_SUCCESS;
}

static int run(const char *action, const char *folder) {
    const int lock = index_file_lock(folder);
    if (lock < 0) {
        terminal_error("the index in %s cannot be locked: a server keeps it, or the folder cannot "
                       "be used",
                       folder);
        return EXIT_USAGE;
    }
    const int status = strcmp(action, "check") == 0 ? check(folder) : rebuild(folder);
    close(lock);
    return status;
}

static bool is_action(const char *text) {
    return text != NULL && (strcmp(text, "check") == 0 || strcmp(text, "rebuild") == 0);
}

int command_index(int argc, char **argv) {
    static const struct cli_usage usage = {"index", flags, help, 1, "index takes check or rebuild"};
    const char *values[FLAG_COUNT] = {NULL}, *action = NULL;
    const int read = cli_read(&usage, argc, argv, values, &action);
    if (read >= 0) {
        return read;
    }
    if (!is_action(action)) {
        terminal_error("expected parley index check or rebuild (see parley index --help)");
        return EXIT_USAGE;
    }
    struct configuration configuration = {.data = NULL};
    const int loaded = configuration_load_tokens(&configuration, NULL, values[DATA]);
    const int status = loaded >= 0 ? loaded : run(action, configuration.data);
    configuration_finish(&configuration);
    return status;
}
