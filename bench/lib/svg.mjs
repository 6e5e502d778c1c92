// SPDX-License-Identifier: Apache-2.0

// The picture for docs/benchmarks.md: every ratio on one logarithmic axis, with the range of its
// rounds and its target. It is written by hand, so that the benchmark needs no package.

import { digits } from "./table.mjs";

const WIDTH = 960;
const LABEL_WIDTH = 320;
const RIGHT_MARGIN = 70;
const TOP = 56;
const LINE_HEIGHT = 22;

const style = `
    text { font: 12px system-ui, sans-serif; fill: #24292f; }
    .small { font-size: 11px; fill: #57606a; } .work { font-weight: 600; }
    .grid { stroke: #d0d7de; } .one { stroke: #57606a; }
    .met { fill: #1a7f37; stroke: #1a7f37; } .missed { fill: #bc4c00; stroke: #bc4c00; }
    .shown { fill: #57606a; stroke: #57606a; } .target { stroke: #24292f; stroke-width: 2; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; } .small { fill: #9198a1; } .grid { stroke: #3d444d; }
      .one { stroke: #9198a1; } .target { stroke: #e6edf3; }
      .met { fill: #3fb950; stroke: #3fb950; } .missed { fill: #f0883e; stroke: #f0883e; }
    }`;

const escape = (text) =>
  text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

// The lines of the picture: a work, then each of its ratios.
function linesOf({ rows }) {
  return rows.flatMap((row) => {
    const ratios = row.ratios.filter(({ ratio }) => ratio !== undefined);
    const points = ratios.map((ratio) => ({ ...ratio, label: row.contenders[ratio.to].label }));
    return points.length > 0 ? [{ title: row.title }, ...points] : [];
  });
}

// Whole powers of two that enclose everything.
function axis(points) {
  const values = points.flatMap(({ least, most, atLeast }) => [least, most, atLeast ?? 1, 1]);
  const first = Math.floor(Math.log2(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log2(Math.max(...values))));
  const plot = WIDTH - LABEL_WIDTH - RIGHT_MARGIN;
  const x = (value) => LABEL_WIDTH + ((Math.log2(value) - first) / (last - first)) * plot;
  const marks = Array.from({ length: last - first + 1 }, (_, i) => 2 ** (first + i));
  return { x: (value) => x(value).toFixed(1), marks };
}

function gridLine({ x }, mark, bottom) {
  const at = x(mark);
  const text = `<text class="small" x="${at}" y="${TOP - 10}" text-anchor="middle">${mark} ×</text>`;
  const kind = mark === 1 ? "one" : "grid";
  return `${text}<path class="${kind}" d="M${at} ${TOP - 4}V${bottom}"/>`;
}

const titleLine = ({ title }, y) =>
  `<text class="work" x="12" y="${y + 4}">${escape(title)}</text>`;

function pointLine({ x }, point, y) {
  const kind = point.is_met === null ? "shown" : point.is_met ? "met" : "missed";
  const target =
    point.atLeast === undefined
      ? ""
      : `<path class="target" d="M${x(point.atLeast)} ${y - 8}v16"/>`;
  return (
    `<text x="28" y="${y + 4}">${escape(point.label)}</text>` +
    `<path class="${kind}" d="M${x(point.least)} ${y}H${x(point.most)}" stroke-width="3"/>` +
    `<circle class="${kind}" cx="${x(point.ratio)}" cy="${y}" r="4.5"/>${target}` +
    `<text x="${WIDTH - 8}" y="${y + 4}" text-anchor="end">${digits(point.ratio, 2)} ×</text>`
  );
}

export function picture(report) {
  const lines = linesOf(report);
  const scale = axis(lines.filter(({ ratio }) => ratio !== undefined));
  const bottom = TOP + LINE_HEIGHT * lines.length;
  const { cores, cpu } = report.machine;
  const about = `parley ${report.versions.parley}, ${cores} cores of ${cpu}, ${report.date.slice(0, 10)}`;
  const drawn = (line, index) => {
    const y = TOP + LINE_HEIGHT * (index + 0.5);
    return line.title ? titleLine(line, y) : pointLine(scale, line, y);
  };
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 30}" role="img">
  <title>How many times as fast as each peer parley is</title>
  <style>${style}
  </style>
  <text x="12" y="22">parley / peer: median (dot), rounds (line) and target (bar); to the right is better</text>
  ${scale.marks.map((mark) => gridLine(scale, mark, bottom)).join("\n  ")}
  ${lines.map(drawn).join("\n  ")}
  <text class="small" x="12" y="${bottom + 20}">${escape(about)}</text>
</svg>
`;
}
