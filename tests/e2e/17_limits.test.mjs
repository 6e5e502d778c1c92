// SPDX-License-Identifier: Apache-2.0
// What a sender may do at most: rates, times, connections, streams; and what is said when it does
// more.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  chunk,
  get,
  NDJSON_TYPE,
  post,
  rawChunkedHead,
  rawFor,
  rawPost,
  send,
  sendLines,
  streamFor,
  validate,
  validateLines,
} from './lib/http.mjs';
import { storedMessages } from './lib/nats.mjs';
import { parley, startParley, useParley } from './lib/parley.mjs';
import { pause, until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { openAtServer } from './lib/sockets.mjs';
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

describe('the rate of a token', () => {
  let file;
  let server;
  const create = async (name, ...more) => {
    const args = ['token', 'create', '--tokens', file, '--name', name, '--allow', 'send:vlp'];
    return (await parley([...args, ...more])).stdout.trim();
  };
  const as = (token) => ({ headers: { Authorization: `Bearer ${token}` } });
  let own;
  let common;
  before(async () => {
    file = join(temporaryFolder(), 'tokens.json');
    own = await create('own', '--rate-messages', '7');
    common = await create('common');
    server = await startParley({ args: ['--tokens', file, '--rate-messages', '2'] });
  });
  after(() => server?.stop());

  it("is its own, or the server's", async () => {
    assert.deepEqual(policyOf(await validate(server, claim(), as(own))).messages, { q: 7, w: 1 });
    const answer = await validate(server, claim(), as(common));
    assert.deepEqual(policyOf(answer).messages, { q: 2, w: 1 });
  });

  it('is not used up by those who show none that is accepted, though they are refused', async () => {
    const wrong = as(`${own.slice(0, -12)}${common.slice(-12)}`);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => validate(server, claim(), wrong)),
    );
    const refused = answers.filter((answer) => answer.status === 429);
    assert.ok(refused.length > 0, answers.map((answer) => answer.status).join());
    refused.forEach((answer) => assertProblem(answer, 429, 'rate-limited'));
    assert.match(refused[0].headers['retry-after'], /^[1-9]\d*$/);
    const { status } = await validate(server, claim(), as(own));
    assert.equal(status, 200);
  });
});

describe('the time and the size of a request', { concurrency: true }, () => {
  const heads = useParley({ args: ['--head-timeout', '1s'] });
  const bodies = useParley({ args: ['--idle-timeout', '1s', '--body-rate', '1m'] });
  const sized = useParley({ args: ['--head-max', '1k', '--body-max', '2k'] });

  const assertLate = async (connection) => {
    const answer = await connection.answer();
    assertProblem(answer, 408, 'request-timeout');
    assert.equal(answer.headers.connection, 'close');
    await connection.end();
    return JSON.parse(answer.text).detail;
  };

  it('is limited for a head, from its first byte', async (t) => {
    const starts = ['G', 'POST /v1/vlp/messages HTTP/1.1\r\nHost: localhost\r\n'];
    const begun = starts.map((start) => rawFor(t, heads.parley, start));
    for (const connection of await Promise.all(begun)) {
      assert.match(await assertLate(connection), /--head-timeout/);
    }
  });

  it('is limited for a body that stalls, or comes slower than its rate', async (t) => {
    const long = claim({ content: 'x'.repeat(1000) }); // at 50 bytes a second it is whole after 10 s
    const whole = rawPost('/v1/vlp/messages', JSON.stringify(long));
    const rest = whole.subarray(-whole.length / 2);
    const areLate = async () => {
      const stalled = await rawFor(t, bodies.parley, whole.subarray(0, -10));
      const slow = await rawFor(t, bodies.parley, whole.subarray(0, -whole.length / 2));
      for (let i = 0; i < rest.length && slow.received.length === 0 && !slow.closed; i++) {
        await slow.write(rest.subarray(i, i + 1));
        await pause(20);
      }
      assert.match(await assertLate(stalled), /--idle-timeout/);
      assert.match(await assertLate(slow), /--body-rate/);
      return true;
    };
    // One that stands still itself for a second may close the connection instead.
    await until('both are answered', areLate);
  });

  it('is limited in size, whatever is in it', async () => {
    const cookie = 'x'.repeat(1024);
    const head = await get(sized.parley, '/livez', { headers: { cookie } });
    assertProblem(head, 431, 'head-too-large');
    assert.match(JSON.parse(head.text).detail, /1024 bytes \(--head-max\)/);
    const body = await sendLines(sized.parley, lines(claims(20)));
    assertProblem(body, 413, 'too-large');
    assert.match(JSON.parse(body.text).detail, /2048 bytes \(--body-max\)/);
    assertAccepted(await send(sized.parley, claim()));
  });
});

describe('what an address may have open', () => {
  const args = ['--connections-per-address', '3', '--streams-per-token', '1'];
  const its = useParley({ args });

  const areForgotten = () =>
    until('all connections are forgotten', () => openAtServer(its.parley) === 0);

  it('is so many connections; the next one is told so, and closed', async (t) => {
    await areForgotten(); // of those that asked whether it is ready
    const open = [];
    for (let i = 0; i < 3; i++) {
      open.push(await rawFor(t, its.parley, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'));
      assert.equal((await open[i].answer()).status, 200);
    }
    const refused = await (await rawFor(t, its.parley)).answer();
    assert.equal(refused.status, 429);
    assert.equal(refused.headers['content-type'], 'application/problem+json');
    assert.equal(refused.headers['retry-after'], '1');
    const problem = JSON.parse(refused.text);
    assert.equal(problem.type, '/problems/too-many-connections');
    assert.match(problem.detail, /3 connections .*--connections-per-address/);
    open.forEach((connection) => connection.close());
    await areForgotten();
  });

  it('is so many streams and lists that are followed, together', async (t) => {
    const paths = ['/v1/vlp/stream', '/v1/stream', '/v1/roundtable/tasks', '/v1/vlp/halts', '/v1/supervisor/agents']
      .map((path) => (path.endsWith('stream') ? path : `${path}?follow=true`));
    for (const path of paths) {
      const first = await until('it is taken', async () => {
        const stream = await streamFor(t, its.parley, path);
        return stream.status === 200 && stream;
      });
      for (const other of paths) {
        const second = await get(its.parley, other);
        assertProblem(second, 429, 'too-many-streams');
        assert.match(JSON.parse(second.text).detail, /--streams-per-token/);
      }
      first.close();
    }
  });

  it('has a page for each of its problems', async () => {
    for (const name of ['too-many-connections', 'too-many-streams', 'rate-limited', 'request-timeout']) {
      const isThere = async () => (await get(its.parley, `/problems/${name}`)).status === 200;
      await until(`there is a page about ${name}`, isThere); // those before may still be open
    }
  });
});

describe('every limit', () => {
  it('is in --help, with its default', async () => {
    const help = (await parley(['serve', '--help'])).stdout;
    for (const flag of [
      'connections',
      'connections-per-address',
      'streams-per-token',
      'head-timeout',
      'body-rate',
      'idle-timeout',
      'message-max',
      'head-max',
      'body-max',
      'rate-messages',
      'rate-bytes',
    ]) {
      assert.match(help, new RegExp(`--${flag} [A-Z]`), flag);
    }
  });
});
