// SPDX-License-Identifier: Apache-2.0

// Files on the command line, with no server.

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { claimWithNumber, writeLines } from "../lib/claims.mjs";
import { stopwatch } from "../lib/clients.mjs";
import { nodeCheck, nodeMissing } from "../lib/peers.mjs";
import { isCommand, run } from "../lib/processes.mjs";
import { onOneCore } from "../lib/servers.mjs";

const LINE_BYTES = Buffer.byteLength(claimWithNumber(0)) + 1;
const FULL_BYTES = 1e9;
const QUICK_BYTES = 1e8;

// The file is written to the disk at once, lest the kernel do so while somebody is measured, and
// stays in the page cache.
const prepareFile = (countOf) => async (bench) => {
  const lines = { file: join(bench.folder, "lines.ndjson"), count: countOf(bench) };
  writeLines(lines.file, lines.count);
  await run("sync", [lines.file]);
  return lines;
};

// `said(count)`: what the command must have printed.
function command(label, commandOf, said, unit, { missing } = {}) {
  const measure = async (bench, { file, count }) => {
    const folder = mkdtempSync(join(bench.folder, "command-"));
    const { output, seconds, cpu_seconds, peak_mb } = await stopwatch(
      bench,
      commandOf(bench, file, folder),
    );
    if (!output.includes(said(count))) throw new Error(`${label} said: ${output}`);
    const value = unit === "MB/s" ? (count * LINE_BYTES) / 1e6 / seconds : count / seconds;
    return { value, cpu_us: (cpu_seconds / count) * 1e6, peak_mb };
  };
  return { label, missing, run: measure };
}

const check = (bench, file) => [bench.parley, "check", "vlp", file];
const checked = (count) => `${count} messages, 0 invalid`;

const gigabyte = {
  id: "gigabyte",
  title: "parley check on a file of 1 GB",
  unit: "MB/s",
  higherIsBetter: true,
  prepare: prepareFile(({ isQuick }) =>
    Math.ceil((isQuick ? QUICK_BYTES : FULL_BYTES) / LINE_BYTES),
  ),
  contenders: {
    parley: command("parley check", check, checked, "MB/s"),
    wc: command("wc -l FILE", (_, file) => ["wc", "-l", file], String, "MB/s"),
    cat: command(
      "cat FILE | wc -l",
      (_, file) => ["sh", "-c", 'cat "$1" | wc -l', "sh", file],
      String,
      "MB/s",
    ),
  },
  ratios: [{ of: "parley", to: ["wc", "cat"], atLeast: 0.5 }],
};

const offline = {
  id: "one-core",
  title: "check of an NDJSON file, one core",
  unit: "lines/s",
  higherIsBetter: true,
  prepare: prepareFile(({ lines }) => 10 * lines), // or it would be the start of Node that is measured
  contenders: {
    parley: command("parley check", (...of) => onOneCore(check(...of)), checked, "lines/s", {
      missing: () => (isCommand("taskset") ? undefined : "taskset is not installed"),
    }),
    node: command(
      "Node + Ajv",
      (bench, file, folder) => onOneCore(nodeCheck(bench, folder, file)),
      (count) => `"valid":${count}`,
      "lines/s",
      { missing: nodeMissing },
    ),
  },
  ratios: [{ of: "parley", to: "node", atLeast: 6 }],
};

export default { name: "check", title: "files, with no server", rows: [gigabyte, offline] };
