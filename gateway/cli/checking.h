/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Files, pipes and terminals read message by message, each with its verdict: what check and convert
 * have in common, their options included. */

#include "check_input.h"
#include "check_report.h"
#include "cli.h"
#include "progress.h"

/* For the help text of each. */
#define CHECKING_OPTIONS_HELP                                                                      \
    "  --type MEDIA     media type of the input instead of detecting its format\n"                 \
    "  --strict         VLP: check earned confidence in messages of every type\n"                  \
    "  --stamp          fill in a missing id, protocol, version and timestamp before checking\n"   \
    "  --from SIDE      supervisor: the sending side, gerbil or elixir\n"                          \
    "  --agent NAME     supervisor: the agent that the messages belong to\n"                       \
    "  --domain NAME    Round Table: the domain of replies\n"

struct checking {
    const char *command, *help;
    struct argument_flag own_flag;
    /* Takes that flag.  Returns: as checking_arguments. */
    int (*take)(struct checking *checking, const char *value);
    /* Takes a message whose verdict is known. It may end everything by is_stopped. */
    enum parley_status (*each)(struct checking *checking, const char *file, size_t number);
    bool passes_right; /* nothing is to be done with messages that deserve not even a warning: they
                          may be counted without a call of `each` */
    bool takes_files_once; /* a file that is named twice is read once */

    const struct parley_protocol *protocol;
    struct parley_message message;
    struct check_report report; /* the command's to init and finish */
    struct progress progress;
    bool is_quiet;
    bool is_live; /* the input comes as it happens, and so should what is said of it */
    bool is_stopped;

    /* Private. */
    const char *media_type; /* NULL: told from the input */
    const struct parley_codec *codec;
    struct parley_options options;
    char fresh_id[37], now[32];
    char **files; /* borrowed from argv, whose front is overwritten with them */
    int file_count;
};

/* Reads the arguments.  Returns: -1 to go on, else the exit status. */
int checking_arguments(struct checking *checking, int argc, char **argv);

/* Gives every message of every file to `each`.
 * Returns: whether all could be read; what could not has been said. */
bool checking_run(struct checking *checking);
