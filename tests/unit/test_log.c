/* SPDX-License-Identifier: Apache-2.0 */

/* The log: what a line looks like whatever is in it, its bounds, and that it never waits. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log.h"

enum { AT_ONCE = 50 }; /* lines of one event, docs/logs.md */

/* ---- lines ---- */

static void assert_line(enum log_format format, struct parley_bytes value, const char *expected) {
    struct log_line line;
    log_line_begin(&line, format, false);
    log_line_text(&line, "key", value);
    log_line_end(&line);
    line.text[line.length < LOG_LINE_MAX ? line.length : LOG_LINE_MAX - 1] = '\0';
    assert_string_equal(line.text, expected);
}

static void test_a_value_is_written_so_that_its_line_reads_back(void **state) {
    (void)state;
    static const struct {
        struct parley_bytes value;
        const char *logfmt, *json;
    } rows[] = {
#define ROW(value, logfmt, json)                                                                   \
    {{value, sizeof value - 1}, "key=" logfmt "\n", "{\"key\":" json "}\n"}
        ROW("plain", "plain", "\"plain\""),
        ROW("", "\"\"", "\"\""),
        ROW("two words", "\"two words\"", "\"two words\""),
        ROW("a=b", "\"a=b\"", "\"a=b\""),
        ROW("a\"b\\c", "\"a\\\"b\\\\c\"", "\"a\\\"b\\\\c\""),
        ROW("1\n2\t3\r", "\"1\\n2\\t3\\u000d\"", "\"1\\n2\\t3\\u000d\""),
        ROW("\0\x1b[2J\x7f", "\"\\u0000\\u001b[2J\\u007f\"", "\"\\u0000\\u001b[2J\\u007f\""),
        ROW("caf\xC3\xA9", "\"caf\xC3\xA9\"", "\"caf\xC3\xA9\""),
        ROW("\xC2\x85", "\"\\u0085\"", "\"\\u0085\""),
        ROW("\xE2\x80\xA8\xE2\x80\xAE", "\"\\u2028\\u202e\"", "\"\\u2028\\u202e\""),
        ROW("\xFF\xC3", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""),
        ROW("\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"",
            "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""),
        ROW("\xF0\x9F\x90\x99", "\"\xF0\x9F\x90\x99\"", "\"\xF0\x9F\x90\x99\""),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_line(LOG_LOGFMT, rows[i].value, rows[i].logfmt);
        assert_line(LOG_JSON, rows[i].value, rows[i].json);
    }
}

static void test_a_long_value_is_cut_at_a_character_and_says_so(void **state) {
    (void)state;
    static const char *const characters[] = {"a", "\x1b", "\xC3\xA9", "\xE2\x82\xAC", "\xFF"};
    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        struct parley_buffer value;
        struct log_line line;
        parley_buffer_init(&value);
        while (value.length < 100000) {
            parley_buffer_text(&value, characters[i]);
        }
        log_line_begin(&line, LOG_LOGFMT, false);
        log_line_text(&line, "key", parley_buffer_bytes(&value));
        log_line_end(&line);
        static const char end[] = "\xE2\x80\xA6\"\n";
        assert_memory_equal(line.text + line.length - strlen(end), end, strlen(end));
        assert_true(line.length <= LOG_VALUE_MAX + strlen("key=\"\"\n"));
        assert_true(line.length >= LOG_VALUE_MAX - 8);
        parley_buffer_finish(&value);
    }
}

static void test_a_field_without_room_is_left_out_whole(void **state) {
    (void)state;
    static const char *const ends[] = {
        [LOG_LOGFMT] = "\" cut=true\n", [LOG_JSON] = "\",\"cut\":true}\n"};
    char value[LOG_VALUE_MAX];
    memset(value, ' ', sizeof value);
    for (enum log_format format = LOG_LOGFMT; format <= LOG_JSON; format++) {
        struct log_line line;
        log_line_begin(&line, format, false);
        for (size_t length = sizeof value / 2; length < sizeof value - 8; length += 7) {
            log_line_text(&line, "key", (struct parley_bytes){value, length});
        }
        log_line_end(&line);
        assert_true(line.length <= LOG_LINE_MAX);
        const size_t length = strlen(ends[format]);
        assert_memory_equal(line.text + line.length - length, ends[format], length);
    }
}

