// SPDX-License-Identifier: Apache-2.0

// What bench/run starts once everything is built: measures in turn, prints tables, writes JSON.
// It asserts no time: the reader judges the figures. Its status is 1 only when something
// could not be measured that should have been.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { works } from "../works/index.mjs";
import { writeDocs } from "./docs.mjs";
import { measureRow, progress } from "./measure.mjs";
import { readOptions, root } from "./options.mjs";
import { readReports, startReport, writeReport } from "./report.mjs";
import { rowText, summaryText } from "./table.mjs";

// What a row's `prepare` and a contender's `run` are given.
function benchOf({ runs, seconds, lines, isQuick, parley, programs }, folder) {
  const program = (name) => join(programs, `bench_${name}`);
  return { runs, seconds, lines, isQuick, parley, program, folder };
}

async function measureAll(options, folder) {
  const report = startReport(options);
  const { runs, seconds, lines } = options;
  console.log(
    `parley ${report.versions.parley}; ${report.machine.cores} cores of ${report.machine.cpu}`,
  );
  console.log(`medians of ${runs} runs, single requests for ${seconds} s, ${lines} lines a body`);
  for (const row of options.rows) {
    const result = await measureRow(benchOf(options, folder), row);
    console.log(`\n${rowText(result)}`);
    report.rows.push(result);
    const failures = Object.values(result.contenders).filter(({ is_failed }) => is_failed);
    if (failures.length > 0) process.exitCode = 1;
    writeReport(options.json, report); // after each row: an interrupted run keeps what there is
  }
  console.log(`\n${summaryText(report.rows)}\n\nThe figures are in ${options.json}.`);
  return report;
}

async function main() {
  const options = readOptions(works);
  if (options.from.length > 0) {
    const report = readReports(options.from);
    console.log(summaryText(report.rows));
    return options.isForDocs && writeDocs(report);
  }
  mkdirSync(join(root, "build"), { recursive: true });
  const folder = mkdtempSync(join(root, "build/bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const report = await measureAll(options, folder);
  return options.isForDocs && writeDocs(report);
}

try {
  await main();
} catch (error) {
  progress("");
  console.error(`bench/run: ${error.stack}`);
  process.exitCode = 1;
}
