// SPDX-License-Identifier: Apache-2.0
// Messages that take long to check, and bodies that take long to come: neither keeps others waiting,
// and what is held of all of them has a bound.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { MSGPACK_TYPE, decode } from './lib/frames.mjs';
import { connectRaw, post, rawPost, send, validate } from './lib/http.mjs';
import { embeddedUrl, lastSequence, natsClient, storedMessage } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';

const MIB = 1024 * 1024;
const PATIENCE = { timeout: isSanitized ? 240_000 : 60_000 };

// As slow as JSON gets: a value in five bytes, and no message.
const nulls = (bytes) => Buffer.from(`{"a":[${'null,'.repeat(bytes / 5)}null]}`);
const checkpoint = (bytes) => ({
  type: 'checkpoint',
  timestamp: 1705392000,
  data: { agent_state: { id: 'agent-7', notes: 'x'.repeat(bytes) } },
});
const largeClaim = (bytes) => claim({ content: 'x'.repeat(bytes) });

// Resolves once `bytes` are with the kernel; its answer comes with `answer`.
async function begin(t, server, bytes) {
  const connection = await connectRaw(server);
  atEnd(t, () => connection.close());
  await connection.write(bytes);
  return connection;
}

describe('a message that takes long to check', () => {
  it('keeps nobody waiting on the same reactor', async (t) => {
    const parley = await parleyFor(t, { args: ['--reactors', '1'] });
    const body = nulls((isSanitized ? 8 : 80) * MIB);
    const large = await begin(t, parley, rawPost('/v1/supervisor/validate', body));
    let isAnswered = false;
    const verdict = large.answer(PATIENCE).then((answer) => {
      isAnswered = true;
      return answer;
    });
    for (let i = 0; i < 50; i++) {
      assert.equal((await validate(parley, claim(), PATIENCE)).json.valid, true);
    }
    assert.equal(isAnswered, false, 'fifty others are answered before it');
    const { status, body: text } = await verdict;
    assert.equal(status, 200);
    assert.equal(JSON.parse(text).valid, false);
  });

  it('that was sent whole is stored though its client has gone', async (t) => {
    const parley = await parleyFor(t);
    const message = largeClaim(MIB / 2);
    const connection = await begin(t, parley, rawPost('/v1/vlp/messages', JSON.stringify(message)));
    connection.close();
    const client = await natsClient(t, embeddedUrl(parley));
    await until('it is stored', async () => (await lastSequence(client)) === 1, PATIENCE);
    const { payload } = await storedMessage(client, 1);
    assert.equal(payload.toString(), JSON.stringify(message));
  });

  it('is answered by a server that drains', async (t) => {
    const parley = await parleyFor(t);
    const body = nulls((isSanitized ? 4 : 40) * MIB);
    const large = await begin(t, parley, rawPost('/v1/supervisor/validate', body));
    assertAccepted(await send(parley, claim()));
    parley.signal('SIGTERM');
    assert.equal((await large.answer(PATIENCE)).status, 200);
    await parley.program.hasExited();
    assert.equal(parley.program.exit.code, 0);
  });
});

describe('a large message', () => {
  const its = useParley();

  it('is stored as it was sent, and once', async () => {
    const message = largeClaim(MIB / 2);
    const first = assertAccepted(await send(its.parley, message));
    const stored = await storedMessage(its.nats, first.seq);
    assert.equal(stored.payload.toString(), JSON.stringify(message));
    assert.equal(stored.headers['ce-id'], message.id);
    const again = (await send(its.parley, message)).json;
    assert.deepEqual([again.seq, again.duplicate], [first.seq, true]);
  });

  it('that breaks a rule is told so', async () => {
    const answer = await send(its.parley, { ...largeClaim(MIB / 2), sender: '' });
    const { violations } = assertProblem(answer, 422, 'invalid-message');
    assert.equal(violations[0].rule, 'VLP-005');
  });

  it('over what NATS takes is 413', async () => {
    const text = JSON.stringify(checkpoint(9 * MIB));
    assertProblem(await post(its.parley, '/v1/supervisor/messages', text), 413, 'too-large');
  });

  it('is converted', async () => {
    const message = checkpoint(MIB);
    const text = JSON.stringify(message);
    const answer = await post(its.parley, '/v1/supervisor/convert?to=msgpack', text);
    assert.equal(answer.headers['content-type'], MSGPACK_TYPE, answer.text.slice(0, 500));
    assert.deepEqual(decode(answer.body), message);
  });
});

describe('bodies that come slowly', () => {
  it('hold no more than --gather-max in sum; small ones are never refused', async (t) => {
    const parley = await parleyFor(t, { args: ['--reactors', '2', '--gather-max', '8m'] });
    const whole = rawPost('/v1/supervisor/validate', nulls(5 * MIB));
    const held = [];
    const send3MiB = () => post(parley, '/v1/supervisor/validate', nulls(3 * MIB), PATIENCE);
    // Another that is held each time: one that comes behind the whole one is refused itself.
    const refusal = async () => {
      held.push(await begin(t, parley, whole.subarray(0, 3.5 * MIB)));
      const answer = await send3MiB();
      return answer.status === 503 ? answer : undefined;
    };
    const answer = await until('a whole one is refused', refusal, PATIENCE);
    assertProblem(answer, 503, 'overloaded');
    assert.ok(answer.headers['retry-after']);
    assert.match(answer.json.detail, /--gather-max/);
    assertAccepted(await send(parley, claim({ content: 'x'.repeat(60 * 1024) })));
    for (const connection of held) connection.close();
    await until('there is room again', async () => (await send3MiB()).status === 200, PATIENCE);
  });
});
