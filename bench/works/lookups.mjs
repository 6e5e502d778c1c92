// SPDX-License-Identifier: Apache-2.0

// What the index costs those that send, how fast it reads what is stored, and how fast it answers.

import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { claimWithNumber, probe } from "../lib/claims.mjs";
import { upload, wrk, wrkMissing } from "../lib/clients.mjs";
import { cpuSeconds, endAll, peakMegabytes, run, stop } from "../lib/processes.mjs";
import { checkStored, parley, startNats, startServer, withServers } from "../lib/servers.mjs";

const LIST = "/v1/vlp/messages";

// Of all that a row stores, however much.
const withIndex = (...more) => (bench, nats, folder) =>
  parley(bench, nats, folder, ["--index", ...more, "--index-max", "64g"]);

// ---- beside those that send ----

const CONNECTIONS = 64;

const sender = (label, server) => ({
  label,
  missing: wrkMissing,
  run: (bench) =>
    withServers(bench, { server, probe: probe(LIST) }, async ({ url }) => {
      const { requests: count, seconds, p50_ms, p99_ms } = await wrk(bench, CONNECTIONS, url + LIST);
      const { headers } = await fetch(`${url}${LIST}?limit=1`);
      const read = headers.get("parley-index")?.match(/VLP:(\d+)/)?.[1] ?? 0;
      const indexed = Number(read) / count; // by the end
      return { count, value: count / seconds, p50_ms, p99_ms, indexed };
    }),
});

const sending = {
  id: "sending",
  title: `POST messages, ${CONNECTIONS} connections, with an index`,
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    on: sender("parley, --index on", withIndex("on")),
    text: sender("parley, and --index-text", withIndex("on", "--index-text")),
    off: sender("parley, no index", parley),
  },
  ratios: [
    { of: "on", to: "off", atLeast: 0.95 },
    { of: "text", to: "off" },
  ],
};

// ---- what is stored ----

const LINES_A_FILE = 100_000;
const LINES_A_WRITE = 10_000;
const A_STORY = 1000; // messages of the first session, which its trace has all
const A_SESSION = 32; // of each other
const SESSION = /"session_id":"[^"]*"/;
const numberOf = (id) => `MSG-${String(id).padStart(11, "0")}`;
const sessionOf = (number) => (number <= A_STORY ? "S-story" : `S-${Math.floor(number / A_SESSION)}`);
const line = (number) =>
  `${claimWithNumber(number).replace(SESSION, `"session_id":"${sessionOf(number)}"`)}\n`;

function writeFile(file, first, count) {
  const fd = openSync(file, "w");
  for (let at = 0; at < count; at += LINES_A_WRITE) {
    const some = Math.min(LINES_A_WRITE, count - at);
    writeSync(fd, Array.from({ length: some }, (_, i) => line(first + at + i)).join(""));
  }
  closeSync(fd);
}

// A store with as many messages as --lines says: { store, count }.
async function fill(bench) {
  const store = join(bench.folder, "store");
  const file = join(bench.folder, "lines.ndjson");
  const nats = await startNats(store);
  const server = await startServer(parley(bench, nats, bench.folder, ["--index", "off"]));
  for (let stored = 0; stored < bench.lines; stored += LINES_A_FILE) {
    const some = Math.min(LINES_A_FILE, bench.lines - stored);
    writeFile(file, stored + 1, some);
    const { summary } = await upload(bench, server.url, `${LIST}?results=summary`, file);
    if (summary.accepted !== some) throw new Error(`${summary.accepted} of ${some} were accepted`);
  }
  await checkStored(nats, bench.lines);
  await stop(server.child);
  await stop(nats.child);
  return { store, count: bench.lines };
}

// Runs `measure(server, nats)` on that store, with the index in `folder`, which may not be there yet.
async function withStore(bench, { store, count }, folder, measure) {
  try {
    const nats = await startNats(store);
    await checkStored(nats, count);
    const server = await startServer(withIndex("on")(bench, nats, folder));
    const figures = await measure(server, nats);
    figures.peak_mb = peakMegabytes(server.child);
    await stop(server.child);
    await stop(nats.child);
    return figures;
  } finally {
    await endAll();
  }
}

