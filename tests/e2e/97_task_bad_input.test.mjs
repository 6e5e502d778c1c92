// SPDX-License-Identifier: Apache-2.0
// What tasks get that are unknown, expired, over or another's, and what happens when the bucket holds
// what parley did not write, is gone, or NATS is.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { atOnce, fleetFor } from './lib/fleet.mjs';
import { get, post } from './lib/http.mjs';
import { embeddedUrl, natsClient } from './lib/nats.mjs';
import { IMPATIENT, parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import {
  resultSubject,
  sendTask,
  taskClaimed,
  taskFailed,
  taskProgress,
  taskRequest,
  taskResult,
} from './lib/roundtable.mjs';
import { auditTasks, factOf, factsOf, factWritten } from './lib/task_audit.mjs';
import { assertProblem } from './lib/vlp.mjs';

const hoursAgo = (hours) => new Date(Date.now() - hours * 3600_000).toISOString();
// The same message over several lines.
const spaced = (message) => ({ toJSON: () => message, spaced: JSON.stringify(message, null, 2) });

const EXPIRED = { timestamp: hoursAgo(2) };

// What came before, what is sent, and what it gets: a problem with members, or warnings. `strict`: the
// same with --lifecycle strict, where that differs.
const id = randomUUID;
const by = (from) => ({ from });
const ROWS = [
  {
    what: 'a claim of a task that nobody knows',
    send: (task) => taskClaimed(task),
    warns: ['RT-201'],
    facts: { claim: 'worker' },
  },
  {
    what: 'a result for a task that nobody knows',
    send: (task) => taskResult(task),
    warns: ['RT-201'],
    subject: (task) => resultSubject('unknown', task),
  },
  {
    what: 'a claim of an expired task',
    before: [(task) => taskRequest('a.b', { id: task, ...EXPIRED })],
    send: (task) => taskClaimed(task),
    gets: ['task-over', { state: 'expired' }],
    facts: { request: 'pilot' },
  },
  {
    what: 'a claim of a task whose ttl is over',
    before: [(task) => taskRequest('a.b', { id: task, timestamp: hoursAgo(0.1), ttl: 300 })],
    send: (task) => taskClaimed(task),
    gets: ['task-over', { state: 'expired' }],
  },
  {
    what: 'a claim of an old task whose ttl is long',
    before: [(task) => taskRequest('a.b', { id: task, ...EXPIRED, ttl: 86400 })],
    send: (task) => taskClaimed(task),
    warns: [],
    facts: { request: 'pilot', claim: 'worker' },
  },
  ...[
    ['completed', (task) => taskResult(task)],
    ['failed', (task) => taskFailed(task)],
    ['failed', (task) => taskResult(task, { payload: { status: 'failed' } })],
  ].map(([state, end]) => ({
    what: `a claim of a task that is ${state}`,
    before: [(task) => taskRequest('a.b', { id: task }), (task) => taskClaimed(task), end],
    send: (task) => taskClaimed(task, by('kay')),
    gets: ['task-over', { state }],
  })),
  {
    what: 'a claim of a task that was never requested and is over',
    before: [(task) => taskResult(task)],
    send: (task) => taskClaimed(task),
    gets: ['task-over', { state: 'completed' }],
  },
  {
    what: "a claim of another's task",
    before: [(task) => taskRequest('a.b', { id: task }), (task) => taskClaimed(task, by('galahad'))],
    send: (task) => taskClaimed(task, by('kay')),
    gets: ['already-claimed', { holder: 'galahad' }],
    facts: { request: 'pilot', claim: 'galahad' },
  },
  {
    what: "a claim, with the id of the first one, of another's task",
    before: [(task) => taskRequest('a.b', { id: task }), (task) => taskClaimed(task, { id: task, from: 'galahad' })],
    send: (task) => taskClaimed(task, { id: task, from: 'kay' }),
    gets: ['already-claimed', { holder: 'galahad' }],
  },
  {
    what: 'a claim of a task that is for somebody else',
    before: [(task) => taskRequest('a.b', { id: task, to: 'galahad' })],
    send: (task) => taskClaimed(task, by('kay')),
    gets: ['not-addressee', { to: 'galahad' }],
    facts: { request: 'pilot' },
  },
  {
    what: 'a request with an id that was used, after its task is over',
    before: [(task) => taskRequest('a.b', { id: task }), (task) => taskResult(task)],
    send: (task) => taskRequest('other.thing', { id: task }),
    gets: ['id-reused', {}],
  },
  {
    what: 'a request again, with other time, ttl and priority, and more space',
    before: [(task) => taskRequest('a.b', { id: task, payload: { task: 'a.b', params: { x: 1, y: [2] } } })],
    send: (task) =>
      spaced({ ...taskRequest('a.b', { id: task, ttl: 5000, priority: 'high' }), payload: { task: 'a.b', params: { x: 1, y: [2] } } }),
    repeats: { state: 'requested' },
  },
  {
    what: 'a request again, after it was claimed',
    before: [(task) => taskRequest('a.b', { id: task }), (task) => taskClaimed(task)],
    send: (task) => taskRequest('a.b', { id: task }),
    repeats: { state: 'claimed' },
  },
  ...[{ from: 'merlin' }, { to: 'kay' }, { correlationId: id() }].map((changes) => ({
    what: `a request with an id that was used, and another \`${Object.keys(changes)}\``,
    before: [(task) => taskRequest('a.b', { id: task })],
    send: (task) => taskRequest('a.b', { id: task, ...changes }),
    gets: ['id-reused', {}],
  })),
  ...[
    ['a report', (task) => taskProgress(task, by('kay'))],
    ['a result', (task) => taskResult(task, by('kay'))],
    ['a failure', (task) => taskFailed(task, by('kay'))],
  ].flatMap(([what, send]) => [
    {
      what: `${what} of somebody who does not hold the task`,
      before: [(task) => taskRequest('a.b', { id: task }), (task) => taskClaimed(task, by('galahad'))],
      send,
      warns: ['RT-202'],
      facts: { request: 'pilot', claim: 'galahad' },
      strict: { gets: ['not-holder', {}] },
    },
    {
      what: `${what} after the end`,
      before: [
        (task) => taskRequest('a.b', { id: task }),
        (task) => taskClaimed(task, by('kay')),
        (task) => taskResult(task, by('kay')),
      ],
      send,
      warns: ['RT-203'],
      strict: { gets: ['task-over', { state: 'completed' }] },
    },
  ]),
  {
    what: "a failure of the requester, of another's task",
    before: [(task) => taskRequest('a.b', { id: task }), (task) => taskClaimed(task, by('galahad'))],
    send: (task) => taskFailed(task, by('pilot')),
    warns: [],
    facts: { request: 'pilot', claim: 'galahad', end: 'pilot' },
  },
];

const namesOf = ({ request, claim, end }) =>
  JSON.parse(JSON.stringify({ request: request?.from, claim: claim?.holder, end: end?.from }));

async function assertRow(its, row, lifecycle) {
  const task = randomUUID();
  const { gets, warns, repeats, subject, facts } = {
    ...row,
    ...(lifecycle === 'strict' && row.strict && { warns: undefined, facts: undefined, ...row.strict }),
  };
  let first;
  for (const message of row.before ?? []) {
    const answer = await sendTask(its.parley, message(task));
    assert.equal(answer.status, 200, answer.text);
    first ??= answer.json;
  }
  const message = row.send(task);
  const answer = await post(its.parley, '/v1/roundtable/messages', message.spaced ?? JSON.stringify(message));
  if (gets) {
    const [name, members] = gets;
    const problem = assertProblem(answer, 409, name);
    for (const [member, value] of Object.entries(members)) assert.equal(problem[member], value, member);
    assert.equal(answer.headers['retry-after'], undefined);
    if (name === 'id-reused') assert.deepEqual([problem.stream, problem.seq], ['ROUNDTABLE', first.seq]);
  } else {
    assert.equal(answer.status, 200, answer.text);
    const { duplicate, warnings, seq, state } = answer.json;
    assert.equal(duplicate, Boolean(repeats));
    if (repeats) assert.deepEqual({ seq, state }, { seq: first.seq, ...repeats });
    const rules = warnings.map(({ rule }) => rule).filter((rule) => /RT-2/.test(rule));
    if (warns) assert.deepEqual(rules, warns);
  }
  if (subject) assert.equal(answer.json.subject, subject(task));
  if (facts) assert.deepEqual(namesOf(await factsOf(its.nats, task)), facts);
}

describe('with --lifecycle strict', () => {
  const its = useParley({ args: ['--lifecycle', 'strict'] });
  for (const row of ROWS) it(row.what, () => assertRow(its, row, 'strict'));

  it('each row leaves keys that agree with the stream', () => auditTasks(its.nats));
});

describe('with --lifecycle off', () => {
  const its = useParley({ args: ['--lifecycle', 'off'] });

  it('every message is taken, and only the domain is looked up', async () => {
    const request = taskRequest('off.on');
    for (const message of [
      request,
      taskClaimed(request.id, by('galahad')),
      taskClaimed(request.id, by('kay')),
      taskResult(request.id, by('bors')),
      taskClaimed(request.id, by('bors')),
    ]) {
      const answer = await sendTask(its.parley, message);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.json.warnings, []);
      if (message.type === 'task.result') {
        assert.equal(answer.json.subject, resultSubject('off', request.id));
      }
    }
  });
});

