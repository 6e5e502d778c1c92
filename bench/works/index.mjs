// SPDX-License-Identifier: Apache-2.0

// All works, in the order in which they are measured and shown. A work is
//   { name, title, isApart, rows: [row, …] }     isApart: measured only when it is named
// and a row, what is measured in turn because it is the same work in the same unit:
//   { id, title, unit, higherIsBetter, isOnce, prepare, contenders, ratios }
//   id              unique within the work; `bench/run WORK/ID` measures the row alone
//   isOnce          optional: one round, however many are asked for
//   prepare(bench)  optional, once before the rounds: makes files below bench.folder, finds a rate
//   contenders      { name: { label, missing, run } }
//     missing(bench)       optional: why it cannot be measured here, or undefined
//     run(bench, prepared) one run: { value, … }, the value in the row's unit, besides that what
//                          lib/table.mjs shows (cpu_us, p99_ms, …) or only the JSON; it throws
//                          when the run was not wholly good
//   ratios          [{ of, to, atLeast }, …]; the forms of a target are told at compare() in
//                   lib/stats.mjs
// `bench` is { runs, seconds, lines, isQuick, parley, program(name), folder }: lib/main.mjs.

import brenner from "./brenner.mjs";
import check from "./check.mjs";
import durability from "./durability.mjs";
import { fanout, fanoutOne } from "./fanout.mjs";
import idle from "./idle.mjs";
import latency from "./latency.mjs";
import lookups from "./lookups.mjs";
import mcp from "./mcp.mjs";
import memory from "./memory.mjs";
import msgpack from "./msgpack.mjs";
import ndjson from "./ndjson.mjs";
import queues from "./queues.mjs";
import replay from "./replay.mjs";
import single from "./single.mjs";
import tasks from "./tasks.mjs";
import checkpoints from "./checkpoints.mjs";

const all = [
  ...[single, latency, ndjson, check, msgpack, brenner, tasks, mcp, lookups, queues, checkpoints],
  durability,
  ...[fanout, idle, replay, fanoutOne, memory],
];
export const works = all.map((work) => ({
  ...work,
  rows: work.rows.map((row) => ({ ...row, id: `${work.name}/${row.id}` })),
}));
