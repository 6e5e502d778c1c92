// SPDX-License-Identifier: Apache-2.0
// Several gateways on one nats-server or on a cluster of three, for tests of what a fleet agrees on.

import { after, before } from 'node:test';
import { atEnd } from './cleanup.mjs';
import { connectNats, natsClient, startCluster, startNats } from './nats.mjs';
import { parleyFor, startParley } from './parley.mjs';
import { until } from './poll.mjs';
import { sendTask, taskRequest } from './roundtable.mjs';

// { nats, gateways, client }, closed with the test. `url`: what the gateways are to use instead.
export async function fleetFor(t, { gateways = 2, args = [], nats, url } = {}) {
  if (!nats) {
    nats = await startNats();
    atEnd(t, () => nats.stop());
  }
  const start = () => parleyFor(t, { nats: url ?? nats.url, args });
  return {
    nats,
    gateways: await Promise.all(Array.from({ length: gateways }, start)),
    client: await natsClient(t, nats.url),
  };
}

// The same for all tests of a `describe`, while they run.
export function useFleet({ gateways = 2, args = [] } = {}) {
  const its = {};
  before(async () => {
    its.nats = await startNats();
    const start = () => startParley({ nats: its.nats.url, args });
    its.gateways = await Promise.all(Array.from({ length: gateways }, start));
    its.client = await connectNats(its.nats.url);
  });
  after(async () => {
    await its.client?.close();
    await Promise.all((its.gateways ?? []).map((gateway) => gateway.stop()));
    await its.nats?.stop();
  });
  return its;
}

// Those on a cluster of three with as many replicas, each gateway at a member of its own.
export async function clusterFleetFor(t, { args = [] } = {}) {
  const cluster = await startCluster();
  atEnd(t, () => Promise.all(cluster.members.map((member) => member.stop())));
  const gateways = [];
  for (const member of cluster.members) {
    gateways.push(await parleyFor(t, { nats: member.url, args: ['--replicas', '3', ...args] }));
  }
  for (const gateway of gateways) {
    await until('a request is taken', async () => {
      return (await sendTask(gateway, taskRequest('warm.up'))).status === 200;
    });
  }
  return { cluster, gateways, client: await natsClient(t, cluster.url) };
}

// `work` for each of `items`, so many at a time.
export async function atOnce(items, width, work) {
  const rest = [...items].entries();
  const go = async () => {
    for (const [i, item] of rest) await work(item, i);
  };
  await Promise.all(Array.from({ length: width }, go));
}
