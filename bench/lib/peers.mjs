// SPDX-License-Identifier: Apache-2.0

// The commands of those who are measured: what `withServers` starts, as functions of (bench, nats,
// folder). Peers that need what is not everywhere say so by a function of (bench): why they are
// missing, or undefined.

import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { root } from "./options.mjs";

export const swallow = (bench) => [bench.program("swallow")];
export const forward = (bench, nats) => [bench.program("forward"), nats.url];
export const forwardByAllMeans = (bench, nats) => [...forward(bench, nats), "by-all-means"];

// ---- Node ----

const nodeFolder = join(root, "bench/peers/node");

export const nodeMissing = () =>
  existsSync(join(nodeFolder, "node_modules/.package-lock.json"))
    ? undefined
    : "its npm packages are not installed (npm ci in bench/peers/node)";

// The schema is parley's own, so that all hold messages against the same rules.
function schemaFile(bench, folder) {
  const file = join(folder, "vlp.schema.json");
  writeFileSync(file, execFileSync(bench.parley, ["schema", "vlp"]));
  return file;
}

const node = (name, bench, folder) => [
  ...[process.execPath, join(nodeFolder, name), "--schema", schemaFile(bench, folder)],
];

// As many processes as there are cores, if no number is given.
export const fastify =
  (acks, processes = cpus().length) =>
  (bench, nats, folder) => [
    ...[...node("fastify.mjs", bench, folder), "--nats", nats.url],
    ...["--acks", acks, "--processes", String(processes)],
  ];

export const nodeMessages = (acks) => (bench, nats, folder) => [
  ...[...node("ndjson.mjs", bench, folder), "--nats", nats.url, "--acks", acks],
];

export const nodeValidate = (bench, nats, folder) => node("ndjson.mjs", bench, folder);

export const nodeCheck = (bench, folder, file) => [...node("check.mjs", bench, folder), file];

export const putObject = (bench, nats, file) => [
  ...[process.execPath, join(nodeFolder, "object.mjs"), nats.url, file],
];
