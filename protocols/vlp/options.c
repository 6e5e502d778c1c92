/* SPDX-License-Identifier: Apache-2.0 */

#include "vlp.h"

#define TRUE_OR_FALSE "true or false", "{\"type\":\"boolean\"}"

const struct parley_option vlp_options[] = {
    [VLP_STRICT] = {.help = {"strict",
                             "Requires earned confidence of every type, not of claims and evidence "
                             "alone.",
                             TRUE_OR_FALSE}},
    [VLP_ESCALATE] =
        {.help = {"escalate",
                  "Has claims that break only VLP-012 reviewed, instead of refusing them.",
                  TRUE_OR_FALSE},
         .server = {.help = "Forward VLP claims that break only VLP-012 with safety.level review, "
                            "instead of refusing them. A request can decide it with escalate=true "
                            "or escalate=false.",
                    .fallback = "false",
                    .is_reloadable = true}},
    [VLP_ON_HALT] =
        {.help = {.name = "on-halt"},
         .type = PARLEY_OPTION_CHOICE,
         .value_name = "WHAT",
         .choices =
             (const char *const[]){
                 [PARLEY_ON_HALT_REFUSE] = "refuse", [PARLEY_ON_HALT_IGNORE] = "ignore", NULL},
         .server = {.help = "What happens to messages for the lane safe of a VLP session that a "
                            "block has halted: refuse (409 halted) or ignore (they are stored). "
                            "Blocks are recorded in the bucket parley_halts in both cases.",
                    .fallback = "refuse",
                    .is_reloadable = true}},
    {.help = {.name = NULL}},
};
