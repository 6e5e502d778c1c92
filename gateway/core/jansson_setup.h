/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* jansson reads the configuration and the answers of JetStream's API; it reads no messages. */

/* Readies jansson for the process. When an allocation fails inside its lexer, it continues with a
 * buffer that did not grow: it misreads, or writes past its end. So an allocation of jansson's that
 * fails ends the process instead.
 * Threads: call it once, before there are any. */
void jansson_set_up(void);

/* The version of jansson.  Owns: static. */
const char *jansson_library_version(void);
