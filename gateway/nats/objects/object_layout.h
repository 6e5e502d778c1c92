/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The standard layout of NATS object stores, as parley uses it (ADR 31; ADR-20 of
 * github.com/nats-io/nats-architecture-and-design), and the pointer that a message has in place of
 * a value stored in one. An object is in chunks on one subject, in their order; its meta, on a
 * subject of its own, says which subject that is. The stream of a bucket is OBJ_<bucket>. */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/bytes.h>

#define OBJECT_CHUNK_BYTES (128u * 1024) /* but the last chunk, which is smaller, and not empty */

/* With their NUL. */
#define OBJECT_STREAM_MAX 160
#define OBJECT_NAME_MAX 128 /* <agent>/<UUID>: an agent has up to 64 characters */
#define OBJECT_SUBJECT_MAX 384
#define OBJECT_NUID_MAX 23
#define OBJECT_DIGEST_MAX 53 /* SHA-256=, and 44 characters of base64url */
#define OBJECT_ID_SIZE 37

/* In a message that has a pointer: the name of its object. Without this header there is no
 * pointer. */
#define OBJECT_HEADER "Parley-Object"
/* Likewise: how many bytes the object has. */
#define OBJECT_SIZE_HEADER "Parley-Size"
/* Likewise: the last sequence of the message's stream when its request began. */
#define OBJECT_BEGUN_HEADER "Parley-Begun"
/* In the publication of a meta: it replaces all earlier ones of its subject. */
#define OBJECT_ROLLUP_HEADER "Nats-Rollup"
#define OBJECT_ROLLUP_SUBJECT "sub"

/* ---- names and subjects ---- */

/* OBJ_<bucket>, and $O.<bucket>.>, which covers chunks ($O.<bucket>.C.>) and metas
 * ($O.<bucket>.M.>). */
void object_stream_name(const char *bucket, char out[OBJECT_STREAM_MAX]);
void object_stream_subjects(const char *bucket, char out[OBJECT_STREAM_MAX]);

/* $O.<bucket>.C.>, and $O.<bucket>.M.>. */
void object_store_subjects(const char *bucket, char out_chunks[OBJECT_SUBJECT_MAX],
                           char out_metas[OBJECT_SUBJECT_MAX]);

/* Writes <agent>/<id>, or _/<id> where the agent is not known (data NULL).
 * Returns: false if that would be too long. */
bool object_name_write(struct parley_bytes agent, struct parley_bytes id,
                       char out[OBJECT_NAME_MAX]);

/* $O.<bucket>.C.<nuid> */
void object_chunk_subject(const char *bucket, struct parley_bytes nuid,
                          char out[OBJECT_SUBJECT_MAX]);
/* $O.<bucket>.M.<base64url of the name, padded>.  `name`: shorter than OBJECT_NAME_MAX. */
void object_meta_subject(const char *bucket, struct parley_bytes name,
                         char out[OBJECT_SUBJECT_MAX]);
/* Decodes the name in the last token of a meta's subject.  Returns: false if it encodes none. */
bool object_name_of_subject(const char *subject, char out[OBJECT_NAME_MAX]);

/* A fresh token for the subject of an object's chunks. sodium_init() has been called. */
void object_nuid_new(char out[OBJECT_NUID_MAX]);

/* ---- digests ---- */

/* SHA-256 of an object, piece by piece.  Owns: object_digest_finish frees what begin allocates. */
struct object_digest {
    void *native; /* NULL if there was no memory; then the digest is "" */
};
void object_digest_begin(struct object_digest *digest);
void object_digest_add(struct object_digest *digest, struct parley_bytes bytes);
/* Writes SHA-256=<base64url, padded>, and finishes.  Returns: false if it could not be computed. */
bool object_digest_end(struct object_digest *digest, char out[OBJECT_DIGEST_MAX]);
/* Harmless after object_digest_end. */
void object_digest_finish(struct object_digest *digest);

/* ---- ids ---- */

/* Writes a UUID (version 8) of a message's content and its agent. `parts`: the message around the
 * object, which is in it by its digest. */
void object_id_write(struct parley_bytes agent, const struct parley_bytes parts[2],
                     const char *digest, char out[OBJECT_ID_SIZE]);
/* As object_id_write, for a whole message, which has the member.  Returns: PARLEY_E_MEMORY. */
enum parley_status object_id_of(struct parley_bytes agent, struct parley_bytes payload,
                                const char *member, char out[OBJECT_ID_SIZE]) PARLEY_MUST_CHECK;

/* ---- metas ---- */

struct object_meta {
    struct parley_bytes name, nuid, digest;
    uint64_t size, chunks;
    bool is_deleted; /* then it has no chunks */
};

/* Appends it as JSON. */
void object_meta_write(const struct object_meta *meta, const char *bucket,
                       struct parley_buffer *out);
/* Reads a meta that parley or another client wrote; `link`s to other objects are not followed.
 * Owns: texts are in `text` or in the arena.
 * Returns: PARLEY_E_UNSUPPORTED if it is not a meta; PARLEY_E_MEMORY. */
enum parley_status object_meta_read(struct parley_bytes text, struct parley_arena *arena,
                                    struct object_meta *out) PARLEY_MUST_CHECK;

/* ---- pointers ---- */

/* The pointer that a message has in place of a stored value. */
struct object_pointer {
    struct parley_bytes name, digest;
    uint64_t size;
};

/* Appends {"$object":NAME,"size":N,"digest":DIGEST}. */
void object_pointer_write(const struct object_pointer *pointer, struct parley_buffer *out);
/* Finds the member `member` of the JSON object `payload`: [*out_start, *out_end) is its value.
 * Returns: PARLEY_E_UNSUPPORTED if it has none, or is not JSON. */
enum parley_status object_place_find(struct parley_bytes payload, const char *member,
                                     size_t *out_start, size_t *out_end) PARLEY_MUST_CHECK;
/* Reads a pointer, the whole of `text`.  Owns: texts are in `text` or in the arena.
 * Returns: PARLEY_E_UNSUPPORTED if it is not a pointer; PARLEY_E_MEMORY. */
enum parley_status object_pointer_read(struct parley_bytes text, struct parley_arena *arena,
                                       struct object_pointer *out) PARLEY_MUST_CHECK;
