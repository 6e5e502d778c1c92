// SPDX-License-Identifier: Apache-2.0

// Many readers of one stream, and nchan, which serves such readers, too.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { claimFile } from "./claims.mjs";
import { root } from "./options.mjs";
import { firstLine, launch, run, stop, waitFor } from "./processes.mjs";

const OTHER_FILES = 200; // that a server holds open besides its readers' connections

// Why so many readers are not possible here, or undefined. Every program raises its own limit as
// far as it may.
export function missingFiles(count) {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const most = limits.match(/^Max open files\s+\S+\s+(\S+)/m)?.[1];
  const needed = count + OTHER_FILES;
  if (most === "unlimited" || Number(most) >= needed) return undefined;
  return `${count} readers need a limit of open files (ulimit -Hn) of ${needed}, not ${most}`;
}

// ---- nchan ----

const script = join(root, "bench/peers/nchan/serve");

export const missingNchan = () =>
  firstLine(script, "--check") === "unknown"
    ? "nginx with nchan is not installed (Debian: nginx, libnginx-mod-nchan)"
    : undefined;

export const nchan = (bench, nats, folder) => [script, folder];

// It says where it will listen before it does.
export const waitForNchan = ({ child, url }) =>
  waitFor("nchan", child, () => fetch(`${url}/publish`).then(Boolean, () => false));

// ---- readers ----

// Opens so many readers of a stream, posts events, and waits until all have them all:
// { deliveries_per_second, events, p50_ms, … }. It throws when one was lost.
export async function fanOut(bench, url, { stream, publish, readers, window }) {
  const output = await run(bench.program("fanout"), [
    ...[new URL(url).port, stream, String(readers)],
    ...[publish, claimFile, String(window), String(bench.seconds)],
  ]);
  return JSON.parse(output);
}

// Calls `measure` while so many readers are open and nothing is sent to them.
export async function withIdleReaders(bench, url, stream, count, measure) {
  const child = launch(bench.program("hold"), [new URL(url).port, stream, String(count)]);
  await waitFor(`${count} readers`, child, () => child.output.startsWith("open"));
  const figures = await measure();
  if (child.exitCode !== null) throw new Error(`the readers ended: ${child.complaint}`);
  await stop(child);
  return figures;
}
