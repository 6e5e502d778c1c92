// SPDX-License-Identifier: Apache-2.0

// The servers of one measurement: a nats-server with an empty store, and who is measured. They are
// fresh each time, so that no run inherits what another left behind.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import {
  cpuSeconds,
  endAll,
  isCommand,
  launch,
  peakMegabytes,
  stop,
  waitFor,
} from "./processes.mjs";

// A nats-server with its store in `folder`: { child, url, monitor, storedBefore }.
export async function startNats(folder) {
  mkdirSync(folder, { recursive: true });
  // Of one before that was killed.
  for (const name of readdirSync(folder)) if (name.endsWith(".ports")) rmSync(join(folder, name));
  const child = launch("nats-server", [
    ..."--jetstream --addr 127.0.0.1 --port -1 --http_port -1".split(" "),
    ...["--store_dir", folder, "--ports_file_dir", folder],
  ]);
  const ports = await waitFor("nats-server", child, () => {
    const file = readdirSync(folder).find((name) => name.endsWith(".ports"));
    const text = file ? readFileSync(join(folder, file), "utf8") : "";
    return text.endsWith("}") && JSON.parse(text);
  });
  return { child, url: ports.nats[0], monitor: ports.monitoring[0], storedBefore: 0 };
}

// How many messages a stream holds.
export async function storedCount(nats, stream = "VLP") {
  const report = await (await fetch(`${nats.monitor}/jsz?streams=true`)).json();
  const streams = (report.account_details ?? []).flatMap((account) => account.stream_detail ?? []);
  return streams.find(({ name }) => name === stream)?.state.messages ?? 0;
}

// A measurement that lost or invented messages is none: so many must have come since it began.
export async function checkStored(nats, least, most = least) {
  const stored = (await storedCount(nats)) - nats.storedBefore;
  if (stored < least || stored > most) {
    throw new Error(`${stored} messages are stored, not ${least} to ${most}`);
  }
}

// A server that says where it listens: { child, url }.
export async function startServer([command, ...parameters]) {
  const child = launch(command, parameters);
  const [, url] = await waitFor(command, child, () =>
    child.output.match(/listening on (https?:\S+)/),
  );
  return { child, url };
}

// Until the server answers a POST with 200: `probe` is { target, body, type, tokenFile }.
export async function waitUntilServing({ child, url }, { target, body, type, tokenFile }) {
  const headers = { "Content-Type": type ?? "application/json", Connection: "close" };
  if (tokenFile) headers.Authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
  await waitFor(url + target, child, async () => {
    const answer = await fetch(url + target, { method: "POST", headers, body });
    child.complaint = await answer.text();
    return answer.status === 200;
  });
}

// The same command on the machine's last core alone.
export function onOneCore(command) {
  return isCommand("taskset") ? ["taskset", "-c", String(cpus().length - 1), ...command] : command;
}

// The command of parley's server; one reactor, as the bare programs have one loop.
export const parley = (bench, nats, folder, more = []) => [
  ...[bench.parley, "serve", "--listen", "127.0.0.1:0", "--reactors", "1"],
  ...["--nats", nats.url, "--data", join(folder, "parley"), ...more],
];

// Starts nats-server and the command that `server(bench, nats, folder)` gives, waits for `probe`
// if there is one, calls `warmUp(server)` if there is one, then `measure(server, nats)`, ends both,
// and adds to the figures what they cost: microseconds of processor time a message (`count` of
// them) and the most memory.
export async function withServers(bench, { server: commandOf, probe, warmUp }, measure) {
  const folder = mkdtempSync(join(bench.folder, "servers-"));
  try {
    const nats = await startNats(join(folder, "nats"));
    const server = await startServer(await commandOf(bench, nats, folder));
    if (probe) await waitUntilServing(server, probe);
    await warmUp?.(server);
    nats.storedBefore = await storedCount(nats);
    const before = [cpuSeconds(server.child), cpuSeconds(nats.child)];
    const { count, ...figures } = await measure(server, nats);
    const cost = (child, seconds) => ((cpuSeconds(child) - seconds) / count) * 1e6;
    figures.cpu_us = cost(server.child, before[0]);
    figures.nats_cpu_us = cost(nats.child, before[1]);
    figures.peak_mb = peakMegabytes(server.child);
    await stop(server.child);
    await stop(nats.child);
    return figures;
  } finally {
    await endAll();
    rmSync(folder, { recursive: true, maxRetries: 5 });
  }
}
