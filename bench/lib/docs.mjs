// SPDX-License-Identifier: Apache-2.0

// Puts a report into docs/benchmarks.md, between its markers, with the picture and the JSON beside
// it: no figure there is typed by hand.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./options.mjs";
import { BUSY_LOAD, writeReport } from "./report.mjs";
import { picture } from "./svg.mjs";
import { figuresMarkdown, summaryMarkdown } from "./table.mjs";

const begin = "<!-- bench/run --write-docs: begin -->";
const end = "<!-- bench/run --write-docs: end -->";

function caveatOf({ machine, settings }) {
  const caveats = [];
  if (machine.load_before > BUSY_LOAD) caveats.push("other programs took from what was measured");
  if (settings.is_quick) caveats.push("this was a quick run, a first look");
  return caveats.length > 0 ? ` **Not for the record: ${caveats.join(", and ")}.**` : "";
}

function machineMarkdown({ date, machine, versions, settings }) {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return (
    `Measured on ${date.slice(0, 10)} on ${machine.cores} cores of ${machine.cpu}, ` +
    `${machine.memory_gb} GB, Linux ${machine.linux}, load ${machine.load_before.toFixed(2)} before: ` +
    `medians of ${settings.runs} runs, single requests for ${settings.seconds} s, ` +
    `${settings.lines.toLocaleString("en")} lines a body. ${list.join(", ")}.`
  );
}

export function generatedMarkdown(report) {
  return [
    "![How many times as fast as each peer, with the target](benchmarks.svg)",
    machineMarkdown(report) + caveatOf(report),
    summaryMarkdown(report.rows),
    "What everybody did, as the minimum, the median and the maximum of the runs; processor time a " +
      "message and the most memory are the server's own:",
    figuresMarkdown(report.rows),
  ].join("\n\n");
}

// The page with what lies between its markers replaced.
export function insertGenerated(page, text) {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/benchmarks.md lacks "${begin}" … "${end}"`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}

export function writeDocs(report) {
  const file = (name) => join(root, "docs", name);
  const page = readFileSync(file("benchmarks.md"), "utf8");
  writeFileSync(file("benchmarks.md"), insertGenerated(page, generatedMarkdown(report)));
  writeFileSync(file("benchmarks.svg"), picture(report));
  writeReport(file("benchmarks.json"), report);
  console.log("docs/benchmarks.md, .svg and .json are written.");
}
