/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /llms.txt: one page from which an agent learns to use the gateway: web/llms.txt, with what
 * the tables say of each protocol. */

#include <parley/buffer.h>

void guide_write(struct parley_buffer *out);
