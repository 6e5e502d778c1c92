// SPDX-License-Identifier: Apache-2.0

// Measures one row: everybody in turn, as often as asked, so that what disturbs the machine for a
// while disturbs all of them.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { endAll } from "./processes.mjs";
import { compare, summarise } from "./stats.mjs";

export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

// A contender fails by throwing: it is out, and the row goes on with the others.
async function runOnce(bench, { run }, result, prepared) {
  try {
    result.runs.push(await run(bench, prepared));
  } catch (error) {
    await endAll();
    result.missing = `failed: ${error.message}`;
    result.is_failed = true;
  }
}

async function measureRounds(bench, row, results) {
  if (Object.values(results).every(({ missing }) => missing)) return;
  const prepared = await row.prepare?.(bench);
  const runs = row.isOnce ? 1 : bench.runs;
  for (let round = 1; round <= runs; round++) {
    for (const [name, contender] of Object.entries(row.contenders)) {
      progress(`${row.id}, round ${round} of ${runs}: ${contender.label}`);
      if (!results[name].missing) await runOnce(bench, contender, results[name], prepared);
    }
  }
  progress("");
}

// The row's result as the JSON has it. What is made below `bench.folder` lives as long as the row
// is measured.
export async function measureRow(defaults, row) {
  const bench = { ...defaults, folder: mkdtempSync(join(defaults.folder, "row-")) };
  const contenders = {};
  for (const [name, { label, missing }] of Object.entries(row.contenders)) {
    contenders[name] = { label, missing: missing?.(bench), runs: [] };
  }
  await measureRounds(bench, row, contenders);
  for (const result of Object.values(contenders)) {
    if (!result.missing) Object.assign(result, summarise(result.runs));
  }
  rmSync(bench.folder, { recursive: true, maxRetries: 5 });
  const { id, title, unit } = row;
  const ratios = row.ratios.map((target) => compare(row, contenders, target));
  return { id, title, unit, command: `bench/run ${id}`, contenders, ratios };
}
