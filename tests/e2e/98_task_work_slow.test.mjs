// SPDX-License-Identifier: Apache-2.0
// Work over HTTP with many: agents that wait for tasks, agents that vanish, answers that are cut, and
// orchestrators of which none misses its reply.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { StringCodec } from 'nats';
import { atEnd } from './lib/cleanup.mjs';
import { atOnce, fleetFor } from './lib/fleet.mjs';
import { get, rawFor, rawPost } from './lib/http.mjs';
import { natsClient } from './lib/nats.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';
import { auditTasks, factOf, factsOf } from './lib/task_audit.mjs';
import { publishStraight } from './lib/task_histories.mjs';
import { askAndWait, nextTask } from './lib/work.mjs';

const MANY = Number(process.env.PARLEY_TEST_ROUNDS ?? 200);
const WAIT_S = 120;

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

async function assertGiven(client, agent, answer) {
  assert.equal(answer.status, 200, answer.text);
  const { task, claim, deadline } = answer.json;
  assert.equal(task.type, 'task.request');
  assert.equal(claim.type, 'task.claimed');
  assert.ok(Date.parse(deadline) > Date.now(), answer.text);
  const fact = await factOf(client, `${task.id}.claim`);
  assert.equal(fact.holder, agent);
  assert.equal(fact.seq, claim.seq);
  return task.id;
}

describe(`${MANY} agents that wait at three gateways`, () => {
  it(`get ${MANY} tasks, each exactly one`, async (t) => {
    const { gateways, client } = await fleetFor(t, { gateways: 3 });
    const waiting = times(MANY, (i) => nextTask(gateways[i % 3], `agent-${i}`, { wait: WAIT_S }));
    const requests = times(MANY, () => taskRequest('some.work'));
    await atOnce(requests, 8, async (request, i) => {
      if (i % 10 === 9) await publishStraight(client, request);
      else assert.equal((await sendTask(gateways[(i + 1) % 3], request)).status, 200);
    });
    const answers = await Promise.all(waiting);
    const given = new Set();
    for (const [i, answer] of answers.entries()) {
      given.add(await assertGiven(client, `agent-${i}`, answer));
    }
    assert.deepEqual([...given].sort(), requests.map(({ id }) => id).sort());
    assert.equal((await nextTask(gateways[0], 'late')).status, 204);
    await auditTasks(client);
  });
});

describe('agents that vanish while they wait', () => {
  it('take no task with them, nor the wake-up of one', async (t) => {
    const { gateways, client } = await fleetFor(t);
    const path = '/v1/roundtable/tasks/next';
    for (let round = 0; round < 10; round++) {
      const gone = [];
      for (let i = 0; i < 20; i++) {
        const headers = [`Prefer: wait=${WAIT_S}`];
        const body = JSON.stringify({ agent: `gone-${round}-${i}` });
        gone.push(await rawFor(t, gateways[i % 2], rawPost(path, body, { headers })));
      }
      const staying = times(4, (i) => nextTask(gateways[i % 2], `stays-${round}-${i}`, { wait: WAIT_S }));
      for (const connection of gone) connection.socket.resetAndDestroy();
      const requests = times(4, () => taskRequest(`round${round}.work`));
      await Promise.all(requests.map((request, i) => sendTask(gateways[i % 2], request)));
      // A task may have been claimed for one that was gone by then; nobody knew. It needs another request.
      const lost = [];
      await until('those who stayed have work', async () => {
        lost.length = 0;
        for (const { id } of requests) {
          const claim = await factOf(client, `${id}.claim`);
          if (claim?.holder.startsWith('gone')) lost.push(id);
          else if (!claim) return false;
        }
        return true;
      });
      t.diagnostic(`round ${round}: ${lost.length} were claimed for agents that were gone`);
      await Promise.all(lost.map(() => sendTask(gateways[0], taskRequest(`round${round}.more`))));
      for (const answer of await Promise.all(staying)) assert.equal(answer.status, 200, answer.text);
    }
    await auditTasks(client);
  });
});

