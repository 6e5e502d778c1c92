// SPDX-License-Identifier: Apache-2.0

// The programs that load a server. Each throws when an answer was not as it should be.

import { join } from "node:path";
import { claimFile } from "./claims.mjs";
import { root } from "./options.mjs";
import { isCommand, run } from "./processes.mjs";

export const wrkMissing = () => (isCommand("wrk") ? undefined : "wrk is not installed");

const WARM_UP_REQUESTS = 10_000;
const WARM_UP_SECONDS_MAX = 10;
export const WARM_UP_CONNECTIONS = 64;
const FIRST_OF_WARM_UP = 50_000_000_000; // another's ids, or they would be duplicates

// Posts claims on so many connections, each waiting for its answer before it sends the next:
// { requests, seconds, p50_ms, p99_ms }. `tokenFile`: a file with the token to show, if any.
export const wrk = (bench, connections, url, tokenFile) =>
  runWrk(bench.seconds, connections, url, 0, tokenFile);

// For programs that compile their code while they run: so many requests, at least for a second.
export async function warmUpByWrk(url) {
  let count = 0;
  for (let second = 0; count < WARM_UP_REQUESTS && second < WARM_UP_SECONDS_MAX; second++) {
    const report = await runWrk(1, WARM_UP_CONNECTIONS, url, FIRST_OF_WARM_UP + count);
    count += report.requests + WARM_UP_CONNECTIONS;
  }
}

// Posts tasks on 64 connections, `kind` being what post_tasks.lua knows.
export const wrkTasks = (bench, kind, url) =>
  runScript(bench.seconds, 64, "post_tasks.lua", url, [kind]);

// Posts WAL entries on so many connections, of as many agents, or without their names.
export const wrkWal = (bench, connections, url, isNamed) =>
  runScript(bench.seconds, connections, "post_wal.lua", url, [String(isNamed ? connections : 0)]);

const runWrk = (seconds, connections, url, first, tokenFile) =>
  runScript(seconds, connections, "post.lua", url, [
    ...[claimFile, String(first)],
    ...(tokenFile ? [tokenFile] : []),
  ]);

async function runScript(seconds, connections, script, url, parameters) {
  const output = await run("wrk", [
    ...["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s", "--latency"],
    ...["-s", join(root, "bench/clients", script), url, "--", ...parameters],
  ]);
  const report = JSON.parse(output.trim().split("\n").at(-1));
  if (report.refused > 0 || report.broken > 0 || report.requests === 0) {
    throw new Error(`of ${url}: ${JSON.stringify(report)}`);
  }
  return report;
}

// Posts a file as one body: { seconds, summary }, the summary being what the answer's last line
// tells of itself, or {}.
export async function upload(bench, url, target, file) {
  const output = await run(bench.program("upload"), [new URL(url).port, target, file]);
  const [status, seconds] = output.split("\n")[0].split(" ").map(Number);
  const tail = output.replace(/\r\n[\da-f]+\r\n/g, ""); // a chunk may begin anywhere
  const summary = JSON.parse(tail.match(/\{"summary":(\{[^{}]*\})/)?.[1] ?? "{}");
  if (status !== 200) throw new Error(`of ${target}: ${output}`);
  return { seconds, summary };
}

// Posts claims at a constant rate, whether or not the server keeps up:
// { requests, seconds, p50_ms, p99_ms, p999_ms, most_ms, most_late_ms }.
export async function steady(bench, rate, connections, url, target) {
  const parameters = [new URL(url).port, target, claimFile, rate, bench.seconds, connections].map(
    String,
  );
  return JSON.parse(await run(bench.program("steady"), parameters));
}

// Runs a command to its end: { output, seconds, cpu_seconds, peak_mb }.
export async function stopwatch(bench, command) {
  const text = await run(bench.program("stopwatch"), command);
  const lines = text.trimEnd().split("\n");
  const [status, seconds, cpu_seconds, peak_kib] = lines.pop().split(" ").map(Number);
  const output = lines.join("\n");
  if (status !== 0) throw new Error(`${command.join(" ")} failed (${status}): ${output}`);
  return { output, seconds, cpu_seconds, peak_mb: peak_kib / 1024 };
}
