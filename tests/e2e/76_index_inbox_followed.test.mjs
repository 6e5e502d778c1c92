// SPDX-License-Identifier: Apache-2.0
// Brenner inboxes that are followed: what is sent to an agent, and what becomes of it, as the view has it.

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { useFleet } from './lib/fleet.mjs';
import { followingOf } from './lib/follow.mjs';
import { get, post, request } from './lib/http.mjs';
import { embeddedUrl, natsClient } from './lib/nats.mjs';
import { parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertProblem, uniqueId } from './lib/vlp.mjs';

const INDEX = ['--index', 'on'];
const placeOf = ({ stream, sequence }) => `${stream}:${sequence}`;
const inboxes = followingOf('/v1/brenner/inbox', (data) => [placeOf(data), data.acknowledged?.status ?? (data.answered ? 'answered' : '-')]);

const question = '# Q\n\n## Question\nWhy?\n';
const asks = (to, thread, more) =>
  ({ from: 'Ann', subject: 'QUESTION: Why?', to, body_md: question, thread_id: thread, ack_required: true, ...more });
const acks = (from, named, thread, status = 'Received') =>
  ({ from, subject: 'ACK: x', to: ['Ann'], body_md: `# A\n\n## Message ID\n${named}\n\n## Status\n${status}\n`, thread_id: thread });
const says = (from, to, thread) => ({ from, subject: 'INFO: So', to, body_md: 'x', thread_id: thread });

async function send(server, message, options) {
  const answer = await post(server, '/v1/brenner/messages', JSON.stringify(message), options);
  assert.equal(answer.status, 200, answer.text);
  return `BRENNER:${answer.json.seq}`;
}

const threadOf = () => `COORD-${uniqueId().slice(0, 20).toLowerCase().replaceAll('_', '-')}`;

async function inbox(server, query, options) {
  const answer = await get(server, `/v1/brenner/inbox?limit=1000&${query}`, options);
  assert.equal(answer.status, 200, answer.text);
  return new Map(answer.json.items.map((item) => [placeOf(item), item]));
}

// Whatever the reader gets, it has the view in the end.
const assertHas = (reader, server, query, options) =>
  until(`the reader of ${query} has what the view has`, async () => {
    if (isDeepStrictEqual(reader.items, await inbox(server, query, options))) return true;
    await reader.next();
    return false;
  }, { every: 0 });

