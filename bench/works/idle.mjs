// SPDX-License-Identifier: Apache-2.0

// What readers cost to whom nothing is sent: memory, and the requests of others.

import { setTimeout as sleep } from "node:timers/promises";
import { probe } from "../lib/claims.mjs";
import { wrk, wrkMissing } from "../lib/clients.mjs";
import { cpuSeconds, residentMegabytes } from "../lib/processes.mjs";
import {
  missingFiles,
  missingNchan,
  nchan,
  waitForNchan,
  withIdleReaders,
} from "../lib/readers.mjs";
import { parley, withServers } from "../lib/servers.mjs";

const READERS = 10_000;
const CONNECTIONS = 64;
const SETTLE_MS = 500;
const stream = "/v1/vlp/stream";
const validate = "/v1/vlp/validate";

// KiB a reader: what the server's processes hold more than before there was any. What the readers
// cost while they come is not asked here.
async function memoryOfReaders(bench, servers, target) {
  const { value } = await withServers(bench, servers, async ({ child, url }) => {
    const before = residentMegabytes(child);
    const after = await withIdleReaders(bench, url, target, READERS, async () => {
      await sleep(SETTLE_MS);
      return residentMegabytes(child);
    });
    return { count: READERS, value: ((after - before) * 1024) / READERS };
  });
  return { value };
}

const memory = {
  id: "memory",
  title: "memory an idle reader (of 10,000)",
  unit: "KiB",
  higherIsBetter: false,
  contenders: {
    parley: {
      label: "parley",
      missing: () => missingFiles(READERS),
      run: (bench) => memoryOfReaders(bench, { server: parley, probe: probe(validate) }, stream),
    },
    nchan: {
      label: "nchan",
      missing: () => missingNchan() ?? missingFiles(READERS),
      run: (bench) => memoryOfReaders(bench, { server: nchan, warmUp: waitForNchan }, "/subscribe"),
    },
  },
  ratios: [
    { of: "parley", atMost: 8 },
    { of: "parley", to: "nchan" },
  ],
};

// The processor time is that of the requests, without that of opening readers.
async function requests(bench, { child, url }) {
  const before = cpuSeconds(child);
  const {
    requests: count,
    seconds,
    p50_ms,
    p99_ms,
  } = await wrk(bench, CONNECTIONS, url + validate);
  const own_cpu_us = ((cpuSeconds(child) - before) / count) * 1e6;
  return { count, value: count / seconds, p50_ms, p99_ms, own_cpu_us };
}

function validating(label, around) {
  const measure = async (bench) => {
    const servers = { server: parley, probe: probe(validate) };
    const { value, p50_ms, p99_ms, own_cpu_us, peak_mb } = await withServers(
      bench,
      servers,
      (server) => around(bench, server, () => requests(bench, server)),
    );
    return { value, p50_ms, p99_ms, cpu_us: own_cpu_us, peak_mb };
  };
  return {
    label,
    missing: () => wrkMissing() ?? missingFiles(READERS + CONNECTIONS),
    run: measure,
  };
}

const besides = {
  id: "validate",
  title: "POST validate with 10,000 idle readers open",
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    readers: validating("parley with 10,000 idle readers", (bench, { url }, measure) =>
      withIdleReaders(bench, url, stream, READERS, measure),
    ),
    none: validating("parley with none", (bench, server, measure) => measure()),
  },
  ratios: [{ of: "readers", to: "none", atLeast: 0.95 }],
};

export default {
  name: "idle",
  title: "readers to whom nothing is sent",
  rows: [memory, besides],
};
