// SPDX-License-Identifier: Apache-2.0

// What it costs that an answer waits for the disk: both servers have a nats-server of their own, on
// the disk of the folder of measurements.

import { join } from "node:path";
import { probe, writeLines } from "../lib/claims.mjs";
import { upload, wrk, wrkMissing, wrkTasks } from "../lib/clients.mjs";
import { withServers } from "../lib/servers.mjs";

const MESSAGES = "/v1/vlp/messages";
const modes = ["machine", "process"];

const embedded = (durability) => (bench, nats, folder) => [
  ...[bench.parley, "serve", "--listen", "127.0.0.1:0", "--reactors", "1"],
  ...["--data", join(folder, "parley"), "--durability", durability],
];

const row = (id, title, unit, missing, measure, more) => ({
  ...{ id, title, unit, higherIsBetter: true, ...more },
  contenders: Object.fromEntries(
    modes.map((durability) => [
      durability,
      {
        label: `parley, --durability ${durability}`,
        missing,
        run: (bench, prepared) =>
          withServers(
            bench,
            { server: embedded(durability), probe: probe(MESSAGES) },
            ({ url }) => measure(bench, url, prepared),
          ),
      },
    ]),
  ),
  ratios: [{ of: "machine", to: "process", atLeast: 0.9 }],
});

const answered = ({ requests: count, seconds, p50_ms, p99_ms }) => ({
  ...{ count, value: count / seconds, p50_ms, p99_ms },
});

const single = (connections) =>
  row(
    `single-${connections}`,
    `POST messages, ${connections === 1 ? "one connection" : `${connections} connections`}`,
    "requests/s",
    wrkMissing,
    async (bench, url) => answered(await wrk(bench, connections, url + MESSAGES)),
  );

const claims = row(
  "claims",
  "POST of Round Table requests and claims in turn",
  "requests/s",
  wrkMissing,
  async (bench, url) => answered(await wrkTasks(bench, "claims", `${url}/v1/roundtable/messages`)),
);

const batch = row(
  "batch",
  "NDJSON messages over HTTP",
  "lines/s",
  undefined,
  async (bench, url, { file, count }) => {
    const { seconds, summary } = await upload(bench, url, MESSAGES, file);
    if (summary.accepted !== count) throw new Error(JSON.stringify(summary));
    return { count, value: count / seconds };
  },
  {
    prepare(bench) {
      const body = { file: join(bench.folder, "durable.ndjson"), count: bench.lines };
      writeLines(body.file, body.count);
      return body;
    },
  },
);

export default {
  name: "durability",
  title: "Answers that wait for the disk",
  rows: [single(1), single(64), single(256), single(1000), batch, claims],
};
