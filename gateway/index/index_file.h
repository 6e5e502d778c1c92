/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file of the index: DIR/index.sqlite, its tables, and what makes it unusable. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/status.h>

struct sqlite3;

#define INDEX_FILE_NAME "index.sqlite"
#define INDEX_ERROR_MAX 512
#define INDEX_PATH_MAX 4096

/* Of the tables, and of what protocols say of messages: a file of another version is made again. */
enum { INDEX_VERSION = 7 };

enum index_opened {
    INDEX_OPENED,
    INDEX_UNUSABLE, /* it is damaged, of another version, or not an index: see index_file_set_aside
                     */
    INDEX_FAILED,   /* it cannot be opened or made: `error` says why */
};

/* Switches off SQLite's count of all memory, for which every allocation of a thread would wait for
 * those of others. Before anything else here, and before other threads use SQLite; later calls do
 * nothing. */
void index_file_prepare_sqlite(void);

/* Opens the file for writing, and makes it (mode 0600) where there is none.
 * Owns: returns a connection, which the caller closes with sqlite3_close. */
enum index_opened index_file_open(const char *folder, struct sqlite3 **out,
                                  char error[INDEX_ERROR_MAX]);
/* Opens it for one thread that only reads.  Returns: NULL: it cannot be read. */
struct sqlite3 *index_file_read(const char *folder);

/* Reads all of it, without making one.  Returns: INDEX_OPENED: it is intact; INDEX_FAILED: it is
 * not there, or cannot be read. */
enum index_opened index_file_check(const char *folder, char error[INDEX_ERROR_MAX]);

/* Renames it to index.sqlite.bad, in place of one that is there.  Returns: whether it did. */
bool index_file_set_aside(const char *folder);
/* By which a file that was put in its place is told apart.  Returns: 0: there is none. */
uint64_t index_file_number(const char *folder);
/* Removes it.  Returns: whether there is none now. */
bool index_file_remove(const char *folder);

/* Keeps other processes from writing it, until the descriptor is closed.  Returns: -1: another
 * process has it, or it cannot be locked. */
int index_file_lock(const char *folder);

/* Whether SQLite's result says that the file is damaged or not its own. */
bool index_result_is_damage(int result);