describe('an inbox that is followed', () => {
  const its = useFleet({ args: INDEX });

  it('has the messages, then each change of them, on any gateway', async (t) => {
    const { gateways } = its;
    const [bob, cleo, thread] = [`Bob-${uniqueId()}`, `Cleo-${uniqueId()}`, threadOf()];
    const first = await send(gateways[0], asks([bob, cleo], thread));
    const readers = [];
    for (const gateway of gateways) {
      await until('it is indexed', async () => (await inbox(gateway, `agent=${bob}`)).has(first));
      for (const query of [`agent=${bob}`, `agent=${bob}&unacked=true`, `agent=${bob}&unacked=false`, `agent=${cleo}`]) {
        readers.push({ gateway, query, reader: await inboxes.followed(t, gateway, query) });
      }
    }
    for (const { query, reader } of readers) assert.equal(reader.items.has(first), !query.includes('unacked=false'), query);
    const second = await send(gateways[1], says('Ann', [bob], thread));
    const third = await send(gateways[1], asks([], thread, { from: cleo }));
    await send(gateways[0], acks(bob, first, threadOf(), 'Understood'));
    const of = (which) => readers.filter(({ query }) => query === which).map(({ reader }) => reader);
    for (const reader of of(`agent=${bob}&unacked=true`)) {
      await reader.upTo(`left ${first}`);
      assert.ok(!reader.items.has(second));
    }
    for (const reader of of(`agent=${bob}&unacked=false`)) await reader.until(() => reader.items.has(first));
    for (const reader of of(`agent=${bob}`)) await reader.until(() => reader.items.get(first).acknowledged?.status === 'Understood');
    await send(gateways[1], says(bob, ['Ann'], thread));
    await send(gateways[1], acks(bob, first, thread, 'Completed'));
    for (const reader of of(`agent=${bob}`)) {
      await reader.until(() => reader.items.get(first).acknowledged?.status === 'Completed' && reader.items.get(first).answered !== null);
      assert.ok(reader.items.has(second));
    }
    for (const { gateway, query, reader } of readers) await assertHas(reader, gateway, query);
    for (const reader of of(`agent=${cleo}`)) assert.deepEqual([reader.items.has(first), reader.items.has(third)], [true, false]);
  });

  it('continues after a token, and comes whole again at another gateway and after a restart', async (t) => {
    const { gateways: [one, two] } = its;
    const [bob, thread] = [`Bob-${uniqueId()}`, threadOf()];
    const server = await parleyFor(t, { nats: its.nats.url, args: INDEX });
    const cleo = `Cleo-${uniqueId()}`;
    const first = await send(one, asks([bob, cleo], thread));
    for (const gateway of [server, two]) {
      await until('it is indexed', async () => (await inbox(gateway, `agent=${bob}`)).has(first));
    }
    const query = `agent=${bob}&unacked=true`;
    const reader = await inboxes.followed(t, server, query);
    assert.deepEqual(reader.log, [`item ${first} -`, 'current']);
    const { resume: since } = reader;
    reader.close();
    const hers = await inboxes.followed(t, server, `agent=${cleo}&unacked=true`);
    hers.close();
    await send(one, acks(bob, first, thread));
    const second = await send(one, asks([bob], thread));
    await until('both are indexed', async () => [...(await inbox(server, query)).keys()].join() === second);
    const again = await inboxes.open(t, server, query, { since });
    await again.until(() => again.items.has(second));
    assert.deepEqual(again.log.filter((each) => each !== 'current').sort(), [`item ${second} -`, `left ${first}`]);
    const hersAgain = await inboxes.open(t, server, `agent=${cleo}&unacked=true`, { since: hers.resume });
    assert.deepEqual(await hersAgain.upTo('current'), ['current']);
    const other = await inboxes.open(t, two, query, { since });
    assert.equal((await other.upTo('current'))[0], 'reset other-gateway');
    assert.deepEqual([...other.items.keys()], [second]);
    const others = await inboxes.open(t, server, `agent=${bob}`, { since });
    assert.equal((await others.upTo('current'))[0], 'reset other-options');
    await server.stop();
    const restarted = await parleyFor(t, { nats: its.nats.url, args: INDEX, data: server.data });
    const last = await inboxes.open(t, restarted, query, { since: again.resume });
    assert.equal((await last.upTo('current'))[0], 'reset other-gateway');
    await assertHas(last, restarted, query);
  });

  it('is kept for others when one client leaves, and read again when all had left', async (t) => {
    const { gateways: [one] } = its;
    const [bob, thread] = [`Bob-${uniqueId()}`, threadOf()];
    const readers = await Promise.all(Array.from({ length: 6 }, () => inboxes.followed(t, one, `agent=${bob}`)));
    readers.slice(1).forEach((reader) => reader.close());
    const first = await send(one, asks([bob], thread));
    await readers[0].upTo(`item ${first} -`);
    readers[0].close();
    const second = await send(one, asks([bob], thread));
    await until('it is indexed', async () => (await inbox(one, `agent=${bob}`)).has(second));
    const again = await inboxes.open(t, one, `agent=${bob}`);
    await again.until(() => again.items.size === 2);
    await assertHas(again, one, `agent=${bob}`);
  });

  it('refuses what cannot be, and answers HEAD', async () => {
    const { gateways: [one] } = its;
    const rows = [
      ['agent=Bob&follow=true&limit=5', /leave out `limit`/],
      ['agent=Bob&follow=true&cursor=1:1:BRENNER', /`cursor`/],
      ['agent=Bob&follow=true&after=BRENNER:1', /leave out `after`/],
      ['agent=Bob&follow=true&wait=1', /`wait`/],
      ['agent=Bob&follow=perhaps', /`true` or `false`/],
      ['agent=Bob&since=brenner.inbox:0123456789abcdef:01234567:42', /add follow=true/],
      ['agent=Bob&follow=true&since=2026-01-01T00:00:00Z', /brenner\.inbox:/],
      ['follow=true', /`agent` is required/],
    ];
    for (const [query, detail] of rows) {
      const answer = await get(one, `/v1/brenner/inbox?${query}`);
      assert.match(assertProblem(answer, 400, 'invalid-parameter').detail, detail, query);
    }
    assert.equal((await get(one, '/v1/brenner/acks?follow=true')).status, 400);
    const head = await request(one, 'HEAD', '/v1/brenner/inbox?agent=Bob&follow=true');
    assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'application/x-ndjson', '']);
  });

  it('is of as many inboxes as there can be', async (t) => {
    const server = await parleyFor(t, { nats: its.nats.url, args: [...INDEX, '--streams-per-token', '1000'] });
    await Promise.all(Array.from({ length: 256 }, (_, i) => inboxes.followed(t, server, `agent=agent${i}`)));
    assertProblem(await get(server, '/v1/brenner/inbox?agent=another&follow=true'), 503, 'overloaded');
    await inboxes.followed(t, server, 'agent=agent7');
    await inbox(server, 'agent=another');
  });

  it('ends with its server, and says so', async (t) => {
    const server = await startParley({ nats: its.nats.url, args: INDEX });
    const reader = await inboxes.followed(t, server, 'agent=Bob');
    const stopped = server.stop();
    await reader.upTo('end draining');
    assert.equal(await reader.next(), null);
    await stopped;
  });

  it('needs an index', async (t) => {
    const server = await parleyFor(t, { nats: its.nats.url });
    assertProblem(await get(server, '/v1/brenner/inbox?agent=Bob&follow=true'), 404, 'no-index');
  });
});

