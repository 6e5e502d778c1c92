// SPDX-License-Identifier: Apache-2.0

// node check.mjs --schema FILE LINES: holds each line of a file against the schema, and prints how
// many were valid and not.

import { openSync, readSync } from "node:fs";
import { compileSchema } from "./claims.mjs";
import { LineCutter, READ_BYTES } from "./lines.mjs";
import { options } from "./options.mjs";

const validate = compileSchema(options.values.schema);
const summary = { received: 0, valid: 0, invalid: 0 };

function isValid(text) {
  try {
    return validate(JSON.parse(text));
  } catch {
    return false;
  }
}

function takeLines(lines) {
  for (const text of lines) {
    summary.received++;
    summary[isValid(text) ? "valid" : "invalid"]++;
  }
}

const cutter = new LineCutter();
const file = openSync(options.positionals[0], "r");
for (;;) {
  const data = Buffer.allocUnsafeSlow(READ_BYTES); // what is left of a line stays in it
  const count = readSync(file, data);
  if (count === 0) break;
  takeLines(cutter.take(data.subarray(0, count)));
}
takeLines(cutter.end());
console.log(JSON.stringify({ summary }));
