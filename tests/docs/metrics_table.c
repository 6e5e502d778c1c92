/* SPDX-License-Identifier: Apache-2.0 */

/* Prints the table of docs/metrics.md from the table of metrics. */

#include <stddef.h>
#include <stdio.h>

#include "metric.h"

static void print_labels(const struct metric_row *row) {
    for (size_t i = 0; i < METRIC_LABELS_MAX && row->labels[i] != NULL; i++) {
        printf("%s`%s`", i > 0 ? ", " : "", row->labels[i]);
    }
}

int main(void) {
    puts("| metric | type | labels | what it is |\n|---|---|---|---|");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric_row *row = &metric_rows[i];
        printf("| `%s%s` | %s | ", row->name, row->type == METRIC_COUNTER ? "_total" : "",
               metric_type_name(row->type));
        print_labels(row);
        printf("%s| %s |\n", row->labels[0] != NULL ? " " : "", row->help);
    }
    return 0;
}
