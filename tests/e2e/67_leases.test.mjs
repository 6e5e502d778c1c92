// SPDX-License-Identifier: Apache-2.0
// Leases: a task is held for a limited time, its holder extends it or gives it back, and another agent takes over
// what has lapsed: over HTTP and straight to NATS, at two gateways.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { useFleet } from './lib/fleet.mjs';
import { JSON_TYPE, get, rawFor, rawPost } from './lib/http.mjs';
import { embeddedUrl, natsClient, startNats, storedMessages } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { heartbeat, sendTask, taskClaimed, taskProgress, taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertProblem } from './lib/vlp.mjs';
import { askAndWait, boardOf, changeTask, nextTask } from './lib/work.mjs';

const SHORT = ['--task-lease', '1s'];
const LONG = ['--task-lease', '1h'];

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

const claim = (server, id, from, changes) => sendTask(server, taskClaimed(id, { from, ...changes }));
const hold = (server, id, from, changes) => sent(server, taskClaimed(id, { from, ...changes }));
const taskOf = async (server, id) => (await get(server, `/v1/roundtable/tasks/${id}`)).json;
const lapses = (server, id) => until('it lapses', async () => (await taskOf(server, id)).lapsed);

// Until another agent holds it: its first claims may come too early.
const takenOver = (server, id, from) =>
  until(`${from} takes over`, async () => {
    const answer = await claim(server, id, from);
    if (answer.status === 200) return answer.json;
    assertProblem(answer, 409, 'already-claimed');
    return undefined;
  });

