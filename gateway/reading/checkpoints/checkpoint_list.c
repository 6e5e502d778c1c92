/* SPDX-License-Identifier: Apache-2.0 */

/* GET …/agents/{agent}/checkpoints. The headers are read from the oldest on, and the last ones are
 * kept, as many as a page has; then the metas of their objects are asked for, a few at a time: a
 * checkpoint whose object is no longer kept is `gone`. */

#include <inttypes.h>
#include <stdlib.h>

#include "agent_page.h"
#include "object_reader.h"
#include "problem.h"
#include "query_options.h"
#include "checkpoints.h"
#include "checkpoint_options.h"
#include "checkpoint_scan.h"

enum { LIMIT_DEFAULT = 100, ASKED_MAX = 16 };

/*   SCANNING ── all are read ──▶ ASKING ── all are known ──▶ OVER
 *   SCANNING, ASKING ── it failed, or its client is gone ──▶ OVER
 */
enum phase { PHASE_SCANNING, PHASE_ASKING, PHASE_OVER };

struct item {
    struct list *list;
    struct scanned_checkpoint entry;
    struct jetstream_request *asked;
    bool is_gone;
};

struct list {
    struct checkpoint_scope scope;
    struct http_request *request;
    enum phase phase;
    struct reactor_timer deadline;
    struct checkpoint_scan scan;
    uint64_t before;      /* only sequences before it */
    size_t limit;         /* of items */
    struct item *items;   /* a ring of `limit` and one, which says whether there are more */
    size_t first, count;  /* in the ring, from the oldest on */
    size_t next, awaited; /* the next to be asked for, of the ring's; questions under way */
};

static struct item *item_at(struct list *list, size_t index) {
    return &list->items[(list->first + index) % (list->limit + 1)];
}

static void end(struct list *list) {
    list->phase = PHASE_OVER;
    reactor_timer_clear(list->scope.checkpoints->reactor, &list->deadline);
    checkpoint_scan_close(&list->scan);
    for (size_t i = 0; i < list->count; i++) {
        jetstream_request_cancel(item_at(list, i)->asked);
        item_at(list, i)->asked = NULL;
    }
}

static void refuse(struct list *list, enum problem problem, const char *detail) {
    end(list);
    problem_respond(list->request, problem, detail);
}

/* ---- the answer ---- */

static void write_item(const struct item *item, struct parley_buffer *out) {
    char time[AGENT_TIME_SIZE];
    agent_time_text(item->entry.time_ns, time);
    parley_buffer_format(
        out, "{\"id\":\"%s\",\"size\":%" PRIu64 ",\"at\":\"%s\",\"seq\":%" PRIu64 ",\"gone\":%s}",
        item->entry.id, item->entry.size, time, item->entry.sequence,
        item->is_gone ? "true" : "false");
}

static void answer(struct list *list) {
    const bool has_more = list->count > list->limit;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"items\":[");
    for (size_t i = list->count; i > (has_more ? 1 : 0); i--) {
        parley_buffer_text(&text, i < list->count ? "," : "");
        write_item(item_at(list, i - 1), &text);
    }
    parley_buffer_char(&text, ']');
    if (has_more) {
        parley_buffer_format(&text, ",\"next\":\"%" PRIu64 "\"", item_at(list, 1)->entry.sequence);
    }
    parley_buffer_text(&text, "}\n");
    end(list);
    problem_or_json(list->request, &text);
}

/* ---- whether objects are there ---- */

static void ask_more(struct list *list);

static void on_meta(void *context, const struct jetstream_held *meta) {
    struct item *item = context;
    struct list *list = item->list;
    item->asked = NULL;
    item->is_gone = !object_is_there(meta);
    list->awaited--;
    if (meta->found == JETSTREAM_HELD_UNKNOWN) {
        refuse(list, PROBLEM_BUS_UNAVAILABLE,
               "The object store could not be asked which checkpoints are kept. Ask again later.");
    } else {
        ask_more(list);
    }
}

