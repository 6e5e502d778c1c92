// SPDX-License-Identifier: Apache-2.0

// The figures as text: for the terminal, and as Markdown for docs/benchmarks.md.

const decimals = (number) => (number < 1 ? 3 : number < 10 ? 2 : number < 1000 ? 1 : 0);

export function digits(number, count = decimals(number)) {
  const form = { minimumFractionDigits: count, maximumFractionDigits: count };
  return number === undefined ? "" : number.toLocaleString("en", form);
}

// What a contender may tell besides the value that is compared. A work may bring others: they are
// in the JSON alone.
const columns = [
  ["p50_ms", "p50 ms"],
  ["p99_ms", "p99 ms"],
  ["cpu_us", "CPU µs"],
  ["nats_cpu_us", "NATS µs"],
  ["peak_mb", "MB"],
];

const LABEL_WIDTH = 46;
const CELL_WIDTH = 10;

const line = (label, cells) =>
  `  ${label.padEnd(LABEL_WIDTH)}${cells.map((cell) => cell.padStart(CELL_WIDTH)).join("")}`;

function contenderLines({ unit, contenders }) {
  const all = Object.values(contenders);
  const shown = columns.filter(([name]) => all.some((result) => result[name] !== undefined));
  const lines = all.map((result) =>
    result.missing
      ? `  ${result.label.padEnd(LABEL_WIDTH)}  not measured: ${result.missing}`
      : line(result.label, [
          ...[result.least, result.value, result.most].map((value) => digits(value)),
          ...shown.map(([name]) => digits(result[name])),
        ]),
  );
  return [line(unit, ["min", "median", "max", ...shown.map(([, head]) => head)]), ...lines];
}

// ---- ratios ----

export function targetText(ratio, unit) {
  if (ratio.within !== undefined) return `within ${ratio.within} ${unit}`;
  if (ratio.atMost !== undefined) return `${ratio.atMost} ${unit} or less`;
  if (ratio.to === undefined) return `${digits(ratio.atLeast, 0)} ${unit} or more`;
  return ratio.atLeast === undefined ? "" : `${digits(ratio.atLeast, 2)} ×`;
}

// What was measured for it: a ratio, a distance, or the value itself.
export function measuredText(ratio, row) {
  if (ratio.missing) return "not measured";
  if (ratio.ratio !== undefined) return `${digits(ratio.ratio, 2)} ×`;
  if (ratio.distance === undefined) return `${digits(row.contenders[ratio.of].value)} ${row.unit}`;
  return `${ratio.distance < 0 ? "−" : "+"}${digits(Math.abs(ratio.distance), 2)} ${row.unit}`;
}

export function verdict({ is_met, missing }) {
  if (missing || is_met === null) return "";
  return is_met ? "met" : "missed";
}

const peerLabel = (ratio, row) => (ratio.to ? row.contenders[[ratio.to].flat()[0]].label : "alone");

function ratioLine(ratio, row) {
  const range =
    ratio.least === undefined ? "" : ` (${digits(ratio.least, 2)} … ${digits(ratio.most, 2)})`;
  const byCpu = ratio.cpu_ratio === undefined ? "" : `, by CPU ${digits(ratio.cpu_ratio, 2)}`;
  const target = targetText(ratio, row.unit);
  const judged = target ? `; target ${target}: ${verdict(ratio) || "not measured"}` : "";
  const pair = ratio.to ? `${ratio.of} / ${[ratio.to].flat().join(", ")}` : ratio.of;
  return `  ${pair.padEnd(LABEL_WIDTH)}  ${measuredText(ratio, row)}${range}${byCpu}${judged}`;
}

// One row, for the terminal.
export function rowText(row) {
  const ratios = row.ratios.map((ratio) => ratioLine(ratio, row));
  return [`${row.title}    [${row.command}]`, ...contenderLines(row), ...ratios].join("\n");
}

// ---- all rows together ----

function summaryCells(row, ratio) {
  const measured = measuredText(ratio, row);
  const range =
    ratio.least === undefined ? "" : `${digits(ratio.least, 2)} … ${digits(ratio.most, 2)}`;
  const peer = peerLabel(ratio, row);
  const target = targetText(ratio, row.unit);
  return [row.title, peer, target, measured, range, verdict(ratio), `\`${row.command}\``];
}

const heads = ["work", "against", "target", "measured", "rounds", "", "command"];
const isJudged = (ratio) => targetText(ratio, "") !== "";

function judgedCells(rows) {
  return rows.flatMap((row) =>
    row.ratios.filter(isJudged).map((ratio) => summaryCells(row, ratio)),
  );
}

const markdownLine = (cells) =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

export function summaryMarkdown(rows) {
  const cells = [heads, heads.map(() => "---"), ...judgedCells(rows)];
  return cells.map(markdownLine).join("\n");
}

export function summaryText(rows) {
  const cells = [heads.slice(0, -1), ...judgedCells(rows).map((list) => list.slice(0, -1))];
  const widths = heads.slice(0, -1).map((_, i) => Math.max(...cells.map((list) => list[i].length)));
  const pad = (list) => list.map((cell, i) => cell.padEnd(widths[i])).join("  ");
  return cells.map((list) => pad(list).trimEnd()).join("\n");
}

// Minimum, median and maximum of everybody, for docs/benchmarks.md.
export function figuresMarkdown(rows) {
  const head = ["work", "who", "unit", "min", "median", "max", "CPU µs", "MB"];
  const cells = rows.flatMap((row) =>
    Object.values(row.contenders).map((result) => [
      ...[row.title, result.label, row.unit],
      ...(result.missing
        ? ["", "not measured", ""]
        : [result.least, result.value, result.most].map((value) => digits(value))),
      ...[digits(result.cpu_us), digits(result.peak_mb, 0)],
    ]),
  );
  const lines = [head, head.map((_, i) => (i < 3 ? "---" : "--:")), ...cells];
  return lines.map(markdownLine).join("\n");
}
