// SPDX-License-Identifier: Apache-2.0
// A gateway is killed at each step of a decision, and nats-server is: what was sent again is stored
// once, no key is ahead of its message, and none changes. Then NATS is away between the steps: the
// sender is told what to do.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { fleetFor } from './lib/fleet.mjs';
import { post } from './lib/http.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { IMPATIENT, parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskFailed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { auditTasks, factWritten, factsOf, readTasks } from './lib/task_audit.mjs';

const HOLDER = 'galahad';

// Messages whose decision writes a key: what comes before, the message, and the name of its key.
const MESSAGES = {
  'a request': { before: [], make: (id) => taskRequest('kill.me', { id }), fact: 'request' },
  'a claim': {
    before: [(id) => taskRequest('kill.me', { id })],
    make: (id) => taskClaimed(id, { from: HOLDER }),
    fact: 'claim',
  },
  'a result': {
    before: [(id) => taskRequest('kill.me', { id }), (id) => taskClaimed(id, { from: HOLDER })],
    make: (id) => taskResult(id, { from: HOLDER }),
    fact: 'end',
  },
};

const keyOf = (id, fact) => (fact === 'request' ? id : `${id}.${fact}`);
const isPublished = (to, text) => (frame) =>
  frame.kind === 'publish' && frame.subject.startsWith(to) && `${frame.subject} ${frame.body}`.includes(text);

// Where a decision can be stopped. `isStored`: by then the message is in the stream.
const STEPS = {
  'before it has asked for the keys': {
    hold: (wire, { id }) =>
      wire.hold((frame) => frame.kind === 'publish' && /^\$JS\.API\.(STREAM\.MSG|DIRECT)\.GET\.KV_/.test(frame.subject) &&
        `${frame.subject} ${frame.body}`.includes(id)),
  },
  'before it has published': {
    hold: (wire, { message }) => wire.hold(isPublished('roundtable.', message.id)),
  },
  'before it knows that it is stored': {
    hold: (wire, { message }) => wire.holdAnswerTo(isPublished('roundtable.', message.id)),
    isStored: true,
  },
  'before it has created the key': {
    hold: (wire, { id, fact }) => wire.hold(isPublished('$KV.', `.${keyOf(id, fact)} `)),
    isStored: true,
  },
  'before it knows that the key is there': {
    hold: (wire, { id, fact }) => wire.holdAnswerTo(isPublished('$KV.', `.${keyOf(id, fact)} `)),
    isStored: true,
  },
};

// A gateway behind a wire, and another that did what came before, so that the first has nothing in
// memory.
async function stage(t, { before, make, fact }, args) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const wire = await NatsWire.to(nats.url);
  atEnd(t, () => wire.close());
  const other = await startParley({ nats: nats.url });
  const id = crypto.randomUUID();
  for (const each of before) {
    const answer = await sendTask(other, each(id));
    assert.equal(answer.status, 200, answer.text);
  }
  await other.stop();
  const held = await startParley({ nats: wire.url, args });
  atEnd(t, () => held.stop());
  return { nats, wire, held, id, fact, message: make(id), client: await natsClient(t, nats.url) };
}

// Sent again where it is refused before it has come as far as to what is held.
async function answerOf(server, message, held) {
  for (;;) {
    const answer = await sendTask(server, message);
    if (answer.status !== 503 || held.count > 0) return answer;
  }
}

const storedAs = async (client, message) =>
  [...(await readTasks(client)).messages.values()].filter(({ id }) => id === message.id);

