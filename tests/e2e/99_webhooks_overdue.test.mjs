// SPDX-License-Identifier: Apache-2.0
// Webhooks for acknowledgements that are overdue: each is told once over all gateways, also if no gateway ran then.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, post } from './lib/http.mjs';
import { connectNats, startNats } from './lib/nats.mjs';
import { parleyFor, refusedStart } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { hookTo, receiverFor, webhookFile } from './lib/webhooks.mjs';

const EVENTS = ['ack.overdue'];
const BUCKET = 'parley_acks';
const ack = (place) => `# A\n\n## Message ID\n${place}\n\n## Status\nReceived\n`;

async function send(server, from, subject, to, body_md, more) {
  const message = { from, subject, to, body_md, thread_id: 'COORD-ice', ...more };
  const answer = await post(server, '/v1/brenner/messages', JSON.stringify(message));
  assert.equal(answer.status, 200, answer.text);
  return `${answer.json.stream}:${answer.json.seq}`;
}
const ask = (server, to, from = 'Ann') => send(server, from, 'INFO: asks', to, 'x', { ack_required: true });

async function withClient(nats, use) {
  const connection = await connectNats(nats.url);
  try {
    return await use(connection);
  } finally {
    await connection.close();
  }
}

const keysOf = (nats, name = BUCKET) => withClient(nats, async (connection) => {
  const bucket = await connection.jetstream().views.kv(name);
  const keys = [];
  for await (const key of await bucket.keys()) keys.push(key);
  return keys;
});
const overdueOf = async (nats, name) => (await keysOf(nats, name)).filter((key) => key.includes('.overdue.')).sort();

// Once the consumers and the key that says since when there are such keys exist.
async function isReady(nats, webhooks, name = BUCKET) {
  await withClient(nats, async (connection) => {
    const { consumers } = await connection.jetstreamManager();
    for (const hook of Object.keys(webhooks)) {
      const durable = `parley_webhook_${hook}_ack-overdue_brenner`;
      await until(`${durable} exists`, () => consumers.info(`KV_${name}`, durable));
    }
  });
  await until('keys are written', async () => (await keysOf(nats, name)).includes('since'));
}

async function natsFor(t) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  return nats;
}

async function gatewaysFor(t, webhooks, { count = 1, nats, args = [], name } = {}) {
  nats ??= await natsFor(t);
  const all = ['--index', 'on', '--remind', '2s', '--webhooks', webhookFile(webhooks), ...args];
  const start = () => parleyFor(t, { nats: nats.url, args: all });
  const gateways = await Promise.all(Array.from({ length: count }, start));
  await isReady(nats, webhooks, name);
  return { nats, gateways, start };
}

const delivered = (receiver, count) =>
  until(`${count} events came`, () => receiver.ids().size >= count && [...receiver.events]);
const namesOf = (events) => events.map(({ body: { data: { acknowledgement } } }) =>
  `${acknowledgement.message} ${acknowledgement.recipient}`).sort();

