/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes metrics as text: Prometheus' text format 0.0.4, or OpenMetrics 1.0. */

#include <parley/buffer.h>

#include "figures.h"

enum exposition_format { EXPOSITION_PROMETHEUS, EXPOSITION_OPENMETRICS };

struct exposition {
    struct parley_buffer *out;
    enum exposition_format format;
    const struct metric_row *row; /* of the samples that follow */
    const char *const *stores;    /* the names of NATS's streams, borrowed */
    size_t store_count;
};

/* The media type with its parameters. */
const char *exposition_media_type(enum exposition_format format);

void exposition_init(struct exposition *exposition, enum exposition_format format,
                     struct parley_buffer *out);
/* Writes the description of a metric before its samples. */
void exposition_begin(struct exposition *exposition, enum metric metric);
/* `labels`: values of the row's labels, as many as it has; from the server's own tables, so that
 * they need no escape; NULL if it has no labels.  `per_unit`: of a figure. */
void exposition_sample(const struct exposition *exposition, const char *const labels[],
                       uint64_t value, unsigned per_unit);
/* `offset`: of the histogram in each block. */
void exposition_histogram(const struct exposition *exposition, const char *const labels[],
                          const struct figures_set *set, size_t offset);
/* The metric of a figure, with all figures that it has. */
void exposition_figures(struct exposition *exposition, enum metric metric,
                        const struct figures_set *set);
/* After all of them. */
void exposition_end(const struct exposition *exposition);