static void test_numbers_flags_and_levels(void **state) {
    (void)state;
    static const char *const expected[] = {
        [LOG_LOGFMT] = "level=warn count=-7 largest=9223372036854775807 tls=true x=false\n",
        [LOG_JSON] = "{\"level\":\"warn\",\"count\":-7,\"largest\":9223372036854775807,"
                     "\"tls\":true,\"x\":false}\n"};
    for (enum log_format format = LOG_LOGFMT; format <= LOG_JSON; format++) {
        struct log_line line;
        log_line_begin(&line, format, format == LOG_JSON); /* JSON has no colours */
        log_line_level(&line, "warn", LOG_LEVEL_WARN);
        log_line_number(&line, "count", -7);
        log_line_number(&line, "largest", INT64_MAX);
        log_line_flag(&line, "tls", true);
        log_line_flag(&line, "x", false);
        log_line_end(&line);
        assert_int_equal(line.length, strlen(expected[format]));
        assert_memory_equal(line.text, expected[format], line.length);
    }
}

/* ---- the log ---- */

struct pipe_log {
    int out, in;
    char text[256 * 1024];
};

static void open_log(struct pipe_log *log, enum log_level level, int pipe_size) {
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    log->in = fds[0];
    log->out = fds[1];
    fcntl(log->in, F_SETFL, O_NONBLOCK);
    assert_true(fcntl(log->out, F_SETPIPE_SZ, pipe_size) >= pipe_size);
    log_open(&(struct log_options){.fd = log->out, .level = level});
}

static const char *read_log(struct pipe_log *log) {
    size_t length = 0;
    for (ssize_t got;
         (got = read(log->in, log->text + length, sizeof log->text - 1 - length)) > 0;) {
        length += (size_t)got;
    }
    log->text[length] = '\0';
    return log->text;
}

static void close_log(struct pipe_log *log) {
    log_open(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_LEVEL_INFO});
    close(log->in);
    close(log->out);
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    while ((text = strchr(text, '\n')) != NULL) {
        count++;
        text++;
    }
    return count;
}

static void assert_has(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not have \"%s\"", text, part);
    }
}

static void test_a_line_has_time_level_event_message_and_fields(void **state) {
    (void)state;
    static struct pipe_log log;
    unsigned year, month, day, hour, minute, second, ms;
    int end = 0;
    open_log(&log, LOG_LEVEL_INFO, 65536);
    log_event(LOG_TOKENS_READ,
              LOG_FIELDS(LOG_NUMBER("count", 2), LOG_TEXT("file", "a b"), LOG_FLAG("first", true)));
    log_write(LOG_TOKENS_READ, PARLEY_BYTES("other words"), LOG_FIELDS(LOG_TEXT("file", NULL)));
    const char *text = read_log(&log);
    assert_int_equal(sscanf(text, "time=%4u-%2u-%2uT%2u:%2u:%2u.%3uZ%n", &year, &month, &day, &hour,
                            &minute, &second, &ms, &end),
                     7);
    assert_int_equal(end, strlen("time=2026-01-02T03:04:05.678Z"));
    assert_has(text, " level=info event=token.read msg=\"tokens loaded\" count=2 file=\"a b\" "
                     "first=true\n");
    assert_has(text, " level=info event=token.read msg=\"other words\"\n");
    close_log(&log);
}

static void test_what_is_less_important_than_the_level_is_not_written(void **state) {
    (void)state;
    static struct pipe_log log;
    open_log(&log, LOG_LEVEL_WARN, 65536);
    log_event(LOG_TLS_READ, NULL);
    log_event(LOG_MEMORY, NULL);
    assert_int_equal(count_lines(read_log(&log)), 1);
    log_set_level(LOG_LEVEL_INFO);
    log_event(LOG_TLS_READ, NULL);
    assert_int_equal(count_lines(read_log(&log)), 1);
    assert_int_equal(log_take_left_out(), 0);
    close_log(&log);
}

