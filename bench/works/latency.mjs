// SPDX-License-Identifier: Apache-2.0

// How long one message takes, when the server is not the bottleneck.

import { probe } from "../lib/claims.mjs";
import { steady, wrkMissing } from "../lib/clients.mjs";
import { checkStored, withServers } from "../lib/servers.mjs";
import { postRequests, stored, storedByFastify } from "./single.mjs";

// ---- one connection ----

const alone = (contender) => ({
  label: contender.label,
  missing: () => wrkMissing() ?? contender.missing?.(),
  async run(bench) {
    const figures = await postRequests(bench, contender, 1);
    return { ...figures, rate: figures.value, value: figures.p50_ms };
  },
});

const one = {
  id: "one-connection",
  title: "POST messages, one connection, p50",
  unit: "ms",
  higherIsBetter: false,
  contenders: {
    parley: alone(stored.parley),
    forward: alone(stored.forward),
    js: alone(storedByFastify("js.publish", "js", 1)),
  },
  ratios: [
    { of: "parley", to: "forward" },
    { of: "parley", to: "js", atLeast: 2 },
  ],
};

// ---- half the saturated rate ----

const CONNECTIONS = 64;

// Half of what parley stores when it is asked for as much as it can, from one run.
async function halfRate(bench) {
  const { value } = await postRequests(bench, stored.parley, CONNECTIONS);
  return Math.round(value / 2);
}

const paced = ({ label, server, target }) => ({
  label,
  missing: wrkMissing,
  run: (bench, rate) =>
    withServers(bench, { server, probe: probe(target) }, async ({ url }, nats) => {
      const report = await steady(bench, rate, CONNECTIONS, url, target);
      const { requests: count, seconds, ...latencies } = report;
      await checkStored(nats, count);
      return { count, value: report.p99_ms, ...latencies, rate: count / seconds };
    }),
});

const half = {
  id: "half-rate",
  title: "POST messages at half the saturated rate, p99",
  unit: "ms",
  higherIsBetter: false,
  prepare: halfRate,
  contenders: {
    parley: paced(stored.parley),
    forward: paced(stored.forward),
  },
  ratios: [{ of: "parley", to: "forward", within: 1 }],
};

export default { name: "latency", title: "how long one message takes", rows: [one, half] };
