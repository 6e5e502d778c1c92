/* SPDX-License-Identifier: Apache-2.0 */

/* The notices that the gateway publishes: what people decided on halts and on messages for review.
 */

#include "vlp.h"

static void write_member(struct parley_buffer *out, const char *member, struct parley_bytes text) {
    if (text.data != NULL) {
        parley_buffer_text(out, member);
        parley_buffer_json(out, text);
    }
}

static void write_content(const struct vlp_notice *notice, struct parley_buffer *out) {
    struct parley_buffer content;
    parley_buffer_init(&content);
    parley_buffer_text(&content, notice->title);
    parley_buffer_append(&content, notice->text);
    out->has_failed = out->has_failed || content.has_failed;
    write_member(out, ",\"content\":", parley_buffer_bytes(&content));
    parley_buffer_finish(&content);
}

void vlp_notice_write(const struct vlp_notice *notice, struct parley_buffer *out) {
    write_member(out, "{\"id\":", notice->id);
    parley_buffer_text(out, ",\"protocol\":\"VLP/1.1\",\"type\":\"notice\"");
    write_member(out, ",\"timestamp\":", notice->now);
    write_member(out, ",\"sender\":", notice->sender);
    write_member(out, ",\"session_id\":", notice->session);
    write_member(out, ",\"receiver\":", notice->receiver);
    write_content(notice, out);
    write_member(out, ",\"confidence\":1,\"provenance\":[", parley_bytes_of(notice->source));
    parley_buffer_text(out, "],\"safety\":{\"level\":\"safe\"},\"refers_to\":[");
    for (size_t i = 0; i < notice->reference_count; i++) {
        write_member(out, i > 0 ? "," : "", notice->refers_to[i]);
    }
    parley_buffer_text(out, "]}");
}
