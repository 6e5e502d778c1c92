// SPDX-License-Identifier: Apache-2.0
// A cluster of three nats-servers: the stream has three replicas, and survives its leader.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { send, streamFor } from './lib/http.mjs';
import { loadFor } from './lib/load.mjs';
import { natsClient, startCluster, storedMessages, streamInfo } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { resultSubject, sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertAccepted, claim } from './lib/vlp.mjs';

// It takes nats-server 4 to 6 s to agree on another leader; on a busy machine longer.
const RECOVERY_MS = isSanitized ? 120_000 : 60_000;

describe('a cluster of three', () => {
  it('keeps all that was acknowledged when the leader of the stream is killed', async (t) => {
    const cluster = await startCluster();
    atEnd(t, () => Promise.all(cluster.members.map((member) => member.stop())));
    const patience = ['--bus-patience', '10m', '--ack-timeout', '10m'];
    const args = ['--replicas', '3', ...patience];
    const parley = await parleyFor(t, { nats: cluster.url, args });
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
    // Not one 503 or 504: the election was waited out.
    assert.deepEqual(Object.keys(load.statuses), ['200'], JSON.stringify(load.statuses));
    const stored = await until('the stream can be read', () => storedMessages(client), {
      timeout: RECOVERY_MS,
    });
    load.assertAccountedFor(stored);
    assertAccepted(await send(parley, claim()));
  });

  it('knows at one gateway what another one took', async (t) => {
    const cluster = await startCluster();
    atEnd(t, () => Promise.all(cluster.members.map((member) => member.stop())));
    const gateways = [];
    for (const member of cluster.members) {
      gateways.push(await parleyFor(t, { nats: member.url, args: ['--replicas', '3'] }));
    }
    for (const gateway of gateways) {
      await until(
        'a request is taken',
        async () => (await sendTask(gateway, taskRequest('warm.up'))).status === 200,
        { timeout: RECOVERY_MS },
      );
    }
    const client = await natsClient(t, cluster.url);
    const { config } = await streamInfo(client, 'KV_parley_tasks');
    assert.equal(config.num_replicas, 3);
    for (let i = 0; i < 100; i++) {
      const request = taskRequest(`d${i}.do`);
      assert.equal((await sendTask(gateways[i % 3], request)).status, 200);
      const reply = await sendTask(gateways[(i + 1) % 3], taskResult(request.id));
      assert.equal(reply.json.subject, resultSubject(`d${i}`, request.id));
    }
    const straight = taskRequest('straight.do');
    await client.jetstream().publish('roundtable.tasks.straight.do', JSON.stringify(straight));
    const bucket = await client.jetstream().views.kv('parley_tasks', { bindOnly: true });
    await until('it is remembered', () => bucket.get(straight.id), { timeout: RECOVERY_MS });
    const reply = await sendTask(gateways[0], taskResult(straight.id));
    assert.equal(reply.json.subject, resultSubject('straight', straight.id));
  });

  // A consumer on a member that catches up begins at that member's end, whatever it was asked for.
  it('repeats nothing to readers whose consumers are on a member that catches up', async (t) => {
    const cluster = await startCluster();
    atEnd(t, () => Promise.all(cluster.members.map((member) => member.stop())));
    const { url } = cluster.members[0];
    const parley = await parleyFor(t, { nats: url, args: ['--replicas', '3', '--reactors', '8'] });
    const client = await natsClient(t, url);
    const { consumers } = await client.jetstreamManager();
    const js = client.jetstream();
    const publish = () => js.publish('vlp.x', JSON.stringify(claim()));
    await until('a message is stored', publish, { timeout: RECOVERY_MS });
    const readers = [];
    for (let i = 0; i < 8; i++) {
      const stream = await streamFor(t, parley, '/v1/vlp/stream?since=all');
      const reader = { stream, last: 0, repeated: [] };
      readers.push(reader);
      reader.ends = (async () => {
        for (let event; (event = await stream.event()) !== null; reader.last++) {
          if (Number(event.sequence) !== reader.last + 1) reader.repeated.push(event.sequence);
        }
      })();
    }
    const seeAll = async () => {
      const { state } = await streamInfo(client);
      await until('all is read', () => readers.every(({ last }) => last >= state.last_seq));
    };
    const deleteConsumers = async () => {
      for (const { name } of await consumers.list('VLP').next()) {
        if (name.startsWith('parley-')) await consumers.delete('VLP', name).catch(() => {});
      }
    };

    for (let round = 0; round < 2; round++) {
      const { leader } = (await streamInfo(client)).cluster;
      const at = cluster.members.findIndex(({ name }, i) => i > 0 && name !== leader);
      await cluster.members[at].stop();
      for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 500 }, publish));
      await seeAll();
      cluster.members[at] = await cluster.members[at].restart();
      let hasCaughtUp = false;
      const healing = cluster.members[at].becomesHealthy().finally(() => (hasCaughtUp = true));
      await until('it has caught up', async () => (await deleteConsumers(), hasCaughtUp));
      await healing;
      await publish();
      await seeAll();
    }
    for (const { stream, ends, last, repeated } of readers) {
      stream.close();
      await ends;
      assert.deepEqual(repeated, [], `of ${last} events`);
    }
  });
});
