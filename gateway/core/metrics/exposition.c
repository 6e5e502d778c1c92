/* SPDX-License-Identifier: Apache-2.0 */

/* Sources: Prometheus' exposition formats, version 0.0.4; OpenMetrics 1.0, sections 4 and 5. They
 * differ in little: in OpenMetrics the names of counters have no _total where they are described,
 * units are said, numbers of seconds have a point, and the text has an end. */

#include "exposition.h"

#include <inttypes.h>
#include <string.h>

const char *exposition_media_type(enum exposition_format format) {
    return format == EXPOSITION_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

void exposition_init(struct exposition *exposition, enum exposition_format format,
                     struct parley_buffer *out) {
    *exposition = (struct exposition){.out = out, .format = format};
}

static bool is_open(const struct exposition *exposition) {
    return exposition->format == EXPOSITION_OPENMETRICS;
}

void exposition_begin(struct exposition *exposition, enum metric metric) {
    const struct metric_row *row = &metric_rows[metric];
    const char *suffix = row->type == METRIC_COUNTER && !is_open(exposition) ? "_total" : "";
    exposition->row = row;
    parley_buffer_format(exposition->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", row->name, suffix,
                         row->help, row->name, suffix, metric_type_name(row->type));
    if (is_open(exposition) && row->unit != NULL) {
        parley_buffer_format(exposition->out, "# UNIT %s %s\n", row->name, row->unit);
    }
}

/* A bound of a bucket, in the shortest form. */
static void write_bound(const struct exposition *exposition, uint64_t ns) {
    const uint64_t whole = ns / 1000000000, rest = ns % 1000000000;
    if (rest != 0) {
        parley_buffer_format(exposition->out, "%g", (double)ns / 1e9);
    } else {
        parley_buffer_format(exposition->out, "%" PRIu64 "%s", whole,
                             is_open(exposition) ? ".0" : "");
    }
}

/* Writes the labels of a sample; `le`: the bound of its bucket, NULL if it is not one, UINT64_MAX:
 * infinite. */
static void write_labels(const struct exposition *exposition, const char *const labels[],
                         const uint64_t *le) {
    struct parley_buffer *out = exposition->out;
    char before = '{';
    for (size_t i = 0; i < METRIC_LABELS_MAX && exposition->row->labels[i] != NULL; i++) {
        parley_buffer_format(out, "%c%s=\"%s\"", before, exposition->row->labels[i], labels[i]);
        before = ',';
    }
    if (le != NULL) {
        parley_buffer_format(out, "%cle=\"", before);
        if (*le == UINT64_MAX) {
            parley_buffer_text(out, "+Inf");
        } else {
            write_bound(exposition, *le);
        }
        parley_buffer_char(out, '"');
        before = ',';
    }
    parley_buffer_text(out, before == ',' ? "} " : " ");
}

static unsigned digits_of(unsigned per_unit) {
    unsigned digits = 0;
    for (; per_unit > 1; per_unit /= 10) {
        digits++;
    }
    return digits;
}

static void write_value(const struct exposition *exposition, uint64_t value, unsigned per_unit) {
    struct parley_buffer *out = exposition->out;
    if (per_unit <= 1) {
        parley_buffer_uint(out, value);
    } else {
        parley_buffer_format(out, "%" PRIu64 ".%0*" PRIu64, value / per_unit,
                             (int)digits_of(per_unit), value % per_unit);
    }
    parley_buffer_char(out, '\n');
}

static void write_name(const struct exposition *exposition, const char *suffix) {
    parley_buffer_text(exposition->out, exposition->row->name);
    parley_buffer_text(exposition->out, suffix);
}

void exposition_sample(const struct exposition *exposition, const char *const labels[],
                       uint64_t value, unsigned per_unit) {
    write_name(exposition, exposition->row->type == METRIC_COUNTER ? "_total" : "");
    write_labels(exposition, labels, NULL);
    write_value(exposition, value, per_unit);
}

void exposition_histogram(const struct exposition *exposition, const char *const labels[],
                          const struct figures_set *set, size_t offset) {
    uint64_t count = 0;
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++) {
        const uint64_t bound = i < HISTOGRAM_BUCKETS ? histogram_bound_ns(i) : UINT64_MAX;
        count += figures_sum(set, offset + i * sizeof(struct counter));
        write_name(exposition, "_bucket");
        write_labels(exposition, labels, &bound);
        write_value(exposition, count, 1);
    }
    write_name(exposition, "_sum");
    write_labels(exposition, labels, NULL);
    write_value(exposition, figures_sum(set, offset + offsetof(struct histogram, sum_ns)),
                1000000000);
    write_name(exposition, "_count");
    write_labels(exposition, labels, NULL);
    write_value(exposition, count, 1);
}

void exposition_figures(struct exposition *exposition, enum metric metric,
                        const struct figures_set *set) {
    exposition_begin(exposition, metric);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        const struct figure_row *row = &figure_rows[i];
        if (row->metric == metric) {
            exposition_sample(exposition, &row->label, figures_value(set, (enum figure)i),
                              row->per_unit);
        }
    }
}

void exposition_end(const struct exposition *exposition) {
    if (is_open(exposition)) {
        parley_buffer_text(exposition->out, "# EOF\n");
    }
}
