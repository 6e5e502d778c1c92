// SPDX-License-Identifier: Apache-2.0
// A request that was published straight to a work queue is known some seconds later.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';

it('the reply to a request published straight to a work queue has its domain', async (t) => {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const client = await natsClient(t, nats.url);
  const manager = await client.jetstreamManager();
  await manager.streams.add({ name: 'work', subjects: ['roundtable.tasks.>'], retention: 'workqueue' });
  const gateways = [await parleyFor(t, { nats: nats.url }), await parleyFor(t, { nats: nats.url })];
  const bucket = await client.jetstream().views.kv('parley_tasks');
  const request = taskRequest('research.search');
  await until('it is known', async () => {
    // A subscription may begin after the first of these: the same id changes nothing.
    client.publish('roundtable.tasks.research.search', JSON.stringify(request));
    await client.flush();
    return (await bucket.get(request.id)) !== null;
  }, { every: 500 });
  for (const gateway of gateways) {
    const answer = await sendTask(gateway, taskResult(request.id));
    assert.equal(answer.json.subject, `roundtable.results.research.${request.id}`, answer.text);
  }
  assert.deepEqual(await manager.consumers.list('work').next(), []);
});
