/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The name of a list, with which its cursors and resume tokens begin, so that none is taken for one
 * of another list: "vlp.messages:…". Threads: any. */

#include <stddef.h>

enum { LIST_NAME_SIZE = 32 };

/* `protocol`: its name; NULL: the list is of all protocols. */
void list_name(const char *protocol, const char *list, char out[LIST_NAME_SIZE]);

/* What follows the name.  Owns: borrowed from the cursor.  Returns: NULL: it is of another list, or
 * no cursor. */
const char *list_cursor_rest(const char *cursor, const char *name);
