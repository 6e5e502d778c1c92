/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_halts.h"

#include <stdlib.h>

static enum parley_status create_one(struct worker_halts *halts,
                                     const struct worker_halts_options *options, size_t i) {
    struct gateway *gateway = options->gateway;
    const struct channel *channel = &gateway->configuration->channels[i];
    if (options->sets[i] == NULL) {
        return PARLEY_OK;
    }
    PARLEY_TRY(halt_gate_create(gateway->reactor, gateway->jetstream, options->sets[i],
                                channel->halt_bucket, &gateway->halt_gates[i]));
    if (!options->is_keeper) {
        return PARLEY_OK;
    }
    const struct halt_keeper_options keeper = {.reactor = gateway->reactor,
                                               .jetstream = gateway->jetstream,
                                               .gate = gateway->halt_gates[i],
                                               .channel = channel,
                                               .message = &gateway->messages[i],
                                               .seen = options->seen,
                                               .context = options->context};
    return halt_keeper_create(&keeper, &halts->keepers[i]);
}

enum parley_status worker_halts_create(struct worker_halts *halts,
                                       const struct worker_halts_options *options) {
    const size_t count = parley_protocol_count();
    halts->gateway = options->gateway;
    halts->gateway->halt_gates = calloc(count, sizeof(struct halt_gate *));
    halts->keepers = calloc(count, sizeof(struct halt_keeper *));
    if (halts->gateway->halt_gates == NULL || halts->keepers == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        PARLEY_TRY(create_one(halts, options, i));
    }
    return PARLEY_OK;
}

void worker_halts_stop(struct worker_halts *halts) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        halt_keeper_stop(halts->keepers[i]);
    }
}

void worker_halts_destroy(struct worker_halts *halts) {
    if (halts->gateway == NULL) {
        return;
    }
    for (size_t i = 0; halts->keepers != NULL && i < parley_protocol_count(); i++) {
        halt_keeper_destroy(halts->keepers[i]);
    }
    for (size_t i = 0; halts->gateway->halt_gates != NULL && i < parley_protocol_count(); i++) {
        halt_gate_destroy(halts->gateway->halt_gates[i]);
    }
    free(halts->keepers);
    free(halts->gateway->halt_gates);
    halts->gateway->halt_gates = NULL;
}

bool worker_halts_are_idle(const struct worker_halts *halts) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        const struct halt_gate *gate = halts->gateway->halt_gates[i];
        if (gate != NULL && halt_gate_held_count(gate) > 0) {
            return false;
        }
    }
    return true;
}

void worker_halts_give_up(struct worker_halts *halts) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (halts->gateway->halt_gates[i] != NULL) {
            halt_gate_give_up(halts->gateway->halt_gates[i]);
        }
    }
}

/* ---- sets ---- */

enum parley_status halt_sets_create(struct halt_set ***out) {
    const size_t count = parley_protocol_count();
    struct halt_set **sets = calloc(count + 1, sizeof *sets);
    enum parley_status status = sets != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    for (size_t i = 0; i < count && status == PARLEY_OK; i++) {
        if (parley_protocols[i]->halts != NULL) {
            status = halt_set_create(parley_protocols[i]->name, &sets[i]);
        }
    }
    if (status != PARLEY_OK) {
        halt_sets_destroy(sets);
        return status;
    }
    *out = sets;
    return PARLEY_OK;
}

void halt_sets_destroy(struct halt_set **sets) {
    for (size_t i = 0; sets != NULL && i < parley_protocol_count(); i++) {
        halt_set_destroy(sets[i]);
    }
    free(sets);
}

bool halt_sets_were_seen(struct halt_set *const *sets, const struct configuration *configuration) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (configuration_obeys_halts(configuration, parley_protocols[i]) &&
            !halt_set_was_seen(sets[i])) {
            return false;
        }
    }
    return true;
}
