/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_objects.h"

#include <stdlib.h>

#include <parley/objects.h>

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

bool worker_objects_are_idle(const struct gateway *gateway) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (gateway->object_stores[i] != NULL && !object_store_is_idle(gateway->object_stores[i])) {
            return false;
        }
    }
    return true;
}
