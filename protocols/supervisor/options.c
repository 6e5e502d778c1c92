/* SPDX-License-Identifier: Apache-2.0 */

#include "supervisor.h"

static bool is_side(struct parley_bytes text) {
    return supervisor_side_of(text) != 0;
}

const struct parley_option supervisor_options[] = {
    [SUPERVISOR_FROM] = {.help = {"from", "The side that sends.", "gerbil or elixir",
                                  "{\"type\":\"string\",\"enum\":[\"gerbil\",\"elixir\"]}"},
                         .type = PARLEY_OPTION_TEXT,
                         .value_name = "SIDE",
                         .is_text = is_side},
    [SUPERVISOR_KEEP] =
        {.help = {.name = "checkpoints-keep"},
         .type = PARLEY_OPTION_COUNT,
         .value_name = "N",
         .minimum = 1,
         .maximum = 1000,
         .server = {.help = "How many large checkpoints of an agent are kept in the object store. "
                            "With the next one, the oldest is removed; its message stays. All "
                            "gateways of a fleet should have the same.",
                    .fallback = "8"}},
    [SUPERVISOR_WAL] =
        {.help = {.name = "wal"},
         .type = PARLEY_OPTION_CHOICE,
         .value_name = "MODE",
         .choices = (const char *const[]){[PARLEY_LIFECYCLE_OFF] = "off",
                                          [PARLEY_LIFECYCLE_ON] = "on",
                                          [PARLEY_LIFECYCLE_STRICT] = "strict",
                                          NULL},
         .server = {.help = "What becomes of supervisor WAL entries of a named agent that do not "
                            "continue its log: on stores them and warns of holes (IPC-201) and of "
                            "steps back and repeats (IPC-202); strict refuses holes (409 wal-gap) "
                            "and warns of the rest; off asks nothing, and saves reading the log's "
                            "end once a request that has WAL entries. With off nothing is asked "
                            "of other messages either (IPC-203).",
                    .fallback = "on"}},
    {.help = {.name = NULL}},
};
