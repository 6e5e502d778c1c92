// SPDX-License-Identifier: Apache-2.0
// One agent holds a task: what a request, a claim and a report are answered, alone and in a body of
// many, by two gateways and beside messages that were published straight to NATS.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get } from './lib/http.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { IMPATIENT, parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertProblem } from './lib/vlp.mjs';

const claimOf = (request, from, changes) => ({
  ...taskRequest('a.b', { from, correlationId: request.id }),
  type: 'task.claimed',
  payload: {},
  ...changes,
});

const warningsOf = (receipt) => receipt.warnings.map((each) => each.rule);

async function accepted(server, message, options) {
  const answer = await sendTask(server, message, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

describe('a task', () => {
  let nats;
  let client;
  let one;
  let two;
  before(async () => {
    nats = await startNats();
    one = await startParley({ nats: nats.url });
    two = await startParley({ nats: nats.url });
    client = await natsClient({ after: () => {} }, nats.url);
  });
  after(async () => {
    await client?.close();
    await one?.stop();
    await two?.stop();
    await nats?.stop();
  });

  const keyOf = async (key) => {
    const bucket = await client.jetstream().views.kv('parley_tasks', { bindOnly: true });
    return (await bucket.get(key))?.json();
  };
  const publish = (subject, message) => client.jetstream().publish(subject, JSON.stringify(message));

  it('is held by the first that claims it, at any gateway', async () => {
    const request = taskRequest('hold.it');
    await accepted(one, request);
    const first = await accepted(one, claimOf(request, 'galahad'));
    const again = await accepted(two, claimOf(request, 'galahad'));
    assert.deepEqual([again.duplicate, again.seq], [true, first.seq]);
    const other = assertProblem(await sendTask(two, claimOf(request, 'kay')), 409, 'already-claimed');
    assert.equal(other.holder, 'galahad');
    assert.equal((await keyOf(`${request.id}.claim`)).seq, first.seq);
    assert.equal((await accepted(two, request)).state, 'claimed');
  });

  it('that is over cannot be claimed, and warns of reports', async () => {
    const request = taskRequest('end.it');
    await accepted(one, request);
    await accepted(one, claimOf(request, 'worker'));
    await accepted(two, taskResult(request.id));
    const late = await sendTask(one, claimOf(request, 'kay'));
    assert.equal(assertProblem(late, 409, 'task-over').state, 'completed');
    assert.deepEqual(warningsOf(await accepted(one, taskResult(request.id))), ['RT-203']);
    assert.equal((await accepted(one, request)).state, 'completed');
  });

  it('is held by one of many that claim it at once, in one body and in several', async () => {
    const request = taskRequest('race.it');
    await accepted(one, request);
    const claims = Array.from({ length: 200 }, (_, i) => claimOf(request, `k${i}`));
    const many = claims.slice(0, 100);
    const answers = await Promise.all([
      sendTask(one, many),
      ...claims.slice(100).map((claim, i) => sendTask(i % 2 ? one : two, claim)),
    ]);
    const lines = answers[0].lines.filter((line) => line.line !== undefined);
    const outcomes = [
      ...lines.map((line, i) => [line.status === 'accepted', many[i].from, line.problem]),
      ...answers.slice(1).map((a, i) => [a.status === 200, claims[100 + i].from, a.json]),
    ];
    const winners = outcomes.filter(([won]) => won);
    assert.equal(winners.length, 1);
    for (const [won, , problem] of outcomes) {
      if (!won) assert.equal(problem.holder, winners[0][1]);
    }
    assert.equal((await keyOf(`${request.id}.claim`)).holder, winners[0][1]);
  });

  it('waits in a body for what is before it', async () => {
    const request = taskRequest('row.it');
    const body = [request, claimOf(request, 'worker'), taskResult(request.id), request];
    const { lines } = await sendTask(one, body);
    const statuses = lines.slice(0, 4).map((line) => line.status);
    assert.deepEqual(statuses, ['accepted', 'accepted', 'accepted', 'duplicate']);
    assert.equal(lines[2].subject, `roundtable.results.row.${request.id}`);
    assert.equal(lines[3].state, 'completed');
  });

  it('may live without the gateways: they know what was published straight to NATS', async () => {
    const request = taskRequest('straight.it');
    await publish('roundtable.tasks.straight.it', request);
    await until('the request has its key', () => keyOf(request.id));
    const claim = claimOf(request, 'galahad');
    const ack = await publish('roundtable.events.task.claimed', claim);
    await until('the claim has its key', () => keyOf(`${request.id}.claim`));
    const fact = await keyOf(`${request.id}.claim`);
    assert.deepEqual([fact.holder, fact.seq, fact.request !== null], ['galahad', ack.seq, true]);
    assertProblem(await sendTask(two, claimOf(request, 'kay')), 409, 'already-claimed');
    await publish(`roundtable.results.straight.${request.id}`, {
      ...taskResult(request.id),
      from: 'galahad',
    });
    await until('the result has its key', () => keyOf(`${request.id}.end`));
    assert.equal((await accepted(one, request)).state, 'completed');
  });

  it('that is addressed to an agent is held by no other, whichever way it claims', async () => {
    const request = taskRequest('given.it', { to: 'galahad' });
    await accepted(one, request);
    for (const server of [one, two]) {
      const refused = assertProblem(await sendTask(server, claimOf(request, 'kay')), 409, 'not-addressee');
      assert.equal(refused.to, 'galahad');
    }
    await publish('roundtable.events.task.claimed', claimOf(request, 'kay'));
    const ack = await publish('roundtable.events.task.claimed', claimOf(request, 'galahad'));
    await until('the claim has its key', () => keyOf(`${request.id}.claim`));
    const fact = await keyOf(`${request.id}.claim`);
    assert.deepEqual([fact.holder, fact.seq], ['galahad', ack.seq]);
    assertProblem(await sendTask(two, claimOf(request, 'kay')), 409, 'already-claimed');
  });

  it('that was claimed before its request came stays with the claimer, also if another is addressed', async () => {
    const request = taskRequest('early.it', { to: 'galahad' });
    assert.deepEqual(warningsOf(await accepted(one, claimOf(request, 'kay'))), ['RT-201']);
    await accepted(two, request);
    const late = assertProblem(await sendTask(one, claimOf(request, 'galahad')), 409, 'already-claimed');
    assert.equal(late.holder, 'kay');
  });

  it('that nobody requested can be claimed, with a warning', async () => {
    const request = taskRequest('no.it');
    const receipt = await accepted(one, claimOf(request, 'galahad'));
    assert.deepEqual(warningsOf(receipt), ['RT-201']);
    const verdict = await sendTask(one, claimOf(request, 'kay'), { to: 'validate' });
    assert.equal(verdict.json.valid, true);
    assert.deepEqual(verdict.json.violations, []);
  });
});

describe('a stream that is read by several consumers', () => {
  it('says who held a task, though its end was read before its claim', async (t) => {
    const nats = await startNats();
    t.after(() => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const claims = wire.hold(
      ({ kind, reply }) => kind === 'deliver' && /^\$JS\.ACK\.ROUNDTABLE\.\w+claimed\./.test(reply ?? ''),
    );
    const server = await parleyFor(t, { nats: wire.url });
    const client = await natsClient(t, nats.url);
    const request = taskRequest('old.it');
    const publish = (subject, message) => client.jetstream().publish(`roundtable.${subject}`, JSON.stringify(message));
    await publish('tasks.old.it', request);
    await publish('events.task.claimed', claimOf(request, 'galahad'));
    await publish(`results.old.${request.id}`, taskResult(request.id, { from: 'galahad' }));
    await claims.reached('the claim is delivered');
    const task = async () => (await get(server, `/v1/roundtable/tasks/${request.id}`)).json;
    await until('it is over', async () => (await task()).state === 'completed');
    claims.release();
    await until('it has its holder', async () => (await task()).holder === 'galahad');
    assert.equal((await task()).state, 'completed');
    await publish('events.task.claimed', claimOf(request, 'kay'));
    assertProblem(await sendTask(server, claimOf(request, 'kay')), 409, 'task-over');
    assert.equal((await task()).holder, 'galahad');
  });
});

describe('--lifecycle', () => {
  it('strict refuses what it would warn of; off decides nothing', async (t) => {
    const nats = await startNats();
    t.after(() => nats.stop());
    const strict = await parleyFor(t, { nats: nats.url, args: ['--lifecycle', 'strict'] });
    const request = taskRequest('strict.it');
    await accepted(strict, request);
    await accepted(strict, claimOf(request, 'galahad'));
    const report = taskResult(request.id, { from: 'kay' });
    assert.equal(assertProblem(await sendTask(strict, report), 409, 'not-holder').holder, 'galahad');
    const off = await parleyFor(t, { nats: nats.url, args: ['--lifecycle', 'off'] });
    await accepted(off, claimOf(request, 'kay'));
    const again = await accepted(off, request);
    assert.deepEqual([again.duplicate, again.state], [true, undefined]);
  });
});

describe('a decision', () => {
  const LOOK = /^\$JS\.API\.(DIRECT|STREAM\.MSG)\.GET\.KV_parley_tasks/;

  // What one gateway asks of NATS: keys that it looks for, messages, and keys that it creates. What
  // the shared consumers would see is kept from it.
  async function counted(t, reactors = 1) {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const seen = wire.hold((frame) => frame.kind === 'deliver' && frame.reply?.startsWith('$JS.ACK.ROUNDTABLE.'));
    const asked = { looks: [], messages: 0, keys: 0, acks: 0 };
    wire.hold(({ kind, subject, body }) => {
      if (kind !== 'publish') return false;
      if (LOOK.test(subject)) asked.looks.push(`${subject} ${body}`);
      asked.messages += subject.startsWith('roundtable.') ? 1 : 0;
      asked.keys += subject.startsWith('$KV.parley_tasks.') ? 1 : 0;
      asked.acks += subject.startsWith('$JS.ACK.ROUNDTABLE.') ? 1 : 0;
      return false;
    });
    // What passes through this process late is not published again.
    const args = ['--reactors', `${reactors}`, ...IMPATIENT];
    const server = await startParley({ nats: wire.url, args });
    atEnd(t, () => server.stop());
    return {
      server,
      seen,
      asked,
      take() {
        const { looks, messages, keys } = asked;
        Object.assign(asked, { looks: [], messages: 0, keys: 0 });
        const names = looks.map((look) => look.match(/\$KV\.parley_tasks\.([\w-]+(\.\w+)?)/)[1]);
        return { looks: new Set(names).size, messages, keys };
      },
    };
  }

  it('costs one look-up and one write more than the message', async (t) => {
    const { server, take } = await counted(t);
    const request = taskRequest('count.it');
    const claim = claimOf(request, 'galahad');
    const result = taskResult(request.id, { from: 'galahad' });
    // Of the keys, those are not looked for that this gateway has written a moment ago. Of a task that was claimed,
    // the key of the next turn is.
    const rows = [
      [request, { looks: 3, messages: 1, keys: 1 }],
      [request, { looks: 2, messages: 0, keys: 0 }],
      [claim, { looks: 2, messages: 1, keys: 1 }],
      [claim, { looks: 2, messages: 0, keys: 0 }],
      [result, { looks: 2, messages: 1, keys: 1 }],
      [result, { looks: 1, messages: 1, keys: 0 }],
    ];
    for (const [message, asks] of rows) {
      await accepted(server, message);
      assert.deepEqual(take(), asks, message.type);
    }
  });

  it('is not looked up again for what the same process has decided, on whatever reactor', async (t) => {
    const COUNT = 20;
    const { server, take, seen, asked } = await counted(t, 4);
    const requests = Array.from({ length: COUNT }, () => taskRequest('seen.it'));
    await Promise.all(requests.map((request) => accepted(server, request)));
    await Promise.all(requests.map((request) => accepted(server, claimOf(request, 'galahad'))));
    take();
    seen.release();
    await until('the consumers have read them', () => asked.acks >= 2 * COUNT);
    assert.deepEqual(take(), { looks: 0, messages: 0, keys: 0 });
  });
});
