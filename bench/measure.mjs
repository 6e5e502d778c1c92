// SPDX-License-Identifier: Apache-2.0

// What bench/run starts once everything is built: measures in turn, prints tables, writes JSON.
// It asserts no time: whoever reads the figures judges them.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { dirname, join } from "node:path";
import { groups, writeLines } from "./contenders.mjs";
import { readOptions, root } from "./options.mjs";
import { firstLine } from "./servers.mjs";

const BUSY_LOAD = 0.5;

// ---- figures ----

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// How far the runs lie apart, as a part of their median.
const spread = (values) => (Math.max(...values) - Math.min(...values)) / median(values);

function summarise(runs) {
  const figures = {};
  for (const name of Object.keys(runs[0])) figures[name] = median(runs.map((run) => run[name]));
  return { ...figures, spread: spread(runs.map((run) => run.rate)), runs };
}

// The ratio of the medians; least and most are of the rounds, each of which ran the two in turn.
// That of the processor times is turned round, so that 1 is the best in both.
function compare(results, [ours, theirs]) {
  const rounds = results[ours].runs.map((run, i) => run.rate / results[theirs].runs[i].rate);
  return {
    of: ours,
    to: theirs,
    ratio: results[ours].rate / results[theirs].rate,
    least: Math.min(...rounds),
    most: Math.max(...rounds),
    cpu_ratio: results[theirs].cpu_us / results[ours].cpu_us,
  };
}

// ---- the terminal ----

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function digits(number, count) {
  const form = { minimumFractionDigits: count, maximumFractionDigits: count };
  return number === undefined ? "" : number.toLocaleString("en", form);
}

const percent = (part) => `±${Math.round(part * 100)} %`;

function printGroup(group, results, ratios) {
  const heads = [group.unit, "spread", "p50 ms", "p99 ms", "CPU µs", "NATS µs", "MB"];
  const line = (label, cells) =>
    console.log("  " + label.padEnd(40) + cells.map((cell) => cell.padStart(11)).join(""));
  console.log(`\n${group.name}`);
  line("", heads);
  for (const [key, { label }] of Object.entries(group.contenders)) {
    const figures = results[key];
    line(label, [
      digits(figures.rate, 0),
      percent(figures.spread),
      digits(figures.p50_ms, 2),
      digits(figures.p99_ms, 2),
      digits(figures.cpu_us, 1),
      digits(figures.nats_cpu_us, 1),
      digits(figures.peak_mb, 0),
    ]);
  }
  for (const { of, to, ratio, least, most, cpu_ratio } of ratios) {
    const range = `${least.toFixed(2)} … ${most.toFixed(2)}`;
    const start = `  ${`${of} / ${to}`.padEnd(40)}${ratio.toFixed(2).padStart(11)}`;
    console.log(`${start}   (${range}), by CPU ${cpu_ratio.toFixed(2)}`);
  }
}

// ---- all of it ----

function describeMachine(options) {
  const git = ["-C", root, "-c", "safe.directory=*"];
  return {
    cpu: cpus()[0].model,
    cores: cpus().length,
    linux: release(),
    load_before: loadavg()[0],
    parley: firstLine(options.parley, "--version"),
    commit: firstLine("git", ...git, "describe", "--always", "--dirty"),
    nats_server: firstLine("nats-server", "--version"),
    libmicrohttpd: firstLine("pkg-config", "--modversion", "libmicrohttpd"),
    nats_c: firstLine("pkg-config", "--modversion", "libnats"),
    jansson: firstLine("pkg-config", "--modversion", "jansson"),
  };
}

async function measureGroup(options, group) {
  const runs = Object.fromEntries(Object.keys(group.contenders).map((key) => [key, []]));
  for (let round = 1; round <= options.runs; round++) {
    for (const [key, contender] of Object.entries(group.contenders)) {
      progress(`${group.name}, round ${round} of ${options.runs}: ${contender.label}`);
      runs[key].push(await contender.run(options));
    }
  }
  progress("");
  return Object.fromEntries(Object.entries(runs).map(([key, list]) => [key, summarise(list)]));
}

async function measureAll(options) {
  const machine = describeMachine(options);
  if (machine.load_before > BUSY_LOAD) {
    const load = machine.load_before.toFixed(1);
    console.error(`Load ${load}: other programs run here, and take from what is measured.`);
  }
  const { runs, seconds, lines } = options;
  const report = { date: new Date().toISOString(), machine, runs, seconds, lines, groups: {} };
  console.log(`${machine.parley} beside bare programs; ${machine.cores} cores of ${machine.cpu}`);
  console.log(`medians of ${runs} runs, single requests for ${seconds} s, ${lines} lines a body`);
  for (const group of groups.filter(({ key }) => key.includes(options.only))) {
    const results = await measureGroup(options, group);
    const ratios = group.ratios.map((pair) => compare(results, pair));
    printGroup(group, results, ratios);
    report.groups[group.key] = { unit: group.unit, results, ratios };
  }
  return report;
}

const options = readOptions();
mkdirSync(join(root, "build"), { recursive: true });
options.folder = mkdtempSync(join(root, "build/bench-"));
options.linesFile = join(options.folder, "lines.ndjson");
process.on("exit", () => rmSync(options.folder, { recursive: true, force: true, maxRetries: 5 }));
try {
  writeLines(options.linesFile, options.lines);
  const report = await measureAll(options);
  mkdirSync(dirname(options.json), { recursive: true });
  writeFileSync(options.json, JSON.stringify(report, null, 2) + "\n");
  console.log(`\nThe figures are in ${options.json}.`);
} catch (error) {
  progress("");
  console.error(`bench/run: ${error.message}`);
  process.exitCode = 1;
}
