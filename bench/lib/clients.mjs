// SPDX-License-Identifier: Apache-2.0

// The programs that load a server. Each throws when an answer was not as it should be.

import { join } from "node:path";
import { claimFile } from "./claims.mjs";
import { root } from "./options.mjs";
import { isCommand, run } from "./processes.mjs";

export const wrkMissing = () => (isCommand("wrk") ? undefined : "wrk is not installed");

// Posts claims on so many connections, each waiting for its answer before it sends the next:
// { requests, seconds, p50_ms, p99_ms }.
export async function wrk(bench, connections, url) {
  const output = await run("wrk", [
    ...["-t1", `-c${connections}`, `-d${bench.seconds}s`, "--timeout", "10s", "--latency"],
    ...["-s", join(root, "bench/clients/post.lua"), url, "--", claimFile, "0"],
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
  const summary = JSON.parse(output.match(/\{"summary":(\{[^{}]*\})/)?.[1] ?? "{}");
  if (status !== 200) throw new Error(`of ${target}: ${output}`);
  return { seconds, summary };
}