const BROKEN = ['', 'x', '{', '{}', '[]', 'null', '{"seq":"1"}', '{"holder":5,"state":7,"task":[]}', '\u0000',
  '{"stream":"NONE","seq":99999999999999999999}', `{"a":"${'x'.repeat(100_000)}"}`, '"'];

describe('with --lifecycle on', () => {
  const its = useParley();
  const put = (key, value) => its.nats.jetstream().publish(`$KV.parley_tasks.${key}`, value);

  for (const row of ROWS) it(row.what, () => assertRow(its, row, 'on'));

  it('each row leaves keys that agree with the stream', () => auditTasks(its.nats));

  it('what is published straight to NATS and makes no sense makes no key, and stops nothing', async () => {
    const client = its.nats;
    const before = (await auditTasks(client)).keys.size;
    const task = randomUUID();
    const publish = (subject, body) =>
      client.jetstream().publish(`roundtable.${subject}`, typeof body === 'string' ? body : JSON.stringify(body));
    await publish('events.task.claimed', 'x');
    await publish('events.task.claimed', '');
    await publish('events.task.claimed', { ...taskClaimed(task), correlationId: undefined });
    await publish('events.task.claimed', { ...taskClaimed(task), from: 'a b' });
    await publish('events.task.claimed', { ...taskClaimed(task), type: 'heartbeat' });
    await publish('results.a.b', { ...taskResult(task), payload: 5 });
    await publish('results.a.b', '[]');
    await publish('tasks.a', '\u0000{');
    await publish('tasks.a.b', { ...taskRequest('a.b'), version: '9.0' });
    const request = taskRequest('a.b');
    await publish('tasks.a.b', request);
    await factWritten(client, request.id);
    await publish('events.task.claimed', taskClaimed(request.id));
    await factWritten(client, `${request.id}.claim`);
    await publish('results.a.b', taskFailed(request.id));
    await factWritten(client, `${request.id}.end`);
    const { keys } = await auditTasks(client);
    assert.equal(keys.size - before, 3, [...keys.keys()].join(' '));
    assert.equal((await get(its.parley, '/readyz')).status, 200);
  });

  for (const kind of ['', '.claim', '.end']) {
    it(`a foreign value under <id>${kind} gives nobody what another may hold, and stops nothing`, async () => {
      await atOnce(BROKEN, BROKEN.length, async (value) => {
        const task = randomUUID();
        await put(`${task}${kind}`, value);
        const what = `${kind} ${JSON.stringify(value.slice(0, 60))}`;
        let holders = 0;
        for (const message of [
          taskClaimed(task, by('galahad')),
          taskClaimed(task, by('kay')),
          taskResult(task, by('kay')),
          taskRequest('a.b', { id: task }),
        ]) {
          const answer = await sendTask(its.parley, message);
          assert.ok([200, 409, 503].includes(answer.status), `${what}: ${answer.status} ${answer.text}`);
          if (message.type === 'task.claimed' && answer.status === 200) holders++;
        }
        assert.ok(holders <= (kind === '.claim' ? 0 : 1), `${what}: ${holders} hold it`);
      });
      const after = taskRequest('a.b');
      assert.equal((await sendTask(its.parley, after)).status, 200);
      assert.equal((await sendTask(its.parley, taskClaimed(after.id))).status, 200);
    });
  }

  it('a value of an older parley is a domain, and its task can be claimed once', async () => {
    const task = randomUUID();
    await put(task, 'security');
    assert.equal((await sendTask(its.parley, taskClaimed(task, by('galahad')))).status, 200);
    const other = await sendTask(its.parley, taskClaimed(task, by('kay')));
    assert.equal(assertProblem(other, 409, 'already-claimed').holder, 'galahad');
    const reply = await sendTask(its.parley, taskResult(task, by('galahad')));
    assert.equal(reply.json.subject, resultSubject('security', task));
  });

  it('a foreign value under another name is left alone', async () => {
    for (const key of ['a', 'a.b.c', `${randomUUID()}.other`, 'claim', 'x.claim']) await put(key, 'foreign');
    const { id: task } = taskRequest('a.b');
    assert.equal((await sendTask(its.parley, taskRequest('a.b', { id: task }))).status, 200);
  });
});

