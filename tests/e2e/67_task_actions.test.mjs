// SPDX-License-Identifier: Apache-2.0
// What the agent that requested a task asks for: it is cancelled, or tried again.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { useFleet } from './lib/fleet.mjs';
import { get, post } from './lib/http.mjs';
import { connectNats, embeddedUrl, storedMessage } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { sendTask, taskClaimed, taskFailed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertProblem } from './lib/vlp.mjs';
import { askAndWait, boardOf, changeTask, nextTask } from './lib/work.mjs';

const EXPIRED = { timestamp: new Date(Date.now() - 7200_000).toISOString() };

async function sent(server, message) {
  const answer = await sendTask(server, message);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function request(server, changes) {
  const message = taskRequest('security.scan', changes);
  await sent(server, message);
  return message.id;
}

const hold = (server, id, from) => sent(server, taskClaimed(id, { from }));
const fail = (server, id) => sent(server, taskFailed(id));
const complete = (server, id) => sent(server, taskResult(id));
const taskOf = async (server, id) => (await get(server, `/v1/roundtable/tasks/${id}`)).json;
const stored = async (nats, seq) => {
  const { headers, payload } = await storedMessage(nats, seq, 'ROUNDTABLE');
  return { headers, message: JSON.parse(payload) };
};

async function changed(server, id, kind, body) {
  const answer = await changeTask(server, id, kind, body);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

describe('a task that is cancelled', () => {
  const its = useParley({ args: ['--task-lease', '1h'] });

  it('has failed by a message of the agent that requested it, for its holder', async (t) => {
    const id = await request(its.parley, { from: 'tim' });
    await hold(its.parley, id, 'galahad');
    const { json } = await changed(its.parley, id, 'cancel', { agent: 'tim', reason: 'Not needed.' });
    assert.deepEqual([json.type, json.duplicate, json.warnings], ['task.failed', false, []]);
    const nats = await connectNats(embeddedUrl(its.parley));
    t.after(() => nats.close());
    const { message } = await stored(nats, json.seq);
    const { from, to, correlationId, payload } = message;
    assert.deepEqual([from, to, correlationId], ['tim', 'galahad', id]);
    assert.deepEqual(payload, { error: 'internal_error', message: 'Not needed.', retryable: false });
    const { state, error, retryable } = await taskOf(its.parley, id);
    assert.deepEqual([state, error, retryable], ['failed', 'internal_error', false]);
  });

  it('tells its holder by the next extend', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    await changed(its.parley, id, 'cancel', { agent: 'pilot' });
    const refused = await changeTask(its.parley, id, 'extend', { agent: 'galahad' });
    const { state, from } = assertProblem(refused, 409, 'task-over');
    assert.deepEqual([state, from], ['failed', 'pilot']);
  });

  it('is not given out any more', async () => {
    const id = await request(its.parley, { payload: { task: 'only.this' } });
    await changed(its.parley, id, 'cancel', { agent: 'pilot' });
    assert.equal((await nextTask(its.parley, 'galahad', { tasks: ['only.this'] })).status, 204);
  });

  it('answers a request that waits for its reply', async () => {
    const message = taskRequest('security.scan');
    const waiting = askAndWait(its.parley, message, 300);
    await until('it is there', async () => (await get(its.parley, `/v1/roundtable/tasks/${message.id}`)).status === 200);
    await changed(its.parley, message.id, 'cancel', { agent: 'pilot', reason: 'Enough.' });
    const { status, json, text } = await waiting;
    assert.equal(status, 200, text);
    assert.equal(json.reply.data.payload.message, 'Enough.');
  });

  it('is over for who cancels it again', async () => {
    const id = await request(its.parley);
    await changed(its.parley, id, 'cancel', { agent: 'pilot' });
    const { state, from } = assertProblem(await changeTask(its.parley, id, 'cancel', { agent: 'pilot' }), 409, 'task-over');
    assert.deepEqual([state, from], ['failed', 'pilot']);
  });

  for (const [what, changes, end] of [
    ['completed', {}, complete],
    ['failed', {}, fail],
    ['expired', EXPIRED, () => {}],
  ]) {
    it(`was not over: one that has ${what} stays so`, async () => {
      const id = await request(its.parley, changes);
      await end(its.parley, id);
      const refused = await changeTask(its.parley, id, 'cancel', { agent: 'pilot' });
      assert.equal(assertProblem(refused, 409, 'task-over').state, what);
      assert.equal((await taskOf(its.parley, id)).state, what);
    });
  }
});

describe('a task that is tried again', () => {
  const its = useParley();

  it('is a new one that asks for the same', async (t) => {
    const asked = { from: 'tim', to: 'galahad', priority: 'high', ttl: 7200, payload: { task: 'security.scan', params: { n: 1.50 } } };
    const id = await request(its.parley, asked);
    await fail(its.parley, id);
    const { json, headers } = await changed(its.parley, id, 'retry', { agent: 'tim' });
    assert.equal(headers.location, `/v1/roundtable/tasks/${json.id}`);
    assert.deepEqual([json.type, json.duplicate, json.warnings], ['task.request', false, []]);
    const nats = await connectNats(embeddedUrl(its.parley));
    t.after(() => nats.close());
    const { headers: published, message } = await stored(nats, json.seq);
    assert.equal(published['nats-msg-id'], `retry:${id}`);
    const { id: own, version, type, timestamp, ...rest } = message;
    assert.deepEqual(rest, { ...asked, correlationId: id });
    assert.notEqual(own, id);
    const { state, retry_of: of } = await taskOf(its.parley, json.id);
    assert.deepEqual([state, of], ['requested', id]);
    assert.equal((await taskOf(its.parley, id)).state, 'failed', 'what has ended stays ended');
  });

  it('is tried once, however often that is asked for', async () => {
    const id = await request(its.parley);
    await fail(its.parley, id);
    const first = await changed(its.parley, id, 'retry', { agent: 'pilot' });
    const second = await changed(its.parley, id, 'retry', { agent: 'pilot' });
    assert.deepEqual([second.json.duplicate, second.json.seq, second.headers.location],
      [true, first.json.seq, first.headers.location]);
  });

  it('can be tried again in turn', async () => {
    const id = await request(its.parley);
    await fail(its.parley, id);
    const first = await changed(its.parley, id, 'retry', { agent: 'pilot' });
    await fail(its.parley, first.json.id);
    const second = await changed(its.parley, first.json.id, 'retry', { agent: 'pilot' });
    assert.notEqual(second.json.id, first.json.id);
    assert.equal((await taskOf(its.parley, second.json.id)).retry_of, first.json.id);
  });

  it('may have expired, or been cancelled', async () => {
    const expired = await request(its.parley, EXPIRED);
    await changed(its.parley, expired, 'retry', { agent: 'pilot' });
    const cancelled = await request(its.parley);
    await changed(its.parley, cancelled, 'cancel', { agent: 'pilot' });
    await changed(its.parley, cancelled, 'retry', { agent: 'pilot' });
  });

  it('is over, and has not completed', async () => {
    const id = await request(its.parley);
    const retry = () => changeTask(its.parley, id, 'retry', { agent: 'pilot' });
    assert.equal(assertProblem(await retry(), 409, 'task-open').state, 'requested');
    await hold(its.parley, id, 'worker');
    assert.equal(assertProblem(await retry(), 409, 'task-open').state, 'claimed');
    await complete(its.parley, id);
    assert.equal(assertProblem(await retry(), 409, 'task-over').state, 'completed');
  });
});

// POST …/tasks/cancel, …/tasks/retry: { lines, summary }.
async function many(server, kind, body, options) {
  const { status, text } = await post(server, `/v1/roundtable/tasks/${kind}`, JSON.stringify(body), options);
  assert.equal(status, 200, text);
  const lines = text.trim().split('\n').map((line) => JSON.parse(line));
  return { lines: lines.slice(0, -1), summary: lines.at(-1).summary };
}

const counts = (matched, done, failed, left) => ({ matched, done, failed, left });

describe('many tasks at once', () => {
  const its = useParley();
  // Tasks that no other test of these knows, by their domain.
  let number = 0;
  const inDomain = async (count, changes) => {
    const domain = `d${++number}`;
    const ids = [];
    for (let i = 0; i < count; i++) ids.push(await request(its.parley, { payload: { task: `${domain}.x` }, ...changes }));
    return { domain, ids };
  };

  it('are cancelled and retried by their ids, each as if it were alone', async () => {
    const { ids: [open, held, over] } = await inDomain(3);
    await hold(its.parley, held, 'worker');
    await complete(its.parley, over);
    const unknown = randomUUID();
    const { lines, summary } = await many(its.parley, 'cancel', { agent: 'pilot', ids: [open, held.toUpperCase(), over, unknown, 'no-id'] });
    assert.deepEqual(lines.map(({ id, status, problem }) => [id, status, problem?.type]), [
      [open, 'cancelled', undefined],
      [held.toUpperCase(), 'cancelled', undefined],
      [over, 'failed', '/problems/task-over'],
      [unknown, 'failed', '/problems/not-found'],
      ['no-id', 'failed', '/problems/not-found'],
    ]);
    assert.deepEqual(summary, counts(5, 2, 3, 0));
    assert.equal(lines[2].problem.state, 'completed');
    const again = await many(its.parley, 'retry', { agent: 'pilot', ids: [open, over] });
    assert.deepEqual(again.lines.map(({ status }) => status), ['retried', 'failed']);
    assert.equal((await taskOf(its.parley, again.lines[0].retried_by)).retry_of, open);
    assert.deepEqual(again.summary, counts(2, 1, 1, 0));
  });

  it('are those of a filter: the open ones to cancel, failed and expired ones to retry', async () => {
    const { domain, ids: [open, held, failed, over] } = await inDomain(4);
    await hold(its.parley, held, 'worker');
    await fail(its.parley, failed);
    await complete(its.parley, over);
    const cancelled = await many(its.parley, 'cancel', { agent: 'pilot', domain });
    assert.deepEqual(cancelled.lines, [open, held].map((id) => ({ id, status: 'cancelled' })));
    assert.deepEqual(cancelled.summary, counts(2, 2, 0, 0));
    const retried = await many(its.parley, 'retry', { agent: 'pilot', domain: [domain, 'other'], code: ['timeout'] });
    assert.deepEqual(retried.lines.map(({ id }) => id), [failed]);
    assert.deepEqual(retried.summary, counts(1, 1, 0, 0));
    const late = await many(its.parley, 'cancel', { agent: 'pilot', domain, state: 'completed' });
    assert.equal(late.lines[0].problem.type, '/problems/task-over');
    assert.deepEqual(late.summary, counts(1, 0, 1, 0));
  });

  it('were requested before a time', async () => {
    const { domain } = await inDomain(1);
    const { ids: [old] } = await inDomain(1, { timestamp: '2020-01-01T00:00:00Z', ttl: 1e9, payload: { task: `${domain}.y` } });
    const { lines } = await many(its.parley, 'cancel', { agent: 'pilot', domain, before: '2021-01-01T00:00:00+01:00' });
    assert.deepEqual(lines, [{ id: old, status: 'cancelled' }]);
  });

  it('are at most 500 a request, and the summary says how many are left', async () => {
    const { domain, ids } = await inDomain(0);
    const messages = Array.from({ length: 510 }, () => taskRequest(`${domain}.x`));
    assert.equal((await sendTask(its.parley, messages)).status, 200);
    assert.deepEqual(ids, []);
    const first = await many(its.parley, 'cancel', { agent: 'pilot', domain });
    assert.deepEqual([first.lines.length, first.summary], [500, counts(510, 500, 0, 10)]);
    assert.deepEqual(first.lines.map(({ id }) => id), messages.slice(0, 500).map(({ id }) => id), 'the oldest first');
    assert.deepEqual((await many(its.parley, 'cancel', { agent: 'pilot', domain })).summary, counts(10, 10, 0, 0));
    assert.deepEqual((await many(its.parley, 'cancel', { agent: 'pilot', domain })).summary, counts(0, 0, 0, 0));
  });

  it('may be all, if that is said', async (t) => {
    const server = await parleyFor(t);
    const ids = [await request(server), await request(server)];
    assertProblem(await post(server, '/v1/roundtable/tasks/cancel', '{"agent":"pilot"}'), 400, 'malformed');
    const { lines } = await many(server, 'cancel', { agent: 'pilot', all: true });
    assert.deepEqual(lines.map(({ id }) => id), ids);
  });

  for (const kind of ['cancel', 'retry']) {
    it(`need a body that can be: ${kind}`, async () => {
      const id = randomUUID();
      for (const body of [
        {}, [], 'x', { agent: 1, all: true }, { agent: 'pilot' }, { agent: 'pilot', all: false }, { agent: 'pilot', all: 'true' },
        { agent: 'pilot', ids: [] }, { agent: 'pilot', ids: 'x' }, { agent: 'pilot', ids: [1] },
        { agent: 'pilot', ids: Array.from({ length: 501 }, () => id) }, { agent: 'pilot', ids: [id], all: true },
        { agent: 'pilot', ids: [id], state: 'failed' }, { agent: 'pilot', state: 'open' }, { agent: 'pilot', state: [] },
        { agent: 'pilot', domain: 'a.b' }, { agent: 'pilot', domain: [''] }, { agent: 'pilot', code: 1 }, { agent: 'pilot', code: '' },
        { agent: 'pilot', before: 'today' }, { agent: 'pilot', before: 1 }, { agent: 'pilot', all: true, more: 1 },
        { agent: 'pilot', all: true, reason: 'x' }, { agent: 'pilot', domain: Array.from({ length: 65 }, () => 'a') },
      ]) {
        assertProblem(await post(its.parley, `/v1/roundtable/tasks/${kind}`, JSON.stringify(body)), 400, 'malformed');
      }
      assertProblem(await post(its.parley, `/v1/roundtable/tasks/${kind}`, '{"agent":"a b","all":true}'), 422, 'invalid-message');
      assertProblem(await post(its.parley, `/v1/vlp/tasks/${kind}`, '{"agent":"a","all":true}'), 404, 'not-found');
    });
  }

  it('are the agent\'s own, unless it is an administrator\'s', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const allowed = 'send:roundtable,read:roundtable';
    const tokens = {};
    for (const [name, scopes] of [['tim', allowed], ['eve', allowed], ['root', `${allowed},admin`]]) {
      tokens[name] = bearer(await createToken(file, name, scopes));
    }
    const server = await parleyFor(t, { args: ['--tokens', file, '--bind-sender'] });
    const ids = {};
    for (const from of ['tim', 'eve']) {
      const message = taskRequest('a.b', { from });
      assert.equal((await post(server, '/v1/roundtable/messages', JSON.stringify(message), tokens[from])).status, 200);
      ids[from] = message.id;
    }
    const own = await many(server, 'cancel', { agent: 'tim', all: true }, tokens.tim);
    assert.deepEqual(own.lines, [{ id: ids.tim, status: 'cancelled' }]);
    const foreign = await many(server, 'cancel', { agent: 'tim', ids: [ids.eve] }, tokens.tim);
    assert.deepEqual([foreign.lines[0].problem.type, foreign.summary], ['/problems/forbidden', counts(1, 0, 1, 0)]);
    assertProblem(await post(server, '/v1/roundtable/tasks/cancel', '{"agent":"eve","all":true}', tokens.tim), 403, 'forbidden');
    const all = await many(server, 'cancel', { agent: 'root', all: true }, tokens.root);
    assert.deepEqual(all.lines, [{ id: ids.eve, status: 'cancelled' }]);
  });
});

