/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Many messages of one request put into another encoding, all of them or none. */

#include "body_handler.h"

extern const struct body_handler conversion_handler;