// Until the index has all of it.
async function hasAll({ url }, count) {
  for (;;) {
    const { status } = await fetch(`${url}${LIST}?limit=1&id=${numberOf(count)}&after=VLP:${count}&wait=5`);
    if (status === 200) return;
    if (status !== 503) throw new Error(`an index that reads was answered ${status}`);
  }
}

const indexFile = (folder) => join(folder, "parley", "index.sqlite");

const reading = {
  label: "parley, its index",
  async run(bench, prepared) {
    const folder = mkdtempSync(join(bench.folder, "index-"));
    const figures = await withStore(bench, prepared, folder, async (server) => {
      const [began, before] = [performance.now(), cpuSeconds(server.child)];
      await hasAll(server, prepared.count);
      const seconds = (performance.now() - began) / 1000;
      const cpu_us = ((cpuSeconds(server.child) - before) / prepared.count) * 1e6;
      return { value: prepared.count / seconds, cpu_us };
    });
    figures.bytes_a_message = statSync(indexFile(folder)).size / prepared.count;
    rmSync(folder, { recursive: true });
    return figures;
  },
};

const ordered = {
  label: "bare nats.c ordered consumer",
  run: (bench, prepared) =>
    withStore(bench, prepared, mkdtempSync(join(bench.folder, "none-")), async (_, nats) => {
      const output = await run(bench.program("ordered"), [nats.url, "VLP", "vlp.>", `${prepared.count}`]);
      const { messages, seconds, cpu_seconds } = JSON.parse(output);
      return { value: messages / seconds, cpu_us: (cpu_seconds / messages) * 1e6 };
    }),
};

const catchUp = {
  id: "catch-up",
  title: "an index that reads what is stored",
  unit: "messages/s",
  higherIsBetter: true,
  prepare: fill,
  contenders: { parley: reading, ordered },
  ratios: [{ of: "parley", to: "ordered" }],
};

// ---- questions ----

async function fillAndRead(bench) {
  const prepared = { ...(await fill(bench)), folder: mkdtempSync(join(bench.folder, "index-")) };
  await withStore(bench, prepared, prepared.folder, async (server) => {
    await hasAll(server, prepared.count);
    return {};
  });
  return prepared;
}

function get(url, agent) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode, text }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

// `pathOf(number)`: what is asked of the message with that number, for any of them; each answer has
// so many items.
const asked = (label, pathOf, items) => ({
  label,
  run: (bench, prepared) =>
    withStore(bench, prepared, prepared.folder, async ({ url }) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const end = performance.now() + bench.seconds * 1000;
      const times = [];
      while (performance.now() < end) {
        const number = 1 + Math.floor(Math.random() * prepared.count);
        const began = performance.now();
        const { status, text } = await get(url + pathOf(number), agent);
        times.push(performance.now() - began);
        const found = status === 200 && (JSON.parse(text).items?.length ?? 1);
        if (found !== items(number)) throw new Error(`${pathOf(number)}: ${status}, ${found} items`);
      }
      agent.destroy();
      times.sort((a, b) => a - b);
      const at = (part) => times[Math.floor((times.length - 1) * part)];
      return { value: at(0.5), p50_ms: at(0.5), p99_ms: at(0.99) };
    }),
});

const one = () => 1;
const inStory = () => A_STORY;

const questions = {
  id: "questions",
  title: "questions to an index, one connection, p50",
  unit: "ms",
  higherIsBetter: false,
  prepare: fillAndRead,
  contenders: {
    id: asked("by id", (number) => `${LIST}?id=${numberOf(number)}`, one),
    missing: asked("an id that is not there", (number) => `${LIST}?id=none-${number}`, () => 0),
    thread: asked("the first of a thread", (number) => `${LIST}?limit=1&thread=${sessionOf(number)}`, one),
    trace: asked("a trace of 1,000", () => `/v1/trace?id=${numberOf(1)}`, inStory),
    place: asked("by STREAM:SEQ, without the index", (number) => `${LIST}/VLP:${number}`, one),
  },
  ratios: [
    { of: "id", atMost: 1 },
    { of: "missing", atMost: 1 },
    { of: "thread", atMost: 1 },
    { of: "trace", atMost: 150 },
    { of: "id", to: "place" },
  ],
};

export default { name: "index", title: "the index", rows: [sending, catchUp, questions] };
