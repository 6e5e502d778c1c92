// SPDX-License-Identifier: Apache-2.0
// A cluster of three nats-servers: the stream has three replicas, and survives its leader.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { send } from './lib/http.mjs';
import { loadFor } from './lib/load.mjs';
import { natsClient, startCluster, storedMessages, streamInfo } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { assertAccepted, claim } from './lib/vlp.mjs';

// It takes nats-server 4 to 6 s to agree on another leader; on a busy machine longer.
const RECOVERY_MS = isSanitized ? 120_000 : 60_000;

describe('a cluster of three', () => {
  it('keeps all that was acknowledged when the leader of the stream is killed', async (t) => {
    const cluster = await startCluster();
    atEnd(t, () => Promise.all(cluster.members.map((member) => member.stop())));
    const parley = await parleyFor(t, { nats: cluster.url, args: ['--replicas', '3'] });
    const client = await natsClient(t, cluster.url);

    await until(
      'the first message is taken',
      async () => (await send(parley, claim())).status === 200,
    );
    const { config, cluster: state } = await streamInfo(client);
    assert.equal(config.num_replicas, 3);

    const load = loadFor(t, parley, { senders: 8 });
    await load.accepts(200, RECOVERY_MS);
    await cluster.members.find((member) => member.name === state.leader).kill();
    const killed = Date.now();
    await load.accepts(1, RECOVERY_MS);
    t.diagnostic(`accepted again after ${Date.now() - killed} ms`);
    await load.accepts(200, RECOVERY_MS);
    await load.stop();
    await until('everything refused is accepted', () => load.retryAll(parley).then(() => true), {
      timeout: RECOVERY_MS,
    });

    const stored = await until('the stream can be read', () => storedMessages(client), {
      timeout: RECOVERY_MS,
    });
    load.assertAccountedFor(stored);
    assertAccepted(await send(parley, claim()));
  });
});
