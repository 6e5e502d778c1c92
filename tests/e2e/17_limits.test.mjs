// SPDX-License-Identifier: Apache-2.0
// What a sender may do at most: rates, and what is said when it does more.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  chunk,
  NDJSON_TYPE,
  post,
  rawChunkedHead,
  rawFor,
  send,
  sendLines,
  validate,
  validateLines,
} from './lib/http.mjs';
import { storedMessages } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { assertAccepted, assertProblem, brokenClaim, claim, claims, lines } from './lib/vlp.mjs';

// draft-ietf-httpapi-ratelimit-headers: a list of names (strings) with parameters (RFC 8941).
function parseRateLimit(header) {
  const item = /^\s*"([a-z]+)"((?:;[a-z]+=(?:\d+|"[a-z-]+"))*)\s*$/;
  return Object.fromEntries(
    header.split(',').map((text) => {
      const [, name, parameters] = text.match(item) ?? assert.fail(`not an item: ${text}`);
      const pairs = parameters.split(';').slice(1).map((pair) => pair.split('='));
      return [name, Object.fromEntries(pairs.map(([key, value]) => [key, JSON.parse(value)]))];
    }),
  );
}

const leftOf = (answer) => parseRateLimit(answer.headers.ratelimit);
const policyOf = (answer) => parseRateLimit(answer.headers['ratelimit-policy']);

describe('rates', () => {
  const its = useParley({ args: ['--rate-messages', '1000', '--rate-bytes', '1k'] });
  const long = () => claim({ content: 'x'.repeat(200_000) }); // owes 190 s afterwards

  it('are said with every answer to a POST, as the draft writes them', async () => {
    const answer = await validate(its.parley, claim());
    assert.equal(answer.status, 200);
    assert.deepEqual(policyOf(answer), {
      messages: { q: 1000, w: 1 },
      bytes: { q: 1024, w: 1, qu: 'content-bytes' },
    });
    const { messages, bytes } = leftOf(answer);
    assert.ok(messages.r <= 1000 && messages.t >= 1, JSON.stringify(messages));
    assert.ok(bytes.r <= 1024 && bytes.t >= 1, JSON.stringify(bytes));
    const refused = await post(its.parley, '/v1/vlp/messages', '{}', { type: 'text/plain' });
    assertProblem(refused, 415, 'unsupported-media-type');
    assert.equal(policyOf(refused).messages.q, 1000);
  });

  it('let a message pass that is longer than a burst, and refuse the next ones', async () => {
    let first;
    do first = await send(its.parley, long());
    while (first.status === 429); // the bucket was not full yet
    assertAccepted(first);
    const path = (task) => `/v1/vlp/${task}`;
    for (const where of [path('messages'), path('validate'), path('convert?to=json')]) {
      const answer = await post(its.parley, where, JSON.stringify(claim()));
      assertProblem(answer, 429, 'rate-limited');
      const seconds = answer.headers['retry-after'];
      assert.match(seconds, /^[1-9]\d*$/);
      assert.ok(Number(seconds) <= 200, seconds);
      assert.equal(leftOf(answer).bytes.r, 0);
      assert.ok(leftOf(answer).bytes.t >= Number(seconds), JSON.stringify(leftOf(answer)));
      assert.match(JSON.parse(answer.text).detail, /1000 messages and 1024 bytes a second/);
    }
  });

  it('keep a batch waiting, and do not refuse it', async (t) => {
    const head = rawChunkedHead('/v1/vlp/messages');
    const body = chunk(lines([claim()]));
    const connection = await rawFor(t, its.parley, Buffer.concat([Buffer.from(head), body]));
    const late = await send(its.parley, claim());
    assertProblem(late, 429, 'rate-limited');
    assert.equal(connection.closed, false);
    assert.doesNotMatch(connection.received.toString(), /429|summary/);
  });

  it('do not concern reading', async () => {
    const stored = await storedMessages(its.nats);
    assert.ok(stored.length > 0);
  });
});

describe('the rate of messages', () => {
  const its = useParley({ args: ['--rate-messages', '100'] });

  it('slows a batch down, of which every message is accepted', async () => {
    const answer = await sendLines(its.parley, lines(claims(220)));
    assert.equal(answer.status, 200);
    const { received, accepted } = answer.lines.at(-1).summary;
    assert.deepEqual([received, accepted], [220, 220]);
    assert.deepEqual(policyOf(answer), { messages: { q: 100, w: 1 } });
  });

  it('counts verdicts, conversions and arrays alike', async () => {
    const verdicts = await validateLines(its.parley, lines([...claims(25), brokenClaim()]));
    assert.deepEqual(verdicts.lines.at(-1).summary, { received: 26, valid: 25, invalid: 1 });
    const array = await send(its.parley, claims(25));
    assert.equal(array.lines.at(-1).summary.accepted, 25);
    const path = '/v1/vlp/convert?to=ndjson';
    const converted = await post(its.parley, path, lines(claims(25)), { type: NDJSON_TYPE });
    assert.equal(converted.status, 200, converted.text);
    assert.equal(converted.text.trim().split('\n').length, 25);
  });
});
