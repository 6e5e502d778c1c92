// SPDX-License-Identifier: Apache-2.0
// Several fleets on one NATS: a gateway's prefix is the first token of its subjects, and part of
// its stream's name.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, ndjson, streamFor } from './lib/http.mjs';
import { natsClient, startNats, storedMessages, streamInfo } from './lib/nats.mjs';
import { parleyFor, refusedStart, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { resultSubject, sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';

async function resultOf(answering) {
  const answer = await answering;
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function eventsOf(server, query = 'since=all&follow=false') {
  const answer = await get(server, `/v1/roundtable/stream?${query}`);
  assert.equal(answer.status, 200, answer.text);
  return ndjson(answer.text);
}

describe('two fleets on one NATS', () => {
  let nats;
  let a;
  let b;
  before(async () => {
    nats = await startNats();
    a = await startParley({ nats: nats.url, args: ['--subject-prefix', 'roundtable=fleet-a'] });
    b = await startParley({
      nats: nats.url,
      env: { PARLEY_SUBJECT_PREFIX: 'roundtable=fleet-b,vlp=claims' },
    });
  });
  after(async () => {
    await a?.stop();
    await b?.stop();
    await nats?.stop();
  });

  it('each has its subjects and its stream', async (t) => {
    const request = taskRequest('research.search');
    const atA = await resultOf(sendTask(a, request));
    assert.equal(atA.subject, 'fleet-a.tasks.research.search');
    assert.equal(atA.stream, 'ROUNDTABLE_FLEET-A');
    const reply = await resultOf(sendTask(a, taskResult(request.id)));
    assert.equal(reply.subject, resultSubject('research', request.id, 'fleet-a'));
    const verdict = await resultOf(sendTask(b, taskRequest('x.y'), { to: 'validate' }));
    assert.equal(verdict.subject, 'fleet-b.tasks.x.y');
    const lines = await sendTask(b, [taskRequest('x.y'), taskRequest('x.z')]);
    assert.deepEqual(
      lines.lines.slice(0, 2).map(({ subject, stream }) => [subject, stream]),
      [
        ['fleet-b.tasks.x.y', 'ROUNDTABLE_FLEET-B'],
        ['fleet-b.tasks.x.z', 'ROUNDTABLE_FLEET-B'],
      ],
    );
    const client = await natsClient(t, nats.url);
    const stored = await storedMessages(client, { stream: 'ROUNDTABLE_FLEET-A' });
    assert.deepEqual(
      stored.map((message) => message.subject),
      [atA.subject, reply.subject],
    );
    assert.equal(stored[0].headers['ce-source'], '/roundtable/pilot');
    assert.equal(stored[0].headers['ce-type'], 'roundtable.task.request');
    await assert.rejects(streamInfo(client, 'ROUNDTABLE'));
    assert.deepEqual((await streamInfo(client, 'VLP_CLAIMS')).config.subjects, ['claims.>']);
  });

  it('each reads its own, under the names of the protocol', async (t) => {
    const atB = await streamFor(t, b, '/v1/roundtable/stream');
    const request = taskRequest('only.b');
    await resultOf(sendTask(a, taskRequest('only.a')));
    await resultOf(sendTask(b, request));
    const [event] = await atB.events(1);
    assert.equal(event.id, request.id);
    assert.equal(event.type, 'roundtable.task.request');
    assert.equal(event.source, '/roundtable/pilot');
    assert.equal(event.subject, 'fleet-b.tasks.only.b');
    assert.match(event.resume, /^ROUNDTABLE_FLEET-B:/);
    for (const each of await eventsOf(a)) assert.match(each.subject, /^fleet-a\./);
  });

  it('a reply goes to the domain of its own fleet, though both have the same request', async () => {
    const request = taskRequest('alpha.do');
    await resultOf(sendTask(a, request));
    await resultOf(sendTask(b, { ...request, payload: { task: 'beta.do' } }));
    for (const [fleet, domain, prefix] of [
      [a, 'alpha', 'fleet-a'],
      [b, 'beta', 'fleet-b'],
    ]) {
      const reply = await resultOf(sendTask(fleet, taskResult(request.id)));
      assert.equal(reply.subject, resultSubject(domain, request.id, prefix));
    }
  });

  it('a resume token is good for its own fleet', async () => {
    for (const task of ['t.one', 't.two', 't.three']) {
      await resultOf(sendTask(a, taskRequest(task)));
    }
    const all = await eventsOf(a);
    const since = `since=${encodeURIComponent(all.at(-3).resume)}&follow=false`;
    assert.deepEqual(await eventsOf(a, since), all.slice(-2));
    const refused = await get(b, `/v1/roundtable/stream?${since}`);
    assert.equal(refused.status, 400);
    assert.match(refused.json.detail, /ROUNDTABLE_FLEET-B/);
    const both = await get(a, `/v1/stream?${since}`);
    assert.deepEqual(
      ndjson(both.text).map((event) => event.id),
      all.slice(-2).map((event) => event.id),
    );
  });

  it('a gap names the stream', async (t) => {
    const client = await natsClient(t, nats.url);
    const manager = await client.jetstreamManager();
    const [first] = await eventsOf(a);
    await resultOf(sendTask(a, taskRequest('t.last')));
    await manager.streams.deleteMessage('ROUNDTABLE_FLEET-A', Number(first.sequence) + 1);
    const since = `since=${encodeURIComponent(first.resume)}&follow=false`;
    const [gap] = await eventsOf(a, since);
    assert.equal(gap.type, 'parley.gap');
    assert.equal(gap.data.stream, 'ROUNDTABLE_FLEET-A');
    assert.equal(gap.source, '/roundtable');
  });

  it('what is published straight to NATS is remembered for its fleet', async (t) => {
    const client = await natsClient(t, nats.url);
    const request = taskRequest('straight.do');
    await client
      .jetstream()
      .publish('fleet-b.tasks.straight.do', JSON.stringify(request));
    const bucket = await client.jetstream().views.kv('parley_tasks_fleet-b', { bindOnly: true });
    await until('it is remembered', () => bucket.get(request.id));
    const reply = await resultOf(sendTask(b, taskResult(request.id)));
    assert.equal(reply.subject, resultSubject('straight', request.id, 'fleet-b'));
  });
});

describe('a prefix', () => {
  const streamNames = async (client) =>
    (await (await client.jetstreamManager()).streams.names().next()).sort();

  it('that another fleet has in other letters stops the start, which leaves nothing', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const client = await natsClient(t, nats.url);
    for (const protocol of ['roundtable', 'vlp', 'supervisor']) {
      const prefix = `fleet-${protocol}`;
      const stream = `${protocol}_${prefix}`.toUpperCase();
      const first = await startParley({ nats: nats.url, args: [`--subject-prefix=${protocol}=${prefix}`] });
      await first.stop();
      const before = await streamNames(client);
      assert.ok(before.includes(stream));
      const args = [`--subject-prefix=${protocol}=${prefix.toUpperCase()}`];
      const second = await refusedStart({ nats: nats.url, args });
      assert.equal(second.code, 1);
      assert.match(second.stderr, new RegExp(`${stream} .*${prefix.toUpperCase()}\\.>`));
      assert.deepEqual(await streamNames(client), before);
    }
  });

  it('that another protocol has on the same NATS stops the start', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    await parleyFor(t, { nats: nats.url, args: ['--subject-prefix', 'roundtable=fleet-c'] });
    const second = await refusedStart({ nats: nats.url, args: ['--subject-prefix', 'vlp=fleet-c'] });
    assert.equal(second.code, 1);
    assert.match(second.stderr,
      /fleet-c\.> lie in stream ROUNDTABLE_FLEET-C, which parley has made for another protocol/);
  });

  it('is added by each flag', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, {
      nats: nats.url,
      args: ['--subject-prefix', 'roundtable=one', '--subject-prefix=vlp=two'],
    });
    const id = randomUUID();
    const reply = await resultOf(sendTask(server, taskResult(id), { query: '?domain=d' }));
    assert.equal(reply.subject, resultSubject('d', id, 'one'));
    const client = await natsClient(t, nats.url);
    assert.deepEqual((await streamInfo(client, 'VLP_TWO')).config.subjects, ['two.>']);
  });
});
