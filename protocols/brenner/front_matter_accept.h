/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Common front matter without libyaml: certainly read, or not sure. */

#include "front_matter.h"

/* Whether front_matter_read() would read `yaml`, with no member called `body` or `body_md`, and
 * append the same to `out`. If it is not sure, `out` is garbage. */
bool front_matter_accept(struct parley_bytes yaml, struct parley_buffer *out);
