// SPDX-License-Identifier: Apache-2.0
// Lists of agents that are followed: what their messages say, and what the clock says, as GET has them.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { atEnd } from './lib/cleanup.mjs';
import { useFleet } from './lib/fleet.mjs';
import { followingOf } from './lib/follow.mjs';
import { get, ndjson, post, request } from './lib/http.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertProblem, uniqueId } from './lib/vlp.mjs';

const knights = followingOf('/v1/roundtable/agents', ({ agent, state }) => [agent, state]);
const supervised = followingOf('/v1/supervisor/agents', ({ agent, state }) => [agent, state]);

const beat = (from, payload = {}) => ({
  id: randomUUID(),
  version: '1.0',
  type: 'heartbeat',
  from,
  timestamp: new Date().toISOString(),
  payload: { status: 'healthy', ...payload },
});

async function send(server, protocol, messages, query = '', options = {}) {
  const body = messages.map((each) => `${JSON.stringify(each)}\n`).join('');
  const answer = await post(server, `/v1/${protocol}/messages${query}`, body, { type: 'application/x-ndjson', ...options });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(ndjson(answer.text).at(-1).summary.accepted, messages.length, answer.text);
}
const beats = (server, ...messages) => send(server, 'roundtable', messages);
let seconds = 1705392000; // the same payload of the same agent is the same message
const lives = (server, agent, ...messages) =>
  send(server, 'supervisor', messages.map((each) => ({ timestamp: ++seconds, ...each })), `?agent=${agent}`);

