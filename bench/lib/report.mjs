// SPDX-License-Identifier: Apache-2.0

// What the JSON says besides the figures: on which machine, with which versions.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { root } from "./options.mjs";
import { firstLine } from "./processes.mjs";

export const BUSY_LOAD = 0.5;

const libraries = ["libmicrohttpd", "libnats", "jansson", "msgpack", "libcmark"];

const nodePeers = join(root, "bench/peers/node/package.json");

function versions(parley) {
  const git = ["-C", root, "-c", "safe.directory=*"];
  const ofLibraries = libraries.map((name) => [
    name,
    firstLine("pkg-config", "--modversion", name),
  ]);
  return {
    parley: firstLine(parley, "--version").replace(/^parley /, ""),
    commit: firstLine("git", ...git, "describe", "--always", "--dirty"),
    "nats-server": firstLine("nats-server", "--version").replace(/^nats-server: v?/, ""),
    ...Object.fromEntries(ofLibraries),
    nginx: firstLine("nginx", "-v").replace(/^nginx version: nginx\//, ""),
    node: process.versions.node,
    ...JSON.parse(readFileSync(nodePeers, "utf8")).dependencies,
  };
}

export function startReport({ parley, runs, seconds, lines, isQuick }) {
  const load_before = loadavg()[0];
  if (load_before > BUSY_LOAD) {
    const load = load_before.toFixed(1);
    console.error(`Load ${load}: other programs run here, and take from what is measured.`);
  }
  return {
    date: new Date().toISOString(),
    machine: {
      ...{ cpu: cpus()[0].model, cores: cpus().length, linux: release().split("-")[0], load_before },
      memory_gb: Math.round(totalmem() / 2 ** 30),
    },
    versions: versions(parley),
    settings: { runs, seconds, lines, is_quick: isQuick },
    rows: [],
  };
}

export function writeReport(file, report) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(report, null, 1) + "\n");
}

// Several reports of one machine as one: what is measured apart joins the rest.
export function readReports(files) {
  const [first, ...others] = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
  const rows = others.flatMap((report) => report.rows);
  const replaced = new Set(rows.map(({ id }) => id));
  return { ...first, rows: [...first.rows.filter(({ id }) => !replaced.has(id)), ...rows] };
}
