// SPDX-License-Identifier: Apache-2.0
// What was refused is kept in NATS with what is wrong with it, and no answer depends on that.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compress } from './lib/codings.mjs';
import { NDJSON_TYPE, send, sendLines, validate } from './lib/http.mjs';
import { connectNats, embeddedUrl, natsClient, storedMessages, streamInfo } from './lib/nats.mjs';
import { parley, parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertAccepted, assertProblem, brokenClaim, claim, lines } from './lib/vlp.mjs';

const QUARANTINE = { stream: 'REJECTED' };

// Nobody awaits an ack, so it may be stored after the answer.
async function kept(nats, count) {
  await until(`${count} are kept`, async () => {
    const { state } = await streamInfo(nats, 'REJECTED');
    return state.messages === count;
  });
  return storedMessages(nats, QUARANTINE);
}

describe('the quarantine', () => {
  const its = useParley({ args: ['--quarantine'] });

  it('is a stream of a day and 1 GiB, from which the oldest go', async () => {
    const { config } = await streamInfo(its.nats, 'REJECTED');
    assert.deepEqual(config.subjects, ['rejected.>']);
    assert.equal(config.max_age, 24 * 3600 * 1e9);
    assert.equal(config.max_bytes, 1 << 30);
    assert.equal(config.discard, 'old');
    assert.equal((await streamInfo(its.nats, 'VLP')).config.max_bytes, -1);
  });

  it('keeps what was refused, byte for byte, and what is wrong with it', async () => {
    const sent = ` ${JSON.stringify(brokenClaim())}\n`;
    const answer = await send(its.parley, sent, { headers: { 'X-Request-Id': 'my-request' } });
    const { violations } = assertProblem(answer, 422, 'invalid-message');
    const [message] = await kept(its.nats, 1);
    assert.equal(message.subject, 'rejected.vlp');
    assert.equal(message.payload.toString(), sent);
    assert.equal(message.headers['parley-rules'], 'VLP-005');
    assert.equal(message.headers['parley-request'], 'my-request');
    assert.equal(message.headers['content-type'], 'application/json');
    assert.match(message.headers['parley-time'], /^20\d\d-\d\d-\d\dT/);
    const found = JSON.parse(decodeURIComponent(message.headers['parley-violations']));
    assert.deepEqual(found, violations);
    const checked = await parley(['check', 'vlp', '--format', 'ndjson'], { input: message.payload });
    assert.match(checked.stdout, /VLP-005/);
  });

  it('keeps the refused ones of many, as they came out of their compression', async () => {
    const broken = [brokenClaim(), brokenClaim()];
    const body = compress('gzip', lines([claim(), broken[0], claim(), broken[1]]));
    const headers = { 'Content-Encoding': 'gzip' };
    const answer = await sendLines(its.parley, body, { type: NDJSON_TYPE, headers });
    assert.equal(answer.lines.at(-1).summary.invalid, 2);
    const messages = (await kept(its.nats, 3)).slice(1);
    assert.deepEqual(messages.map((one) => JSON.parse(one.payload)), broken);
    assert.deepEqual(messages.map((one) => one.headers['parley-line']), ['2', '4']);
  });

  it('keeps no verdicts, and nothing that was accepted', async () => {
    assertAccepted(await send(its.parley, claim()));
    assert.equal((await validate(its.parley, brokenClaim())).json.valid, false);
    assertProblem(await send(its.parley, brokenClaim()), 422, 'invalid-message');
    await kept(its.nats, 4);
  });
});

it('without --quarantine there is none', async (t) => {
  const server = await parleyFor(t);
  const nats = await natsClient(t, embeddedUrl(server));
  assertProblem(await send(server, brokenClaim()), 422, 'invalid-message');
  await assert.rejects(streamInfo(nats, 'REJECTED'), /stream not found/);
});

it('answers are the same when its stream is gone', async (t) => {
  const server = await parleyFor(t, { args: ['--quarantine'] });
  const nats = await connectNats(embeddedUrl(server));
  await (await nats.jetstreamManager()).streams.delete('REJECTED');
  for (let i = 0; i < 5; i++) {
    assertProblem(await send(server, brokenClaim()), 422, 'invalid-message');
    assertAccepted(await send(server, claim()));
  }
  await until('it is there again', () => streamInfo(nats, 'REJECTED'));
  await nats.close();
});
