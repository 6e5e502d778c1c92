// SPDX-License-Identifier: Apache-2.0
// Webhooks for agents that are lost: each loss is told once over all gateways, also if no gateway ran then.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, post } from './lib/http.mjs';
import { connectNats, startNats } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { hookTo, receiverFor, webhookFile } from './lib/webhooks.mjs';

const EVENTS = ['agent.lost'];
const BUCKET = 'parley_agents';
let seconds = 1705392000; // the same payload of the same agent is the same message

async function say(server, agent, type, rest = {}) {
  const body = JSON.stringify({ type, timestamp: ++seconds, ...rest });
  const answer = await post(server, `/v1/supervisor/messages?agent=${agent}`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.seq;
}

const beat = (server, agent) => say(server, agent, 'heartbeat', { version: 2 });
const stateOf = async (server, agent) => (await get(server, `/v1/supervisor/agents/${agent}`)).json.state;
const isLost = (server, agent) => until(`${agent} is lost`, async () => (await stateOf(server, agent)) === 'lost');

async function natsFor(t) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  return nats;
}

async function keysOf(nats) {
  const connection = await connectNats(nats.url);
  try {
    const bucket = await connection.jetstream().views.kv(BUCKET);
    const keys = [];
    for await (const key of await bucket.keys()) keys.push(key);
    return keys;
  } finally {
    await connection.close();
  }
}

const lossesOf = async (nats) => (await keysOf(nats)).filter((key) => key.includes('.lost.')).sort();

// Once the consumers and the key that says since when there are such keys exist.
async function isReady(nats, webhooks) {
  const connection = await connectNats(nats.url);
  try {
    const { consumers } = await connection.jetstreamManager();
    for (const name of Object.keys(webhooks)) {
      const durable = `parley_webhook_${name}_agent-lost_supervisor`;
      await until(`${durable} exists`, () => consumers.info(`KV_${BUCKET}`, durable));
    }
  } finally {
    await connection.close();
  }
  await until('keys are written', async () => (await keysOf(nats)).includes('since'));
}

async function gatewaysFor(t, webhooks, { count = 1, nats } = {}) {
  nats ??= await natsFor(t);
  const file = webhookFile(webhooks);
  const start = () => parleyFor(t, { nats: nats.url, args: ['--webhooks', file] });
  const gateways = await Promise.all(Array.from({ length: count }, start));
  await isReady(nats, webhooks);
  return { nats, gateways, start };
}

const delivered = (receiver, count) =>
  until(`${count} events came`, () => receiver.ids().size >= count && [...receiver.events]);
const namesOf = (events) => events.map(({ body: { type, data } }) => `${type} ${data.agent.agent} ${data.agent.seq}`).sort();
const wanted = (losses) => losses.map(([agent, seq]) => `agent.lost ${agent} ${seq}`).sort();

