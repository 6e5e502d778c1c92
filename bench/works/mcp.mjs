// SPDX-License-Identifier: Apache-2.0

// What clients of the Model Context Protocol cost those that POST their messages.

import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { claimWithNumber, probe } from "../lib/claims.mjs";
import { wrk, wrkMissing } from "../lib/clients.mjs";
import { parley, withServers } from "../lib/servers.mjs";

const CLIENTS = 64;
const CONNECTIONS = 64;
const SETTLE_MS = 1000; // of a server that has just begun, with clients or without
const MESSAGES = "/v1/vlp/messages";
const FIRST_NUMBER = 90_000_000_000; // beyond those of wrk
const headers = {
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
};

// Returns the answer: JSON, or a stream of events of which the last is it.
function call(url, agent, name, args) {
  const params = { name, arguments: args };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/mcp`, { method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part) => (text += part));
      answer.on("error", reject);
      answer.on("end", () => {
        const { result } = JSON.parse(text.slice(text.lastIndexOf('{"jsonrpc"')));
        if (result && !result.isError) resolve(result.structuredContent);
        else reject(new Error(`${name}: ${text}`));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const noWork = (name, wait) => ({ agent: name, domains: ["nothing"], wait });
let number = FIRST_NUMBER;

// What a client does again and again.
const waits = (url, agent, name) => call(url, agent, "next_task", noWork(name, 60));
async function works(url, agent, name) {
  await call(url, agent, "next_task", noWork(name, 1));
  const message = JSON.parse(claimWithNumber(number++));
  await call(url, agent, "send", { protocol: "vlp", message });
}

// Clients that go on until the function that is returned is called, which fails if one has failed.
// It says how often they have been through.
async function begin(url, turn) {
  const agent = new Agent({ keepAlive: true });
  let isOver = false;
  let turns = 0;
  let failure;
  const live = async (name) => {
    while (!isOver && !failure) {
      await turn(url, agent, name).then(
        () => turns++,
        (error) => (failure = isOver ? failure : error),
      );
    }
  };
  for (let i = 0; i < CLIENTS; i++) live(`idle-${i}`);
  for (let active = 0; active < CLIENTS && !failure;) {
    const text = await (await fetch(`${url}/metrics`)).text();
    active = Number(text.match(/^parley_http_active_requests (\d+)/m)[1]);
  }
  return () => {
    isOver = true;
    agent.destroy();
    if (failure) throw failure;
    return turns;
  };
}

const beside = (label, turn) => ({
  label,
  missing: wrkMissing,
  run: (bench) =>
    withServers(bench, { server: parley, probe: probe(MESSAGES) }, async ({ url }) => {
      const end = turn && (await begin(url, turn));
      await sleep(SETTLE_MS);
      const report = await wrk(bench, CONNECTIONS, url + MESSAGES);
      const turns = end ? end() : 0;
      if (turn === works && turns < CLIENTS) throw new Error(`only ${turns} turns of the clients`);
      const { requests: count, seconds, p50_ms, p99_ms } = report;
      return { count, value: count / seconds, p50_ms, p99_ms, turns };
    }),
});

const messages = {
  id: "beside",
  title: `POST messages, ${CONNECTIONS} connections, ${CLIENTS} clients of MCP`,
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    waiting: beside(`parley, ${CLIENTS} wait for a task`, waits),
    working: beside(`parley, ${CLIENTS} ask for tasks and send`, works),
    alone: beside("parley, none", undefined),
  },
  ratios: [
    { of: "waiting", to: "alone", atLeast: 0.9 },
    { of: "working", to: "alone" },
  ],
};

export default { name: "mcp", title: "clients of MCP beside others", rows: [messages] };
