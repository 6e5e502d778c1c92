/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From GET …/stream to standard output: what the other side sends to this agent. */

#include "pipe.h"

/* A thread's function, whose argument is a struct pipe: follows the stream, over as many
 * connections as it takes, until `ended` or `over` is latched.  Returns: NULL. */
void *pipe_down_run(void *pipe);