describe('a gateway that is killed', { concurrency: true }, () => {
  for (const [what, row] of Object.entries(MESSAGES)) {
    describe(`with ${what}`, { concurrency: 4 }, () => {
      for (const [when, { hold, isStored = false }] of Object.entries(STEPS)) {
        it(when, async (t) => {
          const its = await stage(t, row, []);
          const { client, message, id, fact } = its;
          const held = hold(its.wire, its);
          const answer = sendTask(its.held, message).catch(() => null);
          await held.reached(`what comes ${when}`, 30_000);
          await its.held.kill();
          assert.equal(await answer, null, 'nobody was answered');
          assert.equal((await storedAs(client, message)).length, isStored ? 1 : 0);
          const next = await parleyFor(t, { nats: its.nats.url });
          if (isStored) await factWritten(client, keyOf(id, fact));
          const before = await factsOf(client, id);
          const receipt = await sendTask(next, message);
          assert.equal(receipt.status, 200, receipt.text);
          assert.equal(receipt.json.duplicate, isStored, receipt.text);
          const [stored, ...others] = await storedAs(client, message);
          assert.deepEqual(others, []);
          assert.equal(receipt.json.seq, stored.seq);
          const after = await factsOf(client, id);
          assert.equal(after[fact].seq, stored.seq);
          if (isStored) assert.deepEqual(after, before, 'keys do not change');
          await auditTasks(client);
        });
      }

      it('after each step of many, and whose messages are sent again at once', async (t) => {
        const { nats, gateways, client } = await fleetFor(t, { gateways: 1 });
        for (let i = 0; i < 6; i++) {
          const id = crypto.randomUUID();
          for (const each of row.before) await sendTask(gateways[0], each(id));
          const victim = await startParley({ nats: nats.url });
          const message = row.make(id);
          const answer = sendTask(victim, message).catch(() => null);
          await new Promise((resolve) => setTimeout(resolve, i));
          await victim.kill();
          const told = await answer;
          const again = await sendTask(gateways[0], message);
          assert.equal(again.status, 200, again.text);
          if (told) assert.equal(again.json.duplicate, true);
          assert.equal((await storedAs(client, message)).length, 1);
          assert.equal((await factsOf(client, id))[row.fact].seq, again.json.seq);
        }
        await auditTasks(client);
      });
    });
  }
});

describe('NATS that is away', { concurrency: true }, () => {
  for (const [what, row] of Object.entries(MESSAGES)) {
    describe(`with ${what}`, { concurrency: 4 }, () => {
      for (const [when, { hold, isStored = false }] of Object.entries(STEPS)) {
        it(`${when}: the answer says what to do, and the message is stored once`, async (t) => {
          const its = await stage(t, row, IMPATIENT);
          const { message, id, fact } = its;
          const held = hold(its.wire, its);
          const sent = answerOf(its.held, message, held);
          await held.reached(`what comes ${when}`, 30_000);
          await its.nats.kill();
          const answer = await sent;
          if (answer.status !== 200) {
            assert.ok([503, 504].includes(answer.status), answer.text);
            if (answer.status === 503) assert.match(answer.headers['retry-after'], /^\d+$/);
            if (isStored) assert.equal(answer.status, 504, 'what may be stored is not 503');
          }
          const nats = await its.nats.restart();
          atEnd(t, () => nats.stop());
          held.release();
          const receipt = await until('the message is taken', async () => {
            const again = await post(its.held, '/v1/roundtable/messages', JSON.stringify(message));
            return again.status < 500 && again;
          });
          assert.equal(receipt.status, 200, receipt.text);
          const client = await natsClient(t, nats.url);
          const [stored, ...others] = await storedAs(client, message);
          assert.deepEqual(others, []);
          assert.equal(receipt.json.seq, stored.seq);
          assert.equal((await factWritten(client, keyOf(id, fact))).seq, stored.seq);
          await auditTasks(client);
        });
      }
    });
  }
});

describe('nats-server that is killed', () => {
  it('shows consumers old messages again: keys do not change', async (t) => {
    const { nats, gateways, client } = await fleetFor(t);
    const ids = Array.from({ length: 100 }, () => crypto.randomUUID());
    const histories = ids.map((id, i) => [
      taskRequest('again.seen', { id }),
      taskClaimed(id, { from: HOLDER }),
      i % 2 ? taskResult(id, { from: HOLDER }) : taskFailed(id, { from: HOLDER }),
    ]);
    const { lines } = await sendTask(gateways[0], histories.flat());
    assert.equal(lines.at(-1).summary.accepted, 300);
    const before = await auditTasks(client);
    await client.close();
    await nats.kill();
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    const mine = await natsClient(t, again.url);
    const straight = taskRequest('again.seen');
    await mine.jetstream().publish('roundtable.tasks.again.seen', JSON.stringify(straight));
    await factWritten(mine, straight.id);
    const after = await auditTasks(mine);
    for (const [key, value] of before.keys) assert.deepEqual(after.keys.get(key), value, key);
    for (const [i, [request, claim, end]] of histories.entries()) {
      const gateway = gateways[i % 2];
      const receipts = await until('they are answered', async () => {
        const answers = [];
        for (const message of [request, claim]) answers.push(await sendTask(gateway, message));
        return answers.every(({ status }) => status < 500) && answers;
      });
      assert.equal(receipts[0].json.duplicate, true, receipts[0].text);
      assert.equal(receipts[0].json.state, end.type === 'task.failed' ? 'failed' : 'completed');
      assert.equal(receipts[1].json.type, '/problems/task-over');
    }
  });
});
