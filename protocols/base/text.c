/* SPDX-License-Identifier: Apache-2.0 */

/* The formats of text.h, implemented here: Debian has no C library for RFC 3339, and the others are
 * a few lines each. Nothing here depends on the locale. */

#include "text.h"

#include <math.h>
#include <stdint.h>

static inline bool is_continuation(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

static inline bool is_within(char c, unsigned low, unsigned high) {
    return (unsigned char)c >= low && (unsigned char)c <= high;
}

/* Source: RFC 3629, section 4: the first byte determines the range of the second. */
static inline size_t sequence(const char *at, size_t left) {
    const unsigned char first = (unsigned char)at[0];
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xE0) {
        return first >= 0xC2 && left >= 2 && is_continuation(at[1]) ? 2 : 0;
    }
    if (first < 0xF0) {
        const unsigned low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
        return left >= 3 && is_within(at[1], low, high) && is_continuation(at[2]) ? 3 : 0;
    }
    const unsigned low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    return first <= 0xF4 && left >= 4 && is_within(at[1], low, high) && is_continuation(at[2]) &&
                   is_continuation(at[3])
               ? 4
               : 0;
}

size_t text_utf8_sequence(const char *at, size_t left) {
    return sequence(at, left);
}

const char *text_utf8_run(const char *at, const char *end) {
    size_t length = 1;
    while (at < end && (unsigned char)*at >= 0x80 && length > 0) {
        length = sequence(at, (size_t)(end - at));
        at += length;
    }
    return at;
}

