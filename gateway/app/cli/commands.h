/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The subcommands that need no server in this process (docs/api.md#command-line). Each takes the
 * arguments after its name and returns the exit status. */

int command_check(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_fix(int argc, char **argv);
int command_rules(int argc, char **argv);
int command_protocols(int argc, char **argv);
int command_schema(int argc, char **argv);
int command_examples(int argc, char **argv);
int command_health(int argc, char **argv);
int command_index(int argc, char **argv);
int command_mcp(int argc, char **argv);
int command_pipe(int argc, char **argv);
int command_token(int argc, char **argv);
int command_webhooks(int argc, char **argv);
