/* SPDX-License-Identifier: Apache-2.0 */

/* The three formats of the report. People see only findings; programs get a line for each message.
 * Each message is written at once, and nothing of it is kept. */

#include "check_report.h"

#include <inttypes.h>

#include "cli.h"
#include "describe.h"

void check_report_init(struct check_report *report, enum check_format format, FILE *out,
                       bool has_colour) {
    *report = (struct check_report){.format = format, .out = out, .has_colour = has_colour};
    parley_buffer_init(&report->text);
}

void check_report_finish(struct check_report *report) {
    parley_buffer_finish(&report->text);
}

bool check_report_is_silent(const struct check_report *report,
                            const struct parley_message *message) {
    return report->format != CHECK_NDJSON && message->findings.count == 0;
}

/* ---- human ---- */

static void paint(struct check_report *report, const char *colour) {
    parley_buffer_text(&report->text, report->has_colour ? colour : "");
}

/* For a finding inside the text of a member, the position in that text: " at line 3, column 1". */
static void append_body_place(struct parley_buffer *text, const struct parley_finding *finding) {
    if (finding->body_at.line != 0) {
        parley_buffer_text(text, " at ");
        parley_position_describe(finding->body_at, text);
    }
}

static void write_human(struct check_report *report, const char *file,
                        const struct parley_finding *finding) {
    struct parley_buffer *text = &report->text;
    paint(report, "\033[1m");
    terminal_append_clean(text, file != NULL ? file : "<stdin>");
    if (finding->at.line == PARLEY_IN_BYTES) {
        parley_buffer_format(text, ":byte %zu", finding->at.column);
    } else if (finding->at.line != 0) {
        parley_buffer_format(text, ":%zu:%zu", finding->at.line, finding->at.column);
    }
    parley_buffer_text(text, ": ");
    paint(report, finding->rule->severity == PARLEY_ERROR ? "\033[31m" : "\033[33m");
    parley_buffer_text(text, parley_severity_name(finding->rule->severity));
    paint(report, "\033[0m");
    parley_buffer_format(text, " %s%s", finding->rule->id, finding->path[0] != '\0' ? " " : "");
    terminal_append_clean(text, finding->path);
    append_body_place(text, finding);
    parley_buffer_text(text, ": ");
    terminal_append_clean(text, finding->message);
    parley_buffer_text(text, "\n    ");
    paint(report, "\033[36m");
    parley_buffer_text(text, "hint:");
    paint(report, "\033[0m");
    parley_buffer_char(text, ' ');
    terminal_append_clean(text, finding->hint);
    parley_buffer_char(text, '\n');
}

/* ---- github ---- */

/* Source: actions/toolkit, command.ts: escapeData and escapeProperty. A log is read in terminals
 * too, so other control characters are as in the format for people. */
static void append_escaped(struct parley_buffer *out, const char *text, bool is_property) {
    while (*text != '\0') {
        const bool is_special =
            strchr("%\r\n", *text) != NULL || (is_property && (*text == ':' || *text == ','));
        const size_t length = (text[0] & 0x80) != 0 && (text[1] & 0x80) != 0 ? 2 : 1;
        if (is_special) {
            parley_buffer_format(out, "%%%02X", (unsigned char)*text);
        } else {
            const char some[3] = {text[0], length == 2 ? text[1] : '\0', '\0'};
            terminal_append_clean(out, some);
        }
        text += length;
    }
}

static void write_github(struct check_report *report, const char *file,
                         const struct parley_finding *finding) {
    struct parley_buffer *text = &report->text;
    parley_buffer_format(text, "::%s ", parley_severity_name(finding->rule->severity));
    if (file != NULL) {
        parley_buffer_text(text, "file=");
        append_escaped(text, file, true);
        parley_buffer_char(text, ',');
    }
    if (finding->at.line != 0 && finding->at.line != PARLEY_IN_BYTES) {
        parley_buffer_format(text, "line=%zu,col=%zu,", finding->at.line, finding->at.column);
    }
    parley_buffer_format(text, "title=%s::", finding->rule->id);
    append_escaped(text, finding->message, false);
    if (finding->at.line == PARLEY_IN_BYTES) { /* annotations have no property for it */
        parley_buffer_format(text, "%%0Aplace: byte %zu", finding->at.column);
    }
    if (finding->body_at.line != 0) {
        parley_buffer_text(text, "%0Aplace: ");
        parley_position_describe(finding->body_at, text);
        parley_buffer_text(text, " of ");
        append_escaped(text, finding->path, false);
    }
    parley_buffer_text(text, "%0Ahint: ");
    append_escaped(text, finding->hint, false);
    parley_buffer_char(text, '\n');
}

/* ---- ndjson ---- */

static enum parley_status write_ndjson(struct check_report *report, const char *file, size_t number,
                                       struct parley_message *message) {
    struct parley_buffer *text = &report->text;
    parley_buffer_char(text, '{');
    if (file != NULL) {
        parley_buffer_text(text, "\"file\":");
        parley_buffer_json(text, parley_bytes_of(file));
        parley_buffer_char(text, ',');
    }
    parley_buffer_text(text, "\"line\":");
    parley_buffer_uint(text, number);
    parley_buffer_char(text, ',');
    PARLEY_TRY(parley_message_write_verdict(message, text));
    parley_buffer_text(text, "}\n");
    return PARLEY_OK;
}

/* ---- all formats ---- */

static void write_findings(struct check_report *report, const char *file,
                           const struct parley_findings *findings) {
    for (size_t i = 0; i < findings->count; i++) {
        if (report->format == CHECK_HUMAN) {
            write_human(report, file, &findings->items[i]);
        } else {
            write_github(report, file, &findings->items[i]);
        }
    }
    if (findings->omitted_count > 0 && report->format == CHECK_HUMAN) {
        terminal_append_clean(&report->text, file != NULL ? file : "<stdin>");
        parley_buffer_format(&report->text,
                             ": … and %zu more findings in this message, not shown\n",
                             findings->omitted_count);
    }
}

enum parley_status check_report_message(struct check_report *report, const char *file,
                                        size_t number, struct parley_message *message) {
    const struct parley_findings *findings = &message->findings;
    report->received_count++;
    report->invalid_count += !parley_message_is_valid(message);
    for (size_t i = 0; i < findings->count; i++) {
        report->warning_count += findings->items[i].rule->severity == PARLEY_WARNING;
    }
    parley_buffer_clear(&report->text);
    if (report->format == CHECK_NDJSON) {
        PARLEY_TRY(write_ndjson(report, file, number, message));
    } else {
        write_findings(report, file, findings);
    }
    PARLEY_TRY(parley_buffer_status(&report->text));
    if (report->text.length > 0) {
        fwrite(report->text.data, 1, report->text.length, report->out);
    }
    return PARLEY_OK;
}

void check_report_summary(struct check_report *report, FILE *human) {
    const uint64_t received = report->received_count, invalid = report->invalid_count;
    if (report->format == CHECK_NDJSON) {
        fprintf(report->out,
                "{\"summary\":{\"received\":%" PRIu64 ",\"valid\":%" PRIu64 ",\"invalid\":%" PRIu64
                "}}\n",
                received, received - invalid, invalid);
    } else if (human != NULL) {
        fflush(report->out); /* so that it is the last line, if both are the same terminal */
        fprintf(human, "%" PRIu64 " message%s, %" PRIu64 " invalid, %" PRIu64 " warning%s\n",
                received, received == 1 ? "" : "s", invalid, report->warning_count,
                report->warning_count == 1 ? "" : "s");
    }
}
