/* SPDX-License-Identifier: Apache-2.0 */

/* See object_layout.h. Data read here may have been written by any client with permission to
 * publish to NATS: nothing in it is trusted beyond its form. */

#include "object_layout.h"

#include <inttypes.h>
#include <stdio.h>

#include <sodium.h>

#include "api_fields.h"
#include "text.h"

/* ---- names and subjects ---- */

void object_stream_name(const char *bucket, char out[OBJECT_STREAM_MAX]) {
    snprintf(out, OBJECT_STREAM_MAX, "OBJ_%s", bucket);
}

void object_stream_subjects(const char *bucket, char out[OBJECT_STREAM_MAX]) {
    snprintf(out, OBJECT_STREAM_MAX, "$O.%s.>", bucket);
}

void object_store_subjects(const char *bucket, char out_chunks[OBJECT_SUBJECT_MAX],
                           char out_metas[OBJECT_SUBJECT_MAX]) {
    snprintf(out_chunks, OBJECT_SUBJECT_MAX, "$O.%s.C.>", bucket);
    snprintf(out_metas, OBJECT_SUBJECT_MAX, "$O.%s.M.>", bucket);
}

bool object_name_write(struct parley_bytes agent, struct parley_bytes id,
                       char out[OBJECT_NAME_MAX]) {
    const struct parley_bytes owner = agent.data != NULL ? agent : PARLEY_BYTES("_");
    const int length = snprintf(out, OBJECT_NAME_MAX, "%.*s/%.*s", (int)owner.length, owner.data,
                                (int)id.length, id.data);
    return length > 0 && length < OBJECT_NAME_MAX;
}

void object_chunk_subject(const char *bucket, struct parley_bytes nuid,
                          char out[OBJECT_SUBJECT_MAX]) {
    snprintf(out, OBJECT_SUBJECT_MAX, "$O.%s.C.%.*s", bucket, (int)nuid.length, nuid.data);
}

void object_meta_subject(const char *bucket, struct parley_bytes name,
                         char out[OBJECT_SUBJECT_MAX]) {
    char encoded[sodium_base64_ENCODED_LEN(OBJECT_NAME_MAX, sodium_base64_VARIANT_URLSAFE)];
    sodium_bin2base64(encoded, sizeof encoded, (const unsigned char *)name.data, name.length,
                      sodium_base64_VARIANT_URLSAFE);
    snprintf(out, OBJECT_SUBJECT_MAX, "$O.%s.M.%s", bucket, encoded);
}

bool object_name_of_subject(const char *subject, char out[OBJECT_NAME_MAX]) {
    const char *last = strrchr(subject, '.');
    size_t length = 0;
    if (last == NULL ||
        sodium_base642bin((unsigned char *)out, OBJECT_NAME_MAX - 1, last + 1, strlen(last + 1),
                          NULL, &length, NULL, sodium_base64_VARIANT_URLSAFE) != 0) {
        return false;
    }
    out[length] = '\0';
    return length > 0 && strlen(out) == length;
}

void object_nuid_new(char out[OBJECT_NUID_MAX]) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i + 1 < OBJECT_NUID_MAX; i++) {
        out[i] = digits[randombytes_uniform(sizeof digits - 1)];
    }
    out[OBJECT_NUID_MAX - 1] = '\0';
}

/* ---- metas ---- */

static void write_text(struct parley_buffer *out, const char *before, struct parley_bytes text) {
    parley_buffer_text(out, before);
    parley_buffer_json(out, text);
}

/* As the clients of NATS write it: `mtime` is the time of the message that bears the meta. */
void object_meta_write(const struct object_meta *meta, const char *bucket,
                       struct parley_buffer *out) {
    write_text(out, "{\"name\":", meta->name);
    parley_buffer_format(out, ",\"options\":{\"max_chunk_size\":%u}", OBJECT_CHUNK_BYTES);
    write_text(out, ",\"bucket\":", parley_bytes_of(bucket));
    write_text(out, ",\"nuid\":", meta->nuid);
    parley_buffer_format(
        out, ",\"size\":%" PRIu64 ",\"mtime\":\"0001-01-01T00:00:00Z\",\"chunks\":%" PRIu64,
        meta->size, meta->chunks);
    if (meta->digest.length > 0) {
        write_text(out, ",\"digest\":", meta->digest);
    }
    parley_buffer_text(out, meta->is_deleted ? ",\"deleted\":true}" : "}");
}

enum parley_status object_meta_read(struct parley_bytes text, struct parley_arena *arena,
                                    struct object_meta *out) {
    enum { NAME, NUID, DIGEST, SIZE, CHUNKS, DELETED, COUNT };
    struct answer_member members[COUNT] = {
        [NAME] = {.name = "name"}, [NUID] = {.name = "nuid"},     [DIGEST] = {.name = "digest"},
        [SIZE] = {.name = "size"}, [CHUNKS] = {.name = "chunks"}, [DELETED] = {.name = "deleted"}};
    PARLEY_TRY(api_fields_read(text, members, COUNT, arena));
    const struct parley_value *deleted = &members[DELETED].value;
    *out =
        (struct object_meta){.name = parley_value_text(&members[NAME].value),
                             .nuid = parley_value_text(&members[NUID].value),
                             .digest = parley_value_text(&members[DIGEST].value),
                             .size = answer_member_number(text, &members[SIZE]),
                             .chunks = answer_member_number(text, &members[CHUNKS]),
                             .is_deleted = deleted->kind == PARLEY_BOOLEAN && deleted->number != 0};
    /* With a wildcard it would name the chunks of other objects. */
    const bool names_chunks = out->nuid.data != NULL && text_is_token(out->nuid);
    return out->name.data != NULL && names_chunks ? PARLEY_OK : PARLEY_E_UNSUPPORTED;
}