async function agents(server, protocol, query = '', options) {
  const answer = await get(server, `/v1/${protocol}/agents?limit=1000&${query}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.items;
}

// What passes by the clock is as of the event.
const timeless = (items) => new Map([...items].map(({ age, checkpoint, ...rest }) => {
  const { age: _, ...of } = checkpoint ?? {};
  return [rest.agent, { ...rest, ...(checkpoint && { checkpoint: of }) }];
}));

const assertHas = (reader, server, protocol, query, options) =>
  until(`the reader of ${query} has them`, async () => {
    const wanted = timeless(await agents(server, protocol, query, options));
    if (isDeepStrictEqual(timeless(reader.items.values()), wanted)) return true;
    await reader.next();
    return false;
  }, { every: 0 });

describe('a list of agents that is followed', () => {
  const its = useFleet();

  it('has the agents, then each message of them, on any gateway', async (t) => {
    const { gateways: [one, two] } = its;
    const [first, second, third] = ['galahad', 'Sir/Bors', 'percival'].map((name) => `${name}-${uniqueId()}`);
    await beats(one, beat(first, { capabilities: ['security.cve'] }), beat(second));
    const readers = [];
    for (const gateway of [one, two]) {
      const all = await knights.followed(t, gateway);
      for (const name of [first, second]) assert.equal(all.items.get(name).state, 'alive');
      const some = await knights.followed(t, gateway, 'capability=security.*&state=alive');
      assert.deepEqual([some.items.has(first), some.items.has(second)], [true, false]);
      readers.push({ gateway, all, some });
    }
    await beats(two, beat(third, { capabilities: ['security.briefing'], model: 'm-1' }));
    await beats(one, beat(first, { capabilities: ['finance.audit'] }));
    for (const { gateway, all, some } of readers) {
      await all.upTo(`item ${third} alive`);
      assert.equal(all.items.get(third).model, 'm-1');
      await some.until(() => some.items.has(third) && !some.items.has(first));
      assert.ok(some.log.includes(`left ${first}`));
      await assertHas(all, gateway, 'roundtable', '');
    }
  });

  it('has of a supervised agent what all of its messages say', async (t) => {
    const { gateways: [one, two] } = its;
    const agent = `coder-${uniqueId()}`;
    const reader = await supervised.followed(t, two);
    await lives(one, agent, { type: 'heartbeat', version: 2 });
    await reader.upTo(`item ${agent} alive`);
    await lives(one, agent,
      { type: 'metrics', data: { error_rate: 0.5 } },
      { type: 'wal_entry', data: { operation: 'memory_add', params: {}, sequence: 7 } },
      { type: 'checkpoint', data: { agent_state: { id: 'a', name: 'a', version: '1', status: 'idle' } } },
      { type: 'shutdown', reason: 'over' });
    await assertHas(reader, one, 'supervisor', '');
    const { metrics, wal, checkpoint, shutdown } = reader.items.get(agent);
    assert.deepEqual([metrics.data.error_rate, wal.sequence, shutdown.reason], [0.5, 7, 'over']);
    assert.ok(checkpoint.size > 0 && checkpoint.overdue === false);
  });

  it('says by the clock alone that an agent is late, and then lost', async (t) => {
    const { gateways: [one] } = its;
    const agent = `coder-${uniqueId()}`;
    const [all, late, lost] = await Promise.all(['', 'state=late', 'state=lost'].map((query) => supervised.followed(t, one, query)));
    await lives(one, agent, { type: 'heartbeat' });
    const of = (reader) => reader.log.filter((each) => each.includes(agent));
    await lost.upTo(`item ${agent} lost`);
    await all.upTo(`item ${agent} lost`);
    await late.upTo(`left ${agent}`);
    assert.deepEqual(of(all), ['alive', 'late', 'lost'].map((state) => `item ${agent} ${state}`));
    assert.deepEqual(of(late), [`item ${agent} late`, `left ${agent}`]);
    const { resume: since } = lost;
    lost.close();
    await lives(one, agent, { type: 'heartbeat' });
    await all.upTo(`item ${agent} alive`);
    const again = await supervised.open(t, one, 'state=lost', { since });
    assert.ok((await again.upTo('current')).includes(`left ${agent}`));
  });

  it('continues after a token, and comes whole again at another gateway', async (t) => {
    const { gateways: [one, two] } = its;
    const [first, second] = [`lamorak-${uniqueId()}`, `gareth-${uniqueId()}`];
    await beats(one, beat(first));
    const reader = await knights.followed(t, one);
    const { resume: since } = reader;
    await beats(two, beat(second));
    await reader.upTo(`item ${second} alive`);
    reader.close();
    const again = await knights.open(t, one, '', { since });
    assert.deepEqual(await again.upTo('current'), [`item ${second} alive`, 'current']);
    const other = await knights.open(t, two, '', { since });
    assert.equal((await other.upTo('current'))[0], 'reset other-gateway');
    assert.ok(other.items.has(first) && other.items.has(second));
  });

  it('tells of an agent once a second at most, and its last message', async (t) => {
    const { gateways: [one] } = its;
    const BEATS = 50;
    const agent = `bedivere-${uniqueId()}`;
    const reader = await knights.followed(t, one);
    for (let i = 1; i <= BEATS; i++) await beats(one, beat(agent, { uptime: i }));
    await reader.until(() => reader.items.get(agent)?.uptime === BEATS);
    assert.ok(reader.log.filter((each) => each.includes(agent)).length < BEATS, reader.log.join());
  });

  it('refuses what cannot be, and answers HEAD', async () => {
    const { gateways: [one] } = its;
    const rows = [
      ['follow=true&limit=5', /leave out `limit`/],
      ['follow=true&cursor=galahad', /`cursor`/],
      ['follow=perhaps', /`true` or `false`/],
      ['since=roundtable.agents:0123456789abcdef:01234567:42', /add follow=true/],
      ['follow=true&since=vlp.halts:0123456789abcdef:01234567:42', /roundtable\.agents:/],
      ['follow=true&state=dead', /alive, late, lost/],
    ];
    for (const [query, detail] of rows) {
      const answer = await get(one, `/v1/roundtable/agents?${query}`);
      assert.match(assertProblem(answer, 400, 'invalid-parameter').detail, detail, query);
    }
    assertProblem(await get(one, '/v1/vlp/agents?follow=true'), 404, 'not-found');
    assert.equal((await get(one, '/v1/roundtable/agents/galahad?follow=true')).status, 400);
    const head = await request(one, 'HEAD', '/v1/roundtable/agents?follow=true');
    assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'application/x-ndjson', '']);
  });

  it('ends with its server, and says so', async (t) => {
    const server = await startParley({ nats: its.nats.url });
    const reader = await knights.followed(t, server);
    const stopped = server.stop();
    await reader.upTo('end draining');
    assert.equal(await reader.next(), null);
    await stopped;
  });
});

describe('a list of agents that is followed, alone', () => {
  it('has what the stream has once NATS was away', async (t) => {
    let nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url });
    await beats(server, beat('galahad'));
    const reader = await knights.followed(t, server);
    await nats.stop();
    nats = await nats.restart();
    await until('it takes messages again', async () =>
      (await post(server, '/v1/roundtable/messages', JSON.stringify(beat('bors')))).status === 200);
    await reader.until(() => reader.items.has('bors'));
    await assertHas(reader, server, 'roundtable', '');
  });

  it('has what the stream has that was created again', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url });
    await beats(server, ...Array.from({ length: 20 }, (_, i) => beat(`k${i}`)));
    const reader = await knights.followed(t, server);
    assert.equal(reader.items.size, 20);
    const client = await natsClient(t, nats.url);
    const { streams } = await client.jetstreamManager();
    const { config } = await streams.info('ROUNDTABLE');
    await streams.delete('ROUNDTABLE');
    await streams.add(config);
    await beats(server, beat('bors'));
    await reader.until(() => reader.items.has('bors') && reader.items.size === 1);
    await beats(server, beat('galahad'));
    await reader.upTo('item galahad alive');
    await assertHas(reader, server, 'roundtable', '');
  });

  it('shows a bound token the checkpoints of its own agent alone', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const tokens = join(temporaryFolder(), 'tokens');
    const create = async (...of) => bearer(await createToken(tokens, ...of));
    const all = await create('all', 'send:*,read:*');
    const own = await create('own', 'send:*,read:*', '--agent', 'ada');
    const server = await parleyFor(t, { nats: nats.url, args: ['--tokens', tokens], headers: all.headers });
    const checkpoint = { type: 'checkpoint', timestamp: ++seconds, data: { agent_state: { id: 'a', name: 'a', version: '1', status: 'idle' } } };
    for (const agent of ['ada', 'bob']) await send(server, 'supervisor', [checkpoint], `?agent=${agent}`, all);
    for (const options of [all, own]) {
      const reader = await supervised.followed(t, server, '', options);
      await assertHas(reader, server, 'supervisor', '', options);
      const sizes = ['ada', 'bob'].map((agent) => reader.items.get(agent).checkpoint.size);
      assert.deepEqual(sizes.map((size) => size > 0), options === all ? [true, true] : [true, false]);
    }
  });
});
