/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of check or convert: their common options, and the messages of all files, pipes and
 * terminals, each with its verdict. */

#include "check_input.h"
#include "check_report.h"
#include "cli.h"
#include "progress.h"

/* For the --help of both. Those of protocols follow it. */
#define CHECK_SESSION_OPTIONS_HELP                                                                 \
    "  --type MEDIA     media type of the input; without it, the format is detected\n"             \
    "  --stamp          fill in a missing id, protocol, version and timestamp before checking\n"   \
    "  --dialect NAME   the messages are in this dialect, which programs of their protocol "       \
    "speak:\n"                                                                                     \
    "                   what they are translated to is checked\n"                                  \
    "  --agent NAME     the agent that the messages belong to, where they name no sender\n"        \
    "  --stored         the messages were stored by parley. The input has what GET\n"              \
    "                   /v1/PROTOCOL/stream returned: events, whose messages are read, or bare\n"  \
    "                   messages. A checkpoint may have a pointer to the object store as its\n"    \
    "                   data; without --stored that is an error (IPC-017)\n"

#define CHECK_SESSION_OWN_FLAGS 4
#define CHECK_SESSION_ASKED_MAX 16

struct check_session {
    const char *command, *help;
    const char *help_end; /* after the options of protocols */
    struct argument_flag own_flags[CHECK_SESSION_OWN_FLAGS];
    /* Called with one of those and its value.  Returns: as check_session_arguments. */
    int (*on_flag)(struct check_session *session, const char *name, const char *value);
    /* Called with each message once its verdict is known. May end the run by is_stopped. */
    enum parley_status (*on_message)(struct check_session *session, const char *file,
                                     size_t number);
    /* Called once all messages of a file have been read; NULL: not.
     * Returns: false: that went wrong, as an error message has said. */
    bool (*on_file_end)(struct check_session *session, const char *file);
    bool has_spelling; /* GW-103: of messages that are yet to be sent */
    bool skips_right; /* messages without findings are only counted, without a call of on_message */
    bool reads_files_once; /* a file that is named twice is read once */
    bool reads_stored;     /* messages are as parley stored them, alone or in events */
    bool reads_rejected;   /* lines are events of /v1/rejected/stream, and have the messages; for
                              on_message, `file` is then the event's id */

    const struct parley_protocol *protocol;
    struct parley_message message;
    struct check_report report; /* the command inits and finishes it */
    struct progress progress;
    bool is_quiet;
    bool is_live; /* the input is a pipe or terminal: output must not wait in a buffer */
    bool is_stopped;
    const struct parley_slice *slice; /* of the present message */
    struct parley_options options;    /* of the messages */
    const char *rejected_for; /* the rules for which the present message was refused; "": unknown */

    /* Private. */
    const char *media_type; /* NULL: detected */
    const struct parley_codec *codec;
    struct check_asked {
        const char *name, *value;
    } asked[CHECK_SESSION_ASKED_MAX]; /* options of messages, until the protocol is known */
    size_t asked_count;
    char fresh_id[37], now[32];
    bool has_unreadable; /* there were lines that are not events … */
    bool has_events;     /* … and messages that are */
    char **files;        /* borrowed from argv, whose front is overwritten with them */
    int file_count;
};

/* Reads the arguments.  Returns: -1 to continue, else the exit status. */
int check_session_arguments(struct check_session *session, int argc, char **argv);

/* The value of a flag that is a switch.  Returns: as check_session_arguments. */
int check_session_switch(const char *name, const char *value, bool *out);

/* Calls on_message with every message of every file.
 * Returns: whether all could be read; if not, an error message was printed. */
bool check_session_run(struct check_session *session);
