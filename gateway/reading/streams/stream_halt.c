/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_halt.h"

#include <stdlib.h>
#include <string.h>

/* The conversation that a message halts, or that one which releases it names. */
struct conversation {
    const char *kind; /* NULL: it is not only one */
    struct parley_bytes name;
    bool is_thread, is_release;
};

static void take_release(const struct parley_route *route, const char *kind,
                         struct conversation *out) {
    *out = (struct conversation){.is_release = true, .is_thread = route->thread.data != NULL};
    if (strcmp(kind, STREAM_RELEASED_ALL) != 0) {
        out->kind = kind;
        out->name = out->is_thread              ? route->thread
                    : route->receiver_count > 0 ? route->receivers[0]
                                                : (struct parley_bytes){0};
    }
}

/* Returns: whether the message says something of halts. */
static bool find(const struct jetstream_stored *stored, const struct parley_route *route,
                 struct conversation *out) {
    const char *kind = jetstream_stored_header(stored, STREAM_RELEASED_HEADER);
    if (kind != NULL) {
        take_release(route, kind, out);
        return true;
    }
    *out = (struct conversation){.kind = route->halt_kind,
                                 .name = route->halt_name,
                                 .is_thread = route->thread.data != NULL};
    return route->halt_role == PARLEY_HALT_LATCHES;
}

static void write_text(struct parley_buffer *out, const char *name, struct parley_bytes text) {
    if (text.data != NULL) {
        parley_buffer_text(out, out->length > 1 ? "," : "");
        parley_buffer_json(out, parley_bytes_of(name));
        parley_buffer_char(out, ':');
        parley_buffer_json(out, text);
    }
}

static void write_data(const struct conversation *conversation, const struct parley_route *route,
                       struct parley_buffer *out) {
    parley_buffer_char(out, '{');
    if (conversation->kind != NULL) {
        write_text(out, conversation->kind, conversation->name);
    }
    if (!conversation->is_release) {
        write_text(out, "by", route->sender);
        write_text(out, "why", route->halt_why);
    }
    write_text(out, "id", route->id);
    parley_buffer_text(out, "}");
}

static struct stream_halt *make(const struct conversation *conversation, struct parley_bytes data) {
    const size_t size = data.length + 1;
    struct stream_halt *halt = malloc(sizeof *halt + size + conversation->name.length);
    if (halt == NULL) {
        return NULL;
    }
    *halt = (struct stream_halt){.is_release = conversation->is_release};
    memcpy(halt->data, data.data, data.length);
    halt->data[data.length] = '\0';
    if (conversation->kind != NULL && conversation->name.data != NULL) {
        struct parley_bytes *name = conversation->is_thread ? &halt->thread : &halt->sender;
        memcpy(halt->data + size, conversation->name.data, conversation->name.length);
        *name = (struct parley_bytes){halt->data + size, conversation->name.length};
    }
    return halt;
}

bool stream_halt_note(const struct parley_protocol *protocol, const struct jetstream_stored *stored,
                      const struct parley_route *route, struct stream_halt **out) {
    struct conversation conversation;
    *out = NULL;
    if (protocol->halts == NULL || !find(stored, route, &conversation)) {
        return true;
    }
    struct parley_buffer data;
    parley_buffer_init(&data);
    write_data(&conversation, route, &data);
    *out = data.has_failed ? NULL : make(&conversation, parley_buffer_bytes(&data));
    parley_buffer_finish(&data);
    return *out != NULL;
}

void stream_halt_destroy(struct stream_halt *halt) {
    free(halt);
}