describe('an agent that is lost', { concurrency: true }, () => {
  it('is an event, and another one when it has come back and is lost again', async (t) => {
    const receiver = await receiverFor(t);
    const { nats, gateways: [server] } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) });
    const first = await beat(server, 'coder-1');
    const [event] = await delivered(receiver, 1);
    const { type, timestamp, data } = event.body;
    assert.equal(type, 'agent.lost');
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const { agent, state, seq, version } = data.agent;
    assert.deepEqual([data.protocol, agent, state, seq, version], ['supervisor', 'coder-1', 'lost', first, 2]);
    assert.equal(await stateOf(server, 'coder-1'), 'lost');

    const second = await beat(server, 'coder-1');
    assert.deepEqual(namesOf(await delivered(receiver, 2)), wanted([['coder-1', first], ['coder-1', second]]));
    assert.deepEqual(await lossesOf(nats), [`coder-1.lost.${first}`, `coder-1.lost.${second}`].sort());
    assert.deepEqual(receiver.unsigned, []);
  });

  it('is one event though two gateways notice it', async (t) => {
    const receiver = await receiverFor(t);
    const { nats, gateways } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) }, { count: 2 });
    const losses = [];
    for (let i = 0; i < 40; i++) losses.push([`a${i}`, await beat(gateways[i % 2], `a${i}`)]);
    assert.deepEqual(namesOf(await delivered(receiver, 40)), wanted(losses));
    assert.deepEqual(await lossesOf(nats), losses.map(([agent, seq]) => `${agent}.lost.${seq}`).sort());
  });

  it('is told though all gateways were killed before it happened', async (t) => {
    const receiver = await receiverFor(t);
    const { nats, gateways, start } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) }, { count: 2 });
    const seq = await beat(gateways[0], 'coder-1');
    await Promise.all(gateways.map((gateway) => gateway.kill()));
    const plain = await parleyFor(t, { nats: nats.url }); // one without webhooks stores nothing
    await isLost(plain, 'coder-1');
    assert.deepEqual(await lossesOf(nats), []);
    await Promise.all([start(), start()]);
    assert.deepEqual(namesOf(await delivered(receiver, 1)), wanted([['coder-1', seq]]));
  });

  it('is not told of the time before such webhooks were there, nor of an agent that was told to end', async (t) => {
    const receiver = await receiverFor(t);
    const nats = await natsFor(t);
    const plain = await parleyFor(t, { nats: nats.url });
    await beat(plain, 'early');
    await isLost(plain, 'early');
    const { gateways: [server] } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) }, { nats });
    await beat(server, 'ended');
    await say(server, 'ended', 'shutdown', { reason: 'update' });
    await beat(server, 'ended'); // it takes a moment to end
    const late = await beat(server, 'late');
    assert.deepEqual(namesOf(await delivered(receiver, 1)), wanted([['late', late]]));
    await isLost(server, 'ended');
    const last = await beat(server, 'last'); // told after a round that has seen all others
    assert.deepEqual(namesOf(await delivered(receiver, 2)), wanted([['late', late], ['last', last]]));
    assert.deepEqual(await lossesOf(nats), [`last.lost.${last}`, `late.lost.${late}`]);
  });

  it('goes to those webhooks that want it, by agent and protocol', async (t) => {
    const receivers = await Promise.all(['sender', 'domain', 'all'].map(() => receiverFor(t)));
    const [sender, domain, all] = receivers;
    const { gateways: [server] } = await gatewaysFor(t, {
      sender: hookTo(sender, { events: EVENTS, senders: ['a', 'b'] }),
      domain: hookTo(domain, { events: EVENTS, domains: ['deploy'] }),
      all: hookTo(all, { events: EVENTS, protocols: ['supervisor'] }),
    });
    const a = await beat(server, 'a');
    const c = await beat(server, 'c');
    assert.deepEqual(namesOf(await delivered(all, 2)), wanted([['a', a], ['c', c]]));
    assert.deepEqual(namesOf(await delivered(sender, 1)), wanted([['a', a]]));
    assert.deepEqual(domain.events, []);
  });

  it('is told however many there are, also of agents that are only in NATS', async (t) => {
    const COUNT = 1100; // more than are read at once
    const receiver = await receiverFor(t);
    const { nats } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS, senders: ['a1', 'a1099'] }) });
    const connection = await connectNats(nats.url);
    atEnd(t, () => connection.close());
    const payload = JSON.stringify({ type: 'heartbeat', timestamp: 1705392000 });
    const publish = (i) => connection.jetstream().publish(`supervisor.a${i}.gerbil.heartbeat`, payload);
    const stored = await Promise.all(Array.from({ length: COUNT }, (_, i) => publish(i)));
    assert.deepEqual(namesOf(await delivered(receiver, 2)), wanted([['a1', stored[1].seq], ['a1099', stored[1099].seq]]));
    const keys = stored.map(({ seq }, i) => `a${i}.lost.${seq}`).sort();
    const all = await until('all are stored', async () => {
      const losses = await lossesOf(nats);
      return losses.length >= COUNT && losses;
    }, { every: 500 });
    assert.deepEqual(all, keys);
  });

  it('has no bucket where no webhook wants it', async (t) => {
    const receiver = await receiverFor(t);
    const nats = await natsFor(t);
    const file = webhookFile({ halts: hookTo(receiver, { events: ['halted'] }) });
    await parleyFor(t, { nats: nats.url, args: ['--webhooks', file] });
    const connection = await connectNats(nats.url);
    atEnd(t, () => connection.close());
    const { streams } = await connection.jetstreamManager();
    await assert.rejects(() => streams.info(`KV_${BUCKET}`), /not found/);
  });
});
