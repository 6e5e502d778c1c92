// SPDX-License-Identifier: Apache-2.0
// What counts as the same message: retries are stored once, other people's messages are not lost.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { NDJSON_TYPE, post, send, sendLines } from './lib/http.mjs';
import {
  lastSequence,
  natsClient,
  startNats,
  storedMessage,
  storedMessages,
} from './lib/nats.mjs';
import { IMPATIENT, parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { resultSubject, sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertAccepted, assertProblem, claim, lines, uniqueId } from './lib/vlp.mjs';

const keyed = (key, more) => ({ headers: { 'Idempotency-Key': key }, ...more });

const answerTo = (server, protocol, query, message, options) =>
  post(server, `/v1/${protocol}/messages${query}`, textOf(message), options);
const textOf = (message) => (typeof message === 'string' ? message : JSON.stringify(message));

describe('duplicates', () => {
  const its = useParley({ args: IMPATIENT }); // it publishes nothing again, and all would be duplicates

  it('the same body again is a duplicate, with the sequence number of the first', async () => {
    const message = claim();
    const first = assertAccepted(await send(its.parley, message));
    const again = assertAccepted(await send(its.parley, message));
    assert.deepEqual(again, { ...first, duplicate: true });
    assert.equal(await lastSequence(its.nats), first.seq);
  });

  it('the same id with another body is another message', async () => {
    const message = claim();
    const first = assertAccepted(await send(its.parley, message));
    const other = assertAccepted(await send(its.parley, { ...message, sender: 'The Other' }));
    assert.equal(other.duplicate, false);
    assert.equal(other.seq, first.seq + 1);
  });

  it('the same body sent twenty times at once is stored once', async () => {
    const message = claim();
    const before = await lastSequence(its.nats);
    const attempts = Array.from({ length: 20 }, () => send(its.parley, message));
    const answers = (await Promise.all(attempts)).map(assertAccepted);
    assert.equal(answers.filter((answer) => !answer.duplicate).length, 1);
    assert.deepEqual([...new Set(answers.map((answer) => answer.seq))], [before + 1]);
    assert.equal(await lastSequence(its.nats), before + 1);
  });

  it('two bodies with the same id sent at once are both stored', async () => {
    const one = claim();
    const two = { ...one, content: 'Something else' };
    const answers = await Promise.all([send(its.parley, one), send(its.parley, two)]);
    const results = answers.map(assertAccepted);
    assert.deepEqual(
      results.map((result) => result.duplicate),
      [false, false],
    );
    assert.notEqual(results[0].seq, results[1].seq);
  });

  it('an Idempotency-Key makes a repetition of the same body a duplicate', async () => {
    const key = uniqueId();
    const message = claim();
    const first = assertAccepted(await send(its.parley, message, keyed(key)));
    const again = assertAccepted(await send(its.parley, message, keyed(key)));
    assert.deepEqual(again, { ...first, duplicate: true });
    assert.equal((await storedMessage(its.nats, first.seq)).headers['nats-msg-id'], `key:${key}`);
  });

  it('the same body under another Idempotency-Key is another message', async () => {
    const message = claim();
    const first = assertAccepted(await send(its.parley, message, keyed(uniqueId())));
    const other = assertAccepted(await send(its.parley, message, keyed(uniqueId())));
    assert.deepEqual([other.duplicate, other.seq], [false, first.seq + 1]);
  });

  for (const [what, key] of [
    ['of 128 characters', '!~'.padEnd(128, 'k')],
    ['of one character', '7'],
  ]) {
    it(`an Idempotency-Key ${what} is taken as it is`, async () => {
      const { seq } = assertAccepted(await send(its.parley, claim(), keyed(key)));
      assert.equal((await storedMessage(its.nats, seq)).headers['nats-msg-id'], `key:${key}`);
    });
  }

  for (const [what, key] of [
    ['of 129 characters', 'k'.repeat(129)],
    ['with a blank in it', 'two words'],
    ['with a tab in it', 'two\twords'],
    ['that is not ASCII', Buffer.from('schlüssel').toString('latin1')],
  ]) {
    it(`an Idempotency-Key ${what} is 400`, async () => {
      const answer = await send(its.parley, claim(), keyed(key));
      const problem = assertProblem(answer, 400, 'invalid-parameter');
      assert.match(problem.detail, /Idempotency-Key/i);
    });
  }

  it('in a batch the key of a message is KEY:LINE', async () => {
    const key = uniqueId();
    const before = await lastSequence(its.nats);
    const answer = await sendLines(its.parley, `\n${lines([claim(), claim()])}`, keyed(key));
    assert.equal(answer.lines.at(-1).summary.accepted, 2);
    const stored = await storedMessages(its.nats, { from: before + 1 });
    const ids = stored.map((message) => message.headers['nats-msg-id']);
    assert.deepEqual(ids, [`key:${key}:2`, `key:${key}:3`]);
  });

  it('a batch sent again under its key is all duplicates', async () => {
    const key = uniqueId();
    const batch = lines([claim(), claim(), claim()]);
    await sendLines(its.parley, batch, keyed(key));
    const before = await lastSequence(its.nats);
    const answer = await sendLines(its.parley, batch, keyed(key));
    assert.equal(answer.lines.at(-1).summary.duplicate, 3);
    assert.equal(await lastSequence(its.nats), before);
  });

  it('the same line twice in a batch is a duplicate of the first', async () => {
    const message = claim();
    const answer = await sendLines(its.parley, lines([message, message]));
    const [first, second, { summary }] = answer.lines;
    assert.deepEqual([first.status, second.status], ['accepted', 'duplicate']);
    assert.equal(second.seq, first.seq);
    assert.deepEqual(summary, { received: 2, accepted: 1, duplicate: 1, invalid: 0, failed: 0 });
  });
});

// What another message is, and what is none: the table of newcomer 2.1, and attack F12.
describe('an id or key that was used before', () => {
  const its = useParley();

  it("with another's message is 409 and stores nothing (attack F12)", async () => {
    const key = uniqueId();
    const alice = assertAccepted(await send(its.parley, claim(), keyed(key)));
    const bob = await send(its.parley, claim(), keyed(key));
    const problem = assertProblem(bob, 409, 'id-reused');
    const names = new RegExp(`Idempotency-Key .*sequence ${alice.seq} of stream VLP`);
    assert.match(problem.detail, names);
    assert.deepEqual([problem.stream, problem.seq], ['VLP', alice.seq]);
    assert.equal(bob.headers['retry-after'], undefined);
    assert.equal(await lastSequence(its.nats), alice.seq);
  });

  it('in a batch fails its line alone', async () => {
    const key = uniqueId();
    const [one, two, three] = [claim(), claim(), claim()];
    await sendLines(its.parley, lines([one, two, three]), keyed(key));
    const before = await lastSequence(its.nats);
    const answer = await sendLines(its.parley, lines([one, claim(), three, claim()]), keyed(key));
    const [first, second, third, fourth, { summary }] = answer.lines;
    const statuses = [first, second, third, fourth].map(({ status }) => status);
    assert.deepEqual(statuses, ['duplicate', 'failed', 'duplicate', 'accepted']);
    assert.equal(second.problem.type, '/problems/id-reused');
    assert.equal(second.problem.seq, before - 1);
    assert.deepEqual(summary, { received: 4, accepted: 1, duplicate: 2, invalid: 0, failed: 1 });
  });

  it('of one message squats no line of a batch', async () => {
    const key = uniqueId();
    assertAccepted(await send(its.parley, claim(), keyed(key)));
    const answer = await sendLines(its.parley, lines([claim()]), keyed(key));
    assert.equal(answer.lines[0].status, 'accepted');
  });

  it('as a Round Table id squats no key, and as a key no id', async () => {
    const request = taskRequest('squat.it');
    const headers = { 'Idempotency-Key': request.id };
    assertAccepted(await answerTo(its.parley, 'roundtable', '', taskRequest('a.b'), { headers }));
    assert.equal(assertAccepted(await sendTask(its.parley, request)).duplicate, false);
  });

  it('of a stamped message: the retry is a duplicate and named by the first id', async () => {
    const key = uniqueId();
    const bare = { type: 'claim', sender: 'me', content: 'x', confidence: 0.5 };
    const sendIt = () => answerTo(its.parley, 'vlp', '?stamp=true', bare, keyed(key));
    const first = assertAccepted(await sendIt());
    const again = assertAccepted(await sendIt());
    assert.deepEqual(again, { ...first, duplicate: true });
  });

  it('of Round Table: a retry with a new time is a duplicate', async () => {
    const request = taskRequest('retry.it');
    const first = assertAccepted(await sendTask(its.parley, request));
    const changes = { timestamp: '2026-01-01T00:00:00Z', ttl: 1e9, priority: 'high' };
    const later = { ...request, ...changes, id: request.id.toUpperCase() };
    const again = assertAccepted(await sendTask(its.parley, later));
    const expected = { ...first, id: later.id, duplicate: true, state: 'requested' };
    assert.deepEqual({ ...again, warnings: [] }, expected);
  });

  it('of Round Table with another payload is 409, and says where the first lies', async () => {
    const request = taskRequest('research.one');
    const first = assertAccepted(await sendTask(its.parley, request));
    const other = { ...request, payload: { task: 'research.two' } };
    const problem = assertProblem(await sendTask(its.parley, other), 409, 'id-reused');
    assert.equal(problem.seq, first.seq);
    for (const change of [{ from: 'other' }, { to: 'other' }, { correlationId: request.id }]) {
      assertProblem(await sendTask(its.parley, { ...request, ...change }), 409, 'id-reused');
    }
  });

  it('of Round Table: a reply whose domain is known by now is named as it is stored', async () => {
    const request = taskRequest('later.it');
    const result = taskResult(request.id);
    const first = assertAccepted(await sendTask(its.parley, result));
    assert.equal(first.subject, resultSubject('unknown', request.id));
    assert.deepEqual(first.warnings.map(({ rule }) => rule), ['RT-201']);
    assertAccepted(await sendTask(its.parley, request));
    const again = assertAccepted(await sendTask(its.parley, result));
    assert.deepEqual(again, { ...first, duplicate: true, warnings: [] }); // it is known by now
  });

  it("of Round Table: a heartbeat with a request's id is another message", async () => {
    const request = taskRequest('beat.it');
    assertAccepted(await sendTask(its.parley, request));
    const beat = { ...request, type: 'heartbeat', payload: { status: 'idle' } };
    const answer = assertAccepted(await sendTask(its.parley, beat));
    assert.equal(answer.duplicate, false);
    const stored = await storedMessage(its.nats, answer.seq, 'ROUNDTABLE');
    assert.equal(stored.subject, 'roundtable.heartbeat.pilot');
    assert.equal(stored.headers['nats-msg-id'], `heartbeat:${request.id}`);
  });

  const heartbeat = { type: 'heartbeat', timestamp: 1705392000 };

  it('of the supervisor: without an agent the same bytes are two messages', async () => {
    const first = assertAccepted(await answerTo(its.parley, 'supervisor', '', heartbeat));
    const again = assertAccepted(await answerTo(its.parley, 'supervisor', '', heartbeat));
    assert.deepEqual([again.duplicate, again.seq], [false, first.seq + 1]);
    const ids = await Promise.all(
      [first, again].map(({ seq }) => storedMessage(its.nats, seq, 'SUPERVISOR')),
    );
    for (const { headers } of ids) assert.match(headers['ce-id'], /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    assert.notEqual(first.id, again.id);
    assert.deepEqual([first.id, again.id], ids.map(({ headers }) => headers['ce-id']));
  });

  it('of the supervisor: with an agent they are one', async () => {
    const query = '?agent=coder-1';
    const first = assertAccepted(await answerTo(its.parley, 'supervisor', query, heartbeat));
    const again = assertAccepted(await answerTo(its.parley, 'supervisor', query, heartbeat));
    assert.deepEqual(again, { ...first, duplicate: true });
    const stored = await storedMessage(its.nats, first.seq, 'SUPERVISOR');
    assert.equal(stored.headers['ce-id'], first.id);
    const other = assertAccepted(
      await answerTo(its.parley, 'supervisor', '?agent=coder-2', heartbeat),
    );
    assert.equal(other.duplicate, false);
  });

  it('of the supervisor: an error of both sides is two messages', async () => {
    const error = { type: 'error', timestamp: 1, error: { code: 'X', message: 'm' } };
    const send = (from) => answerTo(its.parley, 'supervisor', `?agent=a${from}`, error);
    const first = assertAccepted(await send('&from=elixir'));
    const other = assertAccepted(await send('&from=gerbil'));
    assert.deepEqual([first, other].map(({ subject, duplicate }) => [subject, duplicate]), [
      ['supervisor.a.elixir.error', false],
      ['supervisor.a.gerbil.error', false],
    ]);
    assert.deepEqual(assertAccepted(await send('&from=elixir')), { ...first, duplicate: true });
    assert.deepEqual(assertAccepted(await send('')), { ...other, duplicate: true });
  });

  it('of the supervisor: a checkpoint of an agent has one id, however often it is sent', async () => {
    const checkpoint = { type: 'checkpoint', timestamp: 1, data: { agent_state: {} } };
    const first = assertAccepted(await answerTo(its.parley, 'supervisor', '?agent=a', checkpoint));
    const stored = await storedMessage(its.nats, first.seq, 'SUPERVISOR');
    assert.equal(stored.headers['ce-id'], first.id);
    assert.match(first.id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const again = await answerTo(its.parley, 'supervisor', '?agent=a', checkpoint);
    assert.deepEqual(assertAccepted(again), { ...first, duplicate: true });
    const other = await answerTo(its.parley, 'supervisor', '?agent=b', checkpoint);
    assert.notEqual(assertAccepted(other).id, first.id);
  });

  it('of Brenner: an id makes the same bytes one message', async () => {
    const info = { subject: 'INFO: so', body_md: '# So', id: uniqueId(), from: 'A' };
    const first = assertAccepted(await answerTo(its.parley, 'brenner', '', info));
    const again = assertAccepted(await answerTo(its.parley, 'brenner', '', info));
    assert.deepEqual(again, { ...first, duplicate: true });
    const keyless = { ...info, id: undefined };
    const one = assertAccepted(await answerTo(its.parley, 'brenner', '', keyless));
    const two = assertAccepted(await answerTo(its.parley, 'brenner', '', keyless));
    assert.deepEqual([two.duplicate, two.seq], [false, one.seq + 1]);
    const stored = await storedMessage(its.nats, one.seq, 'BRENNER');
    assert.equal(stored.headers['ce-id'], one.id);
    assert.notEqual(two.id, one.id);
  });

  it('without an id has with a key the id of the first, alone and in a batch', async () => {
    const info = JSON.stringify({ subject: 'INFO: so', body_md: '# So', from: 'A' });
    const bodies = [[info, 'application/json'], [`${info}\n${info}\n`, NDJSON_TYPE]];
    for (const [body, type] of bodies) {
      const headers = { 'idempotency-key': uniqueId() };
      const send = () => post(its.parley, '/v1/brenner/messages', body, { type, headers });
      const read = async () => (await send()).text.trim().split('\n').map(JSON.parse).filter(({ seq }) => seq);
      const [first, again] = [await read(), await read()];
      assert.deepEqual(again.map(({ id, seq }) => [id, seq]), first.map(({ id, seq }) => [id, seq]));
      assert.equal(new Set(first.map(({ id }) => id)).size, first.length);
      for (const { id, seq } of first) {
        assert.equal((await storedMessage(its.nats, seq, 'BRENNER')).headers['ce-id'], id);
      }
    }
  });

  it('published straight to NATS without a digest counts as the same', async () => {
    const request = taskRequest('straight.it');
    const jetstream = its.nats.jetstream();
    const ack = await jetstream.publish('roundtable.tasks.other.place', '{}', {
      msgID: `task.request:${request.id}`,
    });
    const answer = assertAccepted(await sendTask(its.parley, request));
    assert.deepEqual(
      [answer.duplicate, answer.seq, answer.subject],
      [true, ack.seq, 'roundtable.tasks.other.place'],
    );
  });

  it('in a long batch: 2,000 duplicates keep the order sent', async () => {
    const batch = Array.from({ length: 2000 }, (_, i) => taskRequest(`many.n${i}`));
    const other = { ...batch[700], payload: { task: 'many.other' } };
    // On a busy machine NATS may not store them in time, or not say in time what it holds; then the
    // advice is to send it again.
    await until('each is stored', async () => {
      const { lines: results } = await sendTask(its.parley, batch);
      return results.at(-1).summary.failed === 0;
    });
    const answer = await until('each is compared', async () => {
      const again = await sendTask(its.parley, batch.map((each, i) => (i === 700 ? other : each)));
      return again.lines.every((line) => ![503, 504].includes(line.problem?.status)) && again;
    });
    const { summary } = answer.lines.at(-1);
    assert.deepEqual([summary.duplicate, summary.failed], [1999, 1]);
    answer.lines.slice(0, -1).forEach((line, i) => {
      assert.equal(line.line, i + 1);
      if (i === 700) assert.equal(line.problem.type, '/problems/id-reused');
      else assert.equal(line.subject, `roundtable.tasks.many.n${i}`);
    });
  });
});

// Of no use to a retry, and so it is said (contract 2).
describe('without a dedupe window', () => {
  const its = useParley({ args: ['--dedupe-window', '0'] });

  it('the same message is stored again', async () => {
    const message = claim();
    const first = assertAccepted(await send(its.parley, message));
    const again = assertAccepted(await send(its.parley, message));
    assert.deepEqual([again.duplicate, again.seq], [false, first.seq + 1]);
    const { headers } = await storedMessage(its.nats, first.seq);
    assert.equal(headers['nats-msg-id'], undefined);
  });
});

// (contract 2, newcomer 2.1) What a 504 promises is what happens when its advice is followed.
describe('a message that was not acknowledged', () => {
  const BRIEF = ['--ack-timeout', '500ms', '--bus-patience', '1s'];
  const bare = { type: 'claim', sender: 'me', content: 'x', confidence: 0.5 };
  const beat = { type: 'heartbeat', timestamp: 1705392000 };
  const beatOf = (from) => ({
    ...taskRequest('a.b', { from }),
    type: 'heartbeat',
    payload: { status: 'idle' },
  });
  const rows = [
    ['vlp', '', claim(), {}, /^.* Send the same bytes again within 2 minutes/, true],
    ['vlp', '', claim(), keyed(uniqueId()), /the same Idempotency-Key within 2 minutes/, true],
    ['vlp', '?stamp=true', bare, {}, /may be stored twice.*Send an `Idempotency-Key`/, false],
    ['vlp', '?stamp=true', bare, keyed(uniqueId()), /the same Idempotency-Key within/, true],
    ['roundtable', '', beatOf('pilot'), {}, /with the same id within 2 minutes/, true],
    ['supervisor', '', beat, {}, /may be stored twice.*Send an `Idempotency-Key`/, false],
    ['supervisor', '?agent=a', beat, {}, /Send the same bytes again within 2 minutes/, true],
    ['brenner', '', { subject: 'INFO: so', body_md: '# So' }, {}, /may be stored twice/, false],
  ];

  it('is 504, with its id and with advice that holds', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const parley = await parleyFor(t, { nats: nats.url, args: BRIEF });
    await nats.freeze();
    const sendAll = () =>
      Promise.all(
        rows.map(([protocol, query, message, options]) =>
          answerTo(parley, protocol, query, message, options),
        ),
      );
    const problems = (await sendAll()).map((answer) => assertProblem(answer, 504, 'bus-timeout'));
    for (const [i, [protocol, query, message, , advice]] of rows.entries()) {
      assert.match(problems[i].detail, advice, protocol);
      if (query === '?stamp=true') assert.match(problems[i].id, /^[0-9a-f]{8}-/);
      else if (message.id === undefined) assert.match(problems[i].id, /^[0-9a-f]{8}-/);
      else assert.equal(problems[i].id, message.id);
    }
    nats.signal('SIGCONT'); // and what it was sent meanwhile is stored
    const client = await natsClient(t, nats.url);
    const stored = { VLP: 4, ROUNDTABLE: 1, SUPERVISOR: 2, BRENNER: 1 };
    for (const [stream, count] of Object.entries(stored)) {
      const isThere = async () => (await lastSequence(client, stream)) === count;
      await until(`${count} are stored in ${stream}`, isThere);
    }
    // On a busy machine NATS may be later than that; then the advice holds once more.
    const again = await until('all are acknowledged', async () => {
      const answers = await sendAll();
      return answers.every(({ status }) => status !== 504) && answers.map(assertAccepted);
    });
    for (const [i, [protocol, query, , , , isSafe]] of rows.entries()) {
      assert.equal(again[i].duplicate, isSafe, `${protocol}${query}`);
    }
  });

  it('bears its id in a batch too', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const parley = await parleyFor(t, { nats: nats.url, args: BRIEF });
    await nats.freeze();
    const message = claim();
    const query = '?results=errors';
    const answer = await sendLines(parley, lines([message]), { query });
    assert.equal(answer.lines[0].problem.id, message.id);
    nats.signal('SIGCONT');
  });
});