static void test_of_one_event_so_many_are_written_and_the_others_counted(void **state) {
    (void)state;
    static struct pipe_log log;
    open_log(&log, LOG_LEVEL_INFO, 65536);
    for (size_t i = 0; i < 1000; i++) {
        log_event(LOG_MEMORY, NULL);
    }
    const size_t written = count_lines(read_log(&log));
    assert_true(written >= AT_ONCE && written < 900); /* ten more a second */
    log_event(LOG_TLS_READ, NULL);                    /* has its own bound */
    assert_int_equal(count_lines(read_log(&log)), 1);
    assert_in_range(log_take_left_out(), 1000 - written - 1, 1000 - written);
    assert_int_equal(log_take_left_out(), 0);
    close_log(&log);
}

static void test_a_pipe_that_nobody_reads_delays_nothing(void **state) {
    (void)state;
    static struct pipe_log log;
    char message[1000];
    memset(message, 'x', sizeof message);
    open_log(&log, LOG_LEVEL_INFO, 4096);
    for (size_t i = 0; i < 20; i++) {
        log_write(LOG_MEMORY, (struct parley_bytes){message, sizeof message}, NULL);
    }
    const size_t written = count_lines(read_log(&log));
    assert_in_range(written, 1, 4);
    log_event(LOG_MEMORY, NULL);
    char left_out[32];
    snprintf(left_out, sizeof left_out, " left_out=%zu\n", 20 - written);
    assert_has(read_log(&log), left_out);
    close_log(&log);
}

/* A terminal as the shell opens it.  Returns: its other end. */
static int open_terminal(int *out_terminal) {
    const int other = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(other >= 0);
    assert_int_equal(grantpt(other), 0);
    assert_int_equal(unlockpt(other), 0);
    *out_terminal = open(ptsname(other), O_WRONLY | O_NOCTTY);
    assert_true(*out_terminal >= 0);
    return other;
}

/* Of several lengths, since one that fills the terminal exactly does not wait. */
static void test_a_terminal_that_nobody_reads_delays_nothing(void **state) {
    (void)state;
    char message[LOG_VALUE_MAX];
    memset(message, 'x', sizeof message);
    alarm(60); /* a write that waits has no other end */
    for (size_t length = sizeof message - 700; length < sizeof message; length += 100) {
        int terminal;
        const int other = open_terminal(&terminal);
        const struct parley_bytes value = {message, length};
        log_open(&(struct log_options){.fd = terminal, .level = LOG_LEVEL_INFO});
        for (size_t i = 0; i < AT_ONCE; i++) {
            log_write(LOG_TOKENS_READ, value, LOG_FIELDS(LOG_BYTES("file", value)));
        }
        assert_in_range(log_take_left_out(), 1, AT_ONCE - 1);
        assert_int_equal(fcntl(terminal, F_GETFL) & O_NONBLOCK, 0); /* the shell's */
        log_open(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_LEVEL_INFO});
        close(terminal);
        close(other);
    }
    alarm(0);
}

static void test_a_log_that_cannot_be_written_ends_nothing(void **state) {
    (void)state;
    static struct pipe_log log;
    signal(SIGPIPE, SIG_IGN);
    open_log(&log, LOG_LEVEL_INFO, 4096);
    close(log.in);
    log_event(LOG_MEMORY, NULL);
    assert_int_equal(log_take_left_out(), 1);
    log.in = -1;
    close_log(&log);
    const int full = open("/dev/full", O_WRONLY);
    log_open(&(struct log_options){.fd = full, .level = LOG_LEVEL_INFO});
    log_event(LOG_MEMORY, NULL);
    assert_int_equal(log_take_left_out(), 1);
    log_open(&(struct log_options){.fd = -1, .level = LOG_LEVEL_INFO});
    log_event(LOG_MEMORY, NULL);
    assert_int_equal(log_take_left_out(), 1);
    log_open(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_LEVEL_INFO});
    close(full);
}

