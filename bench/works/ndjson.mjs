// SPDX-License-Identifier: Apache-2.0

// One NDJSON body of many messages, from its first byte sent to the answer's last byte read.

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { probe, writeLines } from "../lib/claims.mjs";
import { upload } from "../lib/clients.mjs";
import { cpuSeconds, run, stop } from "../lib/processes.mjs";
import { checkStored, onOneCore, parley, startNats, withServers } from "../lib/servers.mjs";

function prepare(bench) {
  const file = join(bench.folder, "lines.ndjson");
  writeLines(file, bench.lines);
  return file;
}

// `counted`: the member of the summary that must hold every line; null: there is no summary.
function body(label, server, target, counted, isStored) {
  const measure = (bench, file) =>
    withServers(bench, { server, probe: probe(target) }, async ({ url }, nats) => {
      const { seconds, summary } = await upload(bench, url, target, file);
      if (counted && summary[counted] !== bench.lines) {
        throw new Error(`of ${target}: ${JSON.stringify(summary)}`);
      }
      if (isStored) await checkStored(nats, bench.lines + 1);
      return { count: bench.lines, value: bench.lines / seconds };
    });
  return { label, run: measure };
}

async function publish(bench, file) {
  const nats = await startNats(mkdtempSync(join(bench.folder, "nats-")));
  const before = cpuSeconds(nats.child);
  const output = await run(bench.program("publish"), [nats.url, file]);
  const [stored, refused, seconds, cpu] = output.split(" ").map(Number);
  const natsSeconds = cpuSeconds(nats.child) - before;
  if (stored !== bench.lines || refused !== 0) throw new Error(`publish: ${output}`);
  await checkStored(nats, bench.lines);
  await stop(nats.child);
  const aLine = (total) => (total / bench.lines) * 1e6;
  return { value: bench.lines / seconds, cpu_us: aLine(cpu), nats_cpu_us: aLine(natsSeconds) };
}

const pinnedParley = (...parameters) => onOneCore(parley(...parameters));
const pinnedSwallow = (bench) => onOneCore([bench.program("swallow")]);

const validate = {
  id: "validate",
  title: "NDJSON validate over HTTP, one core",
  unit: "lines/s",
  higherIsBetter: true,
  prepare,
  contenders: {
    parley: body("parley", pinnedParley, "/v1/vlp/validate", "valid", false),
    swallow: body("bare libmicrohttpd that swallows", pinnedSwallow, "/", null, false),
  },
  ratios: [{ of: "parley", to: "swallow" }],
};

const messages = {
  id: "messages",
  title: "NDJSON messages, JetStream file, all acked",
  unit: "lines/s",
  higherIsBetter: true,
  prepare,
  contenders: {
    parley: body("parley", parley, "/v1/vlp/messages", "accepted", true),
    publish: { label: "bare nats.c publisher", run: publish },
  },
  ratios: [{ of: "parley", to: "publish", atLeast: 0.9 }],
};

export default { name: "ndjson", title: "one NDJSON body of many messages", rows: [validate, messages] };
