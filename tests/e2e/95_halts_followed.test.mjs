// SPDX-License-Identifier: Apache-2.0
// Lists of halts that are followed: what is halted and what was released, as GET has them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { atEnd } from './lib/cleanup.mjs';
import { useFleet } from './lib/fleet.mjs';
import { followingOf } from './lib/follow.mjs';
import { block, halts, release, session } from './lib/halts.mjs';
import { get, request, send } from './lib/http.mjs';
import { startNats } from './lib/nats.mjs';
import { parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertAccepted, assertProblem, uniqueId } from './lib/vlp.mjs';

const { open, followed } = followingOf('/v1/vlp/halts', ({ key, session: name, released_by }) => [key, name, released_by]);
const byKey = (items) => new Map(items.map((item) => [item.key, item]));
const hex = (digit) => digit.repeat(32);

async function halted(server, name, changes) {
  const message = block(name, changes);
  assertAccepted(await send(server, message));
  return (await halts(server, `?session=${name}`)).items.find(({ id }) => id === message.id);
}

// Until the reader has what the list has.
const assertHas = (reader, server, query) =>
  until(`the reader of ${query} has them`, async () => {
    if (isDeepStrictEqual(reader.items, byKey((await halts(server, query)).items))) return true;
    await reader.next();
    return false;
  }, { every: 0 });

