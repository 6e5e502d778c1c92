/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The subcommand `serve`: the gateway itself. */

/* Serves until a signal stops it.  `argv` starts after "serve".  Returns: the exit status. */
int command_serve(int argc, char **argv);
