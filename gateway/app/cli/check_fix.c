/* SPDX-License-Identifier: Apache-2.0 */

/* The new file is written beside the old one, and takes its place once it is complete and on disk.
 * A symbolic link is refused: it would be replaced, and not the file that it names. */

#include "check_fix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <parley/fix.h>

#include "terminal.h"

struct check_fix_edit {
    struct parley_position at;    /* of the message in the file */
    size_t old_start, old_length; /* in `texts` … */
    size_t new_start, new_length;
    size_t offset; /* in the file */
};

void check_fix_finish(struct check_fix *fix) {
    free(fix->edits);
    parley_buffer_finish(&fix->texts);
    *fix = (struct check_fix){.is_shown = fix->is_shown};
}

enum parley_status check_fix_note(struct check_fix *fix, const struct parley_slice *slice,
                                  const struct parley_message *message) {
    if (message->options.fix == PARLEY_FIX_NOTHING || message->fixes.count == 0) {
        return PARLEY_OK;
    }
    const struct parley_bytes fixed = parley_message_fixed(message);
    if (fix->count == fix->capacity) {
        const size_t capacity = fix->capacity == 0 ? 16 : fix->capacity * 2;
        struct check_fix_edit *edits = realloc(fix->edits, capacity * sizeof *edits);
        if (edits == NULL) {
            return PARLEY_E_MEMORY;
        }
        fix->edits = edits;
        fix->capacity = capacity;
    }
    fix->edits[fix->count++] =
        (struct check_fix_edit){.at = slice->origin,
                                .old_start = fix->texts.length,
                                .old_length = slice->bytes.length,
                                .new_start = fix->texts.length + slice->bytes.length,
                                .new_length = fixed.length};
    fix->fixed_count += message->fixes.count;
    parley_buffer_append(&fix->texts, slice->bytes);
    parley_buffer_append(&fix->texts, fixed);
    return parley_buffer_status(&fix->texts);
}

/* Front matter gets no new members. */
static bool fits_file(const struct parley_message *message, const struct parley_fix *fix) {
    const bool is_json =
        message->codec == &parley_codec_json || message->codec == &parley_codec_ndjson;
    return fix->kind != PARLEY_FIX_NONE && !message->codec->is_binary &&
           (is_json || fix->kind != PARLEY_FIX_ADD);
}

enum parley_status check_fix_count(struct check_fix *fix, const struct parley_message *message) {
    struct parley_buffer memory;
    parley_buffer_init(&memory);
    for (size_t i = 0; i < message->findings.count && !memory.has_failed; i++) {
        struct parley_fix found;
        parley_fix_of(&message->findings.items[i], &memory, &found);
        const bool is_one = fits_file(message, &found);
        fix->safe_count += is_one && found.is_safe;
        fix->suggested_count += is_one && !found.is_safe;
    }
    const enum parley_status status = parley_buffer_status(&memory);
    parley_buffer_finish(&memory);
    return status;
}

/* ---- the old file ---- */

static bool complain(const char *path, const char *why) {
    terminal_error("%s: %s; the file is unchanged", path, why);
    return false;
}

static bool read_all(int fd, struct parley_buffer *out) {
    enum { PIECE_BYTES = 65536 };
    for (ssize_t got = 1; got != 0;) {
        if (!parley_buffer_reserve(out, PIECE_BYTES)) {
            return false;
        }
        got = read(fd, out->data + out->length, PIECE_BYTES);
        if (got < 0 && errno != EINTR) {
            return false;
        }
        out->length += got > 0 ? (size_t)got : 0;
        got = got < 0 ? 1 : got;
    }
    return true;
}

/* Opens the file and reads it.  Returns: whether both were possible; if not, it has complained. */
static bool read_old(const char *path, struct parley_buffer *out, struct stat *out_status) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return complain(path, errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    }
    const bool is_file = fstat(fd, out_status) == 0 && S_ISREG(out_status->st_mode);
    const bool is_read = is_file && read_all(fd, out);
    const char *why = is_file ? strerror(errno) : "it is not a regular file";
    close(fd);
    return is_read || complain(path, why);
}