describe('an inbox that is followed, of a server alone', () => {
  it('has what the index has that was made again, and what the stream has that was purged', async (t) => {
    const server = await parleyFor(t, { args: INDEX });
    const thread = threadOf();
    const places = [];
    for (let i = 0; i < 4; i++) places.push(await send(server, asks(['Bob'], thread)));
    await until('they are indexed', async () => (await inbox(server, 'agent=Bob')).size === 4);
    const reader = await inboxes.followed(t, server, 'agent=Bob');
    assert.deepEqual([...reader.items.keys()], places);
    for (const suffix of ['', '-wal', '-shm']) await rm(join(server.data, `index.sqlite${suffix}`), { force: true });
    await reader.upTo('reset read-again');
    await reader.until(() => reader.items.size === 4);
    const client = await natsClient(t, embeddedUrl(server));
    const { streams } = await client.jetstreamManager();
    await streams.purge('BRENNER', { seq: 3 });
    await reader.until(() => reader.items.size === 2);
    assert.deepEqual([...reader.items.keys()], places.slice(2));
    const { config } = await streams.info('BRENNER');
    await streams.delete('BRENNER');
    await streams.add(config);
    const next = await send(server, asks(['Bob'], thread));
    await reader.until(() => reader.items.size === 1 && reader.items.has(next));
    await assertHas(reader, server, 'agent=Bob');
  });

  it('is that of its agent alone for a token that is bound', async (t) => {
    const tokens = join(temporaryFolder(), 'tokens');
    const own = bearer(await createToken(tokens, 'own', 'send:*,read:*', '--agent', 'Bob'));
    const all = bearer(await createToken(tokens, 'all', 'send:*,read:*'));
    const server = await parleyFor(t, { args: [...INDEX, '--tokens', tokens], headers: all.headers });
    const first = await send(server, asks(['Bob'], threadOf()), all);
    await until('it is indexed', async () => (await inbox(server, 'agent=Bob', all)).has(first));
    const reader = await inboxes.followed(t, server, '', own);
    assert.deepEqual([...reader.items.keys()], [first]);
    assertProblem(await get(server, '/v1/brenner/inbox?agent=Cleo&follow=true', own), 403, 'forbidden');
    await inboxes.followed(t, server, 'agent=Cleo', all);
  });
});
