// SPDX-License-Identifier: Apache-2.0

// One NDJSON body of many messages, from its first byte sent to the answer's last byte read.

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { probe, writeLines } from "../lib/claims.mjs";
import { upload } from "../lib/clients.mjs";
import { nodeMessages, nodeMissing, nodeValidate, swallow } from "../lib/peers.mjs";
import { cpuSeconds, run, stop } from "../lib/processes.mjs";
import { checkStored, onOneCore, parley, startNats, withServers } from "../lib/servers.mjs";

// Validation is so much faster than storing that it needs more lines to be measured as long.
const VALIDATE_FACTOR = 5;

const WARM_UP_LINES = 20_000;

const prepareLines = (factor) => (bench) => {
  const body = {
    file: join(bench.folder, "lines.ndjson"),
    count: bench.lines * factor,
    warmUpFile: join(bench.folder, "warm-up.ndjson"),
  };
  writeLines(body.file, body.count);
  writeLines(body.warmUpFile, WARM_UP_LINES, body.count + 1);
  return body;
};

// One body is sent to `server` at `target`.
//   counted      the member of the summary that must hold every line; without it, there is none
//   isStored     every line must be in the stream
//   isWarmedUp   its code is compiled while it runs: it gets another body before it is measured
const sendBody = ({ label, server, target, counted, isStored, isWarmedUp, missing }) => ({
  label,
  missing,
  run(bench, { file, count, warmUpFile }) {
    const warmUp = isWarmedUp && (({ url }) => upload(bench, url, target, warmUpFile));
    return withServers(bench, { server, probe: probe(target), warmUp }, async ({ url }, nats) => {
      const { seconds, summary } = await upload(bench, url, target, file);
      if (counted && summary[counted] !== count) {
        throw new Error(`of ${target}: ${JSON.stringify(summary)}`);
      }
      if (isStored) await checkStored(nats, count);
      return { count, value: count / seconds };
    });
  },
});

const node = { target: "/", isWarmedUp: true, missing: nodeMissing };

const publish =
  (more) =>
  async (bench, { file, count }) => {
    const nats = await startNats(mkdtempSync(join(bench.folder, "nats-")));
    const before = cpuSeconds(nats.child);
    const output = await run(bench.program("publish"), [nats.url, file, ...more]);
    const [stored, refused, seconds, cpu] = output.split(" ").map(Number);
    const natsSeconds = cpuSeconds(nats.child) - before;
    if (stored !== count || refused !== 0) throw new Error(`publish: ${output}`);
    await checkStored(nats, count);
    await stop(nats.child);
    const aLine = (total) => (total / count) * 1e6;
    return { value: count / seconds, cpu_us: aLine(cpu), nats_cpu_us: aLine(natsSeconds) };
  };

const pinned =
  (server) =>
  (...parameters) =>
    onOneCore(server(...parameters));

const validate = {
  id: "validate",
  title: "NDJSON validate over HTTP, one core",
  unit: "lines/s",
  higherIsBetter: true,
  prepare: prepareLines(VALIDATE_FACTOR),
  contenders: {
    parley: sendBody({
      ...{ label: "parley", server: pinned(parley) },
      ...{ target: "/v1/vlp/validate", counted: "valid" },
    }),
    node: sendBody({
      ...node,
      ...{ label: "Node + Ajv, one process", server: pinned(nodeValidate), counted: "valid" },
    }),
    swallow: sendBody({
      ...{ label: "bare libmicrohttpd, swallows", server: pinned(swallow), target: "/" },
    }),
  },
  ratios: [
    { of: "parley", to: "node", atLeast: 4 },
    { of: "parley", to: "swallow" },
  ],
};

const stored = { isStored: true, counted: "accepted" };
const storedByNode = (label, acks) =>
  sendBody({ ...node, ...stored, label: `Node + Ajv, ${label}`, server: nodeMessages(acks) });

const messages = {
  id: "messages",
  title: "NDJSON messages, JetStream file, all acked",
  unit: "lines/s",
  higherIsBetter: true,
  prepare: prepareLines(1),
  contenders: {
    parley: sendBody({ ...stored, label: "parley", server: parley, target: "/v1/vlp/messages" }),
    publish: { label: "bare nats.c publisher", run: publish([]) },
    hand: storedByNode("acks matched by hand", "hand"),
    js: storedByNode("js.publish", "js"),
    publishRaw: { label: "bare nats.c, by all means", run: publish(["by-all-means"]) },
    raw: storedByNode("by all means", "raw"),
  },
  ratios: [
    { of: "parley", to: "publish", atLeast: 0.9 },
    { of: "parley", to: "hand", atLeast: 1.8 },
    { of: "parley", to: "js", atLeast: 8 },
    { of: "parley", to: "publishRaw", atLeast: 0.95 },
    { of: "parley", to: "raw" },
  ],
};

const title = "one NDJSON body of many messages";
export default { name: "ndjson", title, rows: [validate, messages] };