describe('a bucket that is deleted', () => {
  it('is said to be missing, and made again', async (t) => {
    const server = await parleyFor(t, { args: IMPATIENT });
    const client = await natsClient(t, embeddedUrl(server));
    const request = taskRequest('a.b');
    assert.equal((await sendTask(server, request)).status, 200);
    const manager = await client.jetstreamManager();
    // Asked for a message while the stream is deleted, nats-server 2.9.10 panics (jsMsgGetRequest); parley
    // starts its own again, and what was asked meanwhile is asked once more.
    await manager.streams.delete('KV_parley_tasks').catch(() => {});
    const statuses = new Set();
    const claim = taskClaimed(request.id);
    const answer = await until('the claim is taken', async () => {
      const each = await sendTask(server, claim);
      statuses.add(each.status);
      if (each.status === 503) assert.match(each.headers['retry-after'], /^\d+$/);
      assert.ok([200, 503, 504].includes(each.status), each.text);
      return each.status === 200 && each;
    });
    const other = await until('nats-server is there', async () => {
      const each = await sendTask(server, taskClaimed(request.id, by('kay')));
      return each.status < 500 && each;
    });
    assert.equal(assertProblem(other, 409, 'already-claimed').holder, 'worker');
    const fact = await until('the key can be read', () => factOf(client, `${request.id}.claim`));
    assert.equal(fact.seq, answer.json.seq);
  });
});

describe('NATS that is away', () => {
  it('has requests, claims and results refused with 503 and Retry-After, in batches too', async (t) => {
    const { nats, gateways } = await fleetFor(t, { gateways: 1, args: IMPATIENT });
    const request = taskRequest('a.b');
    assert.equal((await sendTask(gateways[0], request)).status, 200);
    await nats.kill();
    const messages = [taskRequest('a.b'), request, taskClaimed(request.id), taskResult(request.id)];
    for (const message of messages) {
      const answer = await until('it is refused', async () => {
        const each = await sendTask(gateways[0], message);
        return each.status === 503 && each;
      });
      assertProblem(answer, 503, 'bus-unavailable');
      assert.match(answer.headers['retry-after'], /^\d+$/);
    }
    assertProblem(await sendTask(gateways[0], messages), 503, 'bus-unavailable');
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    for (const message of messages) {
      const answer = await until('it is taken', async () => {
        const each = await sendTask(gateways[0], message);
        return each.status === 200 && each;
      });
      assert.equal(answer.json.duplicate, message === request, answer.text);
    }
  });
});
