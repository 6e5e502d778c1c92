/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Copies the messages of the other side to this agent from GET …/stream to standard output. */

#include "pipe.h"

/* A thread's function, whose argument is a struct pipe: follows the stream, over as many
 * connections as it takes, until `ended` or `over` is latched.  Returns: NULL. */
void *pipe_down_run(void *pipe);
