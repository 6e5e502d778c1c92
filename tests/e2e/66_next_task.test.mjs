// SPDX-License-Identifier: Apache-2.0
// POST /v1/roundtable/tasks/next: the best open task for an agent, claimed in its name.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { get, post } from './lib/http.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { embeddedUrl, natsClient, startNats } from './lib/nats.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskFailed, taskRequest } from './lib/roundtable.mjs';
import { assertProblem } from './lib/vlp.mjs';
import { boardOf } from './lib/work.mjs';

const next = (server, wish, headers = {}) =>
  post(server, '/v1/roundtable/tasks/next', JSON.stringify(wish), { headers });
const waiting = (seconds) => ({ Prefer: `wait=${seconds}` });

async function request(server, task, changes) {
  const message = taskRequest(task, changes);
  const answer = await sendTask(server, message);
  assert.equal(answer.status, 200, answer.text);
  return message;
}

async function claimed(promise) {
  const answer = await promise;
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

const isWaiting = (server, count) =>
  until(`${count} wait`, async () => {
    const { text } = await get(server, '/metrics');
    return Number(/^parley_tasks_waiting (\d+)/m.exec(text)?.[1]) === count;
  });

// Of what another gateway has taken: this one's board has yet to read of it.
const onBoard = (server, count) =>
  until(`${count} are on the board`, async () =>
    (await boardOf(server, '?state=requested')).length === count);

describe('an agent that asks for work', () => {
  const its = useParley();

  it('gets nothing where there is nothing', async () => {
    const answer = await next(its.parley, { agent: 'galahad' });
    assert.deepEqual([answer.status, answer.text], [204, '']);
  });

  it('gets the request, the receipt of its claim, and the deadline', async () => {
    const sent = await request(its.parley, 'security.scan', { priority: 'high', ttl: 600 });
    const { task, claim, deadline } = await claimed(next(its.parley, { agent: 'galahad' }));
    assert.deepEqual(task, sent);
    assert.equal(claim.type, 'task.claimed');
    assert.equal(claim.stream, 'ROUNDTABLE');
    assert.ok(Math.abs(Date.parse(deadline) - Date.parse(sent.timestamp) - 600_000) < 1000, deadline);
    const known = (await get(its.parley, `/v1/roundtable/tasks/${sent.id}`)).json;
    assert.deepEqual([known.state, known.holder, known.seq.claim], ['claimed', 'galahad', claim.seq]);
    assert.equal((await next(its.parley, { agent: 'percival' })).status, 204);
  });

  it('gets the most urgent first, then the oldest, for itself or for all', async () => {
    const normal = await request(its.parley, 'a.x');
    const mine = await request(its.parley, 'a.x', { to: 'galahad', priority: 'low' });
    const urgent = await request(its.parley, 'a.x', { priority: 'critical' });
    const others = await request(its.parley, 'a.x', { to: 'percival', priority: 'critical' });
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await claimed(next(its.parley, { agent: 'galahad' }))).task.id);
    assert.deepEqual(ids, [urgent.id, normal.id, mine.id]);
    assert.equal((await next(its.parley, { agent: 'galahad' })).status, 204);
    assert.equal((await claimed(next(its.parley, { agent: 'percival' }))).task.id, others.id);
  });

  it('gets what is of its domains, or has one of its names', async () => {
    const [scan, audit, brief] = [
      await request(its.parley, 'security.scan'),
      await request(its.parley, 'finance.audit'),
      await request(its.parley, 'intel.briefing'),
    ];
    const wish = { agent: 'bors', domains: ['finance'], tasks: ['intel.briefing', 'intel.other'] };
    assert.equal((await claimed(next(its.parley, wish))).task.id, audit.id);
    assert.equal((await claimed(next(its.parley, wish))).task.id, brief.id);
    assert.equal((await next(its.parley, wish)).status, 204);
    assert.equal((await claimed(next(its.parley, { agent: 'bors' }))).task.id, scan.id);
  });

  it('is given no task twice, nor one that somebody has claimed by himself', async () => {
    const sent = await request(its.parley, 'a.x');
    const claim = { ...sent, id: randomUUID(), type: 'task.claimed', from: 'kay', correlationId: sent.id, payload: {} };
    assert.equal((await sendTask(its.parley, claim)).status, 200);
    assert.equal((await next(its.parley, { agent: 'galahad' })).status, 204);
  });

  it('waits for a task, and says so', async () => {
    const answer = next(its.parley, { agent: 'galahad', domains: ['late'] }, waiting(60));
    await isWaiting(its.parley, 1);
    await request(its.parley, 'early.x');
    const sent = await request(its.parley, 'late.x');
    assert.equal((await claimed(answer)).task.id, sent.id);
    assert.equal((await answer).headers['preference-applied'], 'wait=60');
    assert.equal((await claimed(next(its.parley, { agent: 'galahad' }))).task.payload.task, 'early.x');
    const empty = await next(its.parley, { agent: 'galahad' }, waiting(1));
    assert.deepEqual([empty.status, empty.headers['preference-applied']], [204, 'wait=1']);
  });

  it('that is gone leaves its task to another one', async () => {
    const gone = new AbortController();
    const lost = fetch(`${its.parley.url}/v1/roundtable/tasks/next`, {
      method: 'POST',
      signal: gone.signal,
      headers: { 'Content-Type': 'application/json', ...waiting(60) },
      body: '{"agent":"gone"}',
    }).catch(() => {});
    await isWaiting(its.parley, 1);
    const other = next(its.parley, { agent: 'there' }, waiting(60));
    await isWaiting(its.parley, 2);
    gone.abort();
    await lost;
    await isWaiting(its.parley, 1);
    const sent = await request(its.parley, 'a.x');
    assert.equal((await claimed(other)).task.id, sent.id);
  });

  it('gets the same task for the same key, on any gateway, and another for another', async (t) => {
    const second = await parleyFor(t, { nats: embeddedUrl(its.parley) });
    const [one, two] = [await request(its.parley, 'a.x'), await request(its.parley, 'a.x')];
    await onBoard(second, 2);
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await claimed(next(its.parley, { agent: 'galahad' }, key));
    assert.equal(first.task.id, one.id);
    for (const server of [its.parley, second, its.parley]) {
      const again = await claimed(next(server, { agent: 'galahad' }, key));
      assert.deepEqual([again.task, again.claim.seq, again.claim.id], [first.task, first.claim.seq, first.claim.id]);
      assert.equal(again.claim.duplicate, true);
    }
    const others = { 'Idempotency-Key': randomUUID() };
    assert.equal((await claimed(next(second, { agent: 'galahad' }, others))).task.id, two.id);
  });

  it('gets what its gateway has answered for, before that is delivered to it', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const first = await parleyFor(t, { nats: nats.url });
    const second = await parleyFor(t, { nats: wire.url, args: ['--reactors', '2'] });
    assert.equal((await next(second, { agent: 'galahad' })).status, 204); // its board is current
    const hold = wire.hold(({ kind, subject }) => kind === 'deliver' && subject.startsWith('$KV.parley_tasks.'));
    const sent = await request(second, 'a.x');
    await hold.reached('the key on its way to the board');
    const listed = async () => (await get(second, '/v1/roundtable/tasks')).json.items.map(({ id, state }) => [id, state]);
    assert.deepEqual(await listed(), [[sent.id, 'requested']]);
    assert.equal((await claimed(next(second, { agent: 'galahad' }))).task.id, sent.id);
    assert.deepEqual(await listed(), [[sent.id, 'claimed']]);
    assert.equal((await next(second, { agent: 'galahad' })).status, 204);
    hold.release();
    const later = await request(first, 'a.y');
    assert.equal((await claimed(next(second, { agent: 'galahad' }, waiting(60)))).task.id, later.id);
    assert.deepEqual(await listed(), [[later.id, 'claimed'], [sent.id, 'claimed']]);
  });

  it('is shown as the holder by its gateway also where another one has written the key first', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const first = await parleyFor(t, { nats: nats.url });
    const second = await parleyFor(t, { nats: wire.url });
    const states = async (server) => (await get(server, '/v1/roundtable/tasks')).json.items.map(({ state }) => state);
    await request(second, 'a.x');
    await onBoard(second, 1);
    // With the heartbeats that would say that some are missing, on which the board is read again.
    const watched = wire.hold(({ kind, subject, body }) =>
      kind === 'deliver' && (subject.startsWith('$KV.parley_tasks.') || /Idle Heartbeat/.test(body)));
    const key = wire.hold(({ kind, subject }) => kind === 'publish' && /^\$KV\.parley_tasks\..*\.claim$/.test(subject));
    const answer = claimed(next(second, { agent: 'galahad' }));
    await key.reached('the key of the claim');
    await until('the other gateway writes it', async () => (await states(first))[0] === 'claimed');
    key.release();
    await answer;
    assert.deepEqual(await states(second), ['claimed']);
    watched.release();
  });

  it('gets nothing, with a key too, where all keys of tasks have gone before they were read', async (t) => {
    const first = await parleyFor(t);
    const client = await natsClient(t, embeddedUrl(first));
    await request(first, 'a.x');
    await (await client.jetstreamManager()).streams.purge('KV_parley_tasks');
    const second = await parleyFor(t, { nats: embeddedUrl(first) });
    const key = { 'Idempotency-Key': randomUUID() };
    const answer = await next(second, { agent: 'galahad' }, key);
    assert.equal(answer.status, 204, answer.text);
  });

  for (const [how, key] of [
    ['', () => ({})],
    [', with keys of their own', () => ({ 'Idempotency-Key': randomUUID() })],
  ]) {
    it(`shares no task with another of its name, through another gateway${how}`, async (t) => {
      const second = await parleyFor(t, { nats: embeddedUrl(its.parley) });
      assert.equal((await next(second, { agent: 'twin' })).status, 204);
      const answers = Array.from({ length: 20 }, (_, i) =>
        claimed(next(i % 2 ? its.parley : second, { agent: 'twin' }, { ...waiting(60), ...key() })),
      );
      await isWaiting(its.parley, 10);
      await isWaiting(second, 10);
      assert.equal((await sendTask(its.parley, answers.map(() => taskRequest('a.x')))).status, 200);
      const got = await Promise.all(answers);
      assert.equal(new Set(got.map(({ task }) => task.id)).size, 20);
    });
  }

  it('that waits twice with one key gets one task for both', async (t) => {
    const second = await parleyFor(t, { nats: embeddedUrl(its.parley) });
    assert.equal((await next(second, { agent: 'galahad' })).status, 204);
    const key = { ...waiting(60), 'Idempotency-Key': randomUUID() };
    const answers = [its.parley, its.parley, second].map((server) =>
      claimed(next(server, { agent: 'galahad' }, key)),
    );
    await isWaiting(its.parley, 2);
    await isWaiting(second, 1);
    await request(its.parley, 'a.x');
    const got = await Promise.all(answers);
    assert.equal(new Set(got.map(({ task }) => task.id)).size, 1);
    assert.equal(new Set(got.map(({ claim }) => claim.seq)).size, 1);
    await request(its.parley, 'a.x'); // it is for another key
    await onBoard(second, 1);
    assert.equal((await next(second, { agent: 'galahad' }, { 'Idempotency-Key': randomUUID() })).status, 200);
  });

  for (const [body, status, name, why = /./] of [
    ['{"agent":"a","domains":"x"}', 400, 'malformed'],
    ['{"agent":"a","domains":[1]}', 400, 'malformed'],
    ['{"agent":"a","domains":[""]}', 400, 'malformed'],
    ['{"agent":"a","other":1}', 400, 'malformed'],
    ['{"domains":["x"]}', 400, 'malformed'],
    ['{"agent":7}', 400, 'malformed'],
    ['[]', 400, 'malformed'],
    ['{"agent":', 400, 'malformed'],
    ['', 400, 'malformed'],
    ['{"agent":"a.b"}', 422, 'invalid-message', /^`agent` is "a\.b"; expected an agent id/],
    ['{"agent":"a","domains":["security.scan"]}', 400, 'malformed', /in `domains`, is 1 to 128 of .*`tasks`/],
    ['{"agent":"a","tasks":["security"]}', 400, 'malformed', /in `tasks`, has a domain, a dot and more.*`domains`/],
    ['{"agent":"a","agent":"b"}', 400, 'malformed', /there twice/],
    ['{"agent":"a","max":0}', 400, 'malformed', /`max` is a whole number from 1 to 64/],
    ['{"agent":"a","max":65}', 400, 'malformed', /from 1 to 64/],
    ['{"agent":"a","max":1.5}', 400, 'malformed', /from 1 to 64/],
    ['{"agent":"a","max":"8"}', 400, 'malformed', /from 1 to 64/],
    ['{"agent":"a","max":1,"max":2}', 400, 'malformed', /there twice/],
    [`{"agent":"a","tasks":[${Array(65).fill('"x.y"')}]}`, 400, 'malformed', /at most 64/],
    [`{"agent":"${'a'.repeat(20000)}"}`, 413, 'too-large'],
  ]) {
    it(`is refused with ${status} for ${body.slice(0, 40)}`, async () => {
      const answer = await post(its.parley, '/v1/roundtable/tasks/next', body);
      assert.match(assertProblem(answer, status, name).detail, why);
    });
  }

  it('is told that its body cannot be compressed', async () => {
    const answer = await post(its.parley, '/v1/roundtable/tasks/next', gzipSync('{"agent":"a"}'), {
      headers: { 'Content-Encoding': 'gzip' },
    });
    assertProblem(answer, 415, 'unsupported-media-type');
    assert.equal(answer.headers['accept-encoding'], 'identity');
  });

  it('is told that its answer is JSON', async () => {
    const headers = { Accept: 'application/x-ndjson' };
    const answer = await post(its.parley, '/v1/roundtable/tasks/next', '{"agent":"a"}', { headers });
    assert.match(assertProblem(answer, 406, 'not-acceptable').detail, /^The answer is application\/json:/);
  });

  it('is told that other protocols have no tasks', async () => {
    assertProblem(await post(its.parley, '/v1/vlp/tasks/next', '{"agent":"a"}'), 404, 'not-found');
  });
});

