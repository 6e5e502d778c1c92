// SPDX-License-Identifier: Apache-2.0

// The message of all works that say no other: a VLP claim of 485 bytes, each with another id of the
// same length, since JetStream would take the same one twice for a duplicate.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { root } from "./options.mjs";

export const claimFile = join(root, "bench/data/claim.json");
const claim = readFileSync(claimFile, "utf8");
const firstId = "MSG-00000000000";
const LINES_A_WRITE = 20_000;

export const claimWithNumber = (number) =>
  claim.replace(firstId, `MSG-${String(number).padStart(11, "0")}`);

// What a server is asked until it answers: a message that nobody else sends.
export const probe = (target) => ({ target, body: claimWithNumber(99_999_999_999) });

// NDJSON of `count` claims, of which the first has the number `first`.
export function writeLines(file, count, first = 1) {
  const fd = openSync(file, "w");
  for (let number = first; number < first + count;) {
    const lines = [];
    for (; lines.length < LINES_A_WRITE && number < first + count; number++) {
      lines.push(claimWithNumber(number) + "\n");
    }
    writeSync(fd, lines.join(""));
  }
  closeSync(fd);
}