/* Finds the offsets of all edits, which are in the order of the text.
 * Returns: false: their messages are no longer there. */
static bool locate(struct check_fix *fix, struct parley_bytes text) {
    struct parley_position here = {1, 1};
    size_t at = 0;
    for (size_t i = 0; i < fix->count; i++) {
        struct check_fix_edit *edit = &fix->edits[i];
        for (; at < text.length && (here.line != edit->at.line || here.column != edit->at.column);
             at++) {
            const unsigned char c = (unsigned char)text.data[at];
            if (c == '\n') {
                here = (struct parley_position){.line = here.line + 1, .column = 1};
            } else if ((c & 0xC0) != 0x80) {
                here.column++;
            }
        }
        while (at < text.length && ((unsigned char)text.data[at] & 0xC0) == 0x80) {
            at++; /* the rest of the code point before it */
        }
        edit->offset = at;
        if (edit->old_length > text.length - at ||
            memcmp(text.data + at, fix->texts.data + edit->old_start, edit->old_length) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- the new file ---- */

static bool write_all(int fd, struct parley_bytes text) {
    while (text.length > 0) {
        const ssize_t written = write(fd, text.data, text.length);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text.data += written > 0 ? written : 0;
        text.length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static bool replace_file(const char *path, struct parley_bytes text, const struct stat *old) {
    struct parley_buffer name;
    parley_buffer_init(&name);
    parley_buffer_format(&name, "%s.parley-XXXXXX", path);
    parley_buffer_char(&name, '\0');
    const bool is_writable = access(path, W_OK) == 0;
    const int fd = is_writable && !name.has_failed ? mkstemp(name.data) : -1;
    bool is_done = false;
    if (fd >= 0) {
        is_done = write_all(fd, text) && fchmod(fd, old->st_mode & 07777) == 0 && fsync(fd) == 0;
        is_done = close(fd) == 0 && is_done && rename(name.data, path) == 0;
    }
    const char *why = strerror(errno);
    if (fd >= 0 && !is_done) {
        unlink(name.data);
    }
    parley_buffer_finish(&name);
    return is_done || complain(path, why);
}

static struct parley_bytes new_text(const struct check_fix *fix,
                                    const struct check_fix_edit *edit) {
    return (struct parley_bytes){fix->texts.data + edit->new_start, edit->new_length};
}

/* Appends `old` from `start` to `end` with the edits from `first` on that are before `end`.
 * Returns: the first edit after them. */
static size_t append_fixed(const struct check_fix *fix, struct parley_bytes old, size_t start,
                           size_t end, size_t first, struct parley_buffer *out) {
    for (; first < fix->count && fix->edits[first].offset < end; first++) {
        const struct check_fix_edit *edit = &fix->edits[first];
        parley_buffer_append(out, (struct parley_bytes){old.data + start, edit->offset - start});
        parley_buffer_append(out, new_text(fix, edit));
        start = edit->offset + edit->old_length;
    }
    parley_buffer_append(out, (struct parley_bytes){old.data + start, end - start});
    return first;
}

static bool change_file(const struct check_fix *fix, const char *path, struct parley_bytes old,
                        const struct stat *status) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    append_fixed(fix, old, 0, old.length, 0, &text);
    const bool is_changed = text.has_failed
                                ? complain(path, "out of memory")
                                : replace_file(path, parley_buffer_bytes(&text), status);
    parley_buffer_finish(&text);
    return is_changed;
}

/* ---- what would change ---- */

static size_t line_end(struct parley_bytes text, size_t at) {
    const char *feed = at < text.length ? memchr(text.data + at, '\n', text.length - at) : NULL;
    return feed != NULL ? (size_t)(feed + 1 - text.data) : text.length;
}

static size_t count_lines(struct parley_bytes text) {
    size_t count = 0;
    for (size_t at = 0; at < text.length; at = line_end(text, at)) {
        count++;
    }
    return count;
}

static void print_lines(char sign, struct parley_bytes text) {
    for (size_t at = 0; at < text.length;) {
        const size_t end = line_end(text, at);
        const bool is_whole = text.data[end - 1] == '\n';
        putchar(sign);
        fwrite(text.data + at, 1, end - at, stdout);
        fputs(is_whole ? "" : "\n\\ No newline at end of file\n", stdout);
        at = end;
    }
}

static struct parley_bytes from(struct parley_bytes text, size_t at) {
    return (struct parley_bytes){text.data + at, text.length - at};
}

/* One hunk: what `old`, which begins with line `line`, becomes. Lines at its start and its end that
 * stay as they are are left out. `added`: the lines that the hunks before it have added.
 * Returns: the lines that this one adds. */
static long print_hunk(struct parley_bytes old, struct parley_bytes fixed, size_t line,
                       long added) {
    while (old.length > 0 && fixed.length > 0 &&
           parley_bytes_equal((struct parley_bytes){old.data, line_end(old, 0)},
                              (struct parley_bytes){fixed.data, line_end(fixed, 0)})) {
        const size_t end = line_end(old, 0);
        old = from(old, end);
        fixed = from(fixed, end);
        line++;
    }
    size_t same = 0, whole = 0; /* at the end; up to the last line that is the same as a whole */
    while (same < old.length && same < fixed.length &&
           old.data[old.length - 1 - same] == fixed.data[fixed.length - 1 - same]) {
        same++;
        const bool is_old_line = same == old.length || old.data[old.length - 1 - same] == '\n';
        const bool is_new_line =
            same == fixed.length || fixed.data[fixed.length - 1 - same] == '\n';
        whole = is_old_line && is_new_line ? same : whole;
    }
    old.length -= whole;
    fixed.length -= whole;
    const size_t old_count = count_lines(old), new_count = count_lines(fixed);
    printf("@@ -%zu,%zu +%ld,%zu @@\n", line, old_count, (long)line + added, new_count);
    print_lines('-', old);
    print_lines('+', fixed);
    return (long)new_count - (long)old_count;
}

/* Messages on the same lines are in one hunk. */
static bool show_file(const struct check_fix *fix, const char *path, struct parley_bytes old) {
    struct parley_buffer fixed;
    long added = 0;
    parley_buffer_init(&fixed);
    printf("--- %s\n+++ %s\n", path, path);
    for (size_t i = 0; i < fix->count && !fixed.has_failed;) {
        size_t start = fix->edits[i].offset, end = start, last = i;
        while (start > 0 && old.data[start - 1] != '\n') {
            start--;
        }
        for (; last < fix->count && (last == i || fix->edits[last].offset < end); last++) {
            const size_t message_end = fix->edits[last].offset + fix->edits[last].old_length;
            end = line_end(old, message_end > end ? message_end - 1 : end);
        }
        parley_buffer_clear(&fixed);
        const size_t line = fix->edits[i].at.line;
        i = append_fixed(fix, old, start, end, i, &fixed);
        added += print_hunk((struct parley_bytes){old.data + start, end - start},
                            parley_buffer_bytes(&fixed), line, added);
    }
    const bool is_shown = !fixed.has_failed && !ferror(stdout);
    parley_buffer_finish(&fixed);
    return is_shown || complain(path, "its diff could not be written");
}

/* ---- all of it ---- */

bool check_fix_end_file(struct check_fix *fix, const char *path) {
    if (fix->count == 0) {
        return true;
    }
    struct parley_buffer text;
    struct stat status;
    parley_buffer_init(&text);
    bool is_done = read_old(path, &text, &status);
    const struct parley_bytes old = parley_buffer_bytes(&text);
    if (is_done) {
        is_done = !locate(fix, old) ? complain(path, "it changed while it was read")
                  : fix->is_shown   ? show_file(fix, path, old)
                                    : change_file(fix, path, old, &status);
    }
    parley_buffer_finish(&text);
    fix->file_count += is_done;
    fix->count = 0;
    parley_buffer_clear(&fix->texts);
    return is_done;
}