describe('an acknowledgement that is overdue', { concurrency: true }, () => {
  it('is one event though two gateways notice it, with the item of the list', async (t) => {
    const receiver = await receiverFor(t);
    const { nats, gateways } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) }, { count: 2 });
    const wanted = [];
    for (let i = 0; i < 20; i++) {
      const place = await ask(gateways[i % 2], ['Bob', 'Cleo']);
      await send(gateways[0], 'Bob', 'ACK: it', ['Ann'], ack(place), { thread_id: 'COORD-other' });
      wanted.push(`${place} Cleo`);
    }
    const last = await send(gateways[0], 'Ann', 'KICKOFF: x', [], '# K\n\n## Context\nx\n', { ack_required: true, thread_id: 'COORD-new' });
    wanted.push(`${last} null`);
    const events = await delivered(receiver, wanted.length);
    assert.deepEqual(namesOf(events), [...wanted].sort());
    assert.deepEqual(await overdueOf(nats), wanted.map((name) => {
      const [, stream, sequence, recipient] = /^(.+):(\d+) (.+)$/.exec(name);
      return `${stream}.${sequence}.overdue.${recipient === 'null' ? '=' : recipient}`;
    }).sort());
    const { body } = events.find(({ body: { data } }) => data.acknowledgement.recipient === 'Cleo');
    const { type, data: { protocol, acknowledgement } } = body;
    assert.deepEqual([type, protocol], ['ack.overdue', 'brenner']);
    assert.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const { json } = await get(gateways[0], '/v1/brenner/acks?open=true&overdue=2s');
    assert.deepEqual(acknowledgement, json.items.find(({ message, recipient }) =>
      message === acknowledgement.message && recipient === 'Cleo'));
    assert.deepEqual(receiver.unsigned, []);
  });

  it('is told though all gateways were killed before, but not of the time before such webhooks', async (t) => {
    const receiver = await receiverFor(t);
    const nats = await natsFor(t);
    const plain = await parleyFor(t, { nats: nats.url, args: ['--index', 'on', '--remind', '2s'] });
    const early = await ask(plain, ['Bob']);
    await until('it is reminded', async () =>
      (await get(plain, '/v1/brenner/messages?sender=parley')).json.items.length === 1);
    const { gateways, start } = await gatewaysFor(t, { all: hookTo(receiver, { events: EVENTS }) }, { nats, count: 2 });
    await plain.kill();
    const place = await ask(gateways[0], ['Bob']);
    await Promise.all(gateways.map((gateway) => gateway.kill()));
    await Promise.all([start(), start()]);
    assert.deepEqual(namesOf(await delivered(receiver, 1)), [`${place} Bob`]);
    const keys = await overdueOf(nats);
    assert.deepEqual(keys, [`${place.replace(':', '.')}.overdue.Bob`]);
    assert.notEqual(early, place);
  });

  it('goes to those webhooks that want it, by who asked, from the bucket of the fleet', async (t) => {
    const receivers = await Promise.all(['sender', 'domain', 'all'].map(() => receiverFor(t)));
    const [sender, domain, all] = receivers;
    const { nats, gateways: [server] } = await gatewaysFor(t, {
      sender: hookTo(sender, { events: EVENTS, senders: ['Ann'] }),
      domain: hookTo(domain, { events: EVENTS, domains: ['deploy'] }),
      all: hookTo(all, { events: EVENTS, protocols: ['brenner'] }),
    }, { args: ['--subject-prefix', 'brenner=fleet-a'], name: 'parley_acks_fleet-a' });
    const a = await ask(server, ['Bob']);
    const b = await ask(server, ['Ann'], 'Cleo');
    assert.deepEqual(namesOf(await delivered(all, 2)), [`${a} Bob`, `${b} Ann`].sort());
    assert.deepEqual(namesOf(await delivered(sender, 1)), [`${a} Bob`]);
    assert.deepEqual(domain.events, []);
    assert.equal((await overdueOf(nats, 'parley_acks_fleet-a')).length, 2);
  });

  it('needs an index, and has no bucket where no webhook wants it', async (t) => {
    const receiver = await receiverFor(t);
    const nats = await natsFor(t);
    const hooks = (events) => webhookFile({ all: hookTo(receiver, { events }) });
    const { stderr } = await refusedStart({ nats: nats.url, args: ['--webhooks', hooks(EVENTS)] });
    assert.match(stderr, /--webhooks: .*: the event ack\.overdue needs the index: --index on/);
    const server = await parleyFor(t, { nats: nats.url, args: ['--index', 'on', '--remind', '2s', '--webhooks', hooks(['halted'])] });
    await ask(server, ['Bob']);
    await until('it is reminded', async () =>
      (await get(server, '/v1/brenner/messages?sender=parley')).json.items.length === 1);
    await withClient(nats, async (connection) => {
      const { streams } = await connection.jetstreamManager();
      await assert.rejects(() => streams.info(`KV_${BUCKET}`), /not found/);
    });
  });
});
