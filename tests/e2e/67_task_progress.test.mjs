// SPDX-License-Identifier: Apache-2.0
// How far a task is: what its holder said last, in lists and of one task, at any gateway.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useFleet } from './lib/fleet.mjs';
import { get } from './lib/http.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskProgress, taskRequest, taskResult } from './lib/roundtable.mjs';

async function sent(server, message) {
  const answer = await sendTask(server, message);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function heldTask(server) {
  const { id } = await sent(server, taskRequest('security.scan'));
  await sent(server, taskClaimed(id, { from: 'galahad' }));
  return id;
}

const progressOf = async (server, id) => (await get(server, `/v1/roundtable/tasks/${id}`)).json.progress;
const listed = async (server, id) =>
  (await get(server, '/v1/roundtable/tasks')).json.items.find((task) => task.id === id)?.progress;
const says = (percent, message = 'reading') => ({ from: 'galahad', timestamp: '2026-02-08T15:00:00Z', payload: { percent, message } });
const shows = (percent, message = 'reading') => ({ percent, message, at: '2026-02-08T15:00:00Z' });
const showing = (server, id, percent) =>
  until(`it shows ${percent} %`, async () => (await listed(server, id))?.percent === percent);

describe('the progress of a task', () => {
  const its = useFleet();
  const keysWritten = async () => (await (await its.client.jetstreamManager()).streams.info('KV_parley_tasks')).state.last_seq;

  it('is what its holder said last, at once at the gateway that took it, and then at all', async () => {
    const [one, other] = its.gateways;
    const id = await heldTask(one);
    assert.equal(await progressOf(one, id), null);
    await sent(one, taskProgress(id, says(40)));
    assert.deepEqual(await progressOf(one, id), shows(40));
    assert.deepEqual(await listed(one, id), shows(40));
    await showing(other, id, 40);
    assert.deepEqual(await progressOf(other, id), shows(40));
    await sent(one, taskProgress(id, says(60)));
    await sent(one, taskProgress(id, says(80.5)));
    await showing(other, id, 80.5);
    await sent(one, taskResult(id, { from: 'galahad' }));
    assert.deepEqual(await progressOf(one, id), shows(80.5));
  });

  it('is written seldom, however often it is said', async () => {
    const [one, other] = its.gateways;
    const id = await heldTask(one);
    const before = await keysWritten();
    for (let percent = 1; percent <= 40; percent++) await sent(one, taskProgress(id, says(percent)));
    await showing(other, id, 40);
    assert.ok((await keysWritten()) - before < 20, 'far fewer keys than messages');
  });

  it('counts as well straight to NATS, and is known to a gateway that starts later', async (t) => {
    const id = await heldTask(its.gateways[0]);
    its.client.publish('roundtable.events.task.progress', JSON.stringify(taskProgress(id, says(30, 'half way'))));
    for (const gateway of its.gateways) await showing(gateway, id, 30);
    const late = await parleyFor(t, { nats: its.nats.url });
    await showing(late, id, 30);
    assert.deepEqual(await progressOf(late, id), shows(30, 'half way'));
  });

  it('is that of the holder alone', async () => {
    const [one] = its.gateways;
    const id = await heldTask(one);
    await sent(one, taskProgress(id, says(10)));
    await sent(one, taskProgress(id, { ...says(90), from: 'mordred' }));
    await sent(one, taskProgress(id, { ...says(95), from: 'tim' }));
    assert.deepEqual(await progressOf(one, id), shows(10));
  });

  for (const [what, payload, wanted] of [
    ['neither percent nor message', {}, { percent: null, message: null }],
    ['a message that is long', { message: 'ä'.repeat(1000) }, { percent: null, message: 'ä'.repeat(128) }],
    ['a message with what JSON escapes', { message: '"\u0001\\' }, { percent: null, message: '"\u0001\\' }],
    ['no progress at all', { percent: 0 }, { percent: 0, message: null }],
  ]) {
    it(`with ${what} says as much`, async () => {
      const id = await heldTask(its.gateways[0]);
      await sent(its.gateways[0], taskProgress(id, { ...says(1), payload }));
      assert.deepEqual(await progressOf(its.gateways[0], id), { ...wanted, at: '2026-02-08T15:00:00Z' });
    });
  }
});
