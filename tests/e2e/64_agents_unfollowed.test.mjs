// SPDX-License-Identifier: Apache-2.0
// What is read for lists of agents that are followed is read no more ten seconds after the last reader has left.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { fleetFor } from './lib/fleet.mjs';
import { followingOf } from './lib/follow.mjs';
import { post } from './lib/http.mjs';
import { until } from './lib/poll.mjs';

const { followed } = followingOf('/v1/roundtable/agents', ({ agent, state }) => [agent, state]);

async function beat(server, from) {
  const timestamp = new Date().toISOString();
  const message = { id: randomUUID(), version: '1.0', type: 'heartbeat', from, timestamp, payload: { status: 'healthy' } };
  const answer = await post(server, '/v1/roundtable/messages', JSON.stringify(message));
  assert.equal(answer.status, 200, answer.text);
}

describe('a list of agents that nothing follows any more', () => {
  it('is read no more, and read again by whatever reactor is asked next', async (t) => {
    const { gateways: [server], client } = await fleetFor(t, { gateways: 1, args: ['--reactors', '2'] });
    const { consumers } = await client.jetstreamManager();
    const names = async () => new Set((await consumers.list('ROUNDTABLE').next()).map(({ name }) => name));
    await beat(server, 'galahad');
    const before = await names();
    for (let i = 0; i < 2; i++) {
      const readers = await Promise.all(Array.from({ length: 6 }, () => followed(t, server)));
      for (const reader of readers) assert.deepEqual([...reader.items.keys()], ['galahad']);
      // On a busy machine a consumer that seemed lost is there for a while beside the one that replaced it.
      await until('one consumer reads for all of them', async () => (await names()).size === before.size + 1);
      readers.slice(1).forEach((reader) => reader.close());
      await beat(server, 'galahad');
      await readers[0].next();
      readers[0].close();
      await until('its consumer is gone', async () => (await names()).size === before.size);
    }
  });
});
