// SPDX-License-Identifier: Apache-2.0
// Many who want one task: one of them holds it, and everybody is told who.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { atOnce, useFleet } from './lib/fleet.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { get, post } from './lib/http.mjs';
import { connectNats, startNats } from './lib/nats.mjs';
import { startParley } from './lib/parley.mjs';
import { until, within } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskFailed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertOneHolder, auditTasks, factOf, factsOf, factWritten } from './lib/task_audit.mjs';
import { publishStraight } from './lib/task_histories.mjs';
import { assertProblem } from './lib/vlp.mjs';

const AGENTS = ['galahad', 'lancelot', 'percival', 'kay', 'bors'];

async function request(gateway, changes) {
  const message = taskRequest('race.run', changes);
  const answer = await sendTask(gateway, message);
  assert.equal(answer.status, 200, answer.text);
  return message;
}

const claimOf = (gateway, id, agent) =>
  sendTask(gateway, taskClaimed(id, { from: agent })).then((answer) => ({ agent, answer }));

async function claimsStored(client, ids) {
  const { messages } = await auditTasks(client);
  const isClaim = ({ type, correlationId }) => type === 'task.claimed' && ids.has(correlationId);
  return [...messages.values()].filter(isClaim).length;
}

const granted = (answers) => answers.filter(({ answer }) => answer.status === 200);

describe('at three gateways', () => {
  const its = useFleet({ gateways: 3 });

  it('claims at once of one task: one is told 200, all others who holds it', async () => {
    const { gateways, client } = its;
    const ids = new Set();
    await atOnce(Array.from({ length: 40 }), 8, async (_, i) => {
      const { id } = await request(gateways[i % 3]);
      ids.add(id);
      const answers = await Promise.all(
        AGENTS.map((agent, k) => claimOf(gateways[(i + k) % 3], id, agent)),
      );
      assert.equal(granted(answers).length, 1);
      assertOneHolder(await factOf(client, `${id}.claim`), answers);
    });
    assert.equal(await claimsStored(client, ids), 40, 'of each task one claim is stored');
  });

  it('claims of one agent at three gateways are one claim', async () => {
    const { gateways, client } = its;
    for (let i = 0; i < 10; i++) {
      const { id } = await request(gateways[0]);
      const answers = await Promise.all(gateways.map((gateway) => claimOf(gateway, id, 'galahad')));
      const receipts = answers.map(({ answer }) => answer.json);
      assert.equal(granted(answers).length, 3, JSON.stringify(receipts));
      assert.deepEqual(receipts.map(({ duplicate }) => duplicate).sort(), [false, true, true]);
      assertOneHolder(await factOf(client, `${id}.claim`), answers);
    }
  });

  it('claims of a task that nobody requested: one holder too', async () => {
    const { gateways, client } = its;
    const ids = Array.from({ length: 10 }, () => crypto.randomUUID());
    await atOnce(ids, 10, async (id) => {
      const answers = await Promise.all(AGENTS.map((agent, k) => claimOf(gateways[k % 2], id, agent)));
      assert.equal(granted(answers).length, 1);
      const [{ answer }] = granted(answers);
      assert.deepEqual(answer.json.warnings.map(({ rule }) => rule), ['RT-201']);
      const claim = await factOf(client, `${id}.claim`);
      assert.equal(claim.request, null);
      assertOneHolder(claim, answers);
    });
  });

  it('claims over HTTP and straight to NATS: whoever was told 200 is the holder', async () => {
    const { gateways, client } = its;
    await atOnce(Array.from({ length: 40 }), 8, async (_, i) => {
      const { id } = await request(gateways[i % 2]);
      const straight = ['kay', 'bors'].map((from) => taskClaimed(id, { from }));
      const [answers] = await Promise.all([
        Promise.all(AGENTS.slice(0, 3).map((agent, k) => claimOf(gateways[k % 2], id, agent))),
        ...straight.map((claim) => publishStraight(client, claim)),
      ]);
      assertOneHolder(await factWritten(client, `${id}.claim`), answers);
      assert.ok(granted(answers).length <= 1);
    });
    await auditTasks(client);
  });

  it('claims in one body of 4,000 are one claim, and 3,999 who are told', async () => {
    const { gateways, client } = its;
    const { id } = await request(gateways[0]);
    const claims = Array.from({ length: 4000 }, (_, i) => taskClaimed(id, { from: `knight-${i}` }));
    const { lines } = await sendTask(gateways[0], claims);
    assert.deepEqual(lines.at(-1).summary, {
      received: 4000, accepted: 1, duplicate: 0, invalid: 0, failed: 3999,
    });
    assert.equal(lines[0].status, 'accepted');
    for (const { problem } of lines.slice(1, -1)) {
      assert.equal(problem.type, '/problems/already-claimed');
      assert.equal(problem.holder, 'knight-0');
    }
    assert.equal((await factOf(client, `${id}.claim`)).holder, 'knight-0');
  });

  it('ends at once of one task: one of them ends it, and all are taken', async () => {
    const { gateways, client } = its;
    await atOnce(Array.from({ length: 20 }), 8, async (_, i) => {
      const { id } = await request(gateways[i % 2]);
      const ends = [taskResult(id), taskFailed(id), taskResult(id)];
      const answers = await Promise.all(ends.map((end, k) => sendTask(gateways[k % 2], end)));
      for (const answer of answers) assert.equal(answer.status, 200, answer.text);
      const { end } = await factsOf(client, id);
      assert.ok(answers.some(({ json }) => json.seq === end.seq), 'it is one of them');
      assertProblem(await sendTask(gateways[0], taskClaimed(id)), 409, 'task-over');
    });
    await auditTasks(client);
  });

  it('requests at once with one id and one content are one task; with another content they are refused', async () => {
    const { gateways, client } = its;
    for (let i = 0; i < 10; i++) {
      const same = taskRequest('same.task');
      const other = { ...same, payload: { task: 'other.task', params: {} } };
      const answers = await Promise.all(
        [same, same, other, other].map((message, k) => sendTask(gateways[k % 2], message)),
      );
      const fact = await factOf(client, same.id);
      const isFirst = (k) => (k < 2) === (fact.task === 'same.task');
      for (const [k, answer] of answers.entries()) {
        if (isFirst(k)) assert.equal(answer.status, 200, answer.text);
        else assertProblem(answer, 409, 'id-reused');
        assert.equal(answer.json.seq, fact.seq);
      }
    }
    await auditTasks(client);
  });
});

