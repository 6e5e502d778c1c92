// SPDX-License-Identifier: Apache-2.0
// The streams that an operator of Round Table makes, work queues, and streams with interest
// retention: they are used, read as things are published, and never given a consumer.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AckPolicy } from 'nats';
import { atEnd } from './lib/cleanup.mjs';
import { get, ndjson, streamFor } from './lib/http.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { assertProblem } from './lib/vlp.mjs';
import { sendTask, taskProgress, taskRequest, taskResult } from './lib/roundtable.mjs';
import { askAndWait, nextTask } from './lib/work.mjs';

const FLEET = ['--subject-prefix', 'roundtable=fleet-a'];
const PATH = '/v1/roundtable/stream';

async function fleet(t, retention, args = []) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const client = await natsClient(t, nats.url);
  const manager = await client.jetstreamManager();
  for (const family of ['tasks', 'results']) {
    await manager.streams.add({
      name: `fleet-a_${family}`, subjects: [`fleet-a.${family}.>`], retention,
    });
  }
  const server = await parleyFor(t, { nats: nats.url, args: [...FLEET, ...args] });
  return { nats, client, manager, server };
}

async function receiptOf(answering) {
  const answer = await answering;
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function consumersOf(manager, stream) {
  return (await manager.consumers.list(stream).next()).map(({ name }) => name);
}

describe('work queues', () => {
  it('take tasks and results, which knights get, and parley creates no consumer', async (t) => {
    const { client, manager, server } = await fleet(t, 'workqueue');
    assert.equal((await get(server, '/readyz')).status, 200);
    const live = await streamFor(t, server, PATH);
    const request = taskRequest('research.search');
    const asked = await receiptOf(sendTask(server, request));
    assert.deepEqual([asked.stream, asked.seq], ['fleet-a_tasks', 1]);
    const repeated = await receiptOf(sendTask(server, request));
    assert.deepEqual([repeated.seq, repeated.duplicate], [1, true]);
    assertProblem(await nextTask(server, 'galahad', { wait: 300 }), 409, 'work-queue');
    const unwaited = await askAndWait(server, request, 300);
    assert.deepEqual([unwaited.headers['preference-applied'], unwaited.json.seq], [undefined, 1]);
    assert.deepEqual(await consumersOf(manager, 'fleet-a_tasks'), []);

    // A knight that comes later is not refused, and gets the work.
    await manager.consumers.add('fleet-a_tasks', {
      durable_name: 'galahad', ack_policy: AckPolicy.Explicit, filter_subject: 'fleet-a.tasks.>',
    });
    const knight = await client.jetstream().consumers.get('fleet-a_tasks', 'galahad');
    const work = await knight.next();
    assert.equal(work.subject, 'fleet-a.tasks.research.search');
    assert.deepEqual(work.json(), request);
    assert.equal(await work.ackAck(), true);
    const replied = await receiptOf(sendTask(server, taskResult(request.id)));
    assert.equal(replied.subject, `fleet-a.results.research.${request.id}`);
    assert.equal(replied.stream, 'fleet-a_results');

    const seen = [await live.event(), await live.event()];
    assert.deepEqual(seen.map(({ subject }) => subject).slice(0, 1), [asked.subject]);
    for (const event of seen) {
      assert.ok(!('sequence' in event) && !('resume' in event), JSON.stringify(event));
    }
    assert.deepEqual(await consumersOf(manager, 'fleet-a_tasks'), ['galahad']);
    assert.deepEqual(await consumersOf(manager, 'fleet-a_results'), []);
  });

  it('are read from now on only, and the other streams as ever', async (t) => {
    const { server } = await fleet(t, 'workqueue');
    const progress = await receiptOf(sendTask(server, taskProgress(taskRequest('a.b').id)));
    for (const since of ['all', '1h', '2020-01-01T00:00:00Z', '1']) {
      const refused = assertProblem(
        await get(server, `${PATH}?follow=false&since=${since}`), 400, 'invalid-parameter');
      assert.match(refused.detail, since === '1' ? /several streams/ : /fleet-a_tasks .*workqueue/);
    }
    assert.match(
      assertProblem(await get(server, '/v1/stream?since=all&follow=false'), 400,
        'invalid-parameter').detail, /fleet-a_tasks .*workqueue/);
    const now = await get(server, `${PATH}?follow=false`);
    assert.deepEqual([now.status, ndjson(now.text)], [200, []]);
    const live = await streamFor(t, server, PATH);
    const open = await live.anyEvent();
    assert.match(open.resume, /^ROUNDTABLE_FLEET-A:[^,]+:1$/);
    const token = open.resume.replace(/1$/, '0');
    const again = await streamFor(t, server, `${PATH}?since=${encodeURIComponent(token)}`);
    const event = await again.event();
    assert.deepEqual([event.subject, event.sequence], [progress.subject, '1']);
    await receiptOf(sendTask(server, taskRequest('a.c')));
    assert.equal((await again.event()).subject, 'fleet-a.tasks.a.c');
    assert.equal((await live.event()).subject, 'fleet-a.tasks.a.c');
  });

  it('are read over a lost connection to NATS', async (t) => {
    // Nothing is read later than it is published: the reactor that publishes must be the reader's.
    const { nats, server } = await fleet(t, 'workqueue', ['--reactors', '1']);
    const live = await streamFor(t, server, `${PATH}?type=task.request`);
    await receiptOf(sendTask(server, taskRequest('a.b')));
    assert.equal((await live.event()).subject, 'fleet-a.tasks.a.b');
    await nats.kill();
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    await receiptOf(sendTask(server, taskRequest('a.c')));
    assert.equal((await live.event()).subject, 'fleet-a.tasks.a.c');
  });
});

describe('streams with interest retention', () => {
  it('are used, and the log says what they do not keep', async (t) => {
    const { manager, server } = await fleet(t, 'interest');
    const live = await streamFor(t, server, PATH);
    const asked = await receiptOf(sendTask(server, taskRequest('a.b')));
    assert.equal(asked.stream, 'fleet-a_tasks');
    assert.equal((await live.event()).subject, 'fleet-a.tasks.a.b');
    assert.deepEqual(await consumersOf(manager, 'fleet-a_tasks'), []);
    assert.equal((await manager.streams.info('fleet-a_tasks')).state.messages, 0);
    const lines = server.program.stderr.split('\n').filter((line) => /nats\.interest/.test(line) || /keeps only what a consumer waits for/.test(line));
    assert.equal(lines.length, 2, server.program.stderr);
  });
});
