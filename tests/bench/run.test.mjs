// SPDX-License-Identifier: Apache-2.0

// bench/run at its shortest: that it measures, writes what it measured, and leaves nothing behind.
// $PARLEY_BIN is what is measured, $BENCH_PROGRAMS the folder of the C programs of bench/.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../bench/lib/main.mjs", import.meta.url));
const { PARLEY_BIN = "parley", BENCH_PROGRAMS = "." } = process.env;

function start(...parameters) {
  const own = ["--parley", PARLEY_BIN, "--programs", BENCH_PROGRAMS, "--runs", "1"];
  const child = spawn(process.execPath, [main, ...own, "--seconds", "1", ...parameters]);
  child.text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data) => (child.text += data));
  child.ended = new Promise((resolve) => child.on("close", resolve));
  return child;
}

// The processes that `pid` started and that still are, as { pid, words }.
function childrenOf(parent) {
  const read = (pid, name) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, "latin1");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) =>
      read(pid, "stat")
        .replace(/.*\) \S /s, "")
        .startsWith(`${parent} `),
    )
    .map((pid) => ({ pid, words: read(pid, "cmdline").split("\0") }));
}

async function until(what, attempt) {
  for (let i = 0; i < 3000; i++) {
    const result = attempt();
    if (result) return result;
    await sleep(10);
  }
  throw new Error(`waited in vain for ${what}`);
}

test("rows are measured, printed and written", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const json = join(folder, "figures.json");
  const rows = ["single/validate-64", "latency/half-rate", "ndjson/messages", "check/one-core"];
  // Lines that take more than one tick (10 ms) of the clock that the kernel measures processes by.
  const child = start("--lines", "20000", "--json", json, ...rows);
  assert.equal(await child.ended, 0, child.text);
  const report = JSON.parse(readFileSync(json, "utf8"));
  assert.deepEqual(
    report.rows.map(({ id }) => id),
    rows,
  );
  for (const { id, contenders, ratios } of report.rows) {
    assert.ok(child.text.includes(`bench/run ${id}`), id);
    assert.ok(ratios.length > 0);
    for (const [name, { value, missing }] of Object.entries(contenders)) {
      assert.ok(value > 0 || missing, `${id}: ${name}`);
    }
  }
  const { parley, publish } = report.rows[2].contenders;
  assert.ok(parley.cpu_us > 0 && publish.value > 0);
});

test("interrupted, it ends what it started and removes its files", async () => {
  const child = start("--seconds", "60", "ndjson/messages"); // needs no wrk
  const nats = await until("nats-server", () =>
    childrenOf(child.pid).find(({ words }) => words.includes("--jetstream")),
  );
  const store = nats.words[nats.words.indexOf("--store_dir") + 1];
  await until("its store", () => existsSync(join(store, "jetstream")));
  const started = childrenOf(child.pid);
  child.kill("SIGINT");
  assert.equal(await child.ended, 130);
  const isRunning = ({ pid, words }) =>
    existsSync(`/proc/${pid}/cmdline`) &&
    readFileSync(`/proc/${pid}/cmdline`, "latin1") === words.join("\0");
  await until("the end of its servers", () => !started.some(isRunning));
  assert.ok(!existsSync(store));
});

for (const [name, parameters, said] of [
  ["an unknown row is refused", ["single/none"], /no work or row 'single\/none'/],
  ["an unknown option is refused", ["--fast"], /--fast/],
  ["no runs are refused", ["--runs", "0"], /--runs wants a number/],
]) {
  test(name, async () => {
    const child = start(...parameters);
    assert.equal(await child.ended, 2);
    assert.match(child.text, said);
  });
}
