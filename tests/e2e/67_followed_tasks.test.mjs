// SPDX-License-Identifier: Apache-2.0
// Lists of tasks that are followed: the items, then what changes, for as long as a client reads. What a
// reader makes of the events is what the list has.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { useFleet } from './lib/fleet.mjs';
import { followingOf } from './lib/follow.mjs';
import { get, openStream, request, streamFor } from './lib/http.mjs';
import { startParley } from './lib/parley.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { until } from './lib/poll.mjs';
import { assertProblem, uniqueId } from './lib/vlp.mjs';
import { sendTask, taskClaimed, taskFailed, taskProgress, taskRequest, taskResult } from './lib/roundtable.mjs';
import { boardOf, changeTask, nextTask } from './lib/work.mjs';

const SSE = { headers: { Accept: 'text/event-stream' } };

async function sent(server, message, query) {
  const answer = await sendTask(server, message, { query });
  assert.equal(answer.status, 200, answer.text);
  return message.id;
}
const requested = (server, changes, query) => sent(server, taskRequest('security.scan', changes), query);
const claimed = (server, id, from = 'galahad') => sent(server, taskClaimed(id, { from }));
const completed = (server, id, from = 'galahad') => sent(server, taskResult(id, { from }));

const { open: openFollower, followed } = followingOf('/v1/roundtable/tasks', ({ id, state }) => [id, state]);

const byId = (items) => new Map(items.map((item) => [item.id, item]));

