/* SPDX-License-Identifier: Apache-2.0 */

#include "configuration.h"

#include "channel.h"

const union parley_option_value *configuration_values(const struct configuration *configuration,
                                                      const struct channel *channel) {
    return configuration->values[channel - configuration->channels];
}

uint64_t configuration_number(const struct configuration *configuration,
                              const struct parley_protocol *protocol,
                              const struct parley_option *option) {
    const struct channel *channel = channel_find(configuration->channels, protocol);
    return configuration_values(configuration, channel)[option - protocol->options].number;
}

enum parley_lifecycle configuration_lifecycle(const struct configuration *configuration,
                                              const struct parley_protocol *protocol) {
    const struct parley_option *mode = protocol->facts->mode;
    return mode != NULL ? (enum parley_lifecycle)configuration_number(configuration, protocol, mode)
                        : PARLEY_LIFECYCLE_ON;
}

bool configuration_obeys_halts(const struct configuration *configuration,
                               const struct parley_protocol *protocol) {
    const struct parley_halts_kind *halts = protocol->halts;
    return halts != NULL &&
           (halts->mode == NULL ||
            configuration_number(configuration, protocol, halts->mode) == PARLEY_ON_HALT_REFUSE);
}
