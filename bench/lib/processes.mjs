// SPDX-License-Identifier: Apache-2.0

// Starts and ends the programs of a run, and asks the kernel what they cost. Each gets a process
// group of its own, so that its workers end and are counted with it. All are ended by their own
// ids, also when the benchmark itself is interrupted.

import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const PATIENCE_MS = 120_000; // which only a defect reaches
const RUN_LIMIT_MS = 600_000; // what takes longer hangs
const TICKS_A_SECOND = 100; // of /proc/PID/stat, on every Linux

const children = new Set();

function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended already.
  }
}

process.on("exit", () => children.forEach((child) => signalGroup(child, "SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

// A flag of the user's own server must not reach the one that is measured.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("PARLEY_")),
);
environment.PATH += ":/usr/sbin:/usr/local/sbin";

// `child.output` and `child.complaint` grow as it writes; `child.ended` gives its status or signal.
export function launch(command, parameters) {
  const child = spawn(command, parameters, {
    detached: true,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.output = "";
  child.complaint = "";
  child.stdout.on("data", (data) => (child.output += data));
  child.stderr.on("data", (data) => (child.complaint += data));
  if (child.pid !== undefined) children.add(child);
  child.ended = new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (status, signal) => resolve(signal ?? status));
  }).finally(() => children.delete(child));
  return child;
}

// Runs a program to its end, which comes within ten minutes; its standard output.
export async function run(command, parameters) {
  const child = launch(command, parameters);
  const timer = setTimeout(() => signalGroup(child, "SIGKILL"), RUN_LIMIT_MS);
  const status = await child.ended;
  clearTimeout(timer);
  if (status !== 0) throw new Error(`${command} failed (${status}): ${child.complaint}`);
  return child.output;
}

// The first line that a program prints, for the report; "unknown" when it fails.
export function firstLine(command, ...parameters) {
  const { status, stdout, stderr } = spawnSync(command, parameters, {
    env: environment,
    encoding: "utf8",
  });
  return status === 0 ? (stdout || stderr).split("\n")[0].trim() : "unknown";
}

export const isCommand = (name) =>
  spawnSync("sh", ["-c", `command -v "$1"`, "sh", name], { env: environment }).status === 0;

// Polls until `attempt` gives something.
export async function waitFor(what, child, attempt) {
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
  const timer = setTimeout(() => signalGroup(child, "SIGKILL"), PATIENCE_MS);
  const status = await child.ended;
  clearTimeout(timer);
  signalGroup(child, "SIGKILL");
  if (status === "SIGKILL") throw new Error(`${child.spawnfile} did not end when asked to`);
}

// Ends whatever still runs after a measurement that failed.
export async function endAll() {
  const all = [...children];
  all.forEach((child) => signalGroup(child, "SIGKILL"));
  await Promise.all(all.map((child) => child.ended));
}

// ---- what they cost ----

function readStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null; // it has just ended
  }
}

// The fields of /proc/PID/stat behind the name: 2 is the process group, 11 to 14 are the ticks of
// the process and of its children that have ended.
function groupOf(child) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({ pid, stat: readStat(pid) }))
    .filter(({ stat }) => stat && Number(stat[2]) === child.pid);
}

// Seconds of processor time that a program has used so far, its workers and threads together.
export function cpuSeconds(child) {
  const ticks = groupOf(child).flatMap(({ stat }) => stat.slice(11, 15).map(Number));
  return ticks.reduce((sum, count) => sum + count, 0) / TICKS_A_SECOND;
}

function memoryMegabytes(child, name) {
  const sizes = groupOf(child).map(({ pid }) => {
    try {
      const text = readFileSync(`/proc/${pid}/status`, "latin1");
      return Number(text.match(new RegExp(`${name}:\\s+(\\d+)`))?.[1] ?? 0);
    } catch {
      return 0;
    }
  });
  return sizes.reduce((sum, size) => sum + size, 0) / 1024;
}

// The most memory that a program has ever held, and what it holds now; workers count separately.
export const peakMegabytes = (child) => memoryMegabytes(child, "VmHWM");
export const residentMegabytes = (child) => memoryMegabytes(child, "VmRSS");