describe('a list of tasks that is followed', () => {
  const its = useFleet({ args: ['--task-lease', '2s'] });

  it('has the items, then each change, on any gateway, as the list has them', async (t) => {
    const { gateways: [one, two] } = its;
    const from = `pilot-${uniqueId()}`;
    const ids = [await requested(one, { from }), await requested(two, { from })];
    await until('both know them', async () =>
      (await boardOf(one, `?from=${from}`)).length + (await boardOf(two, `?from=${from}`)).length === 4);
    const readers = [await followed(t, one, `from=${from}`), await followed(t, two, `from=${from}`)];
    for (const reader of readers) assert.deepEqual([...reader.items.keys()].sort(), [...ids].sort());
    const third = await requested(one, { from });
    await claimed(two, third);
    await sent(one, taskProgress(third, { from: 'galahad' }));
    await completed(one, third);
    for (const reader of readers) {
      await reader.upTo(`item ${third} completed`);
      assert.deepEqual(reader.items, byId(await boardOf(one, `?from=${from}`)));
    }
  });

  it('has an item leave that no longer matches, and come when it does', async (t) => {
    const { gateways: [one, two] } = its;
    const from = `pilot-${uniqueId()}`;
    const open = await followed(t, two, `from=${from}&state=requested`);
    const held = await followed(t, two, `from=${from}&holder=galahad,percival&state=claimed`);
    const failed = await followed(t, two, `from=${from}&code=timeout`);
    const second = await followed(t, two, `from=${from}&attempt=2`);
    const other = await followed(t, two, `from=${from}&domain=deploy&priority=critical`);
    const id = await requested(one, { from });
    assert.deepEqual(await open.upTo(`item ${id} requested`), [`item ${id} requested`]);
    await claimed(one, id);
    assert.deepEqual(await open.upTo(`left ${id}`), [`left ${id}`]);
    assert.deepEqual(await held.upTo(`item ${id} claimed`), [`item ${id} claimed`]);
    assert.equal((await changeTask(one, id, 'release', { agent: 'galahad' })).status, 200);
    assert.deepEqual(await open.upTo(`item ${id} requested`), [`item ${id} requested`]);
    assert.deepEqual(await held.upTo(`left ${id}`), [`left ${id}`]);
    await claimed(two, id, 'percival');
    assert.deepEqual(await second.upTo(`item ${id} claimed`), [`item ${id} claimed`]);
    await sent(one, taskFailed(id, { from: 'percival' }));
    assert.deepEqual(await failed.upTo(`item ${id} failed`), [`item ${id} failed`]);
    const last = await sent(one, taskRequest('deploy.web', { from, priority: 'critical' }));
    assert.deepEqual(await other.upTo(`item ${last} requested`), [`item ${last} requested`]);
  });

  it('says by the clock alone that a task has expired, lapsed or is overdue', async (t) => {
    const { gateways: [one, two] } = its;
    const from = `pilot-${uniqueId()}`;
    const all = await followed(t, one, `from=${from}`);
    const expired = await followed(t, two, `from=${from}&state=expired`);
    const lapsed = await followed(t, two, `from=${from}&lapsed=true`);
    const overdue = await followed(t, two, `from=${from}&overdue=true`);
    const later = await followed(t, two, `from=${from}&overdue=2s`);
    const [late, lost] = [await requested(one, { from, ttl: 1 }), await requested(one, { from })];
    await claimed(one, lost);
    await all.upTo(`item ${late} expired`);
    assert.deepEqual(await expired.upTo(`item ${late} expired`), [`item ${late} expired`]);
    assert.deepEqual(await lapsed.upTo(`item ${lost} requested`), [`item ${lost} requested`]);
    assert.equal(lapsed.items.get(lost).lapsed, true);
    // It expires with the second after its deadline.
    assert.match((await overdue.upTo(`item ${late} expired`)).join(), new RegExp(`^(item ${late} requested,)?item ${late} expired$`));
    assert.deepEqual(await later.upTo(`item ${late} expired`), [`item ${late} expired`]);
    await claimed(two, lost, 'percival');
    assert.deepEqual(await lapsed.upTo(`left ${lost}`), [`left ${lost}`]);
    assert.equal((await changeTask(one, late, 'cancel', { agent: from })).status, 409);
  });

  it('goes on after a token with what has changed since, and nothing twice', async (t) => {
    const { gateways: [one, two] } = its;
    const from = `pilot-${uniqueId()}`;
    const query = `from=${from}&state=requested,claimed`;
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await requested(one, { from }));
    const first = await followed(t, one, query);
    assert.equal(first.items.size, 5);
    first.close();
    await claimed(one, ids[0]);
    await completed(two, await (async () => (await claimed(two, ids[1]), ids[1]))());
    const added = await requested(two, { from });
    await until('all is known', async () =>
      (await boardOf(one, `?from=${from}`)).length === 6 && (await boardOf(one, `?from=${from}&state=completed`)).length === 1);
    const second = await openFollower(t, one, query, { since: first.resume });
    const log = await second.upTo('current');
    assert.deepEqual([...log].sort(), [`item ${ids[0]} claimed`, `item ${added} requested`, `left ${ids[1]}`, 'current'].sort());
    // What was there at the token and has not changed leaves once.
    await claimed(one, ids[2]);
    await completed(one, ids[2]);
    assert.deepEqual(await second.upTo(`left ${ids[2]}`), [`item ${ids[2]} claimed`, `left ${ids[2]}`]);
    // Amid the list: each item once, whichever response had it.
    const third = await openFollower(t, one, query);
    await third.next();
    await third.next();
    third.close();
    const fourth = await openFollower(t, one, query, { since: third.resume });
    await fourth.upTo('current');
    const items = [...third.log, ...fourth.log].filter((each) => each.startsWith('item'));
    assert.equal(new Set(items).size, items.length, items.join());
    assert.equal(items.length, 4);
  });

  it('comes whole again, and says why, where a token does not tell what the client has', async (t) => {
    const { gateways: [one, two] } = its;
    const from = `pilot-${uniqueId()}`;
    const id = await requested(one, { from });
    await until('the other knows it', async () => (await boardOf(two, `?from=${from}`)).length === 1);
    const { resume } = await followed(t, one, `from=${from}`);
    const again = async (server, query, reason) => {
      const follower = await openFollower(t, server, query, { since: resume });
      assert.deepEqual(await follower.upTo('current'), [`reset ${reason}`, `item ${id} requested`, 'current']);
    };
    await again(two, `from=${from}`, 'other-gateway');
    await again(one, `from=${from}&domain=security`, 'other-options');
    const overdue = await followed(t, one, `from=${from}&overdue=true`);
    const resumed = await openFollower(t, one, `from=${from}&overdue=true`, { since: overdue.resume });
    assert.deepEqual(await resumed.upTo('current'), ['reset time-alone', 'current']);
  });

  it('is sent as server-sent events, too, which an event source resumes', async (t) => {
    const { gateways: [one] } = its;
    const from = `pilot-${uniqueId()}`;
    const path = `/v1/roundtable/tasks?follow=true&from=${from}`;
    const id = await requested(one, { from });
    const stream = await streamFor(t, one, path, SSE);
    assert.match(stream.headers['content-type'], /^text\/event-stream/);
    assert.equal((await stream.sse()).retry, '2000');
    const item = await stream.sseData();
    assert.deepEqual(JSON.parse(item.data).type, 'parley.item');
    assert.equal(JSON.parse(item.data).resume, item.id);
    assert.equal(JSON.parse((await stream.sseData()).data).type, 'parley.current');
    stream.close();
    const again = await streamFor(t, one, path, { headers: { ...SSE.headers, 'Last-Event-ID': item.id } });
    assert.equal(JSON.parse((await again.sseData()).data).type, 'parley.current');
    await claimed(one, id);
    assert.equal(JSON.parse((await again.sseData()).data).data.state, 'claimed');
  });

  it('refuses what cannot be, and says what can', async () => {
    const { gateways: [one] } = its;
    const rows = [
      ['follow=true&limit=5', /leave out `limit`/],
      ['follow=perhaps', /`true` or `false`/],
      ['since=roundtable.tasks:0123456789abcdef:01234567:42', /add follow=true/],
      ['follow=true&since=ROUNDTABLE:1:2', /resume token of this list.*roundtable\.tasks:/],
      ['follow=true&since=roundtable.tasks:0123456789abcdef:01234567:42x', /resume token/],
      ['follow=true&since=', /resume token/],
      ['follow=true&state=done', /requested, claimed/],
      ['follow=true&follow=true', /follow/],
    ];
    for (const [query, detail] of rows) {
      const answer = await get(one, `/v1/roundtable/tasks?${query}`);
      assert.match(assertProblem(answer, 400, 'invalid-parameter').detail, detail, query);
    }
    const json = { headers: { Accept: 'application/json' } };
    const { detail } = assertProblem(await get(one, '/v1/roundtable/tasks?follow=true', json), 406, 'not-acceptable');
    assert.match(detail, /accept application\/x-ndjson .* or text\/event-stream/);
    assertProblem(await get(one, '/v1/roundtable/tasks', SSE), 406, 'not-acceptable');
    assert.equal((await get(one, '/v1/roundtable/tasks?follow=false')).headers['content-type'], 'application/json');
    const head = await request(one, 'HEAD', '/v1/roundtable/tasks?follow=true');
    assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'application/x-ndjson', '']);
  });

  it('of a client that does not read holds nobody back, and ends where the list is', async (t) => {
    const { gateways: [one] } = its;
    const from = `pilot-${uniqueId()}`;
    const slow = await openStream(one, `/v1/roundtable/tasks?follow=true&from=${from}`);
    atEnd(t, () => slow.close());
    slow.pause();
    const quick = await followed(t, one, `from=${from}`);
    let id;
    for (let i = 0; i < 60; i++) {
      const lines = Array.from({ length: 50 }, () => taskRequest('security.scan', { from, payload: { task: 'security.scan', params: {} } }));
      const answer = await sendTask(one, lines);
      assert.equal(answer.status, 200, answer.text);
      id = lines.at(-1).id;
    }
    await until('the list has all', async () => {
      while (quick.items.size < 3000) await quick.next();
      return true;
    });
    assert.ok(quick.items.has(id));
    slow.resume();
    const seen = new Map();
    for (let event; seen.size < 3000 && (event = await slow.event()) !== null;) {
      if (event.type === 'parley.item') seen.set(event.data.id, event.data.state);
    }
    assert.deepEqual([...seen.keys()].sort(), [...quick.items.keys()].sort());
  });

  it('ends with its server, and says so', async (t) => {
    const server = await startParley({ nats: its.nats.url });
    const follower = await followed(t, server, 'state=expired');
    const stopped = server.stop();
    await follower.upTo('end draining');
    assert.equal(await follower.next(), null);
    await stopped;
  });

  it('has what a day of work does to it, whatever the filter', async (t) => {
    const { gateways } = its;
    const from = `pilot-${uniqueId()}`;
    const domain = `work${uniqueId().replace(/\W/g, '').slice(0, 8)}`;
    const queries = ['', '&state=requested', '&state=claimed,completed', '&holder=galahad', '&attempt=2'];
    const readers = [];
    for (const query of queries) {
      for (const gateway of gateways) readers.push([query, await followed(t, gateway, `from=${from}${query}`)]);
    }
    const ids = [];
    for (let i = 0; i < 40; i++) ids.push(await sent(gateways[i % 2], taskRequest(`${domain}.scan`, { from })));
    for (let i = 0; i < 30; i++) {
      const agent = ['galahad', 'percival'][i % 2];
      const answer = await nextTask(gateways[i % 2], agent, { domains: [domain], lease: 3600 });
      assert.equal(answer.status, 200, answer.text);
      const { id } = answer.json.task;
      if (i % 3 === 0) await completed(gateways[(i + 1) % 2], id, agent);
      if (i % 3 === 1) assert.equal((await changeTask(gateways[0], id, 'release', { agent })).status, 200);
    }
    const last = await requested(gateways[1], { from });
    await claimed(gateways[0], last);
    await completed(gateways[1], last);
    for (const [query, reader] of readers) {
      const wanted = await until('the list knows the last', async () => {
        const all = await boardOf(gateways[0], `?from=${from}&limit=1000`);
        return all.find(({ id }) => id === last)?.state === 'completed' && boardOf(gateways[0], `?from=${from}&limit=1000${query}`);
      });
      await until(`the reader of ${query} has them`, async () => {
        if (isDeepStrictEqual(reader.items, byId(wanted))) return true;
        await reader.next();
        return false;
      }, { every: 0 });
    }
  });
});