async function changed(server, id, kind, body) {
  const answer = await changeTask(server, id, kind, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

describe('a task with a long lease', () => {
  const its = useParley({ args: LONG });

  it('says until when it is held, and which attempt it is', async () => {
    const id = await request(its.parley);
    const before = Date.now();
    const receipt = await hold(its.parley, id, 'galahad');
    assert.equal(receipt.attempt, 1);
    const left = Date.parse(receipt.until) - before;
    assert.ok(left > 3_590_000 && left < 3_720_000, receipt.until);
    const { state, holder, attempt, until: end, lapsed } = await taskOf(its.parley, id);
    assert.deepEqual([state, holder, attempt, end, lapsed], ['claimed', 'galahad', 1, receipt.until, false]);
  });

  it('stays its holder\'s, and the refusal says until when', async () => {
    const id = await request(its.parley);
    const { until: end } = await hold(its.parley, id, 'galahad');
    const refused = await claim(its.parley, id, 'mordred');
    assertProblem(refused, 409, 'already-claimed');
    assert.deepEqual([refused.json.holder, refused.json.until, refused.json.attempt], ['galahad', end, 1]);
  });

  it('is extended by as much as its holder asks for', async () => {
    const id = await request(its.parley);
    const { until: end } = await hold(its.parley, id, 'galahad');
    const later = await changed(its.parley, id, 'extend', { agent: 'galahad', lease: 86400 });
    assert.ok(Date.parse(later.until) > Date.parse(end) + 80_000_000, later.until);
    assert.deepEqual(await changed(its.parley, id, 'extend', { agent: 'galahad' }), later, 'a plain one keeps a later end');
    const earlier = await changed(its.parley, id, 'extend', { agent: 'galahad', lease: 60 });
    assert.ok(Date.parse(earlier.until) < Date.parse(end), earlier.until);
    assert.equal((await taskOf(its.parley, id)).until, earlier.until);
  });

  it('is open for others once its holder has given it back', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    const back = await changed(its.parley, id, 'release', { agent: 'galahad', why: 'no tools' });
    assert.equal(back.attempt, 1);
    const open = await taskOf(its.parley, id);
    assert.deepEqual([open.state, open.holder], ['requested', null]);
    assert.deepEqual(await changed(its.parley, id, 'release', { agent: 'galahad' }), back, 'the answer may have been lost');
    assert.equal((await hold(its.parley, id, 'percival')).attempt, 2);
    assertProblem(await changeTask(its.parley, id, 'release', { agent: 'galahad' }), 409, 'not-holder');
  });

  it('is not due before the time that its holder asked for', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    const back = await changed(its.parley, id, 'release', { agent: 'galahad', after: 3600 });
    const refused = await claim(its.parley, id, 'percival');
    assertProblem(refused, 409, 'not-due');
    assert.equal(refused.json.not_before, back.not_before);
    assert.equal((await nextTask(its.parley, 'percival', { tasks: ['security.scan'] })).status, 204);
  });

  it('is given out a number of times', async () => {
    const id = await request(its.parley);
    for (const attempt of [1, 2, 3]) {
      assert.equal((await hold(its.parley, id, 'galahad')).attempt, attempt);
      await changed(its.parley, id, 'release', { agent: 'galahad' });
    }
    const refused = await claim(its.parley, id, 'percival');
    assertProblem(refused, 409, 'attempts-used-up');
    assert.equal(refused.json.attempt, 3);
  });

  it('is given out again by tasks/next, which says how to extend it', async () => {
    const id = await request(its.parley, { payload: { task: 'intel.brief' } });
    await hold(its.parley, id, 'galahad');
    const waiting = nextTask(its.parley, 'percival', { wait: 60, tasks: ['intel.brief'] });
    await until('it waits', async () => /^parley_tasks_waiting 1$/m.test((await get(its.parley, '/metrics')).text));
    await changed(its.parley, id, 'release', { agent: 'galahad' });
    const { json } = await waiting;
    assert.deepEqual([json.task.id, json.attempt], [id, 2]);
    assert.equal(json.lease.extend, `/v1/roundtable/tasks/${id}/extend`);
    assert.equal(json.lease.until, json.claim.until);
  });

  const ended = async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    await sent(its.parley, taskResult(id, { from: 'galahad' }));
    return id;
  };
  for (const { what, id = () => request(its.parley), kind = 'extend', body = { agent: 'galahad' }, status, problem, says } of [
    { what: 'of a task that no agent holds', status: 409, problem: 'not-holder', says: /held by no agent/ },
    { what: 'to give back a task that no agent holds', kind: 'release', status: 409, problem: 'not-holder' },
    { what: 'of a task that is over', id: ended, status: 409, problem: 'task-over', says: /it has completed/ },
    { what: 'of a task that is not known', id: () => randomUUID(), status: 404, problem: 'not-found' },
    { what: 'of what is no id', id: () => 'camelot', status: 404, problem: 'not-found' },
    { what: 'with a lease that is too short', body: { agent: 'galahad', lease: 59 }, status: 400, problem: 'malformed', says: /from 60 to 86400/ },
    { what: 'with a lease that is too long', body: { agent: 'galahad', lease: 86401 }, status: 400, problem: 'malformed' },
    { what: 'with a lease that is no integer', body: { agent: 'galahad', lease: 60.5 }, status: 400, problem: 'malformed' },
    { what: 'with a time that is too long', kind: 'release', body: { agent: 'galahad', after: 86401 }, status: 400, problem: 'malformed', says: /from 0 to 86400/ },
    { what: 'with a reason that is too long', kind: 'release', body: { agent: 'galahad', why: 'x'.repeat(257) }, status: 400, problem: 'malformed' },
    { what: 'without an agent', body: {}, status: 400, problem: 'malformed' },
    { what: 'with an unknown member', body: { agent: 'galahad', after: 1 }, status: 400, problem: 'malformed' },
    { what: 'for an agent that can be none', body: { agent: '' }, status: 422, problem: 'invalid-message', says: /`agent`/ },
  ]) {
    it(`refuses a request ${what}`, async () => {
      const answer = await changeTask(its.parley, await id(), kind, body);
      assertProblem(answer, status, problem);
      if (says) assert.match(answer.json.detail, says);
    });
  }
});