describe('an agent that asks for several at once', () => {
  const its = useParley();
  const ids = ({ items }) => items.map(({ task }) => task.id);

  it('gets as many as it asks for, the best first, and then those that are left', async () => {
    const sent = [];
    for (const priority of ['low', 'normal', 'critical', 'high', 'low']) {
      sent.push((await request(its.parley, 'many.x', { priority })).id);
    }
    const wish = { agent: 'galahad', domains: ['many'], max: 3 };
    const first = await claimed(next(its.parley, wish));
    assert.deepEqual(ids(first), [2, 3, 1].map((i) => sent[i]));
    for (const { task, claim, attempt, deadline, lease } of first.items) {
      assert.deepEqual([claim.type, claim.duplicate, attempt], ['task.claimed', false, 1]);
      assert.equal(Date.parse(deadline), Math.floor(Date.parse(task.timestamp) / 1000 + 3600) * 1000);
      assert.deepEqual(lease, { until: claim.until, extend: `/v1/roundtable/tasks/${task.id}/extend` });
      const { state, holder } = (await get(its.parley, `/v1/roundtable/tasks/${task.id}`)).json;
      assert.deepEqual([state, holder], ['claimed', 'galahad']);
    }
    assert.deepEqual(ids(await claimed(next(its.parley, wish, waiting(300)))), [0, 4].map((i) => sent[i]));
    const nothing = await next(its.parley, wish);
    assert.deepEqual([nothing.status, nothing.text], [204, '']);
  });

  it('gets a list also of one', async () => {
    const { id } = await request(its.parley, 'single.x');
    assert.deepEqual(ids(await claimed(next(its.parley, { agent: 'a', domains: ['single'], max: 1 }))), [id]);
  });

  it('waits for the first, and takes no others meanwhile', async () => {
    const answer = next(its.parley, { agent: 'a', domains: ['later'], max: 64 }, waiting(300));
    await isWaiting(its.parley, 1);
    const { id } = await request(its.parley, 'later.x');
    const { headers, json } = await answer;
    assert.deepEqual(ids(json), [id]);
    assert.equal(headers['preference-applied'], 'wait=300');
  });

  it('shares them with others that ask at the same time, at two gateways, each task once', async (t) => {
    const second = await parleyFor(t, { nats: embeddedUrl(its.parley) });
    const sent = [];
    for (let i = 0; i < 40; i++) sent.push((await request(its.parley, 'shared.x')).id);
    const got = [];
    const work = async (server, i) => {
      const wish = { agent: `a-${i}`, domains: ['shared'], max: 7 };
      for (let answer; (answer = await next(server, wish)).status === 200;) got.push(...ids(answer.json));
    };
    await onBoard(second, 40);
    await Promise.all(Array.from({ length: 8 }, (_, i) => work(i % 2 ? second : its.parley, i)));
    assert.deepEqual(got.sort(), sent.sort());
  });

  it('ends the list early where the tasks are large', async () => {
    const filler = 'x'.repeat(400_000);
    for (let i = 0; i < 5; i++) {
      await request(its.parley, 'large.x', { payload: { task: 'large.x', context: { filler } } });
    }
    const wish = { agent: 'a', domains: ['large'], max: 64 };
    const counts = [];
    for (let answer; (answer = await next(its.parley, wish)).status === 200;) {
      counts.push(answer.json.items.length);
    }
    assert.deepEqual(counts, [3, 2]);
  });

  it('cannot do so with an Idempotency-Key', async () => {
    const answer = await next(its.parley, { agent: 'a', max: 2 }, { 'Idempotency-Key': 'k' });
    assert.match(assertProblem(answer, 400, 'malformed').detail, /Idempotency-Key/);
  });
});

