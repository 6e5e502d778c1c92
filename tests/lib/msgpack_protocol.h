/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A protocol of the tests' own that speaks JSON and MessagePack. */

#include <parley/message.h>

extern const struct parley_codec msgpack_protocol_codec; /* MessagePack, a message a body */
extern const struct parley_protocol msgpack_protocol;