static bool ask(struct list *list, struct item *item) {
    char stream[OBJECT_STREAM_MAX], name[OBJECT_NAME_MAX], subject[OBJECT_SUBJECT_MAX];
    const char *bucket = list->scope.channel->object_bucket;
    if (!object_name_write(parley_bytes_of(list->scope.agent), parley_bytes_of(item->entry.id),
                           name)) {
        return false;
    }
    object_stream_name(bucket, stream);
    object_meta_subject(bucket, parley_bytes_of(name), subject);
    item->asked =
        jetstream_last_held_ask(list->scope.checkpoints->jetstream, stream, subject, on_meta, item);
    return item->asked != NULL;
}

static void ask_more(struct list *list) {
    for (; list->next < list->count && list->awaited < ASKED_MAX; list->next++) {
        struct item *item = item_at(list, list->next);
        if (!item->entry.has_object) {
            continue;
        }
        if (!ask(list, item)) {
            refuse(list, PROBLEM_BUS_UNAVAILABLE, "NATS cannot be asked now. Ask again later.");
            return;
        }
        list->awaited++;
    }
    if (list->awaited == 0) {
        answer(list);
    }
}

/* ---- the headers ---- */

static void note(void *context, const struct scanned_checkpoint *entry) {
    struct list *list = context;
    if (entry->sequence >= list->before) {
        return;
    }
    if (list->count > list->limit) {
        list->first = (list->first + 1) % (list->limit + 1);
        list->count--;
    }
    *item_at(list, list->count++) = (struct item){.list = list, .entry = *entry};
}

static void on_scanned(void *context, const char *error) {
    struct list *list = context;
    if (error != NULL) {
        refuse(list, PROBLEM_BUS_UNAVAILABLE, error);
        return;
    }
    list->phase = PHASE_ASKING;
    ask_more(list);
}

static void on_deadline(struct reactor_timer *timer) {
    refuse(OWNER_OF(timer, struct list, deadline), PROBLEM_BUS_UNAVAILABLE,
           "NATS did not send the checkpoints in time. Ask again later.");
}

/* ---- requests ---- */

static void request_closed(void *state, bool is_complete) {
    struct list *list = state;
    (void)is_complete;
    end(list);
    checkpoint_scope_leave(&list->scope);
    free(list->items);
    free(list);
}

enum { OPTION_LIMIT }; /* a row of checkpoint_options; the other one is the cursor */

static bool set_option(void *context, size_t number, const char *value) {
    struct list *list = context;
    if (number == OPTION_LIMIT) {
        return query_option_count(value, CHECKPOINTS_LIMIT_MAX, &list->limit);
    }
    const size_t length = strlen(value);
    const bool is_number = length > 0 && length <= 18 && strspn(value, "0123456789") == length;
    list->before = is_number ? strtoull(value, NULL, 10) : 0;
    return is_number;
}

static void begin(struct list *list) {
    static const struct http_handler handler = {.closed = request_closed};
    struct checkpoints *checkpoints = list->scope.checkpoints;
    checkpoint_scope_enter(&list->scope);
    http_request_serve(list->request, &handler, list);
    reactor_timer_set(checkpoints->reactor, &list->deadline, CHECKPOINT_PATIENCE_MS);
    if (list->items == NULL || !checkpoint_scan_open(&list->scan)) {
        refuse(list, PROBLEM_INTERNAL, "Out of memory.");
    }
}

void checkpoints_serve_list(struct checkpoints *checkpoints, struct http_request *request,
                            const struct parley_protocol *protocol, const char *agent) {
    struct list own = {.request = request,
                       .before = UINT64_MAX,
                       .limit = LIMIT_DEFAULT,
                       .deadline = {.fire = on_deadline}};
    if (!query_options_read(request, checkpoint_options, set_option, &own) ||
        !checkpoint_scope_find(checkpoints, request, protocol, agent, &own.scope)) {
        return;
    }
    struct list *list = malloc(sizeof *list);
    if (list == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *list = own;
    list->scan = (struct checkpoint_scan){
        .scope = &list->scope, .note = note, .done = on_scanned, .context = list};
    list->items = calloc(list->limit + 1, sizeof *list->items);
    begin(list);
}
