// SPDX-License-Identifier: Apache-2.0
// Streams tell those who follow a task that it has expired, or that its lease has lapsed: moments at which
// nothing is stored.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useFleet } from './lib/fleet.mjs';
import { get, readStream, streamFor } from './lib/http.mjs';
import { uniqueId } from './lib/vlp.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { changeTask } from './lib/work.mjs';

const isTold = ({ type }) => /^parley\.(expired|lapsed)$/.test(type);

async function sent(server, message, query) {
  const answer = await sendTask(server, message, { query });
  assert.equal(answer.status, 200, answer.text);
  return message.id;
}

const requested = (server, changes, query) => sent(server, taskRequest('security.scan', changes), query);

async function follow(t, server, query, options) {
  const stream = await streamFor(t, server, `/v1/roundtable/stream?${query}`, options);
  assert.equal(JSON.parse(await stream.line()).type, 'parley.open');
  return stream;
}

// The events up to the message with this id.
async function eventsUpTo(stream, id) {
  const events = [];
  while (events.at(-1)?.id !== id) events.push(JSON.parse(await stream.line()));
  return events;
}

// What a reader was told until it got a message that was stored after the moments were told.
async function toldUpTo(stream, id) {
  return (await eventsUpTo(stream, id)).filter(isTold);
}

async function nextTold(stream) {
  for (;;) {
    const event = JSON.parse(await stream.line());
    if (isTold(event)) return event;
  }
}

describe('a moment at which nothing is stored', () => {
  const its = useFleet({ args: ['--task-lease', '2s'] });

  it('is told once to those who follow the requester or the task, on each gateway', async (t) => {
    const { gateways: [one, two] } = its;
    const from = `pilot-${uniqueId()}`;
    const readers = [
      await follow(t, one, `for=${from}`),
      await follow(t, two, `receiver=${from},another`),
      await follow(t, two, `for=${from}&type=task.result&domain=security,x`),
    ];
    // Who is not told, and a message that it gets later.
    const others = [
      ['sender=worker', (id) => taskResult(id)],
      ['for=another', () => taskRequest('security.scan', { to: 'another' })],
      [`for=${from}&domain=deploy`, () => taskRequest('deploy.web', { to: from })],
      [`for=${from}&priority=critical`, () => taskRequest('security.scan', { to: from, priority: 'critical' })],
    ];
    const strange = [];
    for (const [query] of others) strange.push(await follow(t, two, query));
    const late = await requested(one, { from, ttl: 1 });
    const lost = await requested(two, { from });
    const byThread = await follow(t, one, `thread=${lost.toUpperCase()}`);
    await sent(one, taskClaimed(lost, { from: 'galahad' }));

    const told = await Promise.all(readers.map(async (reader) => [await nextTold(reader), await nextTold(reader)]));
    for (const events of told) {
      const expired = events.find(({ type }) => type === 'parley.expired');
      const lapsed = events.find(({ type }) => type === 'parley.lapsed');
      assert.equal(expired.id, `${late}:expired`);
      assert.equal(lapsed.id, `${lost}:lapsed:1`);
      assert.equal(expired.source, '/roundtable');
      assert.match(expired.resume, /^ROUNDTABLE/);
      const { id, state, holder, from: requester, attempt } = expired.data;
      assert.deepEqual({ id, state, holder, requester, attempt },
        { id: late, state: 'expired', holder: null, requester: from, attempt: null });
      assert.ok(Date.parse(expired.time) >= Date.parse(expired.data.deadline));
      assert.equal(lapsed.data.id, lost);
      assert.deepEqual([lapsed.data.state, lapsed.data.lapsed, lapsed.data.holder, lapsed.data.attempt],
        ['requested', true, 'galahad', 1]);
      assert.equal(Date.parse(lapsed.time), Date.parse(lapsed.data.until));
    }
    assert.equal((await nextTold(byThread)).id, `${lost}:lapsed:1`);

    for (const [i, [query, write]] of others.entries()) {
      const message = write(lost);
      await sent(two, message);
      assert.deepEqual(await toldUpTo(strange[i], message.id), [], query);
    }
    const last = taskRequest('security.scan', { to: from });
    await sent(one, last);
    for (const reader of readers.slice(0, 2)) assert.deepEqual(await toldUpTo(reader, last.id), []);
  });

  it('is told again of the next turn, and not of what was extended, ended or cancelled in time', async (t) => {
    const { gateways: [one, two] } = its;
    const from = `pilot-${uniqueId()}`;
    const reader = await follow(t, two, `for=${from}`);
    const [ended, extended, cancelled, lost] = [
      await requested(one, { from }), await requested(one, { from }), await requested(one, { from, ttl: 2 }),
      await requested(one, { from }),
    ];
    for (const id of [ended, extended, lost]) await sent(one, taskClaimed(id, { from: 'galahad' }));
    await sent(one, taskResult(ended, { from: 'galahad' }));
    assert.equal((await changeTask(one, extended, 'extend', { agent: 'galahad', lease: 3600 })).status, 200);
    assert.equal((await changeTask(two, cancelled, 'cancel', { agent: from })).status, 200);
    assert.equal((await nextTold(reader)).id, `${lost}:lapsed:1`);
    await until('another takes it over', async () =>
      (await sendTask(two, taskClaimed(lost, { from: 'percival' }))).status === 200);
    const second = await nextTold(reader);
    assert.match(second.id, new RegExp(`^${lost}:lapsed:[2-9]$`));
    assert.deepEqual([second.data.holder, second.data.attempt], ['percival', 2]);
  });

  it('is of the server-sent events and of the stream of all protocols, and of no bare messages', async (t) => {
    const { gateways: [server] } = its;
    const from = `pilot-${uniqueId()}`;
    const all = await streamFor(t, server, `/v1/stream?for=${from}`);
    const sse = await streamFor(t, server, `/v1/roundtable/stream?for=${from}`,
      { headers: { Accept: 'text/event-stream' } });
    const bare = await streamFor(t, server, `/v1/roundtable/stream?for=${from}&envelope=none`);
    const late = await requested(server, { from, ttl: 1 });
    assert.equal((await nextTold(all)).id, `${late}:expired`);
    let line = '';
    while (!line.includes('parley.expired')) line = await sse.line();
    assert.match(line, /^data: \{/);
    const last = taskRequest('security.scan', { to: from });
    await sent(server, last);
    const messages = [];
    while (messages.at(-1)?.id !== last.id) messages.push(JSON.parse((await bare.line()) || '{}'));
    assert.ok(!messages.some(isTold));
  });

  it('is not told of the past, nor to readers that end', async (t) => {
    const { gateways: [one, two] } = its;
    const from = `pilot-${uniqueId()}`;
    const first = await follow(t, one, `for=${from}`);
    const late = await requested(one, { from, ttl: 1 });
    const told = await nextTold(first);
    assert.equal(told.id, `${late}:expired`);
    const again = await follow(t, two, `for=${from}&since=${told.resume}`);
    const ended = await readStream(two, `/v1/roundtable/stream?follow=false&since=all&for=${from}`);
    assert.ok(!ended.lines.some(isTold));
    const last = taskRequest('security.scan', { to: from });
    await sent(two, last);
    assert.deepEqual(await toldUpTo(again, last.id), []);
    const { items } = (await get(two, `/v1/roundtable/tasks?from=${from}&overdue=true`)).json;
    assert.deepEqual(items.map(({ id }) => id), [late]);
  });
});