describe('a server that decides on no claims', () => {
  const its = useParley({ args: ['--lifecycle', 'off'] });
  it('hands out no tasks', async () => {
    const answer = await next(its.parley, { agent: 'a' });
    assertProblem(answer, 404, 'not-found');
    assert.match(answer.json.detail, /--lifecycle off/);
  });
});

describe('a retry', () => {
  const its = useParley();
  it('is given to an agent that waits when it is due, and not before', async (t) => {
    const fail = async (retryAfterSeconds) => {
      const first = await request(its.parley, 'retry.x');
      await claimed(next(its.parley, { agent: 'worker', domains: ['retry'] }));
      const failure = taskFailed(first.id, { payload: { error: 'timeout', retryable: true, retryAfterSeconds } });
      assert.equal((await sendTask(its.parley, failure)).status, 200);
      return (await get(its.parley, `/v1/roundtable/tasks/${first.id}`)).json;
    };
    const [later, soon] = [await fail(3600), await fail(2)];
    assert.equal(Date.parse(soon.retry_at), Math.ceil(Date.parse(soon.ended_at) / 1000 + 2) * 1000);
    assert.equal((await boardOf(its.parley, '?state=failed&domain=retry'))[0].retry_at, soon.retry_at);
    const second = await parleyFor(t, { nats: embeddedUrl(its.parley) });
    const answers = [its.parley, second].map((server) => next(server, { agent: 'worker' }, waiting(60)));
    await isWaiting(its.parley, 1);
    await isWaiting(second, 1);
    await request(its.parley, 'retry.x', { correlationId: later.id });
    const retries = [];
    for (let i = 0; i < 2; i++) {
      retries.push((await request(its.parley, 'retry.x', { correlationId: soon.id })).id);
    }
    const got = await Promise.all(answers.map(claimed));
    assert.ok(Date.now() >= Date.parse(soon.retry_at), 'not before its time');
    assert.deepEqual(got.map(({ task }) => task.id).sort(), retries.sort());
    assert.equal((await next(its.parley, { agent: 'worker' })).status, 204);
  });
});

