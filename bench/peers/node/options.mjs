// SPDX-License-Identifier: Apache-2.0

// What the peers can be told, the same for all of them.

import { parseArgs } from "node:util";

export const options = parseArgs({
  options: {
    nats: { type: "string" }, // URL; without it nothing is published
    acks: { type: "string", default: "js" }, // js, hand or raw: publish.mjs
    schema: { type: "string" },
    processes: { type: "string", default: "1" },
  },
  allowPositionals: true,
});