/* The first byte from `at` on that is not ASCII. */
static size_t after_ascii(struct parley_bytes text, size_t at) {
    uint64_t eight = 0;
    while (text.length - at >= sizeof eight) {
        memcpy(&eight, text.data + at, sizeof eight);
        if ((eight & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
        at += sizeof eight;
    }
    while (at < text.length && (signed char)text.data[at] >= 0) {
        at++;
    }
    return at;
}

size_t text_utf8_prefix(struct parley_bytes text) {
    size_t at = after_ascii(text, 0), length = 1;
    while (at < text.length && length > 0) {
        length = sequence(text.data + at, text.length - at);
        at = after_ascii(text, at + length);
    }
    return at;
}

struct parley_bytes text_prefix(struct parley_bytes text, size_t length_max) {
    if (text.length > length_max) {
        text.length = length_max;
        while (text.length > 0 && is_continuation(text.data[text.length])) {
            text.length--;
        }
    }
    return text;
}

size_t text_code_points(struct parley_bytes text) {
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        count += !is_continuation(text.data[i]);
    }
    return count;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The number in `count` digits; -1: one of them is not a digit. */
static inline int number(const char *digits, int count) {
    int value = 0;
    bool is_number = true;
    for (int i = 0; i < count; i++) {
        is_number &= is_digit(digits[i]);
        value = value * 10 + (digits[i] - '0');
    }
    return is_number ? value : -1;
}

static int days_of_month(int year, int month) {
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool is_leap_year = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && is_leap_year);
}

/* Whether a local time is the last minute of June or December in UTC. */
static bool may_have_leap_second(int month, int day, int minute_of_day, int offset_minutes) {
    const int minute = minute_of_day - offset_minutes;
    if (((minute % 1440) + 1440) % 1440 != 1439) {
        return false;
    }
    if (minute < 0) { /* in UTC it is still the day before */
        return day == 1 && (month == 7 || month == 1);
    }
    /* It cannot be two days later either: no offset reaches from one 23:59 to the next. */
    return (month == 6 && day == 30) || (month == 12 && day == 31);
}

/* A parsed date-time, as it is written: local, with its offset from UTC. */
struct moment {
    int year, month, day;
    int minute; /* of the day */
    int second;
    double fraction; /* of a second */
    int offset_minutes;
};

/* Reads the part after the seconds: a fraction, if any, and the offset. */
static bool read_offset(struct parley_bytes rest, struct moment *out) {
    size_t i = 0;
    out->fraction = 0;
    if (rest.length > 0 && rest.data[0] == '.') {
        double unit = 0.1;
        for (i = 1; i < rest.length && is_digit(rest.data[i]); i++) {
            out->fraction += unit * (rest.data[i] - '0');
            unit /= 10;
        }
        if (i == 1) {
            return false;
        }
    }
    const char *offset = rest.data + i;
    const size_t left = rest.length - i;
    if (left == 1 && (offset[0] | 32) == 'z') {
        out->offset_minutes = 0;
        return true;
    }
    if (left != 6 || (offset[0] != '+' && offset[0] != '-') || offset[3] != ':') {
        return false;
    }
    const int hours = number(offset + 1, 2);
    const int minutes = number(offset + 4, 2);
    out->offset_minutes = (offset[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
    return hours >= 0 && hours <= 23 && minutes >= 0 && minutes <= 59;
}

static bool read_moment(struct parley_bytes text, struct moment *out) {
    enum { SECONDS_END = 19 };
    const char *t = text.data;
    if (text.length <= SECONDS_END || t[4] != '-' || t[7] != '-' || (t[10] | 32) != 't' ||
        t[13] != ':' || t[16] != ':') {
        return false;
    }
    out->year = number(t, 4);
    out->month = number(t + 5, 2);
    out->day = number(t + 8, 2);
    if (out->year < 0 || out->month < 1 || out->month > 12 || out->day < 1 ||
        out->day > days_of_month(out->year, out->month)) {
        return false;
    }
    const int hour = number(t + 11, 2), minute = number(t + 14, 2);
    out->minute = hour * 60 + minute;
    out->second = number(t + 17, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || out->second < 0 || out->second > 60 ||
        !read_offset((struct parley_bytes){t + SECONDS_END, text.length - SECONDS_END}, out)) {
        return false;
    }
    return out->second < 60 ||
           may_have_leap_second(out->month, out->day, out->minute, out->offset_minutes);
}

bool text_is_time(struct parley_bytes text) {
    struct moment moment;
    return read_moment(text, &moment);
}

bool text_time_is_utc(struct parley_bytes text) {
    const char *end = text.data + text.length;
    return (end[-1] | 32) == 'z' || memcmp(end - 5, "00:00", 5) == 0;
}

/* From the first day of the year 0 to that of `year`. */
static int days_before_year(int year) {
    return 365 * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

bool text_unix_time(struct parley_bytes text, double *out_seconds) {
    struct moment moment;
    if (!read_moment(text, &moment)) {
        return false;
    }
    int days = days_before_year(moment.year) - days_before_year(1970) + moment.day - 1;
    for (int month = 1; month < moment.month; month++) {
        days += days_of_month(moment.year, month);
    }
    const double minutes = 1440.0 * days + moment.minute - moment.offset_minutes;
    *out_seconds = 60 * minutes + moment.second + moment.fraction;
    return true;
}

/* Takes whole years or months from the days, as long as they last. */
static void read_days(int days, struct moment *out) {
    out->year = days / 366; /* or a few later */
    while (days_before_year(out->year + 1) <= days) {
        out->year++;
    }
    days -= days_before_year(out->year);
    for (out->month = 1; days >= days_of_month(out->year, out->month); out->month++) {
        days -= days_of_month(out->year, out->month);
    }
    out->day = days + 1;
}

static void write_number(char *out, int digits, int number) {
    for (; digits > 0; digits--, number /= 10) {
        out[digits - 1] = (char)('0' + number % 10);
    }
}

void text_write_unix_time(double seconds, char out[TEXT_TIME_SIZE]) {
    const int64_t seconds_a_day = 86400;
    const int64_t first = -seconds_a_day * days_before_year(1970);
    const int64_t last = first + seconds_a_day * days_before_year(10000) - 1;
    const int64_t whole = seconds >= (double)last    ? last
                          : seconds >= (double)first ? (int64_t)floor(seconds)
                                                     : first;
    const int of_day = (int)((whole - first) % seconds_a_day);
    struct moment moment;
    read_days((int)((whole - first) / seconds_a_day), &moment);
    memcpy(out, "0000-00-00T00:00:00Z", TEXT_TIME_SIZE);
    write_number(out, 4, moment.year);
    write_number(out + 5, 2, moment.month);
    write_number(out + 8, 2, moment.day);
    write_number(out + 11, 2, of_day / 3600);
    write_number(out + 14, 2, of_day / 60 % 60);
    write_number(out + 17, 2, of_day % 60);
}

bool text_is_uuid(struct parley_bytes text, bool is_version_4) {
    enum { UUID_LENGTH = 36, DIGITS = 32, VERSION_AT = 14, VARIANT_AT = 19 };
    const char *t = text.data;
    if (text.length != UUID_LENGTH || t[8] != '-' || t[13] != '-' || t[18] != '-' || t[23] != '-') {
        return false;
    }
    char digits[DIGITS];
    memcpy(digits, t, 8);
    memcpy(digits + 8, t + 9, 4);
    memcpy(digits + 12, t + 14, 4);
    memcpy(digits + 16, t + 19, 4);
    memcpy(digits + 20, t + 24, 12);
    unsigned char wrong = 0;
    for (size_t i = 0; i < DIGITS; i++) { /* without branches, so that the loop can be vectorised */
        const unsigned char digit = (unsigned char)(digits[i] - '0');
        const unsigned char letter = (unsigned char)((digits[i] | 32) - 'a');
        wrong |= (unsigned char)((digit > 9) & (letter > 5));
    }
    if (wrong != 0) {
        return false;
    }
    const char variant = text.data[VARIANT_AT];
    const bool is_rfc_variant =
        variant == '8' || variant == '9' || (variant | 32) == 'a' || (variant | 32) == 'b';
    return !is_version_4 || (text.data[VERSION_AT] == '4' && is_rfc_variant);
}

/* 1 for A-Z a-z 0-9 - . _ ~: RFC 3986, section 2.3. */
static inline unsigned is_unreserved(char c) {
    static const unsigned char
        table[256] = {['-'] = 1, ['.'] = 1, ['_'] = 1, ['~'] = 1, ['0'] = 1, 1, 1, 1, 1, 1, 1, 1,
                      1,         1,         ['A'] = 1, 1,         1,         1, 1, 1, 1, 1, 1, 1,
                      1,         1,         1,         1,         1,         1, 1, 1, 1, 1, 1, 1,
                      1,         1,         1,         1,         ['a'] = 1, 1, 1, 1, 1, 1, 1, 1,
                      1,         1,         1,         1,         1,         1, 1, 1, 1, 1, 1, 1,
                      1,         1,         1,         1,         1,         1};
    return table[(unsigned char)c];
}

static size_t reserved_count(struct parley_bytes text) {
    size_t count = text.length;
    for (size_t i = 0; i < text.length; i++) {
        count -= is_unreserved(text.data[i]);
    }
    return count;
}

struct parley_bytes text_percent_encode(struct parley_arena *arena, struct parley_bytes prefix,
                                        struct parley_bytes text) {
    static const char hex[] = "0123456789ABCDEF";
    const size_t reserved = reserved_count(text);
    const size_t length = prefix.length + text.length + 2 * reserved;
    char *out = parley_arena_allocate(arena, length + 1);
    if (out == NULL) {
        return (struct parley_bytes){0};
    }
    memcpy(out, prefix.data, prefix.length);
    char *end = out + prefix.length;
    if (reserved == 0) { /* as in most names */
        memcpy(end, text.data, text.length);
        end += text.length;
        text.length = 0;
    }
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (is_unreserved((char)c) != 0) {
            *end++ = (char)c;
        } else {
            *end++ = '%';
            *end++ = hex[c >> 4];
            *end++ = hex[c & 15];
        }
    }
    *end = '\0';
    return (struct parley_bytes){out, length};
}

struct parley_bytes text_join(struct parley_arena *arena, const struct parley_bytes *parts) {
    size_t length = 0;
    for (size_t i = 0; parts[i].data != NULL; i++) {
        length += parts[i].length + (i > 0);
    }
    char *out = parley_arena_allocate(arena, length + 1);
    if (out == NULL) {
        return (struct parley_bytes){0};
    }
    char *end = out;
    for (size_t i = 0; parts[i].data != NULL; i++) {
        if (i > 0) {
            *end++ = '.';
        }
        memcpy(end, parts[i].data, parts[i].length);
        end += parts[i].length;
    }
    *end = '\0';
    return (struct parley_bytes){out, length};
}

bool text_is_domain(struct parley_bytes text) {
    enum { DOMAIN_MAX = 128 };
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const char lower = (char)(c | 32);
        if (!is_digit(c) && !(lower >= 'a' && lower <= 'z') && c != '_' && c != '-') {
            return false;
        }
    }
    return text.length > 0 && text.length <= DOMAIN_MAX;
}

bool text_is_agent(struct parley_bytes text) {
    enum { AGENT_MAX = 64 };
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !is_digit(c) && (i == 0 || (c != '_' && c != '-'))) {
            return false;
        }
    }
    return text.length > 0 && text.length <= AGENT_MAX;
}