describe('a task whose lease lapses', () => {
  const its = useParley({ args: SHORT });

  it('is open again: tasks/next gives it to another agent', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    const { json } = await nextTask(its.parley, 'percival', { wait: 60 });
    assert.deepEqual([json?.task.id, json?.attempt], [id, 2]);
    assertProblem(await changeTask(its.parley, id, 'extend', { agent: 'galahad' }), 409, 'not-holder');
  });

  it('is listed as lapsed until then', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    await lapses(its.parley, id);
    const item = await until('it is on the board', async () =>
      (await boardOf(its.parley, '?state=requested')).find((each) => each.id === id));
    assert.deepEqual([item.lapsed, item.holder, item.attempt], [true, 'galahad', 1]);
  });

  it('stays its holder\'s who extends it in time, or later than that', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    await lapses(its.parley, id);
    await changed(its.parley, id, 'extend', { agent: 'galahad', lease: 3600 });
    assertProblem(await claim(its.parley, id, 'mordred'), 409, 'already-claimed');
    assert.equal((await taskOf(its.parley, id)).attempt, 1);
  });

  it('stays its holder\'s who sends its claim again', async () => {
    const id = await request(its.parley);
    const message = taskClaimed(id, { from: 'galahad' });
    const first = await sent(its.parley, message);
    await lapses(its.parley, id);
    const again = await sent(its.parley, message);
    assert.deepEqual([again.duplicate, again.seq, again.attempt], [true, first.seq, 1]);
    assert.ok(Date.parse(again.until) > Date.parse(first.until));
  });

  it('is a new attempt for its holder that claims it by another message', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    await lapses(its.parley, id);
    const again = await hold(its.parley, id, 'galahad');
    assert.deepEqual([again.duplicate, again.attempt], [false, 2]);
  });

  it('ends with its holder\'s result, and no agent takes it over after that', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    await lapses(its.parley, id);
    assert.deepEqual((await sent(its.parley, taskResult(id, { from: 'galahad' }))).warnings, []);
    assertProblem(await claim(its.parley, id, 'mordred'), 409, 'task-over');
  });

  it('ends with the result of the agent that took it over alone', async () => {
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    assert.equal((await takenOver(its.parley, id, 'percival')).attempt, 2);
    const late = await sent(its.parley, taskResult(id, { from: 'galahad' }));
    assert.deepEqual(late.warnings.map(({ rule }) => rule), ['RT-202']);
    assert.equal((await taskOf(its.parley, id)).state !== 'completed', true);
    await sent(its.parley, taskResult(id, { from: 'percival' }));
    assert.equal((await taskOf(its.parley, id)).state, 'completed');
  });

  it('was claimed once, and does not expire', async () => {
    const id = await request(its.parley, { ttl: 1 });
    const answer = await claim(its.parley, id, 'galahad');
    if (answer.status === 409) return; // it took a second to claim it
    await lapses(its.parley, id);
    assert.equal((await taskOf(its.parley, id)).state, 'requested');
    assert.equal((await hold(its.parley, id, 'percival')).attempt, 2);
  });
});

describe('messages straight to NATS', () => {
  const its = useParley({ args: SHORT });

  it('extend a task, and take it over', async (t) => {
    const nats = await natsClient(t, embeddedUrl(its.parley));
    const publish = (kind, message) => nats.publish(`roundtable.events.${kind}`, JSON.stringify(message));
    const id = await request(its.parley);
    await hold(its.parley, id, 'galahad');
    await lapses(its.parley, id);
    const { until: end } = await taskOf(its.parley, id);
    publish('task.progress', taskProgress(id, { from: 'galahad' }));
    await until('the progress has extended it', async () => (await taskOf(its.parley, id)).until > end);
    assert.equal((await taskOf(its.parley, id)).attempt, 1);
    await lapses(its.parley, id);
    publish('task.claimed', taskClaimed(id, { from: 'percival' }));
    await until('the claim has taken it over', async () => (await taskOf(its.parley, id)).attempt === 2);
  });
});

describe('at two gateways', () => {
  const its = useFleet({ args: SHORT });

  it('one agent at a time takes a task over, however many try', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => request(its.gateways[0])));
    const won = new Map(ids.map((id) => [id, []]));
    await Promise.all(ids.map((id) => hold(its.gateways[0], id, 'galahad')));
    const tryAll = async (server, agent) => {
      for (const id of ids) {
        const answer = await claim(server, id, agent);
        if (answer.status === 200 && !answer.json.duplicate) won.get(id).push(answer.json.attempt);
      }
    };
    const all = Array.from({ length: 8 }, (_, i) => [its.gateways[i % 2], `agent-${i}`]);
    await until('all attempts are used up', async () => {
      await Promise.all(all.map(([server, agent]) => tryAll(server, agent)));
      return [...won.values()].every((attempts) => attempts.length >= 2);
    });
    for (const attempts of won.values()) assert.deepEqual(attempts.sort(), [2, 3]);
  });

  it('a result and a take-over never both count', async () => {
    for (let i = 0; i < 10; i++) {
      const id = await request(its.gateways[0]);
      await hold(its.gateways[0], id, 'galahad');
      await lapses(its.gateways[1], id);
      const [result, other] = await Promise.all([
        sent(its.gateways[0], taskResult(id, { from: 'galahad' })),
        claim(its.gateways[1], id, 'percival'),
      ]);
      const { state, attempt } = await taskOf(its.gateways[0], id);
      const counts = result.warnings.length === 0;
      assert.notEqual(counts, other.status === 200, `result ${JSON.stringify(result.warnings)}, claim ${other.text}`);
      assert.deepEqual([state === 'completed', attempt], counts ? [true, 1] : [false, 2]);
    }
  });
});