describe('the story of a task', () => {
  const its = useParley({ args: ['--task-lease', '1h', '--task-attempts', '100'] });
  const turnsOf = async (id) => (await taskOf(its.parley, id)).turns;

  it('has every turn: who held it, until when, and why that ended', async () => {
    const id = await request(its.parley);
    assert.deepEqual(await turnsOf(id), []);
    const { until: end } = await hold(its.parley, id, 'galahad');
    const { json: extended } = await changed(its.parley, id, 'extend', { agent: 'galahad', lease: 7200 });
    const { json: released } = await changed(its.parley, id, 'release', { agent: 'galahad', why: 'no tools' });
    const { until: last } = await hold(its.parley, id, 'kay');
    const turns = await turnsOf(id);
    assert.ok(turns.every(({ at }) => Number.isFinite(Date.parse(at))));
    assert.deepEqual(turns.map(({ at, ...rest }) => rest), [
      { n: 1, kind: 'claim', holder: 'galahad', attempt: 1, until: end, not_before: null, why: null },
      { n: 2, kind: 'extend', holder: 'galahad', attempt: 1, until: extended.until, not_before: null, why: 'extend' },
      { n: 3, kind: 'release', holder: 'galahad', attempt: 1, until: null, not_before: released.not_before, why: 'no tools' },
      { n: 4, kind: 'claim', holder: 'kay', attempt: 2, until: last, not_before: null, why: null },
    ]);
    assert.equal('turns' in (await boardOf(its.parley))[0], false, 'lists have none');
  });

  it('has the last 100 of them', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    for (let i = 0; i < 101; i++) await changed(its.parley, id, 'extend', { agent: 'galahad', lease: 3600 });
    assert.deepEqual((await turnsOf(id)).map(({ n }) => n), Array.from({ length: 100 }, (_, i) => i + 3));
  });
});

