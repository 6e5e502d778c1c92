// SPDX-License-Identifier: Apache-2.0
// Streams that an operator has made before parley starts are found by their subjects, and used
// where they are.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, ndjson, post, readStream, streamFor } from './lib/http.mjs';
import { natsClient, startNats, streamInfo } from './lib/nats.mjs';
import { parleyFor, refusedStart } from './lib/parley.mjs';
import { sendTask, taskClaimed, taskRequest, taskResult } from './lib/roundtable.mjs';

const FLEET = ['--subject-prefix', 'roundtable=fleet-a'];

// NATS with these streams: [name, subjects, more].
async function natsWith(t, streams) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const client = await natsClient(t, nats.url);
  const manager = await client.jetstreamManager();
  for (const [name, subjects, more] of streams) {
    await manager.streams.add({ name, subjects, ...more });
  }
  return { nats, client, manager };
}

async function receiptOf(answering) {
  const answer = await answering;
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function eventsOf(server, query) {
  const answer = await readStream(server, `/v1/roundtable/stream?follow=false&${query}`);
  assert.equal(answer.status, 200, answer.text);
  return ndjson(answer.text);
}

const namesOf = async (manager) => (await manager.streams.list().next()).map(({ config }) => config.name);

describe('streams with retention limits', () => {
  it('are used where they lie, and the own stream has the other families', async (t) => {
    const { nats, client, manager } = await natsWith(t, [
      ['fleet-a_tasks', ['fleet-a.tasks.>']],
      ['fleet-a_results', ['fleet-a.results.>']],
    ]);
    const server = await parleyFor(t, { nats: nats.url, args: FLEET });
    const { config } = await streamInfo(client, 'ROUNDTABLE_FLEET-A');
    assert.deepEqual(config.subjects, ['fleet-a.events.>', 'fleet-a.heartbeat.>']);
    const live = await streamFor(t, server, '/v1/roundtable/stream');
    const request = taskRequest('research.search');
    const asked = await receiptOf(sendTask(server, request));
    assert.deepEqual([asked.stream, asked.seq], ['fleet-a_tasks', 1]);
    const replied = await receiptOf(sendTask(server, taskResult(request.id)));
    assert.deepEqual([replied.stream, replied.seq], ['fleet-a_results', 1]);
    assert.equal(replied.subject, `fleet-a.results.research.${request.id}`);
    assert.deepEqual(
      [(await live.event()).subject, (await live.event()).subject],
      [asked.subject, replied.subject],
    );

    const [first, ...rest] = await eventsOf(server, 'since=all');
    assert.deepEqual([first, ...rest].map((event) => event.subject), [asked.subject, replied.subject]);
    assert.match(first.resume, /fleet-a_tasks:[^,]+:1(,|$)/);
    assert.match(first.resume, /ROUNDTABLE_FLEET-A:[^,]+:0(,|$)/);
    const next = await eventsOf(server, `since=${encodeURIComponent(first.resume)}`);
    assert.deepEqual(next.map((event) => event.subject), [replied.subject]);
    const sequence = await get(server, '/v1/roundtable/stream?since=1&follow=false');
    assert.equal(sequence.status, 400);
    assert.match(sequence.json.detail, /several streams/);
    await manager.streams.purge('fleet-a_tasks');
    const [gap, after] = await eventsOf(server, `since=${encodeURIComponent(
      first.resume.replace(/(fleet-a_tasks:[^,]+:)1/, '$10'))}`);
    assert.deepEqual(gap.data, { stream: 'fleet-a_tasks', first: 1, last: 1 });
    assert.equal(after.subject, replied.subject);
    assert.ok(!(await namesOf(manager)).includes('ROUNDTABLE'));
  });

  it('that hold something else too are read without gaps for that', async (t) => {
    const { nats, client } = await natsWith(t, [['all', ['orders.>', 'fleet-a.>', 'brenner.>']]]);
    const server = await parleyFor(t, { nats: nats.url, args: FLEET });
    const js = client.jetstream();
    await js.publish('orders.1', '{}');
    const live = await streamFor(t, server, '/v1/roundtable/stream');
    const one = await receiptOf(sendTask(server, taskRequest('a.b')));
    await js.publish('orders.2', '{}');
    const two = await receiptOf(sendTask(server, taskRequest('a.c')));
    assert.deepEqual([one.stream, one.seq, two.seq], ['all', 2, 4]);
    assert.deepEqual(
      [(await live.event()).subject, (await live.event()).subject],
      [one.subject, two.subject],
    );
    const past = await streamFor(t, server, '/v1/roundtable/stream?since=all&limit=2');
    const [first, second] = [await past.event(), await past.event()];
    assert.deepEqual([first.sequence, second.sequence], ['2', '4']);
    assert.match(first.resume, /^all\/roundtable:/);
    await js.publish('orders.3', '{}');
    const all = await eventsOf(server, 'since=all');
    assert.deepEqual(all.map((event) => event.sequence), ['2', '4']);
    const brenner = await get(server, '/v1/brenner/stream?since=all&follow=false');
    assert.deepEqual([brenner.status, ndjson(brenner.text)], [200, []]);
    const again = await streamFor(t, server,
      `/v1/roundtable/stream?limit=1&since=${encodeURIComponent(first.resume)}`);
    assert.equal((await again.event()).sequence, '4');
  });

  it('that were deleted are not made again, but taken over or found elsewhere', async (t) => {
    const { nats, client, manager } = await natsWith(t, [['old', ['roundtable.>']]]);
    const server = await parleyFor(t, { nats: nats.url });
    assert.equal((await receiptOf(sendTask(server, taskRequest('a.b')))).stream, 'old');
    const live = await streamFor(t, server, '/v1/roundtable/stream');
    await manager.streams.delete('old');
    await manager.streams.add({ name: 'new', subjects: ['roundtable.>'] }).catch(() => undefined);
    let last = await live.anyEvent();
    while (last.type !== 'parley.end') last = await live.anyEvent();
    assert.match(last.data.reason, /other streams/);
    const { stream } = await receiptOf(sendTask(server, taskRequest('a.b')));
    assert.ok(['new', 'ROUNDTABLE'].includes(stream), stream);
    assert.ok(await streamInfo(client, stream));
  });
});

describe('a stream with a max_msg_size', () => {
  it('lowers the limit of a message: 413, and nothing is stored', async (t) => {
    const { nats, manager } = await natsWith(t, [
      ['small', ['roundtable.tasks.>'], { max_msg_size: 1024 }],
    ]);
    const server = await parleyFor(t, { nats: nats.url });
    const large = taskRequest('a.b', { payload: { task: 'a.b', params: { x: 'y'.repeat(1024) } } });
    const answer = await sendTask(server, large);
    assert.equal(answer.status, 413, answer.text);
    assert.match(answer.json.detail, /1024 bytes .*max_msg_size/);
    assert.equal((await manager.streams.info('small')).state.messages, 0);
  });

  it('is known to a verdict: GW-101, for messages that go to that stream', async (t) => {
    const { nats } = await natsWith(t, [['small', ['roundtable.tasks.>'], { max_msg_size: 1024 }]]);
    const server = await parleyFor(t, { nats: nats.url });
    const long = 'y'.repeat(1024);
    const verdictOf = async (message) => (await sendTask(server, message, { to: 'validate' })).json;
    const task = taskRequest('a.b', { payload: { task: 'a.b', params: { x: long } } });
    const { valid, violations } = await verdictOf(task);
    assert.equal(valid, true);
    assert.deepEqual(violations.map(({ rule }) => rule), ['GW-101']);
    assert.match(violations[0].message, /1024 bytes .*max_msg_size/);
    const claim = taskClaimed(task.id, { payload: { message: long } });
    assert.deepEqual((await verdictOf(claim)).violations, []);
  });

  it('of the supervisor has larger checkpoints go to the object store', async (t) => {
    const { nats } = await natsWith(t, [['small', ['supervisor.>'], { max_msg_size: 65536 }]]);
    const server = await parleyFor(t, { nats: nats.url });
    const checkpoint = { type: 'checkpoint', timestamp: 1705392000, data: { x: 'y'.repeat(70000) } };
    const address = '/v1/supervisor/messages?from=gerbil&agent=coder-1';
    const answer = await post(server, address, JSON.stringify(checkpoint));
    assert.equal(answer.status, 200, answer.text);
    const { json } = await get(server, `/v1/supervisor/agents/coder-1/checkpoints/${answer.json.id}`);
    assert.deepEqual(json, checkpoint);
  });
});

describe('streams that cover a family in part', () => {
  it('stop the start, and are named with their subjects', async (t) => {
    const { nats } = await natsWith(t, [
      ['research', ['fleet-a.tasks.research.>']],
      ['security', ['fleet-a.tasks.security.>']],
    ]);
    const result = await refusedStart({ nats: nats.url, args: FLEET });
    assert.equal(result.code, 1);
    assert.match(result.stderr, /fleet-a\.tasks\.> lie in part in/);
    assert.match(result.stderr, /stream research \(fleet-a\.tasks\.research\.>\)/);
    assert.match(result.stderr, /stream security \(fleet-a\.tasks\.security\.>\)/);
    assert.equal(result.stderr.trim().split('\n').length, 1, 'told once');
  });
});
