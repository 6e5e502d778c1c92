// SPDX-License-Identifier: Apache-2.0

// Starts and ends the programs of a run, and asks the kernel what they cost. Each is ended by its
// own process id, also when the benchmark itself is interrupted.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PATIENCE_MS = 15_000;
const TICKS_A_SECOND = 100; // of /proc/PID/stat, on every Linux

const children = new Set();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

// A flag of the user's own server must not reach the one that is measured.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("PARLEY_")),
);
environment.PATH += ":/usr/sbin:/usr/local/sbin";

function launch(command, parameters) {
  const child = spawn(command, parameters, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  child.output = "";
  child.complaint = "";
  child.stdout.on("data", (data) => (child.output += data));
  child.stderr.on("data", (data) => (child.complaint += data));
  children.add(child);
  child.ended = new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (status, signal) => resolve(signal ?? status));
  }).finally(() => children.delete(child));
  return child;
}

// Runs a program to its end; its standard output.
export async function run(command, parameters) {
  const child = launch(command, parameters);
  const status = await child.ended;
  if (status !== 0) throw new Error(`${command} failed (${status}): ${child.complaint}`);
  return child.output;
}

// The first line that a program prints, for the report; "unknown" when it fails.
export function firstLine(command, ...parameters) {
  const { status, stdout } = spawnSync(command, parameters, { env: environment, encoding: "utf8" });
  return status === 0 ? stdout.split("\n")[0].trim() : "unknown";
}

// Polls until `attempt` gives something.
async function waitFor(what, child, attempt) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const result = await attempt();
    if (result) return result;
    if (!children.has(child) || Date.now() > end) {
      throw new Error(`${what} did not become ready: ${child.complaint || child.output}`);
    }
    await sleep(10);
  }
}

export async function stop(child) {
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  const status = await child.ended;
  clearTimeout(timer);
  if (status === "SIGKILL") throw new Error(`${child.spawnfile} did not end when asked to`);
}

// A nats-server with an empty store in `folder`: { child, url, monitor }.
export async function startNats(folder) {
  mkdirSync(folder, { recursive: true });
  const child = launch("nats-server", [
    ..."--jetstream --addr 127.0.0.1 --port -1 --http_port -1".split(" "),
    ...["--store_dir", folder, "--ports_file_dir", folder],
  ]);
  const ports = await waitFor("nats-server", child, () => {
    const file = readdirSync(folder).find((name) => name.endsWith(".ports"));
    const text = file ? readFileSync(join(folder, file), "utf8") : "";
    return text.endsWith("}") && JSON.parse(text);
  });
  return { child, url: ports.nats[0], monitor: ports.monitoring[0] };
}

// How many messages the stream VLP holds.
export async function storedCount(nats) {
  const report = await (await fetch(`${nats.monitor}/jsz?streams=true`)).json();
  const streams = report.account_details.flatMap((account) => account.stream_detail);
  return streams.find((stream) => stream.name === "VLP").state.messages;
}

// A server that says where it listens. It is ready once it answers `probe` with 200.
export async function startServer(command, parameters, target, probe) {
  const child = launch(command, parameters);
  const [, url] = await waitFor(command, child, () =>
    child.output.match(/listening on (http:\S+)/),
  );
  const headers = { "Content-Type": "application/json", Connection: "close" };
  await waitFor(command, child, async () => {
    const answer = await fetch(url + target, { method: "POST", headers, body: probe });
    child.complaint = await answer.text();
    return answer.status === 200;
  });
  return { child, url };
}

// Seconds of processor time that a process has used so far, its threads together.
export function cpuSeconds(child) {
  const text = readFileSync(`/proc/${child.pid}/stat`, "latin1");
  const [user, system] = text.slice(text.lastIndexOf(")") + 2).split(" ").slice(11, 13);
  return (Number(user) + Number(system)) / TICKS_A_SECOND;
}

// The most memory that it has ever held.
export function peakMegabytes(child) {
  const text = readFileSync(`/proc/${child.pid}/status`, "latin1");
  return Number(text.match(/VmHWM:\s+(\d+)/)[1]) / 1024;
}
