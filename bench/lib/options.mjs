// SPDX-License-Identifier: Apache-2.0

// What bench/run can be told.

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const below = (name) => resolve(root, name);

const usage = (works) => `Usage: bench/run [OPTION]… [WORK | WORK/ROW]…
Measures parley beside other programs on the same machine, in turn, and prints the ratios. What is
measured how, and what it does not show: bench/README.md. Without a name: every work but those
that are apart.

${works.map(({ name, title, isApart }) => `  ${name.padEnd(16)} ${title}${isApart ? " (apart)" : ""}`).join("\n")}

  --quick          a first look: 1 run of 1 s and small files (otherwise 5 of 2 s)
  --runs N         how often each is measured; the medians are compared
  --seconds N      how long a run of single requests takes
  --lines N        how many messages an NDJSON body holds
  --list           only say what rows there are
  --json FILE      where the figures go (build/bench.json)
  --from FILE      measure nothing, take the figures from there; may be given more than once
  --write-docs     put the figures and the picture into docs/benchmarks.*
  --parley FILE    another binary than build/release/gateway/parley
  --programs DIR   where the C programs of bench/ are (build/release/bench)
  -h, --help       this text`;

const known = {
  quick: { type: "boolean", default: false },
  runs: { type: "string" },
  seconds: { type: "string" },
  lines: { type: "string" },
  list: { type: "boolean", default: false },
  json: { type: "string", default: below("build/bench.json") },
  from: { type: "string", multiple: true, default: [] },
  "write-docs": { type: "boolean", default: false },
  parley: { type: "string", default: below("build/release/gateway/parley") },
  programs: { type: "string", default: below("build/release/bench") },
  "check-options": { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
};

function wrong(text) {
  console.error(`bench/run: ${text} (bench/run --help)`);
  process.exit(2);
}

function wholeNumber(name, text, most) {
  const number = Number(text);
  if (!/^[1-9]\d*$/.test(text) || number > most) {
    wrong(`--${name} wants a number from 1 to ${most}`);
  }
  return number;
}

function chooseRows(works, names) {
  if (names.length === 0) return works.filter(({ isApart }) => !isApart).flatMap((w) => w.rows);
  const rows = works.flatMap((work) => work.rows);
  for (const name of names) {
    const isKnown = works.some((work) => work.name === name) || rows.some(({ id }) => id === name);
    if (!isKnown) wrong(`there is no work or row '${name}'; --list says what there is`);
  }
  return rows.filter(({ id }) => names.includes(id) || names.includes(id.split("/")[0]));
}

function parse() {
  try {
    return parseArgs({ options: known, allowPositionals: true });
  } catch (error) {
    return wrong(error.message);
  }
}

// Exits where there is nothing to measure: --help, --list, --check-options.
export function readOptions(works) {
  const { values, positionals } = parse();
  const sayAndExit = (text) => {
    console.log(text);
    process.exit(0);
  };
  if (values.help) sayAndExit(usage(works));
  const choose = (name, full, quick, most) =>
    wholeNumber(name, values[name] ?? (values.quick ? quick : full), most);
  const options = {
    isQuick: values.quick,
    runs: choose("runs", "5", "1", 1000),
    seconds: choose("seconds", "2", "1", 3600),
    lines: choose("lines", "100000", "20000", 10_000_000),
    rows: chooseRows(works, positionals),
    json: resolve(values.json),
    from: values.from.map((name) => resolve(name)),
    isForDocs: values["write-docs"],
    parley: resolve(values.parley),
    programs: resolve(values.programs),
  };
  if (values.list)
    sayAndExit(options.rows.map(({ id, title }) => `${id.padEnd(28)} ${title}`).join("\n"));
  if (values["check-options"]) process.exit(0);
  return options;
}