describe('a list of tasks', () => {
  const its = useParley();

  it('has those that were given out so often, have failed so, or have lapsed', async () => {
    const open = await request(its.parley);
    const held = await request(its.parley);
    await hold(its.parley, held, 'worker');
    const failed = await request(its.parley);
    await hold(its.parley, failed, 'worker');
    await fail(its.parley, failed);
    const cancelled = await request(its.parley);
    await changed(its.parley, cancelled, 'cancel', { agent: 'pilot' });
    for (const [query, ids] of [
      ['attempt=1', [failed, held]],
      ['attempt=2', []],
      ['code=timeout', [failed]],
      ['code=timeout,internal_error', [cancelled, failed]],
      ['code=other', []],
      ['lapsed=true', []],
      ['lapsed=false', [cancelled, failed, held, open]],
      ['lapsed=false&attempt=1&state=claimed', [held]],
      ['overdue=true', []],
    ]) {
      assert.deepEqual((await boardOf(its.parley, `?${query}`)).map(({ id }) => id), ids, query);
    }
    for (const query of ['attempt=0', 'attempt=101', 'attempt=x', 'lapsed=', 'lapsed=yes', 'code=', 'overdue=', 'overdue=false', 'overdue=5', 'overdue=31d', 'overdue=-1m']) {
      assertProblem(await get(its.parley, `/v1/roundtable/tasks?${query}`), 400, 'invalid-parameter');
    }
  });
});

