/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether a subject can be sent: only bus.c includes this. The headers' part is in bus.h. */

#include "bus.h"

/* Whether a text can be a subject. The library checks nothing, and a blank or a line's end in a
 * subject would be read as protocol. */
bool bus_subject_can_be(const char *subject);
