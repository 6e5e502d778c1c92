/* SPDX-License-Identifier: Apache-2.0 */

#include "id_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "header_scan.h"
#include "stored_headers.h"

/* There are 2,000 checkpoints in a week of one every five minutes; a server sends their headers
 * within a tenth of a second. */
enum { PATIENCE_MS = 2000, SUBJECT_MAX = 256 };

struct id_search {
    id_search_fn *done;
    void *context;
    struct reactor *reactor;
    struct jetstream_request *request;
    struct header_scan scan;
    struct reactor_timer patience;
    bool is_found;
    char stream[JETSTREAM_STREAM_MAX], subject[SUBJECT_MAX], id[STORED_ID_SIZE];
};

void id_search_cancel(struct id_search *search) {
    if (search == NULL) {
        return;
    }
    jetstream_request_cancel(search->request);
    header_scan_close(&search->scan);
    reactor_timer_clear(search->reactor, &search->patience);
    free(search);
}

static void end(struct id_search *search, enum id_search_end how, const char *error) {
    id_search_fn *done = search->done;
    void *context = search->context;
    id_search_cancel(search);
    done(context, how, error);
}

static bool is_it(const struct id_search *search, const char *event_id, uint64_t sequence) {
    char id[STORED_ID_SIZE];
    stored_id(event_id, sequence, id);
    return strcasecmp(id, search->id) == 0;
}

static void on_header(void *context, const struct jetstream_stored *stored) {
    struct id_search *search = context;
    const char *event_id = jetstream_stored_header(stored, STORED_ID_HEADER);
    search->is_found = search->is_found || is_it(search, event_id, stored->sequence);
}

static void on_scanned(void *context, const char *error) {
    struct id_search *search = context;
    end(search,
        search->is_found ? ID_SEARCH_FOUND
        : error != NULL  ? ID_SEARCH_UNKNOWN
                         : ID_SEARCH_MISSING,
        NULL);
}

static void on_patience(struct reactor_timer *timer) {
    end(OWNER_OF(timer, struct id_search, patience), ID_SEARCH_UNKNOWN, NULL);
}

static void scan_headers(struct id_search *search) {
    if (header_scan_open(&search->scan)) {
        reactor_timer_set(search->reactor, &search->patience, PATIENCE_MS);
    } else {
        end(search, ID_SEARCH_UNKNOWN, NULL);
    }
}

static void on_last(void *context, const struct jetstream_held *held) {
    struct id_search *search = context;
    char id[256];
    search->request = NULL;
    if (held->found != JETSTREAM_HELD_FOUND) {
        const bool is_missing = held->found == JETSTREAM_HELD_GONE;
        end(search, is_missing ? ID_SEARCH_MISSING : ID_SEARCH_UNANSWERED, held->error);
        return;
    }
    const bool has_id = held_header(held->headers, STORED_ID_HEADER, id, sizeof id);
    if (is_it(search, has_id ? id : NULL, held->sequence)) {
        end(search, ID_SEARCH_FOUND, NULL);
    } else {
        scan_headers(search);
    }
}

struct id_search *id_search_begin(struct reactor *reactor, struct jetstream *jetstream,
                                  const char *stream, struct parley_bytes subject, const char *id,
                                  id_search_fn *done, void *context) {
    struct id_search *search = calloc(1, sizeof *search);
    if (search == NULL) {
        return NULL;
    }
    search->done = done;
    search->context = context;
    search->reactor = reactor;
    search->patience.fire = on_patience;
    snprintf(search->stream, sizeof search->stream, "%s", stream);
    snprintf(search->subject, sizeof search->subject, "%.*s", (int)subject.length, subject.data);
    snprintf(search->id, sizeof search->id, "%s", id);
    search->scan = (struct header_scan){.jetstream = jetstream,
                                        .stream = search->stream,
                                        .subject = search->subject,
                                        .note = on_header,
                                        .done = on_scanned,
                                        .context = search};
    search->request =
        jetstream_last_held_ask(jetstream, search->stream, search->subject, on_last, search);
    if (search->request == NULL) {
        id_search_cancel(search);
        return NULL;
    }
    return search;
}
