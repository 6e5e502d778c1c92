// SPDX-License-Identifier: Apache-2.0
// Messages as fleets that exist send them: what is stored of them, and what their senders are told.
// tests/dialects has what each is translated to.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { get, ndjson, NDJSON_TYPE, post } from './lib/http.mjs';
import { natsClient, startNats, storedMessage } from './lib/nats.mjs';
import { refusedStart, startParley, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { heartbeat, sendTask, taskClaimed, taskFailed } from './lib/roundtable.mjs';

// Each its own, so that the tests do not meet.
let count = 0;
const newTaskId = () => `galahad-xreq-${Date.now()}-${++count}`;

const knightTask = (members) => ({
  task: 'Look for new advisories',
  task_id: newTaskId(),
  domain: 'security',
  dispatched_by: 'percival',
  metadata: { timeout_ms: 600_000 },
  ...members,
});

const knightResult = (task_id, members) => ({
  task_id,
  knight: 'galahad',
  success: true,
  result: 'Two advisories.',
  cost: 0.12,
  timestamp: new Date().toISOString(),
  ...members,
});

const sha256 = (text) => {
  const base64 = createHash('sha256').update(text).digest('base64');
  return `SHA-256=${base64.replaceAll('+', '-').replaceAll('/', '_')}`;
};

async function accepted(answering) {
  const answer = await answering;
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function stateOf(server, id) {
  return (await accepted(get(server, `/v1/roundtable/tasks/${id}`))).state;
}

describe('knights, by a request', () => {
  const its = useParley();
  const knights = (message, options) =>
    sendTask(its.parley, message, { query: '?dialect=knights', ...options });

  it('the message stored is the contract’s, with the digest of what came', async () => {
    const task = knightTask();
    const receipt = await accepted(knights(task));
    assert.equal(receipt.dialect, 'knights');
    assert.equal(receipt.type, 'task.request');
    assert.equal(receipt.subject, 'roundtable.tasks.security.task');
    const stored = await storedMessage(its.nats, receipt.seq, 'ROUNDTABLE');
    assert.equal(stored.headers['parley-original'], sha256(JSON.stringify(task)));
    const message = JSON.parse(stored.payload);
    assert.deepEqual(message.payload, { task: 'security.task', params: task });
    assert.equal(message.from, 'percival');
    assert.equal(message.ttl, 600);
    assert.equal(message.id, receipt.id);
  });

  it('a result finds its task, and ends it', async () => {
    for (const [members, state] of [
      [{}, 'completed'],
      [{ success: false, error: 'no output' }, 'failed'],
    ]) {
      const task = knightTask();
      const { id } = await accepted(knights(task));
      assert.equal(await stateOf(its.parley, id), 'requested');
      const receipt = await accepted(knights(knightResult(task.task_id, members)));
      assert.equal(receipt.type, 'task.result');
      assert.equal(receipt.subject, `roundtable.results.security.${id}`);
      assert.equal(await stateOf(its.parley, id), state);
    }
  });

  it('a reply that is waited for comes back in its words', async () => {
    const waiting = (task) => knights(task, { headers: { Prefer: 'wait=60' } });
    for (const [members, said] of [
      [{}, { success: true, result: 'Two advisories.' }],
      [{ success: false, result: undefined, error: 'no output' }, { success: false, error: 'no output' }],
    ]) {
      const task = knightTask();
      const answering = waiting(task);
      const { message } = await accepted(sendTask(its.parley, task, { to: 'validate', query: '?dialect=knights' }));
      await until('the task is there', async () =>
        (await get(its.parley, `/v1/roundtable/tasks/${message.id}`)).status === 200);
      const result = knightResult(task.task_id, members);
      await accepted(knights(result));
      const { receipt, reply } = await accepted(answering);
      assert.equal(receipt.dialect, 'knights');
      assert.equal(reply.type, 'roundtable.task.result');
      const { cost, timestamp, ...data } = reply.data;
      assert.deepEqual(data, { task_id: task.task_id, knight: 'galahad', ...said });
      assert.equal(timestamp, result.timestamp);
    }
    const task = knightTask();
    const { id } = await accepted(knights(task));
    const failed = { error: 'timeout', message: 'No time.', retryable: true };
    await accepted(sendTask(its.parley, taskFailed(id, { from: 'galahad', payload: failed })));
    const { reply } = await accepted(waiting(task));
    const { timestamp, ...data } = reply.data;
    assert.deepEqual(data, { task_id: task.task_id, knight: 'galahad', success: false, result: 'No time.', error: 'timeout' });
  });

  it('what is sent again is a duplicate', async () => {
    const task = knightTask();
    const first = await accepted(knights(task));
    for (const again of [task, { ...task }]) {
      const second = await accepted(knights(again));
      assert.equal(second.duplicate, true);
      assert.equal(second.seq, first.seq);
    }
    const other = await knights({ ...task, task: 'Something else' });
    assert.equal(other.status, 409);
    const result = knightResult(task.task_id);
    assert.equal((await accepted(knights(result))).duplicate, false);
    assert.equal((await accepted(knights(result))).duplicate, true);
  });

  it('many, in lines and in an array', async () => {
    const tasks = [knightTask(), { task: 'no id' }, knightTask()];
    const lines = await knights(tasks);
    assert.deepEqual(
      lines.lines.slice(0, 3).map(({ status, dialect }) => [status, dialect]),
      [
        ['accepted', 'knights'],
        ['invalid', undefined],
        ['accepted', 'knights'],
      ],
    );
    const array = await post(
      its.parley,
      '/v1/roundtable/messages?dialect=knights',
      JSON.stringify([knightTask(), heartbeat('galahad')]),
      { headers: { Accept: NDJSON_TYPE } },
    );
    assert.deepEqual(
      ndjson(array.text)
        .slice(0, 2)
        .map(({ status, dialect }) => [status, dialect]),
      [
        ['accepted', 'knights'],
        ['accepted', undefined],
      ],
    );
  });

  it('the contract’s messages are as they were', async () => {
    const receipt = await accepted(knights(heartbeat('galahad')));
    assert.equal('dialect' in receipt, false);
    const stored = await storedMessage(its.nats, receipt.seq, 'ROUNDTABLE');
    assert.equal('parley-original' in stored.headers, false);
  });

  it('what cannot be known is refused with the rule that misses it', async () => {
    const { task_id, domain, ...task } = knightTask();
    const answer = await knights(task);
    assert.equal(answer.status, 422);
    assert.deepEqual(
      answer.json.violations.map(({ rule, path, at }) => [rule, path, at]),
      [
        ['RT-001', '/id', undefined],
        ['RT-020', '/payload/task', undefined],
      ],
    );
    const query = `?dialect=knights&stamp=true&domain=${domain}&from=tim`;
    const receipt = await accepted(sendTask(its.parley, task, { query }));
    assert.equal(receipt.subject, 'roundtable.tasks.security.task');
    assert.ok(task_id);
  });

  it('a verdict shows what it is translated to', async () => {
    const verdict = await accepted(knights(knightTask({ domain: 'a b' }), { to: 'validate' }));
    assert.equal(verdict.valid, false);
    assert.equal(verdict.dialect, 'knights');
    assert.deepEqual(
      verdict.violations.map(({ rule }) => rule),
      ['RT-020'],
    );
    assert.equal(verdict.message.payload.task, 'a b.task');
    const fixed = await accepted(
      sendTask(its.parley, knightTask(), { to: 'validate', query: '?dialect=knights&fix=true' }),
    );
    assert.equal(fixed.dialect, 'knights');
    assert.equal(fixed.message.payload.task, 'security.task');
  });

  it('conversion gives the contract’s message', async () => {
    const query = '?dialect=knights&to=ndjson';
    const answer = await sendTask(its.parley, knightTask(), { query, to: 'convert' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(JSON.parse(answer.text).type, 'task.request');
  });

  it('without the option a knight’s message is refused as it was', async () => {
    const answer = await sendTask(its.parley, knightTask());
    assert.equal(answer.status, 422);
    assert.deepEqual(
      answer.json.violations.map(({ rule }) => rule),
      ['RT-001', 'RT-002', 'RT-004', 'RT-005', 'RT-007', 'RT-012'],
    );
  });

  it('another protocol has its own, and from= of that', async () => {
    const path = '/v1/supervisor/messages?dialect=o&agent=scribe&from=gerbil';
    const beat = '{"type":"heartbeat","data":true,"timestamp":1768550400.731}';
    const receipt = await accepted(post(its.parley, path, beat));
    assert.equal(receipt.dialect, 'o');
    const stored = await storedMessage(its.nats, receipt.seq, 'SUPERVISOR');
    assert.equal(JSON.parse(stored.payload).timestamp, 1_768_550_400);
    assert.equal(stored.headers['parley-original'], sha256(beat));
    assert.equal((await accepted(post(its.parley, path, beat))).duplicate, true);
  });

  it('mail is repaired as its programs read it, in both encodings', async () => {
    const kill = (key, comma) =>
      '```delta\n{"operation":"KILL","section":"hypothesis_slate","target_id":"H2",'
      + `"payload":{"${key}":"x"},"rationale":"r"${comma}}\n\`\`\`\n`;
    const wanted = { subject: 'DELTA[codexcli]: Kill H2', body_md: kill('reason', '') };
    const subject = 'Delta[codex-cli]: Kill H2';
    const body_md = kill('kill_reason', ', // why\n');
    for (const [type, text] of [
      ['application/json', JSON.stringify({ subject, body_md })],
      ['text/markdown', `---\nsubject: "${subject}"\n---\n${body_md}`],
    ]) {
      const path = '/v1/brenner/messages?dialect=mail';
      const receipt = await accepted(post(its.parley, path, text, { type }));
      assert.deepEqual([receipt.dialect, receipt.subject], ['mail', 'brenner.delta']);
      const stored = await storedMessage(its.nats, receipt.seq, 'BRENNER');
      const { body_md: body, ...members } = JSON.parse(stored.payload);
      assert.deepEqual({ ...members, body_md: body.replace(' \n}', '}') }, wanted);
      assert.equal(stored.headers['parley-original'], sha256(text));
      const refused = await post(its.parley, '/v1/brenner/messages', text, { type });
      assert.equal(refused.status, 422);
    }
  });

  it('a dialect that there is not is refused with those that there are', async () => {
    for (const [protocol, name, wants] of [
      ['roundtable', 'knight', /knights/],
      ['roundtable', 'KNIGHTS', /knights/],
      ['vlp', 'knights', /vlp has no dialects/],
    ]) {
      const answer = await post(its.parley, `/v1/${protocol}/messages?dialect=${name}`, '{}');
      assert.equal(answer.status, 400);
      assert.match(answer.json.detail, wants);
    }
  });
});

describe('knights, straight to NATS', () => {
  let nats;
  let parley;
  before(async () => {
    nats = await startNats();
    parley = await startParley({
      nats: nats.url,
      args: ['--subject-prefix', 'roundtable=fleet-a', '--dialect', 'roundtable=knights'],
    });
  });
  after(async () => {
    await parley?.stop();
    await nats?.stop();
  });

  const state = (id) => get(parley, `/v1/roundtable/tasks/${id}`).then(({ json }) => json.state);

  it('a task is one that agents can claim, and a result ends it', async (t) => {
    const client = await natsClient(t, nats.url);
    const task = { taskId: newTaskId(), chainName: 'nightly', task: 'Scan the cluster' };
    const publish = (subject, message) =>
      client.jetstream().publish(subject, JSON.stringify(message));
    await publish('fleet-a.tasks.security.galahad', task);
    const verdict = await accepted(
      sendTask(parley, knightResult(task.taskId), { to: 'validate' }),
    );
    const id = verdict.message.correlationId;
    await until('the task is known', async () => (await state(id)) === 'requested');
    const other = await sendTask(parley, taskClaimed(id, { from: 'lancelot' }));
    assert.equal(other.status, 409, 'the subject names galahad');
    await accepted(sendTask(parley, taskClaimed(id, { from: 'galahad' })));
    await publish(`fleet-a.results.${task.taskId}`, knightResult(task.taskId));
    await until('the task is over', async () => (await state(id)) === 'completed');
  });

  it('readers get the contract’s messages', async (t) => {
    const client = await natsClient(t, nats.url);
    const task = knightTask({ domain: 'finance' });
    await client
      .jetstream()
      .publish(`fleet-a.tasks.finance.${task.task_id}`, JSON.stringify(task));
    const path = '/v1/roundtable/stream?since=all&follow=false&domain=finance';
    const [event] = ndjson((await get(parley, path)).text);
    assert.equal(event.type, 'roundtable.task.request');
    assert.equal(event.subject, `fleet-a.tasks.finance.${task.task_id}`);
    assert.deepEqual(event.data.payload, { task: 'finance.task', params: task });
    assert.equal(event.data.timestamp.slice(0, 19), event.time.slice(0, 19));
  });

  it('requests need not name it', async () => {
    const receipt = await accepted(sendTask(parley, knightTask()));
    assert.equal(receipt.dialect, 'knights');
  });
});

it('a server does not start with a dialect that there is not', async () => {
  for (const [value, wants] of [
    ['roundtable=squires', /there is no dialect 'squires': it must be knights/],
    ['vlp=knights', /vlp has no dialects/],
    ['nothing=knights', /unknown protocol 'nothing'/],
    ['knights', /is not PROTOCOL=NAME/],
    ['roundtable=knights,roundtable=knights', /already has a dialect/],
  ]) {
    const { stderr } = await refusedStart({ args: ['--dialect', value] });
    assert.match(stderr, wants);
  }
});
