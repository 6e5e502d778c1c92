/* SPDX-License-Identifier: Apache-2.0 */

/* See index_file.h. Keys are hashes of texts that are long and random, for small indexes; whoever
 * looks up compares the text as well. Threads and senders are listed, in the order of their names.
 * Each index ends with the time of storage, so that pages need no sorting. */

#include "index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

enum {
    APPLICATION = 0x70726c79,
    KEY_BYTES = 16,
    /* Of the file beside it, with what was committed last: how many pages are copied back … */
    LOG_PAGES = 16000,
    /* … and from how many on it waits for readers to be made empty. */
    LOG_PAGES_MAX = 2 * LOG_PAGES,
};

static const char tables[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;"
    "CREATE TABLE streams(stream INTEGER PRIMARY KEY, name TEXT UNIQUE, protocol INTEGER,"
    " created TEXT, next INTEGER, first INTEGER);"
    /* pos: stream << 40 | sequence */
    "CREATE TABLE messages(pos INTEGER PRIMARY KEY, stored INTEGER, protocol INTEGER, type INTEGER,"
    " lane TEXT, source TEXT, id_key INTEGER, id TEXT, thread TEXT, sender TEXT, agent TEXT,"
    " time TEXT, subject TEXT, size INTEGER, trace TEXT, members TEXT, more INTEGER,"
    " waits INTEGER, landmark INTEGER, part INTEGER);"
    "CREATE INDEX m_stored ON messages(protocol, stored);"
    "CREATE INDEX m_part ON messages(protocol, stored) WHERE part IS NOT NULL;"
    "CREATE INDEX m_id ON messages(id_key, stored) WHERE id_key IS NOT NULL;"
    "CREATE INDEX m_thread ON messages(protocol, thread, stored) WHERE thread IS NOT NULL;"
    "CREATE INDEX m_sender ON messages(protocol, sender, stored) WHERE sender IS NOT NULL;"
    "CREATE INDEX l_thread ON messages(protocol, thread, type, stored)"
    " WHERE landmark=1 AND thread IS NOT NULL;"
    "CREATE INDEX l_sender ON messages(protocol, sender, type, stored)"
    " WHERE landmark=1 AND sender IS NOT NULL;"
    "CREATE INDEX l_agent ON messages(protocol, agent, type, stored)"
    " WHERE landmark=1 AND agent IS NOT NULL;"
    "CREATE INDEX m_trace ON messages(trace) WHERE trace IS NOT NULL;"
    /* number: in the message, since the keys of two texts may be the same */
    "CREATE TABLE refs(pos INTEGER, number INTEGER, relation INTEGER, target_key INTEGER,"
    " target TEXT, is_label INTEGER, stored INTEGER, PRIMARY KEY(pos, number)) WITHOUT ROWID;"
    "CREATE INDEX r_target ON refs(target_key, stored);"
    "CREATE TABLE receivers(pos INTEGER, receiver_key INTEGER, receiver TEXT, stored INTEGER,"
    " PRIMARY KEY(pos, receiver_key, receiver)) WITHOUT ROWID;"
    "CREATE INDEX v_receiver ON receivers(receiver_key, stored);"
    "CREATE TABLE passing(stream INTEGER, type INTEGER, who TEXT, pos INTEGER,"
    " PRIMARY KEY(stream, type, who)) WITHOUT ROWID;";

static void path_of(const char *folder, const char *suffix, char out[INDEX_PATH_MAX]) {
    snprintf(out, INDEX_PATH_MAX, "%s/" INDEX_FILE_NAME "%s", folder, suffix);
}

bool index_result_is_damage(int result) {
    const int code = result & 0xff;
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_FORMAT;
}

/* Returns: -1: the pragma cannot be read; `out_result`: why. */
static sqlite3_int64 read_number(sqlite3 *file, const char *sql, int *out_result) {
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 number = -1;
    *out_result = sqlite3_prepare_v2(file, sql, -1, &statement, NULL);
    if (*out_result == SQLITE_OK) {
        *out_result = sqlite3_step(statement);
        number = *out_result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    }
    sqlite3_finalize(statement);
    return number;
}

/* Called after each commit. SQLite's own copying ends where the oldest reader is, and pages are
 * used again only once all are copied: while questions follow each other on two threads, that never
 * happens. Questions end within seconds, so that waiting for those that have begun is enough. */
static int on_committed(void *context, sqlite3 *file, const char *name, int pages) {
    (void)context;
    if (pages >= LOG_PAGES) {
        (void)sqlite3_wal_checkpoint_v2(file, name,
                                        pages >= LOG_PAGES_MAX ? SQLITE_CHECKPOINT_TRUNCATE
                                                               : SQLITE_CHECKPOINT_PASSIVE,
                                        NULL, NULL);
    }
    return SQLITE_OK; /* what could not be copied is copied after a later commit */
}

/* auto_vacuum has no effect once journal_mode has written the file. */
static int prepare(sqlite3 *file) {
    (void)sqlite3_wal_hook(file, on_committed, NULL);
    return sqlite3_exec(file,
                        "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
                        "PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY;"
                        "PRAGMA cache_size=-65536; PRAGMA busy_timeout=5000;",
                        NULL, NULL, NULL);
}

static int make_tables(sqlite3 *file) {
    unsigned char key[KEY_BYTES];
    char marks[160], hexadecimal[2 * KEY_BYTES + 1];
    randombytes_buf(key, sizeof key);
    sodium_bin2hex(hexadecimal, sizeof hexadecimal, key, sizeof key);
    snprintf(marks, sizeof marks,
             "INSERT INTO meta VALUES('key', x'%s'); PRAGMA application_id=%d;"
             "PRAGMA user_version=%d; COMMIT;",
             hexadecimal, APPLICATION, INDEX_VERSION);
    int result = sqlite3_exec(file, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    result = result == SQLITE_OK ? sqlite3_exec(file, tables, NULL, NULL, NULL) : result;
    return result == SQLITE_OK ? sqlite3_exec(file, marks, NULL, NULL, NULL) : result;
}

static int check_or_make(sqlite3 *file) {
    int result;
    const sqlite3_int64 count = read_number(file, "SELECT count(*) FROM sqlite_master", &result);
    if (count < 0) {
        return result;
    }
    result = prepare(file);
    if (result != SQLITE_OK) {
        return result;
    }
    const sqlite3_int64 application = read_number(file, "PRAGMA application_id", &result);
    const sqlite3_int64 version = read_number(file, "PRAGMA user_version", &result);
    if (count == 0 && application == 0 && version == 0) {
        return make_tables(file);
    }
    return application == APPLICATION && version == INDEX_VERSION ? SQLITE_OK : SQLITE_NOTADB;
}

void index_file_prepare_sqlite(void) {
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* SQLite gives its other files the mode of this one. */
static bool make_file(const char *path) {
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    const bool is_made = fd >= 0 && fchmod(fd, S_IRUSR | S_IWUSR) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is_made;
}

enum index_opened index_file_open(const char *folder, sqlite3 **out, char error[INDEX_ERROR_MAX]) {
    char path[INDEX_PATH_MAX];
    path_of(folder, "", path);
    *out = NULL;
    if (!make_file(path)) {
        snprintf(error, INDEX_ERROR_MAX, INDEX_FILE_NAME ": %s", strerror(errno));
        return INDEX_FAILED;
    }
    int result = sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    result = result == SQLITE_OK ? check_or_make(*out) : result;
    if (result == SQLITE_OK) {
        return INDEX_OPENED;
    }
    snprintf(error, INDEX_ERROR_MAX, INDEX_FILE_NAME ": %s", sqlite3_errstr(result));
    sqlite3_close(*out);
    *out = NULL;
    return index_result_is_damage(result) ? INDEX_UNUSABLE : INDEX_FAILED;
}

sqlite3 *index_file_read(const char *folder) {
    char path[INDEX_PATH_MAX];
    sqlite3 *file = NULL;
    path_of(folder, "", path);
    const int result =
        sqlite3_open_v2(path, &file, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK &&
        sqlite3_exec(file,
                     "PRAGMA query_only=1; PRAGMA mmap_size=2147483648; PRAGMA temp_store=MEMORY;"
                     "PRAGMA busy_timeout=2000;",
                     NULL, NULL, NULL) == SQLITE_OK) {
        return file;
    }
    sqlite3_close(file);
    return NULL;
}

static bool is_intact(sqlite3 *file, char error[INDEX_ERROR_MAX]) {
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(file, "PRAGMA integrity_check(1)", -1, &statement, NULL);
    result = result == SQLITE_OK ? sqlite3_step(statement) : result;
    const char *text = result == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0)
                                            : sqlite3_errmsg(file);
    const bool is_whole = result == SQLITE_ROW && strcmp(text, "ok") == 0;
    snprintf(error, INDEX_ERROR_MAX, INDEX_FILE_NAME " is damaged: %.400s", text);
    sqlite3_finalize(statement);
    return is_whole;
}

enum index_opened index_file_check(const char *folder, char error[INDEX_ERROR_MAX]) {
    char path[INDEX_PATH_MAX];
    sqlite3 *file = NULL;
    int result;
    path_of(folder, "", path);
    if (access(path, R_OK) != 0) {
        snprintf(error, INDEX_ERROR_MAX, INDEX_FILE_NAME ": %s", strerror(errno));
        return INDEX_FAILED;
    }
    const int opened = sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE, NULL);
    enum index_opened answer = opened == SQLITE_OK ? INDEX_UNUSABLE : INDEX_FAILED;
    if (opened != SQLITE_OK) {
        snprintf(error, INDEX_ERROR_MAX, INDEX_FILE_NAME ": %s", sqlite3_errstr(opened));
    } else if (is_intact(file, error)) {
        const bool is_ours = read_number(file, "PRAGMA application_id", &result) == APPLICATION &&
                             read_number(file, "PRAGMA user_version", &result) == INDEX_VERSION;
        snprintf(error, INDEX_ERROR_MAX, INDEX_FILE_NAME " is of another version or program");
        answer = is_ours ? INDEX_OPENED : INDEX_UNUSABLE;
    }
    sqlite3_close(file);
    return answer;
}

static bool remove_one(const char *folder, const char *suffix) {
    char path[INDEX_PATH_MAX];
    path_of(folder, suffix, path);
    return unlink(path) == 0 || errno == ENOENT;
}

bool index_file_set_aside(const char *folder) {
    char path[INDEX_PATH_MAX], bad[INDEX_PATH_MAX];
    path_of(folder, "", path);
    path_of(folder, ".bad", bad);
    return rename(path, bad) == 0 && remove_one(folder, "-wal") && remove_one(folder, "-shm");
}

uint64_t index_file_number(const char *folder) {
    char path[INDEX_PATH_MAX];
    struct stat about;
    path_of(folder, "", path);
    return stat(path, &about) == 0 ? about.st_ino : 0;
}

bool index_file_remove(const char *folder) {
    return remove_one(folder, "") && remove_one(folder, "-wal") && remove_one(folder, "-shm");
}

int index_file_lock(const char *folder) {
    char path[INDEX_PATH_MAX];
    path_of(folder, ".lock", path);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}
