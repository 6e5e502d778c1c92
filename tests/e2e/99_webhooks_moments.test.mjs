// SPDX-License-Identifier: Apache-2.0
// Webhooks for moments at which nothing is stored by themselves: a task that expires or lapses is told once
// over all gateways, also if no gateway ran then.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get } from './lib/http.mjs';
import { connectNats, startNats } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { hookTo, receiverFor, webhookFile } from './lib/webhooks.mjs';

const EVENTS = ['task.expired', 'task.lapsed'];
const LEASE = ['--task-lease', '1s'];

async function sent(server, message) {
  const answer = await sendTask(server, message);
  assert.equal(answer.status, 200, answer.text);
  return message.id;
}

const requested = (server, changes, task = 'security.scan') => sent(server, taskRequest(task, changes));

async function claimed(server, changes, task) {
  const id = await requested(server, changes, task);
  await sent(server, taskClaimed(id, { from: 'galahad' }));
  return id;
}

async function keysOf(nats) {
  const connection = await connectNats(nats.url);
  try {
    const bucket = await connection.jetstream().views.kv('parley_tasks');
    const keys = [];
    for await (const key of await bucket.keys()) keys.push(key);
    return keys;
  } finally {
    await connection.close();
  }
}

// Once the consumers and the key that says since when there are such keys exist.
async function isReady(nats, webhooks) {
  const connection = await connectNats(nats.url);
  try {
    const { consumers } = await connection.jetstreamManager();
    for (const [name, { events }] of Object.entries(webhooks)) {
      for (const event of events) {
        const durable = `parley_webhook_${name}_${event.replace('.', '-')}_roundtable`;
        await until(`${durable} exists`, () => consumers.info('KV_parley_tasks', durable));
      }
    }
  } finally {
    await connection.close();
  }
  await until('keys are written', async () => (await keysOf(nats)).includes('moments'));
}

async function gatewaysFor(t, webhooks, { count = 2, nats, args = LEASE } = {}) {
  if (!nats) {
    nats = await startNats();
    atEnd(t, () => nats.stop());
  }
  const file = webhookFile(webhooks);
  const start = () => parleyFor(t, { nats: nats.url, args: [...args, '--webhooks', file] });
  const gateways = await Promise.all(Array.from({ length: count }, start));
  await isReady(nats, webhooks);
  return { nats, gateways, start };
}

const delivered = (receiver, count) =>
  until(`${count} events came`, () => receiver.ids().size >= count && [...receiver.events]);
const namesOf = (events) => events.map(({ body: { type, data } }) => `${type} ${data.task.id}`).sort();

