/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_objects.h"

#include <stdlib.h>

#include <parley/objects.h>

struct object_names {
    char stream[OBJECT_STREAM_MAX], all[OBJECT_STREAM_MAX];
    char chunks[OBJECT_SUBJECT_MAX], metas[OBJECT_SUBJECT_MAX];
    const char *subjects[3];
};

static void write_names(const char *bucket, struct object_names *out) {
    object_stream_name(bucket, out->stream);
    object_stream_subjects(bucket, out->all);
    object_store_subjects(bucket, out->chunks, out->metas);
    out->subjects[0] = out->chunks;
    out->subjects[1] = out->metas;
    out->subjects[2] = NULL;
}

enum parley_status worker_objects_list(struct worker_objects *objects,
                                       const struct channel *channels,
                                       struct jetstream_stream *streams, size_t *count) {
    objects->names = calloc(parley_protocol_count(), sizeof *objects->names);
    if (objects->names == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        struct object_names *names = &objects->names[i];
        if (channels[i].object_bucket != NULL) {
            write_names(channels[i].object_bucket, names);
            streams[(*count)++] =
                (struct jetstream_stream){.name = names->stream,
                                          .subjects = names->all,
                                          .object_subjects = names->subjects,
                                          .needs = channels[i].stream,
                                          .days = channels[i].protocol->objects->days};
        }
    }
    return PARLEY_OK;
}

enum parley_status worker_objects_create(struct gateway *gateway, struct object_room *room) {
    gateway->object_stores = calloc(parley_protocol_count(), sizeof(struct object_store *));
    if (gateway->object_stores == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        const char *bucket = gateway->configuration->channels[i].object_bucket;
        const struct parley_objects *objects = parley_protocols[i]->objects;
        if (bucket != NULL) {
            const struct object_store_options options = {
                .bucket = bucket,
                .room = room,
                .keep = (size_t)configuration_number(gateway->configuration, parley_protocols[i],
                                                     objects->keep),
                .days = objects->days};
            PARLEY_TRY(object_store_create(gateway->reactor, gateway->jetstream, &options,
                                           &gateway->object_stores[i]));
        }
    }
    return PARLEY_OK;
}

void worker_objects_destroy(struct gateway *gateway) {
    for (size_t i = 0; gateway->object_stores != NULL && i < parley_protocol_count(); i++) {
        object_store_destroy(gateway->object_stores[i]);
    }
    free(gateway->object_stores);
    gateway->object_stores = NULL;
}

void worker_objects_forget(struct worker_objects *objects) {
    free(objects->names);
}

bool worker_objects_are_idle(const struct gateway *gateway) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (gateway->object_stores[i] != NULL && !object_store_is_idle(gateway->object_stores[i])) {
            return false;
        }
    }
    return true;
}
