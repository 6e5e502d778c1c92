// SPDX-License-Identifier: Apache-2.0

// Memory over long work: many messages, long bodies, one large message. It is measured once, not in
// rounds, since what is asked is whether it grows. Every message must have been accepted.

import { execFileSync } from "node:child_process";
import { connect } from "node:net";
import {
  CHECKPOINT_BYTES,
  checkpointAfterHead,
  checkpointJson,
  postCheckpoint,
} from "../lib/checkpoints.mjs";
import { claimFile, probe } from "../lib/claims.mjs";
import { wrk, wrkMissing } from "../lib/clients.mjs";
import { residentMegabytes, run } from "../lib/processes.mjs";
import { parley, withServers } from "../lib/servers.mjs";

const GB = 1e9;
const CLAIM_BYTES = 486; // a line
const MILLION = 1_000_000;

const FLAT = 0.9; // one ninth more than itself before is still flat

// Full sizes; --quick takes a tenth.
const sized = (bench, number) => (bench.isQuick ? number / 10 : number);

// ---- a stream that does not fill the disk ----

// As parley would create it, but for its size and for how long nats-server remembers ids: at this
// rate two minutes of them are gigabytes, though not parley's.
const SMALL_STREAM = {
  name: "VLP",
  subjects: ["vlp.>"],
  storage: "file",
  retention: "limits",
  discard: "old",
  max_bytes: 256 * 2 ** 20,
  duplicate_window: 1e9,
};

// Asks JetStream in NATS's own words: it is all that is wanted of a client here.
function createSmallStream(nats) {
  const payload = JSON.stringify(SMALL_STREAM);
  const { hostname, port } = new URL(nats.url);
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(Number(port), hostname);
    socket.on("error", reject).on("data", (data) => {
      answer += data;
      if (!/^MSG .*\r\n.*\r\n/m.test(answer)) return;
      socket.end();
      if (answer.includes('"error"')) reject(new Error(answer));
      else resolve();
    });
    socket.write('CONNECT {"verbose":false}\r\nSUB r 1\r\n');
    socket.write(`PUB $JS.API.STREAM.CREATE.VLP r ${payload.length}\r\n${payload}\r\n`);
  });
}

// How many messages the stream has ever taken.
async function takenCount(nats) {
  const report = await (await fetch(`${nats.monitor}/jsz?streams=true`)).json();
  const streams = report.account_details.flatMap((account) => account.stream_detail);
  return streams.find(({ name }) => name === "VLP").state.last_seq;
}

// ---- loads ----

