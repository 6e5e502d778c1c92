// SPDX-License-Identifier: Apache-2.0

// The same events to many readers of one stream, through parley and through nchan, with the same
// program for readers and posts. Everybody must have every event, once.

import { probe } from "../lib/claims.mjs";
import { fanOut, missingFiles, missingNchan, nchan, waitForNchan } from "../lib/readers.mjs";
import { parley, withServers } from "../lib/servers.mjs";

const parleys = { stream: "/v1/vlp/stream?envelope=none", publish: "/v1/vlp/messages" };
const nchans = { stream: "/subscribe", publish: "/publish" };

// What a contender tells of a run: the value is deliveries a second.
async function deliver(bench, url, plan) {
  const { deliveries_per_second, events, p50_ms, p99_ms } = await fanOut(bench, url, plan);
  return { value: deliveries_per_second, count: events * plan.readers, events, p50_ms, p99_ms };
}

function byParley(plan) {
  const servers = { server: parley, probe: probe(parleys.publish) };
  return {
    label: "parley",
    missing: () => missingFiles(plan.readers),
    run: (bench) =>
      withServers(bench, servers, ({ url }) => deliver(bench, url, { ...parleys, ...plan })),
  };
}

function byNchan(plan) {
  return {
    label: "nchan",
    missing: () => missingNchan() ?? missingFiles(plan.readers),
    run: (bench) =>
      withServers(bench, { server: nchan, warmUp: waitForNchan }, ({ url }) =>
        deliver(bench, url, { ...nchans, ...plan }),
      ),
  };
}

function row(readers, window, atLeast) {
  const plan = { readers, window };
  const title = `fan-out to ${readers.toLocaleString("en")} readers`;
  return {
    id: String(readers),
    title: window === 1 ? `${title}, one event at a time` : title,
    unit: "deliveries/s",
    higherIsBetter: true,
    contenders: { parley: byParley(plan), nchan: byNchan(plan) },
    ratios: [{ of: "parley", to: "nchan", atLeast }],
  };
}

export const fanout = {
  name: "fanout",
  title: "the same events to many readers",
  rows: [row(1000, 16, 1.25), row(10_000, 16, 1.5)],
};

export const fanoutOne = {
  name: "fanout-one",
  title: "the same, each event sent once all have the one before",
  isApart: true,
  rows: [row(1000, 1), row(10_000, 1)],
};
