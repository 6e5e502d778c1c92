/* SPDX-License-Identifier: Apache-2.0 */

/* See agent_page.h: a sorted array. */

#include "agent_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const agent_state_names[] = {"alive", "late", "lost", NULL};

void agent_page_init(struct agent_page *page, const char *after, size_t count_max,
                     size_t bytes_max) {
    *page = (struct agent_page){.after = after, .count_max = count_max, .bytes_max = bytes_max};
}

static void finish_entry(struct agent_entry *entry) {
    for (size_t i = 0; i < PARLEY_AGENT_PARTS_MAX; i++) {
        free(entry->parts[i].text);
    }
    free(entry->name);
}

void agent_page_finish(struct agent_page *page) {
    for (size_t i = 0; i < page->count; i++) {
        finish_entry(&page->entries[i]);
    }
    free(page->entries);
    page->entries = NULL;
    page->count = 0;
}

/* ---- finding a name ---- */

static int compare(struct parley_bytes name, const char *with) {
    const size_t length = strlen(with);
    const int order = memcmp(name.data, with, name.length < length ? name.length : length);
    return order != 0 ? order : (name.length > length) - (name.length < length);
}

/* The first entry that is not before `name`. */
static size_t place_of(const struct agent_page *page, struct parley_bytes name) {
    size_t low = 0, high = page->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare(name, page->entries[middle].name) > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- keeping it small ---- */

static void drop_last(struct agent_page *page) {
    struct agent_entry *last = &page->entries[--page->count];
    page->bytes -= last->size_bytes;
    page->has_more = true;
    finish_entry(last);
}

/* One is kept, however large. */
static void shrink(struct agent_page *page) {
    while (page->count > page->count_max || (page->bytes > page->bytes_max && page->count > 1)) {
        drop_last(page);
    }
}

static bool has_room(struct agent_page *page) {
    if (page->count < page->capacity) {
        return true;
    }
    const size_t capacity = page->capacity > 0 ? 2 * page->capacity : 16;
    struct agent_entry *entries = realloc(page->entries, capacity * sizeof *entries);
    if (entries != NULL) {
        page->entries = entries;
        page->capacity = capacity;
    }
    return entries != NULL;
}

static enum parley_status insert(struct agent_page *page, size_t at, struct parley_bytes name) {
    char *copy = parley_bytes_copy(name);
    if (copy == NULL || !has_room(page)) {
        free(copy);
        return PARLEY_E_MEMORY;
    }
    struct agent_entry *entry = &page->entries[at];
    memmove(entry + 1, entry, (page->count - at) * sizeof *entry);
    *entry = (struct agent_entry){.name = copy, .size_bytes = sizeof *entry + name.length};
    page->bytes += entry->size_bytes;
    page->count++;
    return PARLEY_OK;
}

/* ---- the entry of an agent ---- */

static enum parley_status replace(struct agent_page *page, struct agent_entry *entry,
                                  const struct agent_news *news) {
    struct agent_part *part = &entry->parts[news->part];
    char *text = malloc(news->text.length + 1);
    if (text == NULL) {
        return PARLEY_E_MEMORY;
    }
    if (news->text.length > 0) {
        memcpy(text, news->text.data, news->text.length);
    }
    page->bytes += news->text.length - part->length;
    entry->size_bytes += news->text.length - part->length;
    free(part->text);
    *part = (struct agent_part){news->sequence, news->text.length, text, news->time_ns};
    return PARLEY_OK;
}

static enum parley_status apply(struct agent_page *page, struct agent_entry *entry,
                                const struct agent_news *news) {
    if (news->is_beat && news->sequence >= entry->beat_sequence) {
        entry->beat_sequence = news->sequence;
        entry->beat_ns = news->time_ns;
        entry->is_match = news->is_match;
    }
    const bool is_later = news->sequence >= entry->parts[news->part].sequence;
    return is_later ? replace(page, entry, news) : PARLEY_OK;
}

enum parley_status agent_page_note(struct agent_page *page, const struct agent_news *news) {
    if (compare(news->name, page->after) <= 0) {
        return PARLEY_OK;
    }
    const size_t at = place_of(page, news->name);
    const bool is_known = at < page->count && compare(news->name, page->entries[at].name) == 0;
    if (!is_known && at == page->count && page->has_more) {
        return PARLEY_OK; /* after all that are kept */
    }
    if (!is_known) {
        PARLEY_TRY(insert(page, at, news->name));
    }
    PARLEY_TRY(apply(page, &page->entries[at], news));
    shrink(page);
    return PARLEY_OK;
}

/* ---- writing ---- */

enum agent_state agent_state_of(const struct agent_entry *entry, const struct parley_agents *agents,
                                int64_t now_ns) {
    const int64_t age = now_ns - entry->beat_ns;
    if (entry->beat_sequence == 0 || age > INT64_C(1000000000) * agents->late_seconds) {
        return AGENT_LOST;
    }
    return age > INT64_C(1000000000) * agents->alive_seconds ? AGENT_LATE : AGENT_ALIVE;
}

static bool was_told_to_end(const struct agent_entry *entry, const struct parley_agents *agents,
                            int64_t late_ns) {
    for (size_t i = 0; agents->sources[i].subject != NULL; i++) {
        const struct agent_part *part = &entry->parts[agents->sources[i].part];
        if (agents->sources[i].is_end && part->length > 0 &&
            entry->beat_ns <= part->time_ns + late_ns) {
            return true;
        }
    }
    return false;
}

bool agent_is_missed(const struct agent_entry *entry, const struct parley_agents *agents,
                     int64_t now_ns, int64_t *out_at_ns) {
    const int64_t late_ns = INT64_C(1000000000) * agents->late_seconds;
    *out_at_ns = entry->beat_ns + late_ns;
    return entry->beat_sequence != 0 && agent_state_of(entry, agents, now_ns) == AGENT_LOST &&
           !was_told_to_end(entry, agents, late_ns);
}

void agent_time_text(int64_t time_ns, char out[AGENT_TIME_SIZE]) {
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    const size_t length = strftime(out, AGENT_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out + length, AGENT_TIME_SIZE - length, ".%03dZ", (int)(time_ns / 1000000 % 1000));
}

static int digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void agent_plain_name(const char *name, struct parley_buffer *out) {
    for (; *name != '\0'; name++) {
        const int high = *name == '%' ? digit_of(name[1]) : -1;
        const int low = high >= 0 ? digit_of(name[2]) : -1;
        parley_buffer_char(out, low >= 0 ? (char)(16 * high + low) : *name);
        name += low >= 0 ? 2 : 0;
    }
}

static void write_name(const char *name, struct parley_buffer *out) {
    struct parley_buffer plain;
    parley_buffer_init(&plain);
    agent_plain_name(name, &plain);
    parley_buffer_json(out, parley_buffer_bytes(&plain));
    out->has_failed |= plain.has_failed;
    parley_buffer_finish(&plain);
}

void agent_entry_write(const struct agent_entry *entry, const struct parley_agents *agents,
                       int64_t now_ns, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"agent\":");
    write_name(entry->name, out);
    parley_buffer_format(out, ",\"state\":\"%s\"",
                         agent_state_names[agent_state_of(entry, agents, now_ns)]);
    if (entry->beat_sequence > 0) {
        char time[AGENT_TIME_SIZE];
        agent_time_text(entry->beat_ns, time);
        parley_buffer_format(out, ",\"last\":\"%s\",\"age\":%" PRId64 ",\"seq\":%" PRIu64, time,
                             agent_age_seconds(entry->beat_ns, now_ns), entry->beat_sequence);
    }
    for (size_t i = 0; i < PARLEY_AGENT_PARTS_MAX; i++) {
        parley_buffer_append(out,
                             (struct parley_bytes){entry->parts[i].text, entry->parts[i].length});
    }
    parley_buffer_char(out, '}');
}
