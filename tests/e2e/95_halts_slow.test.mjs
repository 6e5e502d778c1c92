// SPDX-License-Identifier: Apache-2.0
// Many halts, and halts that cannot be read.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { assertHalted, block, halts, review, safe, session } from './lib/halts.mjs';
import { get, request, send } from './lib/http.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertAccepted, assertProblem } from './lib/vlp.mjs';

describe('many halts', () => {
  it('knows 10,000 halts from its start on', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const one = await parleyFor(t, { nats: nats.url });
    const client = await natsClient(t, nats.url);
    const bucket = await client.jetstream().views.kv('parley_halts');
    const hex = (number) => createHash('md5').update(String(number)).digest('hex');
    const value = JSON.stringify({ session: 'S', by: 'a', id: 'M', why: 'w', at: 'now' });
    for (let i = 0; i < 10_000; i++) {
      client.publish(`$KV.parley_halts.${hex(i)}.${hex(-i)}`, Buffer.from(value));
    }
    await client.flush();
    await bucket.put('not.ours', 'anything');
    const halted = session();
    assertAccepted(await send(one, block(halted)));
    const third = await parleyFor(t, { nats: nats.url });
    await assertHalted(third, safe(halted));
    const { items, more } = await halts(third);
    assert.equal(items.length, 1000);
    assert.equal(more, true);
    assertAccepted(await send(third, safe(session())));
  });
});

describe('halts that cannot be read', () => {
  it('messages that they may concern get 503, others pass, and all pass again', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url, args: ['--bus-patience', '300ms'] });
    const halted = session();
    assertAccepted(await send(server, block(halted)));
    const client = await natsClient(t, nats.url);
    const manager = await client.jetstreamManager();
    // It is created again half a second later, and has no halts then: so before each question.
    await until('it is not known what is halted', async () => {
      await manager.streams.delete('KV_parley_halts').catch(() => {});
      const answer = await send(server, safe(session()));
      return answer.status === 503 && assertProblem(answer, 503, 'bus-unavailable');
    });
    assertAccepted(await send(server, review(halted)));
    await until('it can be read again', async () => (await send(server, safe(halted))).status === 200);
    assertAccepted(await send(server, block(halted)));
    await assertHalted(server, safe(halted));
  });

  it('are released once they can be read again', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url });
    const halted = session();
    assertAccepted(await send(server, block(halted)));
    const client = await natsClient(t, nats.url);
    const manager = await client.jetstreamManager();
    const { config } = await manager.streams.info('KV_parley_halts');
    const listed = () => get(server, '/v1/vlp/halts');
    await until('they cannot be read', async () => {
      await manager.streams.delete('KV_parley_halts').catch(() => {});
      return (await listed()).status === 503;
    });
    const released = request(server, 'DELETE', `/v1/vlp/halts?session=${halted}&reason=over`);
    await manager.streams.add(config).catch(() => {}); // unless the server was the first
    const answer = await released;
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.released, 0, 'they went with the bucket');
  });

  it('are not released while they cannot be read: 503', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url });
    const halted = session();
    assertAccepted(await send(server, block(halted)));
    await nats.kill();
    await until('they cannot be read', async () => (await get(server, '/v1/vlp/halts')).status === 503);
    assertProblem(await request(server, 'DELETE', `/v1/vlp/halts?session=${halted}&reason=over`), 503, 'bus-unavailable');
  });
});