describe('an answer that is cut after the claim', () => {
  it('comes again with the same Idempotency-Key, at any gateway', async (t) => {
    const { gateways, client } = await fleetFor(t, { gateways: 3 });
    for (let i = 0; i < 20; i++) {
      const request = taskRequest('cut.work');
      const [agent, key] = [`agent-${i}`, randomUUID()];
      const headers = ['Prefer: wait=60', `Idempotency-Key: ${key}`];
      const bytes = rawPost('/v1/roundtable/tasks/next', JSON.stringify({ agent }), { headers });
      const connection = await rawFor(t, gateways[0], bytes);
      await sendTask(gateways[1], request);
      await until('it is claimed', () => factOf(client, `${request.id}.claim`));
      connection.socket.resetAndDestroy();
      for (const gateway of gateways) {
        const again = await nextTask(gateway, agent, { key });
        assert.equal(await assertGiven(client, agent, again), request.id);
      }
      const other = await nextTask(gateways[2], 'somebody-else', { key });
      assert.equal(other.status, 204, other.text);
    }
    await auditTasks(client);
  });

  it('by a gateway that is killed comes again too, and nothing is claimed twice', async (t) => {
    const { nats, gateways, client } = await fleetFor(t);
    const { startParley } = await import('./lib/parley.mjs');
    for (let i = 0; i < 6; i++) {
      const victim = await startParley({ nats: nats.url });
      const requests = times(3, () => taskRequest('killed.work'));
      for (const request of requests) await sendTask(gateways[0], request);
      const [agent, key] = [`agent-${i}`, randomUUID()];
      const first = nextTask(victim, agent, { key, wait: 5 }).catch(() => null);
      await new Promise((resolve) => setTimeout(resolve, i * 3));
      await victim.kill();
      const told = await first;
      const again = await nextTask(gateways[i % 2], agent, { key, wait: 120 });
      const id = await assertGiven(client, agent, again);
      if (told?.status === 200) assert.equal(told.json.task.id, id);
      const held = await Promise.all(requests.map(async (request) => (await factsOf(client, request.id)).claim));
      assert.equal(held.filter(Boolean).length, 1, 'one of the three is claimed');
      for (const request of requests) await sendTask(gateways[0], taskResult(request.id, { from: 'pilot' }));
    }
    await auditTasks(client);
  });
});

// A subscriber on NATS that replies the moment it sees a request.
async function replier(t, url) {
  const connection = await natsClient(t, url);
  const subscription = connection.subscribe('roundtable.tasks.>', {
    callback: (error, message) => {
      const request = JSON.parse(StringCodec().decode(message.data));
      const reply = taskResult(request.id, { from: 'quick' });
      connection.publish(`roundtable.results.quick.${request.id}`, JSON.stringify(reply));
    },
  });
  atEnd(t, () => subscription.unsubscribe());
  await connection.flush();
}

describe('a request that waits for its reply', () => {
  it(`misses none of ${2 * MANY} that come the moment it is stored`, async (t) => {
    const { nats, gateways, client } = await fleetFor(t, { gateways: 3 });
    await replier(t, nats.url);
    await atOnce(times(2 * MANY, () => taskRequest('quick.work')), 24, async (request, i) => {
      const answer = await askAndWait(gateways[i % 3], request, WAIT_S);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers['preference-applied'], `wait=${WAIT_S}`);
      const { receipt, reply } = answer.json;
      assert.equal(receipt.id, request.id);
      assert.equal(reply.data.correlationId, request.id);
      assert.equal(reply.data.from, 'quick');
      assert.equal(Number(reply.sequence), (await factOf(client, `${request.id}.end`)).seq);
    });
  });

  it('and is sent again, at another gateway, gets the reply that was there', async (t) => {
    const { gateways } = await fleetFor(t);
    for (let i = 0; i < 50; i++) {
      const request = taskRequest('again.work');
      assert.equal((await sendTask(gateways[i % 2], request)).status, 200);
      const reply = taskResult(request.id);
      await sendTask(gateways[(i + 1) % 2], reply);
      const answer = await askAndWait(gateways[(i + 1) % 2], request, WAIT_S);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.receipt.duplicate, true);
      assert.equal(answer.json.reply.data.id, reply.id);
    }
  });

  it('is told 202 and where to ask when its time is over', async (t) => {
    const { gateways } = await fleetFor(t, { gateways: 1 });
    const request = taskRequest('slow.work');
    const answer = await askAndWait(gateways[0], request, 1);
    assert.equal(answer.status, 202, answer.text);
    assert.equal(answer.headers.location, `/v1/roundtable/tasks/${request.id}`);
    assert.equal(answer.json.receipt.id, request.id);
    const task = await get(gateways[0], answer.headers.location);
    assert.equal(task.json.state, 'requested');
  });
});
