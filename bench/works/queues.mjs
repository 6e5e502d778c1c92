// SPDX-License-Identifier: Apache-2.0

// Tasks through parley and through the queues that users would otherwise pick, by the same client:
// bench/peers/queues/tasks.mjs.

import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { probe } from "../lib/claims.mjs";
import { root } from "../lib/options.mjs";
import {
  cpuSeconds,
  endAll,
  firstLine,
  isCommand,
  launch,
  peakMegabytes,
  run,
  stop,
  waitFor,
} from "../lib/processes.mjs";
import { parley, withServers } from "../lib/servers.mjs";

const client = join(root, "bench/peers/queues");

// `what`: which of the two rates is the row's.
async function work(name, url, { count, workers, what }) {
  const program = [join(client, "tasks.mjs"), name, url, String(count), String(workers)];
  const { queued_s, worked_s } = JSON.parse(await run(process.execPath, program));
  return { count, value: count / { queued: queued_s, worked: worked_s }[what] };
}

const clientMissing = () =>
  existsSync(join(client, "node_modules/.package-lock.json"))
    ? undefined
    : "its npm packages are not installed (npm ci in bench/peers/queues)";

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// ---- parley ----

const byParley = (job) => ({
  label: "parley, HTTP",
  run: (bench) =>
    withServers(bench, { server: parley, probe: probe("/v1/vlp/messages") }, ({ url }) =>
      work("parley", url, job(bench)),
    ),
});

// ---- Redis ----

// As much is on the disk as with parley's default: written by each command, synced by the second.
const redis = (port, folder) => [
  ...["--bind", "127.0.0.1", "--port", String(port), "--dir", folder],
  ...["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"],
];

async function measureServer(server, url, name, job) {
  const before = cpuSeconds(server);
  const figures = await work(name, url, job);
  const cpu_us = ((cpuSeconds(server) - before) / figures.count) * 1e6;
  const peak_mb = peakMegabytes(server);
  await stop(server);
  return { ...figures, cpu_us, peak_mb };
}

const byBullMq = (job) => ({
  label: "BullMQ, Redis",
  missing: () => (isCommand("redis-server") ? clientMissing() : "redis-server is not installed"),
  async run(bench) {
    const port = await freePort();
    const folder = mkdtempSync(join(bench.folder, "redis-"));
    try {
      const server = launch("redis-server", redis(port, folder));
      await waitFor("redis-server", server, () => server.output.includes("Ready to accept"));
      return await measureServer(server, `redis://127.0.0.1:${port}`, "bullmq", job(bench));
    } finally {
      await endAll();
      rmSync(folder, { recursive: true, maxRetries: 5 });
    }
  },
});

// ---- PostgreSQL ----

const POSTGRES = "/usr/lib/postgresql"; // Debian's, by version

const postgresPrograms = () =>
  existsSync(POSTGRES) ? join(POSTGRES, readdirSync(POSTGRES).sort().at(-1), "bin") : undefined;

// It does not run as root.
function unprivileged(folder) {
  if (process.getuid() !== 0) return [];
  const id = (kind) => firstLine("id", kind, "postgres");
  chownSync(folder, Number(id("-u")), Number(id("-g")));
  return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
}

async function startPostgres(folder, port) {
  const as = unprivileged(folder);
  const data = join(folder, "data");
  const start = (program, ...more) => {
    const [command, ...rest] = [...as, join(postgresPrograms(), program), ...more];
    return [command, rest];
  };
  await run(...start("initdb", "-D", data, "-U", "bench", "--auth=trust", "--no-sync"));
  const settings = ["synchronous_commit=off", "listen_addresses=127.0.0.1", `port=${port}`];
  const options = settings.flatMap((setting) => ["-c", setting]);
  const server = launch(...start("postgres", "-D", data, "-k", folder, ...options));
  await waitFor("postgres", server, () => server.complaint.includes("ready to accept connections"));
  return server;
}

const byPgBoss = (job) => ({
  label: "pg-boss, PostgreSQL",
  missing: () => (postgresPrograms() ? clientMissing() : "PostgreSQL is not installed"),
  async run(bench) {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), "parley-bench-")); // another user reaches it
    try {
      const server = await startPostgres(folder, port);
      const url = `postgres://bench@127.0.0.1:${port}/postgres`;
      // Its processes leave the group whose time and memory are counted.
      return { value: (await measureServer(server, url, "pg-boss", job(bench))).value };
    } finally {
      await endAll();
      rmSync(folder, { recursive: true, maxRetries: 5 });
    }
  },
});

const row = (id, title, job) => ({
  ...{ id, title, unit: "tasks/s", higherIsBetter: true },
  contenders: { parley: byParley(job), bullmq: byBullMq(job), pgboss: byPgBoss(job) },
  ratios: [
    { of: "parley", to: "bullmq" },
    { of: "parley", to: "pgboss" },
  ],
});

const jobOf = (perSecond, workers, what) => (bench) => ({
  ...{ count: perSecond * Math.ceil(bench.seconds), workers, what },
});

export default {
  name: "queues",
  title: "Tasks beside other queues",
  rows: [
    row("queue", "tasks queued, 500 at a time", jobOf(4000, 64, "queued")),
    row("work-1", "tasks taken and completed, one worker", jobOf(1000, 1, "worked")),
    row("work-64", "tasks taken and completed, 64 workers", jobOf(4000, 64, "worked")),
  ],
};
