/* SPDX-License-Identifier: Apache-2.0 */

/* In a folder, files are chosen by their extension; links, hidden files and files of package
 * managers are left out, as linters do. A file named itself is always read. */

#include "check_files.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_input.h"
#include "cli.h"

/* ---- files already read ---- */

struct seen {
    dev_t device;
    ino_t inode;
};

static int compare_seen(const void *left, const void *right) {
    const struct seen *a = left, *b = right;
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    return a->inode < b->inode ? -1 : a->inode > b->inode;
}

/* Returns false if there is no memory to remember the file: it is then read again. */
static bool is_seen(struct check_files *files, const struct stat *status) {
    struct seen *key = malloc(sizeof *key);
    if (key == NULL) {
        return false;
    }
    *key = (struct seen){status->st_dev, status->st_ino};
    struct seen *const *found = tsearch(key, &files->seen, compare_seen);
    const bool is_new = found != NULL && *found == key;
    if (!is_new) {
        free(key);
    }
    return found != NULL && !is_new;
}

void check_files_finish(struct check_files *files) {
    tdestroy(files->seen, free);
    files->seen = NULL;
}

/* ---- files ---- */

static bool read_file(struct check_files *files, const char *path) {
    struct stat status;
    if (files->is_once && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
        is_seen(files, &status)) {
        return true;
    }
    return files->read(files->context, path);
}

/* ---- folders ---- */

static int compare_names(const FTSENT **left, const FTSENT **right) {
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

static bool is_left_out(const FTSENT *entry) {
    return entry->fts_level > FTS_ROOTLEVEL &&
           (entry->fts_name[0] == '.' || strcmp(entry->fts_name, "node_modules") == 0);
}

/* Returns: false if it could not be read. */
static bool read_entry(struct check_files *files, FTS *folder, FTSENT *entry, size_t *count) {
    if (is_left_out(entry)) {
        fts_set(folder, entry, FTS_SKIP);
        return true;
    }
    switch (entry->fts_info) {
    case FTS_F:
        if (check_input_codec_of_name(files->protocol, entry->fts_name) == NULL) {
            return true;
        }
        ++*count;
        return read_file(files, entry->fts_accpath);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        terminal_error("%s: %s", entry->fts_path, strerror(entry->fts_errno));
        return false;
    default:
        return true;
    }
}

static bool read_folder(struct check_files *files, const char *path) {
    char *copy = strdup(path);
    char *const roots[] = {copy, NULL};
    FTS *folder = copy != NULL ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_names) : NULL;
    if (folder == NULL) {
        terminal_error("%s: %s", path, strerror(errno));
        free(copy);
        return false;
    }
    bool is_read = true;
    size_t count = 0;
    FTSENT *entry;
    while (!files->is_stopped(files->context) && (entry = fts_read(folder)) != NULL) {
        is_read = read_entry(files, folder, entry, &count) && is_read;
    }
    fts_close(folder);
    free(copy);
    if (count == 0 && is_read && !files->is_stopped(files->context)) {
        terminal_error(
            "%s: no file in this folder has a known extension of %s; name the files instead", path,
            files->protocol->name);
        return false;
    }
    return is_read;
}

/* ---- operands ---- */

static bool read_path(struct check_files *files, const char *path) {
    struct stat status;
    const bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    return is_folder ? read_folder(files, path) : read_file(files, path);
}

static bool read_pattern(struct check_files *files, const char *pattern) {
    glob_t found;
    const int status = glob(pattern, 0, NULL, &found);
    if (status != 0) {
        terminal_error("%s: %s", pattern,
                       status == GLOB_NOMATCH ? "no file matches this pattern"
                                              : "cannot read the folder");
        return false;
    }
    bool is_read = true;
    for (size_t i = 0; i < found.gl_pathc && !files->is_stopped(files->context); i++) {
        is_read = read_path(files, found.gl_pathv[i]) && is_read;
    }
    globfree(&found);
    return is_read;
}

/* A pattern that the shell did not expand, because it is quoted or matches too many files. */
static bool is_pattern(const char *operand) {
    return strpbrk(operand, "*?[") != NULL && access(operand, F_OK) != 0;
}

bool check_files_each(struct check_files *files, const char *operand) {
    return is_pattern(operand) ? read_pattern(files, operand) : read_path(files, operand);
}