describe('a list of halts that is followed', () => {
  const its = useFleet();

  it('has what is halted, then each halt and each release, on any gateway', async (t) => {
    const { gateways: [one, two] } = its;
    const [first, second] = [session(), session()];
    const item = await halted(one, first);
    const readers = [];
    for (const gateway of [one, two]) {
      await until('it is known', async () => (await halts(gateway, `?session=${first}`)).items.length === 1);
      const all = await followed(t, gateway);
      assert.deepEqual(all.items.get(item.key), item);
      const reader = await followed(t, gateway, `session=${first}`);
      assert.deepEqual([...reader.items.values()], [item]);
      readers.push({ gateway, all, reader });
    }
    const again = await halted(two, first);
    const other = await halted(two, second);
    for (const { all } of readers) await all.upTo(`item ${other.key} ${second}`);
    assert.equal((await release(one, first)).released, 2);
    for (const { gateway, all, reader } of readers) {
      await all.upTo(`left ${again.key}`);
      assert.ok(all.log.includes(`item ${other.key} ${second}`));
      const log = await reader.until(() => reader.items.size === 0);
      assert.deepEqual([...log].sort(), [`item ${again.key} ${first}`, `left ${again.key}`, `left ${item.key}`].sort());
      await assertHas(all, gateway, '');
    }
  });

  it('chooses by sender, and has each halt once', async (t) => {
    const { gateways: [one] } = its;
    const sender = `Guard-${uniqueId()}`;
    const name = session();
    const reader = await followed(t, one, `by=${sender}`);
    await halted(one, name);
    const item = await halted(one, name, { sender });
    assert.deepEqual(await reader.upTo(`item ${item.key} ${name}`), [`item ${item.key} ${name}`]);
    await release(one, name);
    assert.deepEqual(await reader.upTo(`left ${item.key}`), [`left ${item.key}`]);
  });

  it('has those that were released last, and says which have left these', async (t) => {
    const { gateways: [one, two] } = its;
    const LISTED = 100;
    const reader = await followed(t, two, 'released=true');
    const name = session();
    const item = await halted(one, name);
    const query = new URLSearchParams({ session: name, reason: 'read it', released_by: 'Ada' });
    assert.equal((await request(one, 'DELETE', `/v1/vlp/halts?${query}`)).status, 200);
    await reader.upTo(`item ${item.key} ${name} Ada`);
    assert.equal(reader.items.get(item.key).reason, 'read it');
    const flood = session();
    for (let i = 0; i < LISTED; i++) await halted(one, flood);
    assert.equal((await release(one, flood)).released, LISTED);
    await reader.upTo(`left ${item.key}`);
    await assertHas(reader, two, '?released=true');
    assert.equal(reader.items.size, LISTED);
  });

  it('has halts whose values cannot be read, and keys that were deleted leave', async (t) => {
    const { gateways: [one], client } = its;
    const reader = await followed(t, one);
    const key = `${hex('a')}.${hex('b')}`;
    const put = async (value, headers) => {
      client.publish(`$KV.parley_halts.${key}`, value, headers);
      await client.flush();
    };
    await put('not JSON');
    await reader.upTo(`item ${key}`);
    assert.deepEqual(reader.items.get(key), { key });
    await put(' { } ');
    await reader.upTo(`item ${key}`);
    assert.deepEqual(reader.items.get(key), { key });
    await put('{"session":"S-7", "key":"x" }\n');
    await reader.upTo(`item ${key} S-7`);
    assert.equal((await release(one, 'S-none')).released, 0);
    const answer = await request(one, 'DELETE', '/v1/vlp/halts?all=true&reason=over');
    assert.equal(answer.status, 200, answer.text);
    await reader.until(() => reader.items.size === 0);
  });

  it('goes on after a token, and comes whole again at another gateway', async (t) => {
    const { gateways: [one, two] } = its;
    const name = session();
    const items = [await halted(one, name), await halted(one, name)];
    await until('both know them', async () => (await halts(two, `?session=${name}`)).items.length === 2);
    const first = await followed(t, one, `session=${name}`);
    first.close();
    const third = await halted(one, name);
    const { resume: since } = first;
    const second = await open(t, one, `session=${name}`, { since });
    assert.deepEqual(await second.upTo('current'), [`item ${third.key} ${name}`, 'current']);
    second.close();
    await until('the other knows it', async () => (await halts(two, `?session=${name}`)).items.length === 3);
    const other = await open(t, two, `session=${name}`, { since });
    assert.equal((await other.upTo('current'))[0], 'reset other-gateway');
    assert.equal(other.items.size, 3);
    await release(two, name);
    await until('it knows', async () => (await halts(one, `?session=${name}`)).items.length === 0);
    const fourth = await open(t, one, `session=${name}`, { since });
    const keys = items.map(({ key }) => `left ${key}`);
    assert.deepEqual((await fourth.upTo('current')).sort(), [...keys, 'current'].sort());
  });

  it('refuses what cannot be, and answers HEAD', async () => {
    const { gateways: [one] } = its;
    const rows = [
      ['follow=perhaps', /`true` or `false`/],
      ['follow=true&limit=5', /limit/],
      ['since=vlp.halts:0123456789abcdef:01234567:42', /add follow=true/],
      ['follow=true&since=roundtable.tasks:0123456789abcdef:01234567:42', /resume token of this list.*vlp\.halts:/],
      ['follow=true&follow=true', /follow/],
    ];
    for (const [query, detail] of rows) {
      assert.match(assertProblem(await get(one, `/v1/vlp/halts?${query}`), 400, 'invalid-parameter').detail, detail, query);
    }
    const head = await request(one, 'HEAD', '/v1/vlp/halts?follow=true');
    assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'application/x-ndjson', '']);
    assert.equal((await request(one, 'DELETE', '/v1/vlp/halts?follow=true&all=true&reason=x')).status, 400);
  });

  it('ends with its server, and says so', async (t) => {
    const server = await startParley({ nats: its.nats.url });
    const reader = await followed(t, server);
    const stopped = server.stop();
    await reader.upTo('end draining');
    assert.equal(await reader.next(), null);
    await stopped;
  });

  it('has what random halts and releases do to it, whatever the filter', async (t) => {
    const { gateways } = its;
    const names = Array.from({ length: 4 }, session);
    const senders = [`Guard-${uniqueId()}`, `Guard-${uniqueId()}`];
    const queries = ['', 'released=true', `session=${names[0]}`, `by=${senders[1]}`, `released=true&by=${senders[1]}`];
    const readers = [];
    for (const query of queries) {
      for (const gateway of gateways) readers.push({ query, gateway, reader: await followed(t, gateway, query) });
    }
    let seed = 59;
    const below = (limit) => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * limit);
    };
    for (let i = 0; i < 120; i++) {
      const [gateway, name] = [gateways[below(2)], names[below(names.length)]];
      if (below(4) === 0) await release(gateway, name);
      else assertAccepted(await send(gateway, block(name, { sender: senders[below(2)] })));
    }
    for (const { query, gateway, reader } of readers) await assertHas(reader, gateway, `?${query}`);
  });

  it('is the same list after a reader was away from NATS', async (t) => {
    let nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url });
    const name = session();
    const item = await halted(server, name);
    const reader = await followed(t, server);
    await nats.stop();
    nats = await nats.restart();
    await until('it takes messages again', async () => (await send(server, block(name))).status === 200);
    await assertHas(reader, server, '');
    assert.equal(reader.items.size, 2);
    assert.ok(reader.items.has(item.key));
  });
});
