/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sends standard input to POST …/messages. For a message that the gateway refuses, writes the other
 * side's error to standard output. */

#include "pipe.h"

/* Runs until the end of standard input, once everything is acknowledged, or until it has failed. */
void pipe_up_run(struct pipe *pipe);
