// SPDX-License-Identifier: Apache-2.0

// What a supervisor sends: large checkpoints, alone and beside other messages, and WAL entries, whose
// agent's log is read for each request.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import {
  CHECKPOINT_BYTES,
  checkpointAfterHead,
  postCheckpoint,
} from "../lib/checkpoints.mjs";
import { probe } from "../lib/claims.mjs";
import { steady, wrkMissing, wrkWal } from "../lib/clients.mjs";
import { nodeMissing, putObject } from "../lib/peers.mjs";
import { cpuSeconds, run, stop } from "../lib/processes.mjs";
import { checkStored, parley, startNats, storedCount, withServers } from "../lib/servers.mjs";

const MB = 1e6;
const CLAIMS = "/v1/vlp/messages";

// ---- one large checkpoint ----

const CHUNK_BYTES = 128 * 1024;
const WARM_UP_BYTES = 2 * MB;

// An object has its chunks, and one message that names it.
async function checkObject(nats, bucket, bytes, others = 0) {
  const wanted = Math.ceil(bytes / CHUNK_BYTES) + 1 + others;
  const stored = await storedCount(nats, `OBJ_${bucket}`);
  if (stored !== wanted) throw new Error(`${stored} messages are in ${bucket}, not ${wanted}`);
}

function prepareUpload(bench) {
  const rest = checkpointAfterHead(CHECKPOINT_BYTES);
  const file = join(bench.folder, "checkpoint.json");
  writeFileSync(file, rest.subarray(0, -1)); // the object alone, without what closes the message
  return { rest, file, bytes: rest.length - 1 };
}

const uploaded = {
  label: "parley",
  run: (bench, { rest, bytes }) => {
    const small = checkpointAfterHead(WARM_UP_BYTES);
    const warmUp = ({ url }) => postCheckpoint(url, "warm-up", 0, small);
    const servers = { server: parley, probe: probe(CLAIMS), warmUp };
    return withServers(bench, servers, async ({ url }, nats) => {
      const before = await storedCount(nats, "OBJ_parley_checkpoints");
      const seconds = await postCheckpoint(url, "scribe", 1, rest);
      await checkObject(nats, "parley_checkpoints", bytes, before);
      return { count: 1, value: bytes / MB / seconds };
    });
  },
};

// A program that prints how many chunks it stored, the seconds that it took, and perhaps those of the
// processor.
const put = (label, commandOf, missing) => ({
  label,
  missing,
  run: async (bench, { file, bytes }) => {
    const nats = await startNats(mkdtempSync(join(bench.folder, "nats-")));
    const before = cpuSeconds(nats.child);
    const [command, ...parameters] = commandOf(bench, nats, file);
    const [, seconds, cpu] = (await run(command, parameters)).split(" ").map(Number);
    const nats_cpu_us = (cpuSeconds(nats.child) - before) * 1e6;
    await checkObject(nats, "bench", bytes);
    await stop(nats.child);
    return { value: bytes / MB / seconds, nats_cpu_us, ...(cpu && { cpu_us: cpu * 1e6 }) };
  },
});

const upload = {
  id: "upload",
  title: "a checkpoint of 100 MB into the object store",
  unit: "MB/s",
  higherIsBetter: true,
  prepare: prepareUpload,
  contenders: {
    parley: uploaded,
    chunks: put("bare nats.c publisher of chunks", (bench, nats, file) => [
      ...[bench.program("chunks"), nats.url, file],
    ]),
    node: put("npm nats, object store put", putObject, nodeMissing),
  },
  ratios: [
    { of: "parley", to: "chunks", atLeast: 0.5 },
    { of: "parley", to: "node" },
  ],
};

// ---- messages beside it ----

const RATE = 2000;
const CONNECTIONS = 64;
const UPLOADS = 4;
const SECONDS_MIN = 5; // so that all that an upload does is a part of it

const roomForAll = (bench, nats, folder) =>
  parley(bench, nats, folder, ["--gather-max", "512m", "--checkpoints-keep", "1"]);

// So many at the same time, each one after the other, until `isOver()`: how many there were.
async function keepUploading(isOver, upload) {
  let count = 0;
  const one = async (_, agent) => {
    do await upload(agent, count++);
    while (!isOver());
  };
  await Promise.all(Array.from({ length: UPLOADS }, one));
  return count;
}

// Notes how fast one of them was, for those who publish chunks alone.
async function uploadCheckpoints(bench, prepared, { url }, nats, isOver) {
  const began = performance.now();
  const count = await keepUploading(isOver, (agent, number) =>
    postCheckpoint(url, `agent-${agent}`, number, prepared.rest),
  );
  const seconds = (performance.now() - began) / 1000;
  prepared.rate = (count * CHECKPOINT_BYTES) / MB / seconds / UPLOADS;
  return count;
}

const publishChunks = (bench, { file, rate }, server, nats, isOver) =>
  keepUploading(isOver, () => run(bench.program("chunks"), [nats.url, file, rate.toFixed(1)]));

const steadily = (label, load) => ({
  label,
  run: (bench, prepared) =>
    withServers(bench, { server: roomForAll, probe: probe(CLAIMS) }, async (server, nats) => {
      const seconds = Math.max(bench.seconds, SECONDS_MIN);
      let isOver = false;
      const loading = load(bench, prepared, server, nats, () => isOver);
      const sending = steady({ ...bench, seconds }, RATE, CONNECTIONS, server.url, CLAIMS);
      const [uploads, report] = await Promise.all([
        loading,
        sending.finally(() => (isOver = true)),
      ]);
      const { requests: count, seconds: _, ...latencies } = report;
      await checkStored(nats, count);
      return { count, value: report.p99_ms, ...latencies, uploads };
    }),
});

const beside = {
  id: "beside",
  title: `POST messages, ${RATE.toLocaleString("en")} a second, beside ${UPLOADS} uploads of 100 MB, p99`,
  unit: "ms",
  higherIsBetter: false,
  prepare: prepareUpload,
  contenders: {
    beside: steadily(`parley, ${UPLOADS} uploads`, uploadCheckpoints),
    chunks: steadily(`parley, ${UPLOADS} bare publishers of chunks as fast`, publishChunks),
    alone: steadily("parley, none", () => 0),
  },
  ratios: [
    { of: "beside", to: "alone", atLeast: 0.9 },
    { of: "beside", to: "chunks" },
  ],
};

// ---- what is logged ----

const logged = (label, mode, isNamed) => ({
  label,
  missing: wrkMissing,
  run: (bench) => {
    const server = (...all) => parley(...all, ["--wal", mode]);
    return withServers(bench, { server, probe: probe(CLAIMS) }, async ({ url }) => {
      const report = await wrkWal(bench, CONNECTIONS, `${url}/v1/supervisor/messages`, isNamed);
      const { requests: count, seconds, p50_ms, p99_ms } = report;
      return { count, value: count / seconds, p50_ms, p99_ms };
    });
  },
});

const log = {
  id: "log",
  title: `POST of WAL entries, ${CONNECTIONS} agents`,
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    agent: logged("parley, continuity is checked", "on", true),
    off: logged("parley, --wal off", "off", true),
    nobody: logged("parley, no agent is named", "on", false),
  },
  ratios: [
    { of: "agent", to: "nobody" },
    { of: "agent", to: "off" },
  ],
};

export default { name: "checkpoints", title: "checkpoints and logs", rows: [upload, beside, log] };