/* U+0080 to U+009F have C2 as their first byte; none of the forbidden signs has such a byte. */
static bool has_c1(struct parley_bytes text) {
    const char *end = text.data + text.length, *at = text.data;
    while ((at = memchr(at, 0xC2, (size_t)(end - at))) != NULL && end - at > 1) {
        if ((unsigned char)*++at < 0xA0) {
            return true;
        }
    }
    return false;
}

bool text_is_token(struct parley_bytes text) {
    /* C0 and the space, and . * > DEL by a bit for each character of ASCII; others have none. */
    static const uint64_t bits[4] = {0x40004401FFFFFFFF, 0x8000000000000000, 0, 0};
    uint64_t found = 0, is_ascii = 0;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        found |= bits[c >> 6] >> (c & 63);
        is_ascii |= c;
    }
    return text.length > 0 && (found & 1) == 0 && ((is_ascii & 0x80) == 0 || !has_c1(text));
}

void text_append_token(struct parley_buffer *pointer, struct parley_bytes token) {
    parley_buffer_char(pointer, '/');
    for (size_t i = 0; i < token.length; i++) {
        if (token.data[i] == '~') {
            parley_buffer_text(pointer, "~0");
        } else if (token.data[i] == '/') {
            parley_buffer_text(pointer, "~1");
        } else {
            parley_buffer_char(pointer, token.data[i]);
        }
    }
}

static bool is_text(struct parley_bytes text, const char *expected) {
    size_t i = 0;
    while (i < text.length && text.data[i] == expected[i] && expected[i] != '\0') {
        i++;
    }
    return i == text.length && expected[i] == '\0';
}

size_t text_choice(struct parley_bytes text, const char *const *choices) {
    size_t i = 0;
    while (choices[i] != NULL && !is_text(text, choices[i])) {
        i++;
    }
    return i;
}

bool text_is_one_of(struct parley_bytes text, const char *const *choices) {
    return choices[text_choice(text, choices)] != NULL;
}
