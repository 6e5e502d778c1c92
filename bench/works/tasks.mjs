// SPDX-License-Identifier: Apache-2.0

// What it costs that a task is held by one agent, and how fast a reply reaches who waits for it.

import { Agent, request } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { probe } from "../lib/claims.mjs";
import { wrk, wrkMissing, wrkTasks } from "../lib/clients.mjs";
import { root } from "../lib/options.mjs";
import { nodeMissing } from "../lib/peers.mjs";
import { parley, withServers } from "../lib/servers.mjs";

const PATH = "/v1/roundtable/messages";
const TASK_PROBE = probe("/v1/vlp/messages");

const withLifecycle = (lifecycle) => (bench, nats, folder) =>
  parley(bench, nats, folder, ["--lifecycle", lifecycle]);

// ---- requests and claims ----

const tasks = (kind, lifecycle) => ({
  label: `parley, --lifecycle ${lifecycle}`,
  missing: wrkMissing,
  run: (bench) =>
    withServers(bench, { server: withLifecycle(lifecycle), probe: TASK_PROBE }, async ({ url }) => {
      const { requests: count, seconds, p50_ms, p99_ms } = await wrkTasks(bench, kind, url + PATH);
      return { count, value: count / seconds, p50_ms, p99_ms };
    }),
});

const sending = (kind, title) => ({
  id: kind,
  title,
  unit: "requests/s",
  higherIsBetter: true,
  contenders: { on: tasks(kind, "on"), off: tasks(kind, "off") },
  ratios: [{ of: "on", to: "off" }],
});

// ---- replies ----

let numbers = 0;
const uuid = () => `${(++numbers).toString(16).padStart(8, "0")}-0000-4000-9000-000000000001`;
const message = (type, from, more) =>
  JSON.stringify({
    ...{ id: uuid(), version: "1.0.0", type, from, timestamp: new Date().toISOString() },
    ...more,
  });
const taskRequest = () =>
  message("task.request", "pilot", { payload: { task: "code.review", params: {} } });

