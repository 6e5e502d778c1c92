/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The output of `parley check`. */

#include <stdio.h>

#include <parley/message.h>

enum check_format {
    CHECK_HUMAN,  /* FILE:LINE:COLUMN: error RULE PATH: MESSAGE, and a line with the hint */
    CHECK_NDJSON, /* the lines of POST /v1/PROTOCOL/validate */
    CHECK_GITHUB, /* workflow commands of GitHub Actions */
};

struct check_report {
    enum check_format format;
    FILE *out;
    bool has_colour;
    uint64_t received_count, invalid_count, warning_count;

    struct parley_buffer text; /* private */
};

void check_report_init(struct check_report *report, enum check_format format, FILE *out,
                       bool has_colour);
void check_report_finish(struct check_report *report);

/* Whether check_report_message prints nothing for this message. */
bool check_report_is_silent(const struct check_report *report,
                            const struct parley_message *message);

/* Counts a message and prints its findings or verdict. `file` is NULL for standard input; `number`
 * is its line in NDJSON, else its ordinal number. */
enum parley_status check_report_message(struct check_report *report, const char *file,
                                        size_t number,
                                        struct parley_message *message) PARLEY_MUST_CHECK;

/* Prints the last line: "3 messages, 1 invalid, 2 warnings" to `human` (NULL: not at all), or the
 * summary of NDJSON to the report's stream. */
void check_report_summary(struct check_report *report, FILE *human);
