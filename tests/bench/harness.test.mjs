// SPDX-License-Identifier: Apache-2.0

// What bench/lib makes of figures: medians, ratios, verdicts, tables, the picture, the page.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { generatedMarkdown, insertGenerated } from "../../bench/lib/docs.mjs";
import { root } from "../../bench/lib/options.mjs";
import { readReports } from "../../bench/lib/report.mjs";
import { compare, median, summarise } from "../../bench/lib/stats.mjs";
import { picture } from "../../bench/lib/svg.mjs";
import { measuredText, rowText, summaryMarkdown, verdict } from "../../bench/lib/table.mjs";
import { works } from "../../bench/works/index.mjs";

// ---- medians ----

for (const [name, values, expected] of [
  ["the median of one value is that value", [7], 7],
  ["the median of an odd count is the middle one", [9, 1, 5], 5],
  ["the median of an even count is between the middle two", [4, 1, 3, 100], 3.5],
  ["values are ordered as numbers, not as text", [10, 9, 100], 10],
]) {
  test(name, () => assert.equal(median(values), expected));
}

test("a summary has medians of all figures, and the range of the value", () => {
  const runs = [
    { value: 30, cpu_us: 1 },
    { value: 10, cpu_us: 3 },
    { value: 20, cpu_us: 2 },
  ];
  const expected = { value: 20, cpu_us: 2, least: 10, most: 30, runs };
  assert.deepEqual(summarise(runs), expected);
});

// ---- ratios and targets ----

const fast = summarise([{ value: 200 }, { value: 240 }, { value: 210 }]);
const slow = summarise([{ value: 100 }, { value: 120 }, { value: 70 }]);
const slower = summarise([{ value: 50 }, { value: 50 }, { value: 50 }]);
const gone = { missing: "it is not installed", runs: [] };

function rowOf(higherIsBetter, target) {
  const row = { id: "work/row", title: "A row", unit: "ms", command: "bench/run work/row" };
  const labels = { fast: "Fast", slow: "Slow", slower: "Slower", gone: "Gone" };
  const results = { fast, slow, slower, gone };
  const contenders = Object.fromEntries(
    Object.entries(labels).map(([name, label]) => [name, { label, ...results[name] }]),
  );
  const ratio = compare({ ...row, higherIsBetter }, contenders, target);
  return { ...row, contenders, ratios: [ratio] };
}

for (const [name, higherIsBetter, target, measured, said] of [
  ["twice the rate meets 2 ×", true, { of: "fast", to: "slow", atLeast: 2 }, "2.10 ×", "met"],
  [
    "twice the rate misses 2.2 ×",
    true,
    { of: "fast", to: "slow", atLeast: 2.2 },
    "2.10 ×",
    "missed",
  ],
  [
    "half the time is twice as good",
    false,
    { of: "slow", to: "fast", atLeast: 2 },
    "2.10 ×",
    "met",
  ],
  [
    "twice the time is half as good",
    false,
    { of: "fast", to: "slow", atLeast: 1 },
    "0.48 ×",
    "missed",
  ],
  ["without a target nobody judges", true, { of: "fast", to: "slow" }, "2.10 ×", ""],
  [
    "of several the slower counts",
    true,
    { of: "fast", to: ["slow", "slower"], atLeast: 4 },
    "4.20 ×",
    "met",
  ],
  [
    "of several the longer counts",
    false,
    { of: "slower", to: ["fast", "slow"], atLeast: 4 },
    "4.20 ×",
    "met",
  ],
  ["within a distance", false, { of: "fast", to: "slow", within: 110 }, "+110.00 ms", "met"],
  ["beyond a distance", false, { of: "fast", to: "slow", within: 109 }, "+110.00 ms", "missed"],
  [
    "better than the other is within any distance",
    false,
    { of: "slow", to: "fast", within: 1 },
    "−110.00 ms",
    "met",
  ],
  ["at most a value", false, { of: "slow", atMost: 100 }, "100.0 ms", "met"],
  ["at least a value", true, { of: "slow", atLeast: 100 }, "100.0 ms", "met"],
  ["less than at least", true, { of: "slow", atLeast: 101 }, "100.0 ms", "missed"],
  ["more than at most", false, { of: "slow", atMost: 99 }, "100.0 ms", "missed"],
  [
    "who is missing is not measured",
    true,
    { of: "fast", to: "gone", atLeast: 2 },
    "not measured",
    "",
  ],
]) {
  test(`${name}: ${said || "no verdict"}`, () => {
    const row = rowOf(higherIsBetter, target);
    assert.equal(measuredText(row.ratios[0], row), measured);
    assert.equal(verdict(row.ratios[0]), said);
    assert.match(rowText(row), /bench\/run work\/row/);
  });
}