describe('the holder of a task that sends heartbeats', () => {
  const its = useParley({ args: ['--task-lease', '5s'] });

  it('keeps it, unless they say that it has none', async () => {
    const kept = await until('a claim comes within the lease of a heartbeat', async () => {
      const id = await request(its.parley);
      await hold(its.parley, id, 'galahad');
      await lapses(its.parley, id);
      const sentAt = Date.now();
      await sent(its.parley, heartbeat('galahad'));
      const answer = await claim(its.parley, id, 'mordred');
      if (answer.status === 200 && Date.now() - sentAt > 3000) return undefined; // a slow machine
      assertProblem(answer, 409, 'already-claimed');
      return id;
    });
    const { holder, attempt, until: end } = await taskOf(its.parley, kept);
    assert.deepEqual([holder, attempt, Date.parse(end) > Date.now() - 60_000], ['galahad', 1, true]);
    await lapses(its.parley, kept);
    await sent(its.parley, heartbeat('galahad', { payload: { status: 'idle', activeTaskCount: 0 } }));
    assert.equal((await hold(its.parley, kept, 'mordred')).attempt, 2);
  });
});

describe('a task whose last attempt lapses', () => {
  const its = useFleet({ args: ['--task-lease', '1s', '--task-attempts', '1'] });

  it('is ended by a gateway, once, and a request that waits for it is answered', async () => {
    const message = taskRequest('security.scan');
    const waiting = askAndWait(its.gateways[0], message, 300);
    await until('it is there', async () => (await get(its.gateways[0], `/v1/roundtable/tasks/${message.id}`)).status === 200);
    await hold(its.gateways[1], message.id, 'galahad');
    const { status, json, text } = await waiting;
    assert.equal(status, 200, text);
    const { from, to, type, payload } = json.reply.data;
    assert.deepEqual([from, to, type, payload], ['parley', message.from, 'task.failed', { error: 'timeout', retryable: true }]);
    const { state, error, retryable } = await taskOf(its.gateways[1], message.id);
    assert.deepEqual([state, error, retryable], ['failed', 'timeout', true]);
    const stored = await storedMessages(its.client, { stream: 'ROUNDTABLE' });
    assert.equal(stored.filter(({ subject }) => subject === `roundtable.results.security.${message.id}`).length, 1);
    assertProblem(await changeTask(its.gateways[0], message.id, 'extend', { agent: 'galahad' }), 409, 'task-over');
  });
});

describe('a request to extend a task or to give it back', () => {
  it('is done whole, though its client has gone while its key was on the way', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const server = await parleyFor(t, { nats: wire.url, args: LONG });
    const isTurn = ({ kind, subject }) => kind === 'publish' && /^\$KV\.parley_tasks\..*\.turn\.\d+$/.test(subject);
    for (const { kind, body, isDone } of [
      { kind: 'extend', body: { agent: 'galahad', lease: 86400 }, isDone: ({ until: end }) => Date.parse(end) > Date.now() + 80_000_000 },
      { kind: 'release', body: { agent: 'galahad' }, isDone: ({ holder }) => holder === null },
    ]) {
      const id = await request(server);
      await hold(server, id, 'galahad');
      const held = wire.hold(isTurn);
      const raw = await rawFor(t, server, rawPost(`/v1/roundtable/tasks/${id}/${kind}`, JSON.stringify(body), { type: JSON_TYPE }));
      await held.reached();
      raw.socket.resetAndDestroy();
      held.release();
      await until(`${kind} is done`, async () => isDone(await taskOf(server, id)));
    }
  });
});

describe('progress straight to NATS', () => {
  it('is read, also without a lease of the server: a request may have one', async (t) => {
    const server = await parleyFor(t, { args: ['--task-lease', '0'] });
    const nats = await natsClient(t, embeddedUrl(server));
    const manager = await nats.jetstreamManager();
    await until('the consumer is there', async () =>
      (await manager.consumers.list('ROUNDTABLE').next()).some(({ name }) => name === 'parley_tasks_events_task_progress'));
    const id = await request(server);
    assert.equal((await hold(server, id, 'galahad')).until, undefined);
  });
});