describe('requests that are gone from NATS', () => {
  const COUNT = 1500;

  // What a gateway asks of NATS for messages, and how many of its requests are still there.
  async function withGone(t, remove) {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const asked = { count: 0 };
    wire.hold(({ kind, subject }) => {
      const isLook = kind === 'publish' && /^\$JS\.API\.(DIRECT\.GET|STREAM\.MSG\.GET)\.ROUNDTABLE/.test(subject);
      asked.count += isLook ? 1 : 0;
      return false;
    });
    const server = await parleyFor(t, { nats: wire.url });
    const tasks = Array.from({ length: COUNT }, () => taskRequest('gone.x'));
    assert.equal((await sendTask(server, tasks)).status, 200);
    await onBoardOf(server, COUNT);
    const client = await natsClient(t, nats.url);
    await remove(await client.jetstreamManager());
    asked.count = 0;
    return { server, asked };
  }
  const onBoardOf = (server, count) =>
    until(`${count} are open`, async () => {
      await get(server, '/v1/roundtable/tasks?limit=1');
      return valueOf(await metricsOf(server), 'parley_tasks_open') === count;
    });

  it('are not asked for one by one, when their stream was purged', async (t) => {
    const { server, asked } = await withGone(t, (manager) => manager.streams.purge('ROUNDTABLE'));
    assert.equal((await next(server, { agent: 'galahad' })).status, 204);
    assert.ok(asked.count < 10, `${asked.count} messages were asked for`);
    await onBoardOf(server, 0);
    const sent = await request(server, 'there.x');
    assert.equal((await claimed(next(server, { agent: 'galahad' }))).task.id, sent.id);
  });

  it('are met once, and so many by one request, when they were removed one by one', async (t) => {
    const { server, asked } = await withGone(t, async (manager) => {
      for (let seq = 2; seq <= COUNT; seq++) await manager.streams.deleteMessage('ROUNDTABLE', seq);
    });
    await claimed(next(server, { agent: 'galahad' }));
    const problem = assertProblem(await next(server, { agent: 'galahad' }), 503, 'bus-unavailable');
    assert.match(problem.detail, /are gone from NATS/);
    assert.ok(asked.count <= 1010, `${asked.count} messages were asked for`);
    assert.equal((await next(server, { agent: 'galahad' })).status, 204);
    assert.ok(asked.count <= COUNT + 20, `${asked.count} messages were asked for`);
    const before = asked.count;
    assert.equal((await next(server, { agent: 'galahad' })).status, 204);
    assert.equal(asked.count, before);
  });
});

describe('agents that ask at once', () => {
  const its = useParley();
  it('get a task each', async () => {
    const answers = Array.from({ length: 40 }, (_, i) =>
      next(its.parley, { agent: `agent-${i}` }, waiting(120)),
    );
    await isWaiting(its.parley, 40);
    const tasks = Array.from({ length: 40 }, (_, i) => taskRequest(`a.x${i % 3}`));
    assert.equal((await sendTask(its.parley, tasks)).status, 200);
    const got = await Promise.all(answers.map(claimed));
    assert.equal(new Set(got.map(({ task }) => task.id)).size, 40);
    assert.equal((await next(its.parley, { agent: 'late' })).status, 204);
  });

  it('are told at once when the server ends', async (t) => {
    const server = await parleyFor(t, { nats: embeddedUrl(its.parley) });
    const answers = [1, 2, 3].map(() => next(server, { agent: 'a' }, waiting(300)));
    await isWaiting(server, 3);
    await server.stop();
    for (const answer of await Promise.all(answers)) assertProblem(answer, 503, 'draining');
  });
});
