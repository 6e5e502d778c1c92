// SPDX-License-Identifier: Apache-2.0

// What bench/run can be told.

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export const root = fileURLToPath(new URL("..", import.meta.url));

const usage = `Usage: bench/run [OPTION]…
Measures parley beside bare programs on the same libraries, in turn, and prints the ratios.
What they mean: bench/README.md.

  --quick          a first look: 3 runs of 1 s (otherwise 5 of 3 s)
  --runs N         how often each is measured; the medians are printed
  --seconds N      how long a run of single requests takes
  --lines N        how many messages an NDJSON body holds (100000)
  --only TEXT      only the groups with TEXT in their names: 64, 256, ndjson
  --json FILE      where the figures go (build/bench.json)
  --parley FILE    another binary than build/release/gateway/parley
  -h, --help       this text`;

const known = {
  quick: { type: "boolean", default: false },
  runs: { type: "string" },
  seconds: { type: "string" },
  lines: { type: "string", default: "100000" },
  only: { type: "string", default: "" },
  json: { type: "string", default: resolve(root, "build/bench.json") },
  parley: { type: "string", default: resolve(root, "build/release/gateway/parley") },
  "check-options": { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
};

function wrong(text) {
  console.error(`bench/run: ${text}\n\n${usage}`);
  process.exit(2);
}

function wholeNumber(name, text, most) {
  const number = Number(text);
  if (!/^[1-9]\d*$/.test(text) || number > most) {
    wrong(`--${name} wants a number from 1 to ${most}`);
  }
  return number;
}

export function readOptions() {
  let values;
  try {
    values = parseArgs({ options: known }).values;
  } catch (error) {
    wrong(error.message);
  }
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const options = {
    runs: wholeNumber("runs", values.runs ?? (values.quick ? "3" : "5"), 1000),
    seconds: wholeNumber("seconds", values.seconds ?? (values.quick ? "1" : "3"), 3600),
    lines: wholeNumber("lines", values.lines, 10_000_000),
    only: values.only,
    json: resolve(values.json),
    parley: resolve(values.parley),
  };
  if (values["check-options"]) process.exit(0);
  return options;
}