describe('a request that names another task', () => {
  const its = useFleet();
  const RETRIES = { timeout: { retryable: true }, final: { retryable: false } };
  const failed = async (server, kind) => {
    const id = await request(server);
    await hold(server, id, 'worker');
    await sent(server, taskFailed(id, { payload: { error: 'timeout', message: 'x', ...RETRIES[kind] } }));
    return id;
  };
  const retry = async (server, correlationId, changes) => {
    const message = taskRequest('security.scan', { correlationId, ...changes });
    const { warnings } = await sent(server, message);
    return { id: message.id, message, rules: warnings.map(({ rule }) => rule).filter((rule) => rule !== 'RT-103') };
  };

  it('is warned of with RT-205, unless it tries again once what may be', async () => {
    const [one, two] = its.gateways;
    const done = await request(one);
    await hold(one, done, 'worker');
    await complete(one, done);
    for (const [name, task, rules] of [
      ['unknown', randomUUID(), ['RT-205']],
      ['requested', await request(one), ['RT-205']],
      ['completed: it follows it', done, []],
      ['failed', await failed(one, 'timeout'), []],
      ['failed, not retryable', await failed(one, 'final'), ['RT-205']],
      ['expired', await request(one, EXPIRED), []],
    ]) {
      assert.deepEqual((await retry(two, task)).rules, rules, name);
    }
  });

  it('is the one that tries it again: the first, at all gateways', async () => {
    const [one, two] = its.gateways;
    const task = await failed(one, 'timeout');
    const both = await Promise.all([retry(one, task), retry(two, task)]);
    assert.deepEqual(both.map(({ rules }) => rules.length).sort(), [0, 1]);
    const first = both.find(({ rules }) => rules.length === 0);
    for (const server of its.gateways) {
      assert.equal((await taskOf(server, task)).retried_by, first.id);
      await until('the list says it', async () => (await boardOf(server)).find(({ id }) => id === task)?.retried_by === first.id);
      const again = await sent(server, first.message);
      assert.deepEqual([again.duplicate, again.warnings], [true, []]);
    }
    assert.deepEqual((await retry(two, task)).rules, ['RT-205']);
    assert.deepEqual((await changed(one, task, 'retry', { agent: 'pilot' })).json.warnings.map(({ rule }) => rule), ['RT-205']);
  });

  it('is told of a task that was published straight to NATS, as it is', async () => {
    const [one] = its.gateways;
    const task = taskRequest('security.scan');
    const end = taskFailed(task.id, { from: task.from, payload: { error: 'timeout', message: 'x', retryable: true } });
    const straight = (subject, message) => its.client.jetstream().publish(subject, JSON.stringify(message));
    await straight('roundtable.tasks.security.scan', task);
    await straight(`roundtable.results.security.${task.id}`, end);
    const again = taskRequest('security.scan', { correlationId: task.id });
    await until('it has failed', async () => (await taskOf(one, task.id)).state === 'failed');
    await straight('roundtable.tasks.security.scan', again);
    await until('it is tried again', async () => (await taskOf(one, task.id)).retried_by === again.id);
    await until('its own key is there', async () => (await taskOf(one, again.id)).retry_of === task.id);
  });
});