// Two gateways, each behind a wire that a test can hold.
function useWires() {
  const its = {};
  before(async () => {
    its.nats = await startNats();
    its.wires = [await NatsWire.to(its.nats.url), await NatsWire.to(its.nats.url)];
    const args = ['--ack-timeout', '1m']; // longer than anything is held
    [its.held, its.other] = await Promise.all(its.wires.map(({ url }) => startParley({ nats: url, args })));
    its.client = await connectNats(its.nats.url);
  });
  after(async () => {
    await its.client?.close();
    await its.held?.stop();
    await its.other?.stop();
    for (const wire of its.wires ?? []) await wire.close();
    await its.nats?.stop();
  });
  return its;
}

const isClaimOf = (id) => (frame) =>
  frame.kind === 'publish' && frame.subject.endsWith('events.task.claimed') && frame.body.includes(id);
const isKeyOf = (key) => (frame) => frame.kind === 'publish' && frame.subject.endsWith(`.${key}`) &&
  frame.subject.startsWith('$KV.');

describe('a gateway that is stalled', () => {
  const its = useWires();

  it('before it publishes a claim tells its agent who was faster, straight to NATS', async () => {
    const { wires, held, other, client } = its;
    const { id } = await request(other);
    const hold = wires[0].hold(isClaimOf(id));
    const slow = claimOf(held, id, 'galahad');
    await hold.reached('the claim', 30_000);
    await publishStraight(client, taskClaimed(id, { from: 'kay' }));
    assert.equal((await factWritten(client, `${id}.claim`)).holder, 'kay');
    hold.release();
    const answer = await slow;
    assertOneHolder(await factOf(client, `${id}.claim`), [answer]);
    assertProblem(answer.answer, 409, 'already-claimed');
  });

  it('before it publishes a claim tells its agent who was faster, at another gateway', async () => {
    const { wires, held, other, client } = its;
    const { id } = await request(other);
    const hold = wires[0].hold(isClaimOf(id));
    const slow = claimOf(held, id, 'galahad');
    await hold.reached('the claim', 30_000);
    const fast = await claimOf(other, id, 'kay');
    assert.equal(fast.answer.status, 200);
    hold.release();
    assertOneHolder(await factOf(client, `${id}.claim`), [await slow, fast]);
    assert.equal(await claimsStored(client, new Set([id])), 1, 'the slow claim was not stored');
  });

  it('before it creates the key has no second holder', async () => {
    const { wires, held, other, client } = its;
    const { id } = await request(other);
    const hold = wires[0].hold(isKeyOf(`${id}.claim`));
    const slow = claimOf(held, id, 'galahad');
    await hold.reached('the key', 30_000);
    const fast = await claimOf(other, id, 'kay');
    await publishStraight(client, taskClaimed(id, { from: 'bors' }));
    assertProblem(fast.answer, 409, 'already-claimed');
    hold.release();
    assertOneHolder(await factWritten(client, `${id}.claim`), [await slow, fast]);
    assert.equal((await factOf(client, `${id}.claim`)).holder, 'galahad');
    await auditTasks(client);
  });

  it('in what others publish straight to NATS does not take from whoever was told 200', async () => {
    const { wires, held, other, client } = its;
    const { id } = await request(other);
    const isOfKay = ({ kind, body }) => kind === 'deliver' && body.includes('"kay"') && body.includes(id);
    const holds = wires.map((wire) => wire.hold(isOfKay));
    await publishStraight(client, taskClaimed(id, { from: 'kay' }));
    await within('what came straight to NATS', Promise.race(holds.map(({ met }) => met)), 30_000);
    const galahad = await claimOf(held, id, 'galahad');
    for (const hold of holds) hold.release();
    assertOneHolder(await factWritten(client, `${id}.claim`), [galahad]);
    assert.equal(galahad.answer.status, 200, galahad.answer.text);
    const late = await claimOf(other, id, 'kay');
    assertOneHolder(await factOf(client, `${id}.claim`), [galahad, late]);
    await auditTasks(client);
  });

  // The answer never comes: it asks once more, and that takes it half a second.
  it('does not claim what has ended while it fetched the task', async () => {
    const { wires, held, other, client } = its;
    const message = taskRequest('slow.run');
    assert.equal((await sendTask(other, message)).status, 200);
    await until('the board has it', async () =>
      (await get(held, '/v1/roundtable/tasks?domain=slow')).json.items.length === 1);
    const fetched = wires[0].holdAnswerTo(({ subject }) => subject === '$JS.API.DIRECT.GET.ROUNDTABLE');
    const keys = wires[0].hold(({ kind, subject }) => kind === 'deliver' && subject.startsWith('$KV.parley_tasks.'));
    const answer = post(held, '/v1/roundtable/tasks/next', JSON.stringify({ agent: 'galahad', domains: ['slow'] }));
    await fetched.reached('the task', 30_000);
    assert.equal((await sendTask(other, taskFailed(message.id, { from: 'arthur' }))).status, 200);
    const { status, text } = await answer;
    fetched.release();
    keys.release();
    assert.equal(status, 204, text);
    assert.equal(await factOf(client, `${message.id}.claim`), undefined);
  });

  // Its board lags: it has not read what another gateway has claimed and ended.
  for (const [how, isReleased] of [
    ['once its board has read on', true],
    ['although its board does not read on', false],
  ]) {
    it(`gives out none of many that others have claimed or ended, ${how}`, async () => {
      const { wires, held, other, client } = its;
      const task = `lag${isReleased ? 1 : 2}.run`;
      const sent = [];
      for (let i = 0; i < 6; i++) {
        const message = taskRequest(task);
        assert.equal((await sendTask(other, message)).status, 200);
        sent.push(message.id);
      }
      await until('the board has them', async () =>
        (await get(held, `/v1/roundtable/tasks?domain=${task.split('.')[0]}`)).json.items.length === 6);
      const lag = wires[0].hold(({ kind, subject }) => kind === 'deliver' && subject.startsWith('$KV.parley_tasks.'));
      assert.equal((await claimOf(other, sent[0], 'kay')).answer.status, 200);
      assert.equal((await sendTask(other, taskFailed(sent[1], { from: 'arthur' }))).status, 200);
      const asked = wires[0].hold(({ kind, subject }) => kind === 'publish' && subject.includes('STREAM.INFO.KV_parley_tasks'));
      const body = { agent: 'galahad', domains: [task.split('.')[0]], max: 64 };
      const answer = post(held, '/v1/roundtable/tasks/next', JSON.stringify(body));
      await asked.reached('the question how far the bucket is written', 30_000);
      asked.release();
      if (isReleased) lag.release();
      const { status, json, text } = await answer;
      lag.release();
      assert.equal(status, 200, text);
      assert.deepEqual(json.items.map((item) => item.task.id), sent.slice(2));
      assert.equal((await factOf(client, `${sent[0]}.claim`)).holder, 'kay');
      assert.equal(await factOf(client, `${sent[1]}.claim`), undefined);
      await auditTasks(client);
    });
  }
});
