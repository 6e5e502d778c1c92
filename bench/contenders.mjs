// SPDX-License-Identifier: Apache-2.0

// Who is measured, and how one run of each goes. Every run has fresh servers and an empty store,
// so that none inherits what another left behind. A run that is not wholly good (an answer other
// than 200, a message that is not in the stream) is no measurement: it throws.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./options.mjs";
import * as servers from "./servers.mjs";

const claimFile = join(root, "bench/data/claim.json");
const claim = readFileSync(claimFile, "utf8");
const firstId = "MSG-00000000000";
const probe = withNumber(99_999_999_999);

function withNumber(number) {
  return claim.replace(firstId, `MSG-${String(number).padStart(11, "0")}`);
}

export function writeLines(file, count) {
  let text = "";
  for (let number = 1; number <= count; number++) text += withNumber(number) + "\n";
  writeFileSync(file, text);
}

// ---- the servers of one run ----

const program = (name) => join(root, `build/release/bench/bench_${name}`);

const launchers = {
  parley: (options, nats, folder) => [
    options.parley,
    ...["serve", "--listen", "127.0.0.1:0", "--reactors", "1"],
    ...["--nats", nats.url, "--data", join(folder, "parley")],
  ],
  swallow: () => [program("swallow")],
  forward: (options, nats) => [program("forward"), nats.url],
};

// Calls `measure` with the servers up, and adds what they cost a message.
async function withServers(options, launcher, target, measure) {
  const folder = mkdtempSync(join(options.folder, "run-"));
  const nats = await servers.startNats(join(folder, "nats"));
  const [command, ...parameters] = launchers[launcher](options, nats, folder);
  const server = await servers.startServer(command, parameters, target, probe);
  const before = [servers.cpuSeconds(server.child), servers.cpuSeconds(nats.child)];
  const { count, ...figures } = await measure(server, nats);
  const cost = (child, seconds) => ((servers.cpuSeconds(child) - seconds) / count) * 1e6;
  figures.cpu_us = cost(server.child, before[0]);
  figures.nats_cpu_us = cost(nats.child, before[1]);
  figures.peak_mb = servers.peakMegabytes(server.child);
  await servers.stop(server.child);
  await servers.stop(nats.child);
  rmSync(folder, { recursive: true });
  return figures;
}

// The probe is one more; what wrk did not wait for at its end may be some more still.
async function checkStored(nats, least, most) {
  const stored = await servers.storedCount(nats);
  if (stored < least || stored > most) {
    throw new Error(`${stored} messages are stored, not ${least} to ${most}`);
  }
}

// ---- single requests ----

async function wrk(options, connections, url) {
  const output = await servers.run("wrk", [
    ...["-t1", `-c${connections}`, `-d${options.seconds}s`, "--timeout", "10s", "--latency"],
    ...["-s", join(root, "bench/post.lua"), url, "--", claimFile, "0"],
  ]);
  const report = JSON.parse(output.trim().split("\n").at(-1));
  if (report.refused > 0 || report.broken > 0 || report.requests === 0) {
    throw new Error(`of ${url}: ${JSON.stringify(report)}`);
  }
  return report;
}

function requests(launcher, target, connections, isStored) {
  return (options) =>
    withServers(options, launcher, target, async (server, nats) => {
      const report = await wrk(options, connections, server.url + target);
      const count = report.requests;
      if (isStored) await checkStored(nats, count + 1, count + 1 + connections);
      return {
        count,
        rate: count / report.seconds,
        p50_ms: report.p50_ms,
        p99_ms: report.p99_ms,
      };
    });
}

// ---- bodies of many lines ----

// `counted`: the member of the summary that must hold every line; null: there is no summary.
function upload(launcher, target, counted, isStored) {
  return (options) =>
    withServers(options, launcher, target, async (server, nats) => {
      const port = new URL(server.url).port;
      const output = await servers.run(program("upload"), [port, target, options.linesFile]);
      const [status, seconds] = output.split("\n")[0].split(" ").map(Number);
      const summary = output.match(/\{"summary":(\{[^{}]*\})/)?.[1];
      if (status !== 200 || (counted && JSON.parse(summary ?? "{}")[counted] !== options.lines)) {
        throw new Error(`of ${target}: ${output}`);
      }
      if (isStored) await checkStored(nats, options.lines + 1, options.lines + 1);
      return { count: options.lines, rate: options.lines / seconds };
    });
}

async function publish(options) {
  const folder = mkdtempSync(join(options.folder, "run-"));
  const nats = await servers.startNats(join(folder, "nats"));
  const before = servers.cpuSeconds(nats.child);
  const output = await servers.run(program("publish"), [nats.url, options.linesFile]);
  const [stored, refused, seconds, cpuSeconds] = output.split(" ").map(Number);
  const natsSeconds = servers.cpuSeconds(nats.child) - before;
  if (stored !== options.lines || refused !== 0) throw new Error(`publish: ${output}`);
  await checkStored(nats, options.lines, options.lines);
  await servers.stop(nats.child);
  rmSync(folder, { recursive: true });
  return {
    rate: options.lines / seconds,
    cpu_us: (cpuSeconds / options.lines) * 1e6,
    nats_cpu_us: (natsSeconds / options.lines) * 1e6,
  };
}

// ---- the plan ----

function singles(connections) {
  return {
    name: `single messages, ${connections} connections`,
    key: `single-${connections}`,
    unit: "requests/s",
    contenders: {
      validate: {
        label: "parley: POST /v1/vlp/validate",
        run: requests("parley", "/v1/vlp/validate", connections, false),
      },
      swallow: {
        label: "bare: libmicrohttpd swallows",
        run: requests("swallow", "/", connections, false),
      },
      messages: {
        label: "parley: POST /v1/vlp/messages",
        run: requests("parley", "/v1/vlp/messages", connections, true),
      },
      forward: {
        label: "bare: libmicrohttpd and nats.c publish",
        run: requests("forward", "/", connections, true),
      },
    },
    ratios: [
      ["validate", "swallow"],
      ["messages", "forward"],
      ["messages", "swallow"],
    ],
  };
}

const ndjson = {
  name: "one NDJSON body",
  key: "ndjson",
  unit: "lines/s",
  contenders: {
    messages: {
      label: "parley: POST /v1/vlp/messages",
      run: upload("parley", "/v1/vlp/messages", "accepted", true),
    },
    publish: { label: "bare: nats.c publishes", run: publish },
    "messages-errors": {
      label: "parley: …/messages?results=errors",
      run: upload("parley", "/v1/vlp/messages?results=errors", "accepted", true),
    },
    validate: {
      label: "parley: POST /v1/vlp/validate",
      run: upload("parley", "/v1/vlp/validate", "valid", false),
    },
    swallow: { label: "bare: libmicrohttpd swallows", run: upload("swallow", "/", null, false) },
  },
  ratios: [
    ["messages", "publish"],
    ["messages-errors", "publish"],
    ["validate", "swallow"],
  ],
};

export const groups = [singles(64), singles(256), ndjson];