static void test_a_line_that_a_full_disk_tore_does_not_spoil_the_next(void **state) {
    (void)state;
    char path[] = "/tmp/parley-log-XXXXXX", text[4096];
    struct rlimit before;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 20, .rlim_max = before.rlim_max});
    log_open(&(struct log_options){.fd = fd, .level = LOG_LEVEL_INFO});
    log_event(LOG_MEMORY, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    log_event(LOG_MEMORY, NULL);
    const ssize_t length = pread(fd, text, sizeof text - 1, 0);
    assert_true(length > 21);
    text[length] = '\0';
    assert_int_equal(text[20], '\n');
    assert_memory_equal(text + 21, "time=", 5);
    assert_has(text, " left_out=1\n");
    assert_int_equal(count_lines(text), 2);
    log_open(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_LEVEL_INFO});
    close(fd);
}

static void *write_ten(void *context) {
    char message[800];
    memset(message, *(const char *)context, sizeof message);
    for (size_t i = 0; i < AT_ONCE / 5; i++) {
        log_write(LOG_MEMORY, (struct parley_bytes){message, sizeof message}, NULL);
    }
    return NULL;
}

static void test_lines_of_several_threads_do_not_mix(void **state) {
    (void)state;
    static struct pipe_log log;
    pthread_t threads[5];
    char letters[] = "abcde";
    open_log(&log, LOG_LEVEL_INFO, 256 * 1024);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_ten, &letters[i]), 0);
    }
    for (size_t i = 0; i < 5; i++) {
        pthread_join(threads[i], NULL);
    }
    const char *text = read_log(&log);
    assert_int_equal(count_lines(text), AT_ONCE);
    for (const char *at = text; (at = strstr(at, "msg=")) != NULL;) {
        at += strlen("msg=");
        assert_int_equal(strspn(at, (const char[]){*at, '\0'}), 800);
    }
    close_log(&log);
}

/* ---- the table ---- */

static void write_row(struct parley_buffer *out, const struct log_event_row *row) {
    parley_buffer_format(out, "| `%s` | %s | %s | ", row->name, log_level_names[row->level],
                         row->message);
    for (const char *at = row->fields; *at != '\0';) {
        const size_t length = strcspn(at, " ");
        parley_buffer_format(out, "%s`%.*s`", at > row->fields ? ", " : "", (int)length, at);
        at += length + (at[length] == ' ');
    }
    parley_buffer_format(out, " | %s |\n", row->advice);
}

static void test_the_page_of_the_log_has_every_event_of_the_table(void **state) {
    (void)state;
    static char page[128 * 1024];
    struct parley_buffer expected;
    FILE *file = fopen(PARLEY_SOURCE_DIR "/docs/logs.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    parley_buffer_init(&expected);
    const struct log_event_row *row;
    parley_buffer_text(&expected, "<!-- events: begin -->\n"
                                  "| event | level | message | fields | what to do |\n"
                                  "|---|---|---|---|---|\n");
    for (size_t i = 0; (row = log_event_row(i)) != NULL; i++) {
        write_row(&expected, row);
    }
    parley_buffer_text(&expected, "<!-- events: end -->\n");
    parley_buffer_char(&expected, '\0');
    if (strstr(page, expected.data) == NULL) {
        fputs(expected.data, stderr); /* to be copied; fail_msg would cut it off */
        fail_msg("docs/logs.md does not have the table of log_events.h, which is above");
    }
    parley_buffer_finish(&expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_is_written_so_that_its_line_reads_back),
        cmocka_unit_test(test_a_long_value_is_cut_at_a_character_and_says_so),
        cmocka_unit_test(test_a_field_without_room_is_left_out_whole),
        cmocka_unit_test(test_numbers_flags_and_levels),
        cmocka_unit_test(test_a_line_has_time_level_event_message_and_fields),
        cmocka_unit_test(test_what_is_less_important_than_the_level_is_not_written),
        cmocka_unit_test(test_of_one_event_so_many_are_written_and_the_others_counted),
        cmocka_unit_test(test_a_pipe_that_nobody_reads_delays_nothing),
        cmocka_unit_test(test_a_terminal_that_nobody_reads_delays_nothing),
        cmocka_unit_test(test_a_log_that_cannot_be_written_ends_nothing),
        cmocka_unit_test(test_a_line_that_a_full_disk_tore_does_not_spoil_the_next),
        cmocka_unit_test(test_lines_of_several_threads_do_not_mix),
        cmocka_unit_test(test_the_page_of_the_log_has_every_event_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
