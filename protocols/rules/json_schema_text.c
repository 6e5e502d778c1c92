/* SPDX-License-Identifier: Apache-2.0 */

/* The JSON of a schema, indented or, of a fragment, on one line: brackets, keywords and their
 * values. */

#include "json_schema.h"

static void begin_line(struct writer *writer) {
    if (!writer->is_fragment) {
        parley_buffer_format(writer->out, "\n%*s", (int)(2 * writer->depth), "");
    }
}

static bool is_empty_so_far(const struct parley_buffer *out) {
    const char last = out->length > 0 ? out->data[out->length - 1] : '{';
    return last == '{' || last == '[';
}

void writer_item(struct writer *writer) {
    parley_buffer_text(writer->out, is_empty_so_far(writer->out) ? "" : ",");
    begin_line(writer);
}

void writer_member(struct writer *writer, struct parley_bytes name) {
    writer_item(writer);
    parley_buffer_json(writer->out, name);
    parley_buffer_text(writer->out, writer->is_fragment ? ":" : ": ");
}

void writer_keyword(struct writer *writer, const char *name) {
    writer_member(writer, parley_bytes_of(name));
}

void writer_open(struct writer *writer, char bracket) {
    parley_buffer_char(writer->out, bracket);
    writer->depth++;
}

void writer_close(struct writer *writer, char bracket) {
    writer->depth--;
    if (!is_empty_so_far(writer->out)) {
        begin_line(writer);
    }
    parley_buffer_char(writer->out, bracket);
}

void writer_text(struct writer *writer, const char *name, const char *text) {
    writer_keyword(writer, name);
    parley_buffer_json(writer->out, parley_bytes_of(text));
}

void writer_number(struct writer *writer, const char *name, double number) {
    writer_keyword(writer, name);
    parley_buffer_number(writer->out, number);
}

void writer_buffer(struct writer *writer, const char *name, struct parley_buffer *text) {
    writer_keyword(writer, name);
    parley_buffer_json(writer->out, parley_buffer_bytes(text));
    writer->out->has_failed |= text->has_failed;
    parley_buffer_clear(text);
}

static void separate_short(struct writer *writer) {
    const char *separator = writer->is_fragment ? "," : ", ";
    parley_buffer_text(writer->out, is_empty_so_far(writer->out) ? "" : separator);
}

void writer_short_item(struct writer *writer, struct parley_bytes text) {
    separate_short(writer);
    parley_buffer_json(writer->out, text);
}

void writer_short_null(struct writer *writer) {
    separate_short(writer);
    parley_buffer_text(writer->out, "null");
}
