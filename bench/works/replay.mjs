// SPDX-License-Identifier: Apache-2.0

// A stream that holds many events, read from its first to its last.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeLines } from "../lib/claims.mjs";
import { cpuSeconds, endAll, peakMegabytes, run, stop, waitFor } from "../lib/processes.mjs";
import { checkStored, parley, startNats, startServer } from "../lib/servers.mjs";

const EVENTS = 1_000_000;
const QUICK_EVENTS = 100_000;
const EVENTS_A_FILE = 100_000;

// The store, filled once: { store, count }. The bare publisher numbers messages itself, so that the
// same lines again are no duplicates.
async function prepare(bench) {
  const count = bench.isQuick ? QUICK_EVENTS : EVENTS;
  const store = join(bench.folder, "store");
  const file = join(bench.folder, "lines.ndjson");
  writeLines(file, EVENTS_A_FILE);
  const nats = await startNats(store);
  for (let stored = 0; stored < count; stored += EVENTS_A_FILE) {
    await run(bench.program("publish"), [nats.url, file]);
  }
  await checkStored(nats, count);
  await stop(nats.child);
  return { store, count };
}

// nats-server has recovered the stream before it says where it listens.
async function withStore({ store, count }, measure) {
  try {
    const nats = await startNats(store);
    await checkStored(nats, count);
    const figures = await measure(nats);
    figures.nats_cpu_us = (cpuSeconds(nats.child) / count) * 1e6;
    await stop(nats.child);
    return figures;
  } finally {
    await endAll();
  }
}

async function drain(bench, { child, url }, target, count) {
  const isReady = () => fetch(`${url}/readyz`).then(({ ok }) => ok);
  await waitFor("parley", child, isReady);
  const before = cpuSeconds(child);
  const output = await run(bench.program("drain"), [new URL(url).port, target]);
  const { lines, seconds } = JSON.parse(output);
  if (lines !== count) throw new Error(`${lines} of ${count} events were read`);
  const cpu_us = ((cpuSeconds(child) - before) / count) * 1e6;
  return { value: count / seconds, cpu_us, peak_mb: peakMegabytes(child) };
}

const events = {
  label: "parley, as CloudEvents",
  run: (bench, prepared) =>
    withStore(prepared, async (nats) => {
      const folder = mkdtempSync(join(bench.folder, "parley-"));
      const server = await startServer(parley(bench, nats, folder));
      const target = "/v1/vlp/stream?since=all&follow=false";
      const figures = await drain(bench, server, target, prepared.count);
      await stop(server.child);
      rmSync(folder, { recursive: true });
      return figures;
    }),
};

const ordered = {
  label: "bare nats.c ordered consumer",
  run: (bench, prepared) =>
    withStore(prepared, async (nats) => {
      const count = String(prepared.count);
      const output = await run(bench.program("ordered"), [nats.url, "VLP", "vlp.>", count]);
      const { messages, seconds, cpu_seconds } = JSON.parse(output);
      return { value: messages / seconds, cpu_us: (cpu_seconds / messages) * 1e6 };
    }),
};

const row = {
  id: "all",
  title: "replay of 1 million stored events",
  unit: "events/s",
  higherIsBetter: true,
  prepare,
  contenders: { parley: events, ordered },
  ratios: [{ of: "parley", to: "ordered", atLeast: 0.7 }],
};

export default { name: "replay", title: "a stream read again from its start", rows: [row] };
