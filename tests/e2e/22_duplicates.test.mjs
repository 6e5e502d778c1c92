// SPDX-License-Identifier: Apache-2.0
// What counts as the same message: retries are stored once, other people's messages are not lost.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { send, sendLines } from './lib/http.mjs';
import { lastSequence, storedMessage, storedMessages } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { assertAccepted, assertProblem, claim, lines, uniqueId } from './lib/vlp.mjs';

const keyed = (key, more) => ({ headers: { 'Idempotency-Key': key }, ...more });

describe('duplicates', () => {
  const its = useParley();

  it('the same body again is a duplicate, with the sequence number of the first', async () => {
    const message = claim();
    const first = assertAccepted(await send(its.parley, message));
    const again = assertAccepted(await send(its.parley, message));
    assert.deepEqual(again, { ...first, duplicate: true });
    assert.equal(await lastSequence(its.nats), first.seq);
  });

  it('the same id with another body is another message', async () => {
    const message = claim();
    const first = assertAccepted(await send(its.parley, message));
    const other = assertAccepted(await send(its.parley, { ...message, sender: 'The Other' }));
    assert.equal(other.duplicate, false);
    assert.equal(other.seq, first.seq + 1);
  });

  it('the same body sent twenty times at once is stored once', async () => {
    const message = claim();
    const before = await lastSequence(its.nats);
    const attempts = Array.from({ length: 20 }, () => send(its.parley, message));
    const answers = (await Promise.all(attempts)).map(assertAccepted);
    assert.equal(answers.filter((answer) => !answer.duplicate).length, 1);
    assert.deepEqual([...new Set(answers.map((answer) => answer.seq))], [before + 1]);
    assert.equal(await lastSequence(its.nats), before + 1);
  });

  it('two bodies with the same id sent at once are both stored', async () => {
    const one = claim();
    const two = { ...one, content: 'Something else' };
    const answers = await Promise.all([send(its.parley, one), send(its.parley, two)]);
    const results = answers.map(assertAccepted);
    assert.deepEqual(
      results.map((result) => result.duplicate),
      [false, false],
    );
    assert.notEqual(results[0].seq, results[1].seq);
  });

  it('an Idempotency-Key decides instead of the body', async () => {
    const key = uniqueId();
    const first = assertAccepted(await send(its.parley, claim(), keyed(key)));
    const again = assertAccepted(await send(its.parley, claim(), keyed(key)));
    assert.deepEqual([again.duplicate, again.seq], [true, first.seq]);
    assert.equal((await storedMessage(its.nats, first.seq)).headers['nats-msg-id'], key);
  });

  it('the same body under another Idempotency-Key is another message', async () => {
    const message = claim();
    const first = assertAccepted(await send(its.parley, message, keyed(uniqueId())));
    const other = assertAccepted(await send(its.parley, message, keyed(uniqueId())));
    assert.deepEqual([other.duplicate, other.seq], [false, first.seq + 1]);
  });

  for (const [what, key] of [
    ['of 128 characters', '!~'.padEnd(128, 'k')],
    ['of one character', '7'],
  ]) {
    it(`an Idempotency-Key ${what} is taken as it is`, async () => {
      const { seq } = assertAccepted(await send(its.parley, claim(), keyed(key)));
      assert.equal((await storedMessage(its.nats, seq)).headers['nats-msg-id'], key);
    });
  }

  for (const [what, key] of [
    ['of 129 characters', 'k'.repeat(129)],
    ['with a blank in it', 'two words'],
    ['with a tab in it', 'two\twords'],
    ['that is not ASCII', Buffer.from('schlüssel').toString('latin1')],
  ]) {
    it(`an Idempotency-Key ${what} is 400`, async () => {
      const answer = await send(its.parley, claim(), keyed(key));
      const problem = assertProblem(answer, 400, 'invalid-parameter');
      assert.match(problem.detail, /Idempotency-Key/i);
    });
  }

  it('in a batch the key of a message is KEY:LINE', async () => {
    const key = uniqueId();
    const before = await lastSequence(its.nats);
    const answer = await sendLines(its.parley, `\n${lines([claim(), claim()])}`, keyed(key));
    assert.equal(answer.lines.at(-1).summary.accepted, 2);
    const stored = await storedMessages(its.nats, { from: before + 1 });
    const ids = stored.map((message) => message.headers['nats-msg-id']);
    assert.deepEqual(ids, [`${key}:2`, `${key}:3`]);
  });

  it('a batch sent again under its key is all duplicates', async () => {
    const key = uniqueId();
    const batch = lines([claim(), claim(), claim()]);
    await sendLines(its.parley, batch, keyed(key));
    const before = await lastSequence(its.nats);
    const answer = await sendLines(its.parley, batch, keyed(key));
    assert.equal(answer.lines.at(-1).summary.duplicate, 3);
    assert.equal(await lastSequence(its.nats), before);
  });

  it('the same line twice in a batch is a duplicate of the first', async () => {
    const message = claim();
    const answer = await sendLines(its.parley, lines([message, message]));
    const [first, second, { summary }] = answer.lines;
    assert.deepEqual([first.status, second.status], ['accepted', 'duplicate']);
    assert.equal(second.seq, first.seq);
    assert.deepEqual(summary, { received: 2, accepted: 1, duplicate: 1, invalid: 0, failed: 0 });
  });
});
