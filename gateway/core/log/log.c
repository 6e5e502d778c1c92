/* SPDX-License-Identifier: Apache-2.0 */

/* The log's rows, its bound in rate, and the one place that writes to standard error while the
 * server runs. */

#include "log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_PER_S = 10, AT_ONCE_US = 5000000 /* events of this time may come at once */ };

const char *const log_level_names[] = {"error", "warn", "info", "debug", NULL};
const char *const log_format_names[] = {"logfmt", "json", NULL};

static const struct log_event_row rows[LOG_EVENT_COUNT] = {
#define X(id, name_, level_, message_, fields_, advice_)                                           \
    [id] = {.name = (name_),                                                                       \
            .message = (message_),                                                                 \
            .fields = (fields_),                                                                   \
            .advice = (advice_),                                                                   \
            .level = LOG_LEVEL_##level_},
    LOG_EVENT_LIST(X)
#undef X
};

/* The number of lines of an event that may be written: the bucket is full at first. */
struct bucket {
    int64_t empty_us; /* on the monotonic clock: when it would be empty, had nothing been taken */
    uint64_t left_out;
};

/* The process has one log, as it has one standard error. */
static struct {
    atomic_int level;
    pthread_mutex_t lock; /* of the members below; held while a line is written, which does not
                             wait */
    struct log_options options;
    int terminal_fd; /* lines are written to it instead of options.fd; -1: to that */
    struct bucket buckets[LOG_EVENT_COUNT];
    bool is_torn; /* the last line was not written to its end */
} the_log = {.level = LOG_LEVEL_INFO,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .options = {.fd = STDERR_FILENO, .level = LOG_LEVEL_INFO},
             .terminal_fd = -1};

/* A terminal that is nearly full says that it is ready, and then a write waits. So it is opened
 * once more: O_NONBLOCK on `fd` itself would apply to the shell, too.  Returns: -1 if it is not a
 * terminal, or cannot be opened. */
static int open_terminal(int fd) {
    char path[32];
    if (!isatty(fd)) {
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void log_open(const struct log_options *options) {
    pthread_mutex_lock(&the_log.lock);
    if (the_log.terminal_fd >= 0) {
        close(the_log.terminal_fd);
    }
    the_log.options = *options;
    the_log.terminal_fd = open_terminal(options->fd);
    memset(the_log.buckets, 0, sizeof the_log.buckets);
    the_log.is_torn = false;
    pthread_mutex_unlock(&the_log.lock);
    log_set_level(options->level);
}

void log_set_level(enum log_level level) {
    atomic_store(&the_log.level, (int)level);
}

const struct log_event_row *log_event_row(size_t index) {
    return index < LOG_EVENT_COUNT ? &rows[index] : NULL;
}

/* ---- the rate ---- */

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Each line takes its share of a second, which may be at most so far ahead of the present. */
static bool take(struct bucket *bucket, unsigned per_s, int64_t now) {
    const int64_t from = bucket->empty_us > now ? bucket->empty_us : now;
    const int64_t each = per_s > 0 ? 1000000 / per_s : 0;
    if (from + each - now > AT_ONCE_US) {
        bucket->left_out++;
        return false;
    }
    bucket->empty_us = from + each;
    return true;
}

/* Whether a line may be written; takes the number that it must report then. */
static bool admit(enum log_event event, uint64_t *out_left_out) {
    struct bucket *bucket = &the_log.buckets[event];
    pthread_mutex_lock(&the_log.lock);
    const unsigned per_s = event == LOG_REQUEST ? the_log.options.requests_per_s : EVENTS_PER_S;
    const bool is_admitted = take(bucket, per_s, now_us());
    *out_left_out = bucket->left_out;
    bucket->left_out = is_admitted ? 0 : bucket->left_out;
    pthread_mutex_unlock(&the_log.lock);
    return is_admitted;
}

uint64_t log_take_left_out(void) {
    uint64_t count = 0;
    pthread_mutex_lock(&the_log.lock);
    for (size_t i = 0; i < LOG_EVENT_COUNT; i++) {
        count += the_log.buckets[i].left_out;
        the_log.buckets[i].left_out = 0;
    }
    pthread_mutex_unlock(&the_log.lock);
    return count;
}

/* ---- the line ---- */

static void add_time(struct log_line *line) {
    struct timespec now;
    struct tm parts;
    char text[40];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    const size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, sizeof text - length, ".%03ldZ", now.tv_nsec / 1000000 % 1000);
    log_line_text(line, "time", parley_bytes_of(text));
}

static void add_field(struct log_line *line, const struct log_field *field) {
    switch (field->type) {
    case LOG_FIELD_END:
        break;
    case LOG_FIELD_TEXT:
        if (field->text.data != NULL) {
            log_line_text(line, field->key, field->text);
        }
        break;
    case LOG_FIELD_NUMBER:
        log_line_number(line, field->key, field->number);
        break;
    case LOG_FIELD_FLAG:
        log_line_flag(line, field->key, field->number != 0);
        break;
    }
}

/* Whether the table lists this field for the event; where asserts are compiled. */
__attribute__((unused)) static bool is_listed(const struct log_event_row *row, const char *key) {
    const size_t length = strlen(key);
    for (const char *at = row->fields; (at = strstr(at, key)) != NULL; at += length) {
        if ((at == row->fields || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static void put_together(struct log_line *line, const struct log_event_row *row,
                         struct parley_bytes message, const struct log_field *fields,
                         uint64_t left_out) {
    log_line_begin(line, the_log.options.format, the_log.options.is_coloured);
    add_time(line);
    log_line_level(line, log_level_names[row->level], row->level);
    log_line_text(line, "event", parley_bytes_of(row->name));
    log_line_text(line, "msg", message.data != NULL ? message : parley_bytes_of(row->message));
    for (; fields != NULL && fields->type != LOG_FIELD_END; fields++) {
        assert(is_listed(row, fields->key));
        add_field(line, fields);
    }
    if (left_out > 0) {
        log_line_number(line, "left_out", (int64_t)left_out);
    }
    log_line_end(line);
}

/* Whether the descriptor accepts a line now. A pipe says so only while it has PIPE_BUF bytes free,
 * which no line exceeds. (O_NONBLOCK would be the terminal's and the shell's, too.) */
static bool has_room(int fd) {
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLERR | POLLNVAL)) == 0;
}

/* A socket, such as journald's, is asked not to wait; it is ready only while it is nearly empty. */
static ssize_t write_now(int fd, const char *text, size_t length) {
    const ssize_t sent = send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || errno != ENOTSOCK) {
        return sent;
    }
    return has_room(fd) ? write(fd, text, length) : -1;
}

/* Writes a line. A line feed comes first if a full disk or terminal has torn the previous one. */
static bool emit(const struct log_line *line) {
    char text[LOG_LINE_MAX + 1];
    const size_t torn = the_log.is_torn;
    text[0] = '\n';
    memcpy(text + torn, line->text, line->length);
    const size_t length = torn + line->length;
    const int fd = the_log.terminal_fd >= 0 ? the_log.terminal_fd : the_log.options.fd;
    const ssize_t written = write_now(fd, text, length);
    if (written > 0) {
        the_log.is_torn = (size_t)written < length;
    }
    return written == (ssize_t)length;
}

void log_write(enum log_event event, struct parley_bytes message, const struct log_field *fields) {
    const struct log_event_row *row = &rows[event];
    if ((int)row->level > atomic_load_explicit(&the_log.level, memory_order_relaxed)) {
        return;
    }
    struct log_line line; /* threads put theirs together beside each other */
    uint64_t left_out;
    if (!admit(event, &left_out)) {
        return;
    }
    put_together(&line, row, message, fields, left_out);
    pthread_mutex_lock(&the_log.lock);
    if (!emit(&line)) {
        the_log.buckets[event].left_out += left_out + 1;
    }
    pthread_mutex_unlock(&the_log.lock);
}

void log_text(enum log_event event, const char *message) {
    log_write(event, parley_bytes_of(message), NULL);
}

void log_event(enum log_event event, const struct log_field *fields) {
    log_write(event, (struct parley_bytes){0}, fields);
}

void log_buffer(enum log_event event, const struct parley_buffer *message) {
    log_write(event, parley_buffer_bytes(message), NULL);
}

void log_format(enum log_event event, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_text(event, text);
}