describe('a task that expires or lapses', () => {
  it('is an event, once over all gateways', async (t) => {
    const receiver = await receiverFor(t);
    const { nats, gateways: [one, two] } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) });
    const expired = [], lapsed = [];
    for (const server of [one, two, one]) {
      expired.push(await requested(server, { from: 'tim', ttl: 1 }));
      lapsed.push(await claimed(server, { from: 'tim' }));
    }
    const ended = await claimed(one, { ttl: 1 });
    await sent(two, taskResult(ended, { from: 'galahad' }));

    const events = await delivered(receiver, 6);
    const wanted = [...expired.map((id) => `task.expired ${id}`), ...lapsed.map((id) => `task.lapsed ${id}`)].sort();
    assert.deepEqual(namesOf(events), wanted);
    const { type, timestamp, data } = events.find(({ body }) => body.type === 'task.lapsed').body;
    assert.equal(type, 'task.lapsed');
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(data.protocol, 'roundtable');
    const { from, holder, attempt, lapsed: hasLapsed, domain } = data.task;
    assert.deepEqual({ from, holder, attempt, hasLapsed, domain },
      { from: 'tim', holder: 'galahad', attempt: 1, hasLapsed: true, domain: 'security' });
    assert.deepEqual(receiver.unsigned, []);

    const keys = (await keysOf(nats)).filter((key) => /\.(expired|lapsed)/.test(key)).sort();
    assert.deepEqual(keys, [...expired.map((id) => `${id}.expired`), ...lapsed.map((id) => `${id}.lapsed.1`)].sort());
    await until('the next attempt is taken', async () =>
      (await sendTask(two, taskClaimed(lapsed[0], { from: 'percival' }))).status === 200);
    const last = (await delivered(receiver, 7)).at(-1).body.data.task;
    assert.deepEqual([last.id, last.holder, last.attempt], [lapsed[0], 'percival', 2]);
  });

  it('goes to those webhooks that want it, by domain and by who requested it', async (t) => {
    const receivers = await Promise.all(['domain', 'sender', 'kind'].map(() => receiverFor(t)));
    const [domain, sender, kind] = receivers;
    const { gateways: [one, two] } = await gatewaysFor(t, {
      domain: hookTo(domain, { events: EVENTS, domains: ['deploy'] }),
      sender: hookTo(sender, { events: EVENTS, senders: ['tim'] }),
      kind: hookTo(kind, { events: ['task.lapsed'] }),
    });
    const deploy = await requested(one, { from: 'kay', ttl: 1 }, 'deploy.web');
    const ofTim = await requested(two, { from: 'tim', ttl: 1 });
    const lost = await claimed(one, { from: 'kay' });
    await Promise.all(receivers.map((receiver) => delivered(receiver, 1)));
    assert.deepEqual(receivers.map(({ events }) => namesOf(events)),
      [[`task.expired ${deploy}`], [`task.expired ${ofTim}`], [`task.lapsed ${lost}`]]);
  });

  it('is told though all gateways were killed before it happened', async (t) => {
    const receiver = await receiverFor(t);
    const { nats, gateways, start } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) });
    const expired = await requested(gateways[0], { ttl: 2 });
    const lost = await claimed(gateways[1]);
    await Promise.all(gateways.map((gateway) => gateway.kill()));
    const plain = await parleyFor(t, { nats: nats.url, args: LEASE }); // one without webhooks stores nothing
    await until('both have happened', async () => {
      const { items } = (await get(plain, '/v1/roundtable/tasks')).json;
      return items.filter(({ state, lapsed }) => state === 'expired' || lapsed).length === 2;
    });
    assert.ok(!(await keysOf(nats)).some((key) => /\.(expired|lapsed)/.test(key)));
    await Promise.all([start(), start()]);
    const wanted = [`task.expired ${expired}`, `task.lapsed ${lost}`].sort();
    assert.deepEqual(namesOf(await delivered(receiver, 2)), wanted);
  });

  it('is told though the gateway that noticed it is killed again and again', async (t) => {
    const COUNT = 60;
    const receiver = await receiverFor(t);
    const { gateways, start } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) });
    const ids = [];
    for (let i = 0; i < COUNT; i++) ids.push(await requested(gateways[i % 2], { ttl: 1 + (i % 3) }));
    for (let round = 0; round < 3; round++) {
      await gateways[round % 2].kill();
      gateways[round % 2] = await start();
    }
    const events = await delivered(receiver, COUNT);
    assert.deepEqual([...new Set(namesOf(events))], ids.map((id) => `task.expired ${id}`).sort());
  });

  it('is not told of the time before such webhooks were there', async (t) => {
    const receiver = await receiverFor(t);
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const plain = await parleyFor(t, { nats: nats.url, args: LEASE });
    const early = await requested(plain, { ttl: 1 });
    await until('it has expired', async () =>
      (await get(plain, '/v1/roundtable/tasks')).json.items.some(({ id, state }) => id === early && state === 'expired'));
    const { gateways: [one] } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) }, { nats });
    const late = await requested(one, { ttl: 1 });
    assert.deepEqual(namesOf(await delivered(receiver, 1)), [`task.expired ${late}`]);
    assert.ok(!(await keysOf(nats)).includes(`${early}.expired`));
  });
});
