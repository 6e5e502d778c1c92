// SPDX-License-Identifier: Apache-2.0
// What ends a task in time, and is stored late, when another agent may have taken the task over: one of the two
// counts.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get } from './lib/http.mjs';
import { startNats } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskFailed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertProblem } from './lib/vlp.mjs';

const ARGS = ['--task-lease', '4s', '--ack-timeout', '10m', '--bus-patience', '10m'];

// Two gateways, of which the first one's messages can be held.
async function apart(t, args = []) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const wire = await NatsWire.to(nats.url);
  atEnd(t, () => wire.close());
  const far = await parleyFor(t, { nats: wire.url, args: [...ARGS, ...args] });
  const near = await parleyFor(t, { nats: nats.url, args: [...ARGS, ...args] });
  return { wire, far, near };
}

async function sent(server, message) {
  const answer = await sendTask(server, message);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

const taskOf = async (server, id) => (await get(server, `/v1/roundtable/tasks/${id}`)).json;
const isReport = ({ kind, subject }) => kind === 'publish' && /^roundtable\.(results|events\.task\.failed|failures)/.test(subject);

// Galahad's report is held until his lease has lapsed, and `meanwhile` is done.  Returns: its answer.
async function reportLate({ wire, far, near }, { write = taskResult, meanwhile }) {
  const { id } = taskRequest('security.scan');
  await sent(near, taskRequest('security.scan', { id }));
  await sent(far, taskClaimed(id, { from: 'galahad' }));
  const hold = wire.hold(isReport);
  const message = write(id, { from: 'galahad' });
  const answer = sendTask(far, message);
  await hold.reached();
  await until('it lapses', async () => (await taskOf(near, id)).lapsed);
  await meanwhile?.(id);
  hold.release();
  return { id, message, answer: await answer };
}

const takeOver = (server) => (id) =>
  until('percival takes it over', async () =>
    (await sendTask(server, taskClaimed(id, { from: 'percival' }))).status === 200);

describe('an end that is decided in time, and stored after a take-over', () => {
  for (const [name, write] of [['result', taskResult], ['failure', taskFailed]]) {
    it(`does not count, and says so: a ${name}`, async (t) => {
      const its = await apart(t);
      const { id, message, answer } = await reportLate(its, { write, meanwhile: takeOver(its.near) });
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.json.warnings.map(({ rule }) => rule), ['RT-202']);
      const held = await taskOf(its.near, id);
      assert.deepEqual([held.state, held.holder, held.attempt], ['claimed', 'percival', 2]);
      const again = await sent(its.far, message);
      assert.deepEqual([again.duplicate, again.warnings.map(({ rule }) => rule)], [true, ['RT-202']]);
      const end = await sent(its.far, taskResult(id, { from: 'percival' }));
      const ended = await taskOf(its.near, id);
      assert.deepEqual([ended.state, ended.holder, ended.seq.end], ['completed', 'percival', end.seq]);
    });
  }

  it('is refused with --lifecycle strict', async (t) => {
    const its = await apart(t, ['--lifecycle', 'strict']);
    const { id, answer } = await reportLate(its, { meanwhile: takeOver(its.near) });
    const problem = assertProblem(answer, 409, 'not-holder');
    assert.match(problem.detail, /it is in the stream, and does not count/);
    assert.equal(problem.holder, 'percival');
    const held = await taskOf(its.near, id);
    assert.deepEqual([held.state, held.holder], ['claimed', 'percival']);
  });
});

describe('an end that is decided in time, and stored once its lease has lapsed', () => {
  it('takes a turn, and counts, where nobody has taken the task over', async (t) => {
    const its = await apart(t);
    const { id, answer } = await reportLate(its, {});
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.warnings, []);
    const { state, seq, turns } = await taskOf(its.near, id);
    assert.deepEqual([state, seq.end], ['completed', answer.json.seq]);
    assert.deepEqual(turns.map(({ kind, holder }) => [kind, holder]), [['claim', 'galahad'], ['extend', 'galahad']]);
    assertProblem(await sendTask(its.near, taskClaimed(id, { from: 'percival' })), 409, 'task-over');
  });

  it('counts where the requester has not ended it, else the requester does', async (t) => {
    const its = await apart(t);
    const { id, answer } = await reportLate(its, {
      meanwhile: async (task) => sent(its.near, taskFailed(task, { from: 'pilot' })),
    });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.warnings.map(({ rule }) => rule), ['RT-203']);
    assert.equal((await taskOf(its.near, id)).state, 'failed');
  });
});