describe('a task that is not done by its deadline', () => {
  const its = useParley();

  it('is overdue, claimed or not, until it has ended', async () => {
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    const late = { timestamp: hourAgo, ttl: 600 };
    const inTime = await request(its.parley);
    const open = await request(its.parley, late);
    const held = await request(its.parley, { ttl: 1 });
    await hold(its.parley, held, 'worker');
    const ids = async (query) => (await boardOf(its.parley, `?${query}`)).map(({ id }) => id);
    await until('the deadline of the second is past', async () => (await ids('overdue=true')).length === 2);
    for (const [query, wanted] of [
      ['overdue=true', [held, open]],
      ['overdue=0', [held, open]],
      ['overdue=40m', [open]],
      ['overdue=2h', []],
      ['overdue=true&state=claimed', [held]],
      ['overdue=true&state=expired', [open]],
      ['limit=10', [held, open, inTime]],
    ]) {
      assert.deepEqual(await ids(query), wanted, query);
    }
    await fail(its.parley, held);
    assert.deepEqual(await ids('overdue=true'), [open]);
  });
});

describe('who cancels a task, or has it tried again', () => {
  const its = useParley();

  for (const kind of ['cancel', 'retry']) {
    it(`gets 404 for what is no task: ${kind}`, async () => {
      assertProblem(await changeTask(its.parley, randomUUID(), kind, { agent: 'pilot' }), 404, 'not-found');
      assertProblem(await changeTask(its.parley, 'no-id', kind, { agent: 'pilot' }), 404, 'not-found');
      assertProblem(await post(its.parley, `/v1/vlp/tasks/${randomUUID()}/${kind}`, '{"agent":"a"}'), 404, 'not-found');
    });

    it(`gets 400 for another body: ${kind}`, async () => {
      const id = await request(its.parley);
      for (const body of [{}, { agent: 1 }, { agent: 'pilot', more: 1 }, { agent: 'pilot', reason: 1 }, [], 'x']) {
        assertProblem(await changeTask(its.parley, id, kind, body), 400, 'malformed');
      }
      assertProblem(await changeTask(its.parley, id, kind, { agent: 'a b' }), 422, 'invalid-message');
    });
  }

  it('gets 400 for a reason that is too long', async () => {
    const id = await request(its.parley);
    const refused = await changeTask(its.parley, id, 'cancel', { agent: 'pilot', reason: 'x'.repeat(1025) });
    assert.match(assertProblem(refused, 400, 'malformed').detail, /1024/);
    await changed(its.parley, id, 'cancel', { agent: 'pilot', reason: 'x'.repeat(1024) });
  });

  it('is any agent where there are no tokens', async () => {
    const id = await request(its.parley);
    await changed(its.parley, id, 'cancel', { agent: 'mordred' });
    const { json } = await changed(its.parley, id, 'retry', { agent: 'mordred' });
    assert.equal((await taskOf(its.parley, json.id)).from, 'mordred');
  });

  it('is the agent that requested it, or an administrator, where there are', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const tokens = {};
    for (const [name, scopes] of [['tim', ''], ['eve', ''], ['root', ',admin']]) {
      tokens[name] = bearer(await createToken(file, name, `send:roundtable,read:roundtable${scopes}`));
    }
    const server = await parleyFor(t, { args: ['--tokens', file, '--bind-sender'] });
    const ask = (id, kind, agent, token) => changeTask(server, id, kind, { agent }, tokens[token]);
    const asked = async () => {
      const message = taskRequest('a.b', { from: 'tim' });
      const answer = await post(server, '/v1/roundtable/messages', JSON.stringify(message), tokens.tim);
      assert.equal(answer.status, 200, answer.text);
      return message.id;
    };
    const id = await asked();
    const foreign = await ask(id, 'cancel', 'eve', 'eve');
    assert.equal(assertProblem(foreign, 403, 'forbidden').from, 'tim');
    assert.match(foreign.headers['www-authenticate'], /insufficient_scope", scope="admin"/);
    const [violation] = assertProblem(await ask(id, 'cancel', 'tim', 'eve'), 403, 'forbidden').violations;
    assert.equal(violation.rule, 'GW-102');
    assert.equal((await ask(id, 'cancel', 'tim', 'tim')).status, 200);
    assertProblem(await ask(id, 'retry', 'eve', 'eve'), 403, 'forbidden');
    assert.equal((await ask(id, 'retry', 'tim', 'tim')).status, 200);

    const other = await asked();
    const cancelled = await ask(other, 'cancel', 'root', 'root');
    assert.equal(cancelled.status, 200, cancelled.text);
    const retried = await ask(other, 'retry', 'root', 'root');
    assert.equal(retried.status, 200, retried.text);
    const { json } = await get(server, retried.headers.location, tokens.root);
    assert.deepEqual([json.from, json.retry_of], ['root', other]);
  });

  it('gets 404 where the server decides nothing', async (t) => {
    const server = await parleyFor(t, { args: ['--lifecycle', 'off'] });
    const id = await request(server);
    assertProblem(await changeTask(server, id, 'cancel', { agent: 'pilot' }), 404, 'not-found');
  });
});

describe('at two gateways', () => {
  const its = useFleet();

  it('a task is cancelled once, and tried again once', async () => {
    for (let i = 0; i < 8; i++) {
      const id = await request(its.gateways[0]);
      const ask = (kind, body) => Promise.all(its.gateways.map((each, j) => changeTask(each, id, kind, body(j))));
      const cancelled = await ask('cancel', (j) => ({ agent: 'pilot', reason: `of ${j}` }));
      assert.ok(cancelled.some(({ status }) => status === 200), cancelled[0].text);
      for (const each of cancelled) if (each.status !== 200) assertProblem(each, 409, 'task-over');
      assert.equal((await taskOf(its.gateways[0], id)).state, 'failed');
      const retried = await ask('retry', () => ({ agent: 'pilot' }));
      assert.deepEqual(retried.map(({ status }) => status), [200, 200], retried[0].text + retried[1].text);
      assert.equal(retried[0].json.seq, retried[1].json.seq);
      assert.equal(retried[0].headers.location, retried[1].headers.location);
      assert.deepEqual(retried.map(({ json }) => json.duplicate).sort(), [false, true]);
    }
  });
});
