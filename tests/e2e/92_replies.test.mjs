// SPDX-License-Identifier: Apache-2.0
// Where the reply to a task goes: to the domain of its request, whichever gateway took that one.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { NDJSON_TYPE, rawFor, rawPost } from './lib/http.mjs';
import { embeddedUrl, natsClient, startNats, storedMessages } from './lib/nats.mjs';
import { IMPATIENT, parleyFor, startParley } from './lib/parley.mjs';
import { DEADLINE_MS, until } from './lib/poll.mjs';
import {
  resultSubject,
  sendTask,
  taskFailed,
  taskProgress,
  taskRequest,
  taskResult,
} from './lib/roundtable.mjs';
import { assertProblem } from './lib/vlp.mjs';

const PATIENCE_MS = 250;

async function subjectOf(server, message, options) {
  const answer = await sendTask(server, message, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.subject;
}

// Publishes straight to NATS, and says when JetStream has it.
const publish = (nats, message) =>
  nats
    .jetstream()
    .publish(`roundtable.tasks.${message.payload.task}`, JSON.stringify(message));

async function bucketHas(nats, id) {
  const bucket = await nats.jetstream().views.kv('parley_tasks', { bindOnly: true });
  return until(`${id} is remembered`, async () => (await bucket.get(id))?.string());
}

// How long something takes, in milliseconds.
async function timed(work) {
  const began = performance.now();
  const value = await work();
  return [value, performance.now() - began];
}

describe('a reply', () => {
  let nats;
  let one;
  let two;
  before(async () => {
    nats = await startNats();
    one = await startParley({ nats: nats.url });
    two = await startParley({ nats: nats.url });
  });
  after(async () => {
    await one?.stop();
    await two?.stop();
    await nats?.stop();
  });

  it('goes to the domain of its request, at the other gateway at once', async () => {
    for (let i = 0; i < 50; i++) {
      const [first, second] = i % 2 ? [one, two] : [two, one];
      const request = taskRequest(`domain-${i}.do.it`);
      assert.equal(await subjectOf(first, request), `roundtable.tasks.domain-${i}.do.it`);
      const expected = resultSubject(`domain-${i}`, request.id);
      assert.equal(await subjectOf(second, taskResult(request.id)), expected);
      assert.equal(await subjectOf(second, taskFailed(request.id)), expected);
    }
  });

  it('names its task in any case', async () => {
    const request = taskRequest('research.search', { id: randomUUID().toUpperCase() });
    await subjectOf(one, request);
    assert.equal(
      await subjectOf(two, taskResult(request.id)),
      resultSubject('research', request.id),
    );
  });

  it('has a bucket that nats.js can read, with the keys in lower case', async (t) => {
    const client = await natsClient(t, nats.url);
    const request = taskRequest('code.review', { id: randomUUID().toUpperCase() });
    await subjectOf(one, request);
    const bucket = await client.jetstream().views.kv('parley_tasks', { bindOnly: true });
    const fact = (await bucket.get(request.id.toLowerCase())).json();
    assert.deepEqual([fact.stream, fact.task, fact.from], ['ROUNDTABLE', 'code.review', 'pilot']);
    const status = await bucket.status();
    assert.equal(status.ttl, 8 * 24 * 3600 * 1000);
    assert.equal(status.history, 1);
  });

  it('to a request that was published straight to NATS goes to its domain too', async (t) => {
    const client = await natsClient(t, nats.url);
    const requests = Array.from({ length: 100 }, (_, i) => taskRequest(`straight-${i}.do`));
    for (const request of requests) await publish(client, request);
    for (const [i, request] of requests.entries()) {
      await bucketHas(client, request.id);
      const expected = resultSubject(`straight-${i}`, request.id);
      assert.equal(await subjectOf(i % 2 ? one : two, taskResult(request.id)), expected);
    }
  });

  it('waits for such a request that came just before it', async (t) => {
    const client = await natsClient(t, nats.url);
    // Whichever gateway reads the request may be later than that now and then: until 20 were in time.
    let inTime = 0;
    const end = Date.now() + DEADLINE_MS;
    for (let i = 0; inTime < 20 && Date.now() < end; i++) {
      const request = taskRequest('just.now');
      await publish(client, request);
      const subject = await subjectOf(i % 2 ? one : two, taskResult(request.id));
      if (subject === resultSubject('just', request.id)) inTime++;
      else assert.equal(subject, resultSubject('unknown', request.id));
    }
    assert.equal(inTime, 20);
  });

  it('to a request that is invalid goes nowhere special, and stops nothing', async (t) => {
    const client = await natsClient(t, nats.url);
    const broken = taskRequest('broken.do', { from: '' });
    await publish(client, broken);
    const request = taskRequest('whole.do');
    await publish(client, request);
    await bucketHas(client, request.id);
    assert.equal(await subjectOf(one, taskResult(broken.id)), resultSubject('unknown', broken.id));
  });

  it('to nothing waits a little, then goes to the domain that is given, or to unknown', async () => {
    for (const [query, domain] of [
      ['', 'unknown'],
      ['?domain=legal', 'legal'],
    ]) {
      const id = randomUUID();
      const [subject, took] = await timed(() => subjectOf(one, taskResult(id), { query }));
      assert.equal(subject, resultSubject(domain, id));
      assert.ok(took >= PATIENCE_MS, `${took} ms`);
    }
  });

  it('to nothing goes to the domain of the request once that is there', async () => {
    const request = taskRequest('late.do');
    assert.equal(await subjectOf(one, taskResult(request.id)), resultSubject('unknown', request.id));
    await subjectOf(two, request);
    const query = '?domain=other';
    const expected = resultSubject('late', request.id);
    assert.equal(await subjectOf(one, taskResult(request.id), { query }), expected);
  });

  it('goes to the domain of the first of two requests with the same id', async () => {
    const request = taskRequest('first.do');
    await subjectOf(one, request);
    const again = await sendTask(two, { ...request, payload: { task: 'second.do' } });
    assertProblem(again, 409, 'id-reused');
    const expected = resultSubject('first', request.id);
    assert.equal(await subjectOf(one, taskResult(request.id)), expected);
    assert.equal(await subjectOf(two, taskResult(request.id)), expected);
  });

  it('is looked up for a verdict, without waiting', async () => {
    const request = taskRequest('verdict.do');
    await subjectOf(one, request);
    const known = await sendTask(two, taskResult(request.id), { to: 'validate' });
    assert.equal(known.json.subject, resultSubject('verdict', request.id));
    const id = randomUUID();
    const unknown = await sendTask(two, taskResult(id), { to: 'validate' });
    assert.equal(unknown.json.subject, resultSubject('unknown', id));
    const lines = await sendTask(two, [taskResult(request.id), taskResult(id)], { to: 'validate' });
    assert.deepEqual(
      lines.lines.slice(0, 2).map((line) => line.subject),
      [resultSubject('verdict', request.id), resultSubject('unknown', id)],
    );
  });

  it('of 2,000 finds its request, in the order sent, at the other gateway', async (t) => {
    const client = await natsClient(t, nats.url);
    const requests = Array.from({ length: 2000 }, (_, i) => taskRequest(`bulk-${i % 7}.do`));
    const accepted = await sendTask(one, requests);
    assert.deepEqual(accepted.lines.at(-1).summary.accepted, 2000);
    const { seq: before } = await client
      .jetstream()
      .publish('roundtable.heartbeat.x', JSON.stringify({}));
    const results = requests.map((request) => taskResult(request.id));
    const answer = await sendTask(two, results);
    assert.equal(answer.lines.at(-1).summary.accepted, 2000);
    const expected = requests.map((request, i) => resultSubject(`bulk-${i % 7}`, request.id));
    assert.deepEqual(
      answer.lines.slice(0, -1).map((line) => line.subject),
      expected,
    );
    const stored = await storedMessages(client, { stream: 'ROUNDTABLE', from: before + 1 });
    assert.deepEqual(
      stored.map((message) => message.subject),
      expected,
    );
  });

  it('may follow its request in the same body', async () => {
    const requests = Array.from({ length: 500 }, (_, i) => taskRequest(`same-${i}.do`));
    const messages = requests.flatMap((request) => [
      request,
      taskProgress(request.id),
      taskResult(request.id),
    ]);
    const answer = await sendTask(one, messages);
    assert.equal(answer.lines.at(-1).summary.accepted, 1500);
    const results = answer.lines.slice(0, -1).filter((_, i) => i % 3 === 2);
    assert.deepEqual(
      results.map((line) => line.subject),
      requests.map((request, i) => resultSubject(`same-${i}`, request.id)),
    );
  });

  it('of 3,000 to nothing waits together with the others, not after them', async () => {
    const results = Array.from({ length: 3000 }, () => taskResult(randomUUID()));
    // One after the other they would take 750 s, which is past the deadline of a request.
    const [answer, took] = await timed(() => sendTask(one, results));
    assert.equal(answer.lines.at(-1).summary.accepted, 3000);
    for (const line of answer.lines.slice(0, -1)) assert.match(line.subject, /\.unknown\./);
    assert.ok(took >= PATIENCE_MS, `${took} ms`);
  });

  it('that came whole is stored, though its client is gone', async (t) => {
    const client = await natsClient(t, nats.url);
    const single = taskResult(randomUUID());
    const lines = Array.from({ length: 20 }, () => taskResult(randomUUID()));
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    // Written whole before they are closed: a client that is gone earlier has sent nothing.
    const path = '/v1/roundtable/messages';
    const connections = [
      await rawFor(t, one, rawPost(path, JSON.stringify(single))),
      await rawFor(t, one, rawPost(path, text, { type: NDJSON_TYPE })),
    ];
    setTimeout(() => connections.forEach((connection) => connection.close()), 50);
    const wanted = [single, ...lines].map((line) => resultSubject('unknown', line.correlationId));
    const manager = await client.jetstreamManager();
    for (const subject of wanted) {
      await until(`${subject} is stored`, () =>
        manager.streams.getMessage('ROUNDTABLE', { last_by_subj: subject }),
      );
    }
  });

  it('keeps its key and its options, though its client left in the middle of a body', async (t) => {
    const client = await natsClient(t, nats.url);
    const replies = Array.from({ length: 5 }, () => taskResult(randomUUID()));
    const text = replies.map((reply) => `${JSON.stringify(reply)}\n`).join('');
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = ['Idempotency-Key: left', `traceparent: ${traceparent}`];
    const path = '/v1/roundtable/messages?domain=legal';
    // A byte short, so that the body never ends.
    const whole = rawPost(path, `${text} `, { type: NDJSON_TYPE, headers });
    const connection = await rawFor(t, one, whole.subarray(0, -1));
    setTimeout(() => connection.close(), 50);
    const manager = await client.jetstreamManager();
    for (const [i, reply] of replies.entries()) {
      const subject = resultSubject('legal', reply.correlationId);
      const stored = await until(`${subject} is stored`, () =>
        manager.streams.getMessage('ROUNDTABLE', { last_by_subj: subject }),
      );
      assert.equal(stored.header.get('Nats-Msg-Id'), `key:left:${i + 1}`);
      assert.equal(stored.header.get('traceparent'), traceparent);
    }
  });
});

describe('what a reply needs to know', () => {
  it('outlives both gateways', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const client = await natsClient(t, nats.url);
    const request = taskRequest('kept.do');
    const straight = taskRequest('straight.do');
    const first = [await startParley({ nats: nats.url }), await startParley({ nats: nats.url })];
    await subjectOf(first[0], request);
    for (const server of first) await server.stop();
    // Nobody reads it now.
    await publish(client, straight);
    const second = [await parleyFor(t, { nats: nats.url }), await parleyFor(t, { nats: nats.url })];
    for (const server of second) {
      assert.equal(
        await subjectOf(server, taskResult(request.id)),
        resultSubject('kept', request.id),
      );
    }
    await bucketHas(client, straight.id);
    assert.equal(
      await subjectOf(second[1], taskResult(straight.id)),
      resultSubject('straight', straight.id),
    );
  });

  it('outlives a gateway that was killed, and NATS', async (t) => {
    let nats = await startNats();
    atEnd(t, () => nats.stop());
    const killed = await startParley({ nats: nats.url });
    const request = taskRequest('killed.do');
    await subjectOf(killed, request);
    await killed.kill();
    const server = await parleyFor(t, { nats: nats.url, args: IMPATIENT });
    assert.equal(
      await subjectOf(server, taskResult(request.id)),
      resultSubject('killed', request.id),
    );
    await nats.kill();
    const away = await until('the gateway has noticed', async () => {
      const answer = await sendTask(server, taskResult(randomUUID()));
      return answer.status === 503 && answer;
    });
    assert.equal(away.json.type, '/problems/bus-unavailable');
    const verdict = await sendTask(server, taskResult(request.id), { to: 'validate' });
    assert.equal(verdict.status, 200);
    assert.equal(verdict.json.valid, true);
    nats = await nats.restart();
    const again = await until('the gateway is back', async () => {
      const answer = await sendTask(server, taskResult(request.id));
      return answer.status === 200 && answer;
    });
    assert.equal(again.json.subject, resultSubject('killed', request.id));
    const client = await natsClient(t, nats.url);
    const straight = taskRequest('after.do');
    await publish(client, straight);
    await bucketHas(client, straight.id);
  });

  it('is said to be missing, and made again, when its bucket is deleted', async (t) => {
    const server = await parleyFor(t, { args: IMPATIENT });
    const client = await natsClient(t, embeddedUrl(server));
    const manager = await client.jetstreamManager();
    // It is made again half a second later: on a busy machine that may be before the question.
    const answer = await until('it is missing', async () => {
      await manager.streams.delete('KV_parley_tasks').catch(() => {});
      const each = await sendTask(server, taskResult(randomUUID()));
      return each.status !== 200 && /nats kv add/.test(each.json.detail) && each;
    });
    assert.equal(answer.status, 503, answer.text);
    assert.match(answer.json.detail, /`parley_tasks`.*nats kv add parley_tasks/);
    const request = taskRequest('again.do');
    await until('it is back', async () => (await sendTask(server, request)).status === 200);
    assert.equal(
      await subjectOf(server, taskResult(request.id)),
      resultSubject('again', request.id),
    );
  });

  it('takes no more than the smallest window', async (t) => {
    const server = await parleyFor(t, { args: ['--in-flight', '1', '--reactors', '2'] });
    const requests = Array.from({ length: 50 }, (_, i) => taskRequest(`small-${i}.do`));
    await subjectOf(server, taskRequest('one.do'));
    const answer = await sendTask(server, requests);
    assert.equal(answer.lines.at(-1).summary.accepted, 50);
  });

  it('may be a bucket that somebody else has made', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const client = await natsClient(t, nats.url);
    const bucket = await client.jetstream().views.kv('parley_tasks', { history: 3 });
    const id = randomUUID();
    await bucket.put(id, 'foreign');
    const server = await parleyFor(t, { nats: nats.url });
    assert.equal(await subjectOf(server, taskResult(id)), resultSubject('foreign', id));
    assert.equal((await bucket.status()).history, 3);
  });
});
