// SPDX-License-Identifier: Apache-2.0
// What a task.request asks for besides its message: when it is due, how long and how often it is given to an agent.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { headers as natsHeaders } from 'nats';
import { useFleet } from './lib/fleet.mjs';
import { get, post } from './lib/http.mjs';
import { embeddedUrl, natsClient, storedMessage } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskFailed, taskRequest } from './lib/roundtable.mjs';
import { assertProblem } from './lib/vlp.mjs';
import { boardOf, changeTask, nextTask } from './lib/work.mjs';

const LONG = ['--task-lease', '1h'];

async function sent(server, message, query) {
  const answer = await sendTask(server, message, { query });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function request(server, query, changes) {
  const message = taskRequest('security.scan', changes);
  await sent(server, message, query);
  return message.id;
}

const sendTaskAndWait = (server, message, query) => post(server, `/v1/roundtable/messages${query}`, JSON.stringify(message), {
  headers: { Prefer: 'wait=300' },
});
const claim = (server, id, from, query) => sendTask(server, taskClaimed(id, { from }), { query });
const hold = (server, id, from, query) => sent(server, taskClaimed(id, { from }), query);
const taskOf = async (server, id) => (await get(server, `/v1/roundtable/tasks/${id}`)).json;
const secondsLeft = (time) => (Date.parse(time) - Date.now()) / 1000;
const isNear = (time, seconds) => {
  const left = secondsLeft(time);
  assert.ok(left > seconds - 120 && left <= seconds + 2, `${time}: ${left} s`);
};
const isWaiting = (server, count = 1) => until('it waits', async () =>
  new RegExp(`^parley_tasks_waiting ${count}$`, 'm').test((await get(server, '/metrics')).text));

describe('the options of a request', () => {
  const its = useParley({ args: LONG });

  it('decide how long and how often its task is given to an agent', async () => {
    const id = await request(its.parley, '?lease=7200&attempts=1');
    const { until: end } = await hold(its.parley, id, 'galahad');
    isNear(end, 7200);
    assert.equal((await changeTask(its.parley, id, 'release', { agent: 'galahad' })).status, 200);
    assertProblem(await claim(its.parley, id, 'percival'), 409, 'attempts-used-up');
    await until('a gateway ends it', async () => (await taskOf(its.parley, id)).state === 'failed');
  });

  it('allow more attempts than the server', async () => {
    const id = await request(its.parley, '?attempts=5', { payload: { task: 'intel.many' } });
    for (const attempt of [1, 2, 3, 4, 5]) {
      const { json } = await nextTask(its.parley, 'galahad', { wait: 60, tasks: ['intel.many'] });
      assert.equal(json.attempt, attempt);
      await changeTask(its.parley, id, 'release', { agent: 'galahad' });
    }
    assertProblem(await claim(its.parley, id, 'galahad'), 409, 'attempts-used-up');
  });

  it('are headers of what is published, in one form', async () => {
    const { seq } = await sent(its.parley, taskRequest('security.scan'), '?lease=0600&attempts=2&not_before=1h');
    const { headers } = await storedMessage(its.nats, seq, 'ROUNDTABLE');
    assert.deepEqual([headers['parley-lease'], headers['parley-attempts']], ['600', '2']);
    isNear(headers['parley-not-before'], 3600);
    const plain = await sent(its.parley, taskRequest('security.scan'));
    assert.deepEqual(Object.keys((await storedMessage(its.nats, plain.seq, 'ROUNDTABLE')).headers).filter((name) =>
      /parley-(lease|attempts|not-before)/.test(name)), []);
  });

  it('are no headers of messages that they do not concern', async () => {
    const id = await request(its.parley);
    const { seq, until: end } = await hold(its.parley, id, 'galahad', '?lease=600&attempts=2&not_before=1h');
    isNear(end, 600);
    const { headers } = await storedMessage(its.nats, seq, 'ROUNDTABLE');
    assert.deepEqual([headers['parley-lease'], headers['parley-attempts'], headers['parley-not-before']], ['600', undefined, undefined]);
  });

  it('stay those of the first request when that is repeated', async () => {
    const message = taskRequest('security.scan');
    await sent(its.parley, message, '?lease=600');
    assert.equal((await sent(its.parley, message, '?lease=7200')).duplicate, true);
    isNear((await hold(its.parley, message.id, 'galahad')).until, 600);
  });

  it('are those of its retry, too', async () => {
    const id = await request(its.parley, '?lease=600&attempts=7');
    await changeTask(its.parley, id, 'cancel', { agent: 'pilot' });
    const retried = await changeTask(its.parley, id, 'retry', { agent: 'pilot' });
    assert.equal(retried.status, 200, retried.text);
    isNear((await hold(its.parley, retried.json.id, 'galahad')).until, 600);
  });

  it('count for all requests of a batch', async () => {
    const messages = [taskRequest('security.scan'), taskRequest('security.scan')];
    assert.equal((await sendTask(its.parley, messages, { query: '?lease=600' })).status, 200);
    for (const { id } of messages) isNear((await hold(its.parley, id, 'galahad')).until, 600);
  });

  for (const { query, says } of [
    { query: 'lease=59', says: /60 to 86400/ },
    { query: 'lease=86401', says: /60 to 86400/ },
    { query: 'lease=1h', says: /60 to 86400/ },
    { query: 'attempts=0', says: /1 to 100/ },
    { query: 'attempts=101', says: /1 to 100/ },
    { query: 'retry=always', says: /no or failed/ },
    { query: 'not_before=31d', says: /at most 30 days/ },
    { query: 'not_before=2099-01-01T00:00:00Z', says: /at most 30 days/ },
    { query: 'not_before=tomorrow', says: /RFC 3339/ },
    { query: 'not_before=7d', says: /kept/ }, // as long as the stream keeps its request
  ]) {
    it(`cannot be ${query}`, async () => {
      const message = taskRequest('security.scan');
      const answer = await sendTask(its.parley, message, { query: `?${query}` });
      assertProblem(answer, 400, 'invalid-parameter');
      assert.match(answer.json.detail, says);
      assert.equal((await get(its.parley, `/v1/roundtable/tasks/${message.id}`)).status, 404);
    });
  }
});

describe('a task that is not due', () => {
  const its = useParley({ args: LONG });

  it('is shown with its time, and claimed by no agent', async () => {
    const id = await request(its.parley, '?not_before=24h', { ttl: 60 });
    const { state, not_before: due, deadline } = await taskOf(its.parley, id);
    assert.equal(state, 'requested');
    isNear(due, 86400);
    assert.equal(Date.parse(deadline) - Date.parse(due), 60_000, 'its ttl begins then');
    const refused = await claim(its.parley, id, 'galahad');
    assertProblem(refused, 409, 'not-due');
    assert.equal(refused.json.not_before, due);
    assert.equal((await nextTask(its.parley, 'galahad', { domains: ['security'] })).status, 204);
    const item = (await boardOf(its.parley, '?state=requested')).find((each) => each.id === id);
    assert.equal(item.not_before, due);
  });

  it('wakes an agent that waits for it when it is due', async () => {
    const waiting = nextTask(its.parley, 'galahad', { wait: 60, tasks: ['intel.soon'] });
    await isWaiting(its.parley);
    const id = await request(its.parley, '?not_before=2s', { payload: { task: 'intel.soon' } });
    const { not_before: due } = await taskOf(its.parley, id);
    const { json } = await waiting;
    assert.equal(json.task.id, id);
    assert.ok(Date.now() >= Date.parse(due), 'not before');
    assert.equal((await taskOf(its.parley, id)).not_before, null);
  });

  it('can be cancelled, and its retry is due at the same time', async () => {
    const id = await request(its.parley, '?not_before=24h');
    const { not_before: due } = await taskOf(its.parley, id);
    assert.equal((await changeTask(its.parley, id, 'cancel', { agent: 'pilot' })).status, 200);
    const retried = await changeTask(its.parley, id, 'retry', { agent: 'pilot' });
    assert.equal((await taskOf(its.parley, retried.json.id)).not_before, due);
  });
});

describe('straight to NATS', () => {
  const its = useParley({ args: LONG });

  const publish = async (t, subject, message, headers) => {
    const nats = await natsClient(t, embeddedUrl(its.parley));
    const given = natsHeaders();
    for (const [name, value] of Object.entries(headers ?? {})) given.set(name, value);
    nats.publish(`roundtable.${subject}`, JSON.stringify(message), { headers: given });
    await nats.flush();
  };

  it('headers of a request and of a claim count', async (t) => {
    const message = taskRequest('security.scan');
    await publish(t, 'tasks.security.scan', message, { 'Parley-Lease': '7200', 'Parley-Attempts': '1' });
    await until('it is known', async () => (await get(its.parley, `/v1/roundtable/tasks/${message.id}`)).status === 200);
    await publish(t, 'events.task.claimed', taskClaimed(message.id, { from: 'galahad' }), { 'Parley-Lease': '600' });
    const { until: end } = await until('it is claimed', async () => {
      const task = await taskOf(its.parley, message.id);
      return task.until === null ? undefined : task;
    });
    isNear(end, 600);
    await changeTask(its.parley, message.id, 'release', { agent: 'galahad' });
    assertProblem(await claim(its.parley, message.id, 'percival'), 409, 'attempts-used-up');
  });

  it('a claim of a task that is not due is stored, and does not count', async (t) => {
    const message = taskRequest('security.scan');
    await publish(t, 'tasks.security.scan', message, { 'Parley-Not-Before': '1h' });
    await until('it is known', async () => (await get(its.parley, `/v1/roundtable/tasks/${message.id}`)).status === 200);
    isNear((await taskOf(its.parley, message.id)).not_before, 3600);
    await publish(t, 'events.task.claimed', taskClaimed(message.id, { from: 'galahad' }));
    const other = await request(its.parley);
    await publish(t, 'events.task.claimed', taskClaimed(other, { from: 'galahad' }));
    await until('a later claim counts', async () => (await taskOf(its.parley, other)).state === 'claimed');
    assert.equal((await taskOf(its.parley, message.id)).state, 'requested');
  });

  it('a header that cannot be counts as absent', async (t) => {
    const message = taskRequest('security.scan');
    await publish(t, 'tasks.security.scan', message, { 'Parley-Lease': '59', 'Parley-Not-Before': '31d', 'Parley-Attempts': 'many' });
    await until('it is known', async () => (await get(its.parley, `/v1/roundtable/tasks/${message.id}`)).status === 200);
    assert.equal((await taskOf(its.parley, message.id)).not_before, null);
    isNear((await hold(its.parley, message.id, 'galahad')).until, 3600);
  });
});

describe('a task whose failures are tried again', () => {
  const its = useFleet({ args: LONG });
  const failed = (id, from, changes) => taskFailed(id, { from, payload: { error: 'timeout', retryable: true, ...changes } });

  it('is given out again, as long as attempts are left, and a request that waits goes on waiting', async () => {
    const message = taskRequest('intel.flaky');
    const waiting = sendTaskAndWait(its.gateways[0], message, '?retry=failed&attempts=3');
    for (const attempt of [1, 2, 3]) {
      const server = its.gateways[attempt % 2];
      const { json } = await nextTask(server, 'galahad', { wait: 60, tasks: ['intel.flaky'] });
      assert.deepEqual([json.task.id, json.attempt], [message.id, attempt]);
      const receipt = await sent(its.gateways[0], failed(message.id, 'galahad', { retryAfterSeconds: 0 }));
      assert.equal(receipt.attempt, attempt < 3 ? attempt : undefined);
    }
    const { status, json, text } = await waiting;
    assert.equal(status, 200, text);
    assert.equal(json.reply.data.type, 'task.failed');
    const { state, turns } = await taskOf(its.gateways[1], message.id);
    assert.equal(state, 'failed');
    assert.deepEqual(turns.map(({ kind }) => kind), ['claim', 'failed', 'claim', 'failed', 'claim']);
    assert.deepEqual(turns[1].why, 'timeout');
  });

  it('is not due before the time that the failure asks for', async () => {
    const id = await request(its.gateways[0], '?retry=failed');
    await hold(its.gateways[0], id, 'galahad');
    const receipt = await sent(its.gateways[0], failed(id, 'galahad', { retryAfterSeconds: 3600 }));
    isNear(receipt.not_before, 3600);
    const { state, holder, not_before: due } = await taskOf(its.gateways[1], id);
    assert.deepEqual([state, holder, due], ['requested', null, receipt.not_before]);
    assertProblem(await claim(its.gateways[1], id, 'percival'), 409, 'not-due');
  });

  it('has one turn for a failure that is sent twice, to any gateway', async () => {
    const id = await request(its.gateways[0], '?retry=failed');
    await hold(its.gateways[0], id, 'galahad');
    const message = failed(id, 'galahad', { retryAfterSeconds: 0 });
    const [first, second] = await Promise.all(its.gateways.map((server) => sent(server, message)));
    assert.equal(first.seq, second.seq);
    await hold(its.gateways[1], id, 'galahad');
    assert.equal((await sent(its.gateways[0], message)).duplicate, true);
    const { state, attempt, turns } = await taskOf(its.gateways[0], id);
    assert.deepEqual([state, attempt, turns.length], ['claimed', 2, 3]);
  });

  it('ends with a failure of its requester, or one that is not retryable', async () => {
    for (const message of [failed('', 'pilot'), failed('', 'galahad', { error: 'skill_missing', retryable: false })]) {
      const id = await request(its.gateways[0], '?retry=failed');
      await hold(its.gateways[0], id, 'galahad');
      await sent(its.gateways[0], { ...message, correlationId: id });
      assert.equal((await taskOf(its.gateways[1], id)).state, 'failed');
    }
  });

  it('is so straight to NATS, too', async (t) => {
    const nats = await natsClient(t, its.nats.url);
    const message = taskRequest('security.scan');
    const headers = natsHeaders();
    headers.set('Parley-Retry', 'failed');
    nats.publish('roundtable.tasks.security.scan', JSON.stringify(message), { headers });
    await until('it is known', async () => (await get(its.gateways[0], `/v1/roundtable/tasks/${message.id}`)).status === 200);
    await hold(its.gateways[0], message.id, 'galahad');
    nats.publish(`roundtable.results.security.${message.id}`, JSON.stringify(failed(message.id, 'galahad', { retryAfterSeconds: 3600 })));
    const { not_before: due } = await until('the failure counts', async () => {
      const task = await taskOf(its.gateways[1], message.id);
      return task.not_before === null ? undefined : task;
    });
    isNear(due, 3600);
  });
});

describe('the lease of a claim', () => {
  const its = useFleet({ args: LONG });

  it('is what tasks/next asks for, and that of what extends it, at every gateway', async () => {
    const id = await request(its.gateways[0], '?lease=86400', { payload: { task: 'intel.brief' } });
    const { json } = await nextTask(its.gateways[0], 'galahad', { wait: 60, tasks: ['intel.brief'], lease: 600 });
    assert.equal(json.task.id, id);
    isNear(json.lease.until, 600);
    const { json: later } = await changeTask(its.gateways[1], id, 'extend', { agent: 'galahad' });
    isNear(later.until, 600);
    await changeTask(its.gateways[0], id, 'release', { agent: 'galahad' });
    isNear((await hold(its.gateways[1], id, 'percival')).until, 86400);
  });

  for (const lease of [59, 86401, 60.5, '600', null]) {
    it(`cannot be ${JSON.stringify(lease)}`, async () => {
      const answer = await nextTask(its.gateways[0], 'galahad', { lease });
      assertProblem(answer, 400, 'malformed');
      assert.match(answer.json.detail, /from 60 to 86400/);
    });
  }
});