function post(url, agent, body, { path = PATH, waits = true, type = "json" } = {}) {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": `application/${type}`, ...(waits && { Prefer: "wait=300" }) };
    const sent = request(url + path, { method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => (text += part));
      answer.on("end", () => resolve({ statusCode: answer.statusCode, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

// A knight that answers each task when it sees it: straight to NATS, or, with a URL, over HTTP.
async function knight(nats, url) {
  const { connect } = createRequire(join(root, "bench/peers/node/package.json"))("nats");
  const connection = await connect({ servers: nats.url });
  const agent = new Agent({ keepAlive: true });
  connection.subscribe("roundtable.tasks.>", {
    callback: (error, { data }) => {
      const { id } = JSON.parse(new TextDecoder().decode(data));
      const payload = { status: "completed", result: { format: "text", content: "done" } };
      const reply = message("task.result", "galahad", { correlationId: id, payload });
      if (url) post(url, agent, reply).catch(() => {}); // its request is not answered then
      else connection.publish(`roundtable.results.code.${id}`, reply);
    },
  });
  await connection.flush();
  return async () => {
    await connection.close();
    agent.destroy();
  };
}

// The times from each request to its reply, with so many clients that each wait.
async function replyTimes(bench, url, clients) {
  const end = performance.now() + bench.seconds * 1000;
  const times = [];
  const wait = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (performance.now() < end) {
      const began = performance.now();
      const { statusCode } = await post(url, agent, taskRequest());
      if (statusCode !== 200) throw new Error(`a request was answered ${statusCode}`);
      times.push(performance.now() - began);
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: clients }, wait));
  return times.sort((a, b) => a - b);
}

const replied = (label, clients, isOverHttp) => ({
  label,
  missing: nodeMissing,
  run: (bench) =>
    withServers(bench, { server: parley, probe: TASK_PROBE }, async ({ url }, nats) => {
      const stop = await knight(nats, isOverHttp && url);
      const times = await replyTimes(bench, url, clients);
      await stop();
      const at = (part) => times[Math.floor((times.length - 1) * part)];
      return { count: times.length, value: at(0.5), p50_ms: at(0.5), p99_ms: at(0.99) };
    }),
});

const reply = (clients) => ({
  id: `reply-${clients}`,
  title: `a reply through Prefer: wait, ${clients === 1 ? "one client" : `${clients} clients`}, p50`,
  unit: "ms",
  higherIsBetter: false,
  contenders: {
    http: replied("parley, replied over HTTP", clients, true),
    nats: replied("parley, replied straight to NATS", clients, false),
  },
  ratios: [{ of: "http", to: "nats" }],
});

// ---- work for agents ----

const NEXT = "/v1/roundtable/tasks/next";
const OPEN_TASKS = 20_000;

async function openTasks({ url }) {
  const lines = Array.from({ length: OPEN_TASKS }, () => `${taskRequest()}\n`).join("");
  const { statusCode } = await post(url, false, lines, { waits: false, type: "x-ndjson" });
  if (statusCode !== 200) throw new Error(`tasks were answered ${statusCode}`);
  await post(url, false, '{"agent":"first"}', { path: NEXT }); // then all are in memory
}

const asOne = { body: (agent) => ({ agent }), count: () => 1 };
const asMany = {
  body: (agent) => ({ agent, max: 64 }),
  count: (answer) => answer.items.length,
};

// How many tasks so many agents have got, each asking for more as soon as it has some.
async function takeTasks(bench, url, agents, { body, count }) {
  const end = performance.now() + bench.seconds * 1000;
  let total = 0;
  let isAllTaken = false;
  const work = async (_, i) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const text = JSON.stringify(body(`agent-${i}`));
    while (performance.now() < end && !isAllTaken) {
      const { statusCode, text: answer } = await post(url, agent, text, { path: NEXT, waits: false });
      isAllTaken ||= statusCode === 204;
      if (statusCode !== 200 && !isAllTaken) throw new Error(`an agent was answered ${statusCode}`);
      if (statusCode === 200) total += count(JSON.parse(answer));
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: agents }, work));
  return total;
}

const agentsOf = (count) => (count === 1 ? "one agent" : `${count} agents`);

const taken = (agents, how = asOne) => ({
  label: `parley, ${agentsOf(agents)}${how === asMany ? ", 64 at once" : ""}`,
  run: (bench) =>
    withServers(bench, { server: parley, probe: TASK_PROBE, warmUp: openTasks }, async ({ url }) => {
      const began = performance.now();
      const count = await takeTasks(bench, url, agents, how);
      return { count, value: count / ((performance.now() - began) / 1000) };
    }),
});

const next = {
  id: "next",
  title: "POST tasks/next",
  unit: "claims/s",
  higherIsBetter: true,
  contenders: { one: taken(1), few: taken(8), many: taken(64) },
  ratios: [
    { of: "few", to: "one" },
    { of: "many", to: "one" },
  ],
};

const nextAtOnce = {
  id: "next-max",
  title: "POST tasks/next, `max` 64 beside one at a time",
  unit: "claims/s",
  higherIsBetter: true,
  contenders: {
    most: taken(1, asMany),
    all: taken(8, asMany),
    one: taken(1),
    many: taken(64),
  },
  ratios: [
    { of: "most", to: "one" },
    { of: "all", to: "many" },
    { of: "all", atLeast: 10_000 },
  ],
};

// ---- beside those that wait ----

const PARKED = 1000; // agents without work

async function park(url) {
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < PARKED; i++) {
    const body = JSON.stringify({ agent: `idle-${i}`, domains: ["nothing"] });
    post(url, agent, body, { path: NEXT }).catch(() => {}); // until the end
  }
  for (;;) {
    const text = await (await fetch(`${url}/metrics`)).text();
    if (Number(text.match(/^parley_http_active_requests (\d+)/m)[1]) >= PARKED) return agent;
  }
}

const beside = (label, isParked) => ({
  label,
  missing: wrkMissing,
  run: (bench) =>
    withServers(bench, { server: parley, probe: TASK_PROBE }, async ({ url }) => {
      const agent = isParked && (await park(url));
      const report = await wrk(bench, 64, `${url}/v1/vlp/messages`);
      if (agent) agent.destroy();
      const { requests: count, seconds, p50_ms, p99_ms } = report;
      return { count, value: count / seconds, p50_ms, p99_ms };
    }),
});

const parked = {
  id: "parked",
  title: `POST messages, 64 connections, ${PARKED} agents wait for work`,
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    parked: beside(`parley, ${PARKED} wait`, true),
    alone: beside("parley, nobody waits", false),
  },
  ratios: [{ of: "parked", to: "alone", atLeast: 0.9 }],
};

export default {
  name: "tasks",
  title: "tasks that one agent holds",
  rows: [
    sending("requests", "POST of requests, 64 connections"),
    sending("claims", "POST of requests and claims in turn, 64 connections"),
    reply(1),
    reply(64),
    next,
    nextAtOnce,
    parked,
  ],
};
