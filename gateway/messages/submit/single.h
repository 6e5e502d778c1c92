/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One message in one request. */

#include "body_handler.h"

extern const struct body_handler single_handler;

/* The received part of the body, up to a byte over the limit.  Owns: borrowed. */
struct parley_bytes single_text(const void *state);