test("the range is that of the rounds, in which both ran in turn", () => {
  const { ratio, least, most } = rowOf(true, { of: "fast", to: "slow", atLeast: 2 }).ratios[0];
  assert.deepEqual([ratio, least, most], [2.1, 2, 3]);
});

test("less processor time is better, whatever the unit of the row", () => {
  const [ours, theirs] = [1, 3].map((cpu_us) => summarise([{ value: 1, cpu_us }]));
  const row = { unit: "ms", higherIsBetter: false };
  assert.equal(compare(row, { ours, theirs }, { of: "ours", to: "theirs" }).cpu_ratio, 3);
});

// ---- what is shown ----

const report = {
  ...{ date: "2026-01-02T03:04:05Z", versions: { parley: "1", node: "18" } },
  machine: { cpu: "A <fast> & old CPU", cores: 2, linux: "6", load_before: 0, memory_gb: 4 },
  settings: { runs: 3, seconds: 1, lines: 1000, is_quick: true },
  rows: [
    rowOf(true, { of: "fast", to: "slow", atLeast: 2 }),
    rowOf(true, { of: "fast", to: "gone", atLeast: 2 }),
    rowOf(false, { of: "fast", to: "slow", within: 1 }),
  ],
};

test("the table has a line for each target, with the row's own command", () => {
  const lines = summaryMarkdown(report.rows).split("\n").slice(2);
  assert.equal(lines.length, 3);
  for (const line of lines) assert.match(line, /`bench\/run work\/row` \|$/);
});

test("the picture is well-formed, and has a dot for each ratio that was measured", () => {
  const svg = picture(report);
  assert.equal(svg.match(/<circle /g).length, 1);
  assert.match(svg, /A &lt;fast&gt; &amp; old CPU/);
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
  const open = [];
  for (const [, end, name, empty] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (end) assert.equal(open.pop(), name);
    else if (!empty) open.push(name);
  }
  assert.deepEqual(open, []);
});

test("the page keeps what is outside its markers", () => {
  const page =
    "before <!-- bench/run --write-docs: begin -->old<!-- bench/run --write-docs: end --> after";
  const written = insertGenerated(page, "new");
  assert.match(written, /^before <!--.*-->\n\nnew\n\n<!--.*--> after$/);
  assert.equal(insertGenerated(written, "new"), written);
  assert.throws(() => insertGenerated("no marker", "new"), /lacks/);
});

test("reports are joined, and a row that was measured again replaces the first", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = ["all", "apart"].map((name) => join(folder, name));
  const rows = (list) => list.map(([id, title]) => ({ id, title }));
  writeFileSync(
    files[0],
    JSON.stringify({
      date: "first",
      rows: rows([
        ["a", 1],
        ["b", 1],
      ]),
    }),
  );
  writeFileSync(
    files[1],
    JSON.stringify({
      date: "second",
      rows: rows([
        ["a", 2],
        ["c", 2],
      ]),
    }),
  );
  const joined = readReports(files);
  assert.equal(joined.date, "first");
  assert.deepEqual(
    joined.rows,
    rows([
      ["b", 1],
      ["a", 2],
      ["c", 2],
    ]),
  );
});

// ---- what is in the repository ----

test("docs/benchmarks.md says what docs/benchmarks.json says", () => {
  const read = (name) => readFileSync(join(root, "docs", name), "utf8");
  const current = JSON.parse(read("benchmarks.json"));
  const page = read("benchmarks.md");
  assert.equal(insertGenerated(page, generatedMarkdown(current)), page);
  assert.equal(picture(current), read("benchmarks.svg"));
});

test("every row can be named, and every target names contenders of its row", () => {
  const rows = works.flatMap((work) => work.rows);
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
  for (const { id, title, unit, contenders, ratios } of rows) {
    assert.ok(title && unit && ratios.length > 0, id);
    for (const { of, to } of ratios) {
      for (const name of [of, to ?? []].flat()) assert.ok(contenders[name], `${id}: ${name}`);
    }
  }
});