// One NDJSON body of `count` lines, numbered from `first`; `counted` is the member of the summary
// that must hold them all.
async function feed(bench, url, target, first, count, counted) {
  const port = new URL(url).port;
  const words = [port, target, claimFile, String(first), String(count)];
  const output = await run(bench.program("feed"), words);
  const status = Number(output.split(" ")[0]);
  const summary = JSON.parse(output.match(/\{"summary":(\{[^{}]*\})/)?.[1] ?? "{}");
  if (status !== 200 || summary[counted] !== count) throw new Error(`of ${target}: ${output}`);
}

// parley over the small stream; the figures are those of `measure` and the most memory.
async function withParley(bench, target, measure) {
  const server = async (...all) => {
    await createSmallStream(all[1]);
    return parley(...all);
  };
  const { value, peak_mb } = await withServers(
    bench,
    { server, probe: probe(target) },
    async (started, nats) => ({ count: 1, value: await measure(started, nats) }),
  );
  return { value: value ?? peak_mb, peak_mb };
}

// ---- many messages ----

const CONNECTIONS = 64;
const FIRST_OF_BODIES = 10_000_000_000; // no single message has such a number
const messages = "/v1/vlp/messages";

// Single messages for as long as a run takes, then in one body as many as make `count`: { sent,
// more }, of which `more` may be stored besides, since wrk does not wait for its last answers.
async function sendMixed(bench, url, first, count) {
  const { requests } = await wrk(bench, CONNECTIONS, url + messages);
  const rest = Math.max(count - requests, 1);
  await feed(bench, url, messages, first, rest, "accepted");
  return { sent: requests + rest, more: CONNECTIONS };
}

// What parley holds after each million (or tenth of it), in one process: MB.
async function holdings(bench, { child, url }, nats) {
  const step = sized(bench, MILLION);
  const list = [];
  let least = 1; // the probe
  let most = 1;
  for (let i = 0; i < 10; i++) {
    const { sent, more } = await sendMixed(bench, url, FIRST_OF_BODIES + i * step, step);
    least += sent;
    most += sent + more;
    list.push(residentMegabytes(child));
  }
  const taken = await takenCount(nats);
  if (taken < least || taken > most) throw new Error(`${taken} messages were stored, not ${least}`);
  return list;
}

// Both figures are of one process: the first call measures, and the second takes what it found.
function afterMessages(label, index) {
  return {
    label,
    missing: wrkMissing,
    run: async (bench, prepared) => {
      prepared.list ??= (
        await withParley(bench, messages, (...all) => holdings(bench, ...all))
      ).value;
      return { value: prepared.list[index], list: prepared.list };
    },
  };
}

const manyMessages = {
  id: "messages",
  title: "memory after 10 million messages",
  unit: "MB",
  higherIsBetter: false,
  isOnce: true,
  prepare: () => ({}),
  contenders: {
    last: afterMessages("parley after 10 million", 9),
    first: afterMessages("parley after 1 million", 0),
  },
  ratios: [{ of: "last", to: "first", atLeast: FLAT }],
};

// ---- long bodies ----

function body(label, target, counted, bytes) {
  const measure = (bench) =>
    withParley(bench, target, async ({ url }) => {
      await feed(bench, url, target, 1, Math.ceil(sized(bench, bytes) / CLAIM_BYTES), counted);
    });
  return { label, run: measure };
}

function bodies(id, title, target, counted, [less, more]) {
  return {
    id,
    title,
    unit: "MB",
    higherIsBetter: false,
    isOnce: true,
    contenders: {
      more: body(`parley, ${more} GB`, target, counted, more * GB),
      less: body(`parley, ${less} GB`, target, counted, less * GB),
    },
    ratios: [{ of: "more", to: "less", atLeast: FLAT }],
  };
}

const validated = bodies(
  "validate-body",
  "most memory over 10 GB of NDJSON to validate in one body",
  "/v1/vlp/validate?results=errors",
  "valid",
  [1, 10],
);
const forwarded = bodies(
  "messages-body",
  "most memory over 2 GB of NDJSON to forward in one body",
  "/v1/vlp/messages?results=errors",
  "accepted",
  [0.2, 2],
);

// ---- one large message ----

const checkpointTarget = "/v1/supervisor/validate";

// The same checkpoint as JSON and as MessagePack.
function prepareCheckpoint(bench) {
  const json = checkpointJson(sized(bench, CHECKPOINT_BYTES));
  const parameters = ["convert", "--quiet", "supervisor", "--to", "msgpack"];
  const options = { input: json, maxBuffer: 2 * json.length };
  return { json, msgpack: execFileSync(bench.parley, parameters, options) };
}

async function validateCheckpoint(url, type, body) {
  const headers = { "Content-Type": type };
  const answer = await fetch(url + checkpointTarget, { method: "POST", headers, body });
  const text = await answer.text();
  if (answer.status !== 200 || JSON.parse(text).valid !== true) throw new Error(text.slice(0, 500));
}

function checkpoint(label, type, encoding, times) {
  const measure = (bench, prepared) =>
    withParley(bench, "/v1/vlp/validate", async ({ url }) => {
      for (let i = 0; i < times; i++) await validateCheckpoint(url, type, prepared[encoding]);
    });
  return { label, run: measure };
}

const largeMessage = {
  id: "checkpoint",
  title: "most memory over a supervisor checkpoint of 100 MB",
  unit: "MB",
  higherIsBetter: false,
  isOnce: true,
  prepare: prepareCheckpoint,
  contenders: {
    often: checkpoint("parley, 20 times as MessagePack", "application/msgpack", "msgpack", 20),
    seldom: checkpoint("parley, 3 times as MessagePack", "application/msgpack", "msgpack", 3),
    json: checkpoint("parley, 3 times as JSON", "application/json", "json", 3),
  },
  ratios: [
    { of: "often", to: "seldom", atLeast: FLAT },
    { of: "json", to: "seldom" },
  ],
};

// ---- many large messages ----

const CHECKPOINTS = 100;
const STORED = [10, 50, 100]; // how many have been stored when it is measured

// What parley holds after so many checkpoints of one agent, one after the other: MB.
async function holdingsOfCheckpoints(bench, { child, url }) {
  const rest = checkpointAfterHead(sized(bench, CHECKPOINT_BYTES));
  const list = [];
  for (let number = 1; number <= CHECKPOINTS; number++) {
    await postCheckpoint(url, "scribe", number, rest);
    if (STORED.includes(number)) list.push(residentMegabytes(child));
  }
  return list;
}

const afterCheckpoints = (index) => ({
  label: `parley after ${STORED[index]}`,
  run: async (bench, prepared) => {
    prepared.found ??= await withParley(bench, "/v1/vlp/validate", async (...all) => {
      prepared.list = await holdingsOfCheckpoints(bench, ...all);
    });
    return { value: prepared.list[index], peak_mb: prepared.found.peak_mb };
  },
});

const manyCheckpoints = {
  id: "checkpoints",
  title: `memory after ${CHECKPOINTS} stored checkpoints of 100 MB`,
  unit: "MB",
  higherIsBetter: false,
  isOnce: true,
  prepare: () => ({}),
  contenders: { last: afterCheckpoints(2), middle: afterCheckpoints(1), first: afterCheckpoints(0) },
  ratios: [
    { of: "last", to: "first", atLeast: FLAT },
    { of: "middle", to: "first" },
  ],
};

export default {
  name: "memory",
  title: "memory over long work: about seven minutes",
  isApart: true,
  rows: [manyMessages, validated, forwarded, largeMessage, manyCheckpoints],
};
