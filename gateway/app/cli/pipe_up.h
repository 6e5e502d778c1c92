/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From standard input to POST …/messages. What the gateway refuses is answered on standard output
 * by the other side's error. */

#include "pipe.h"

/* Runs until the end of standard input, once everything is acknowledged, or until it has failed. */
void pipe_up_run(struct pipe *pipe);
