// SPDX-License-Identifier: Apache-2.0
// Streams in the other encodings of their protocol: frames, and one message in MessagePack or
// Markdown. They bear messages alone.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { get, post, request, streamFor } from './lib/http.mjs';
import { FRAMES_TYPE, MSGPACK_TYPE, assertPackedProblem, decode, frames, framesOf } from './lib/frames.mjs';
import { useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { probedAtServer } from './lib/sockets.mjs';
import { assertProblem } from './lib/vlp.mjs';

const messages = [
  { type: 'heartbeat', timestamp: 1705392000 },
  { type: 'metrics', timestamp: 1705392001, data: { error_rate: 0.1, queue: -3 } },
  { type: 'shutdown', timestamp: 1705392002, reason: 'so long ✓', create_checkpoint: true },
];
const read = (server, query, type = FRAMES_TYPE, path = '/v1/supervisor/stream') =>
  get(server, `${path}${query}`, { headers: { Accept: type } });

describe('a stream in frames', () => {
  const its = useParley();
  before(async () => {
    const sent = await post(its.parley, '/v1/supervisor/messages?agent=a', frames(messages), {
      type: FRAMES_TYPE,
    });
    assert.equal(sent.lines.at(-1).summary.accepted, messages.length, sent.text);
    // Not a message of the protocol: no frame can say so.
    await its.nats.jetstream().publish('supervisor.a.gerbil.heartbeat', 'no JSON');
  });

  it('has the messages as they were sent, and nothing else', async () => {
    const answer = await read(its.parley, '?since=all&follow=false');
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['content-type'], FRAMES_TYPE);
    assert.deepEqual(framesOf(answer.body), messages);
    assert.deepEqual(answer.body, frames(messages));
  });

  // It has no keepalive. 74_life_cycles_slow has a reader that is gone.
  it('has the kernel ask whether its reader is still there', async (t) => {
    await streamFor(t, its.parley, '/v1/supervisor/stream', { headers: { Accept: FRAMES_TYPE } });
    await until('it will ask', () => probedAtServer(its.parley) === 1);
  });

  it('has filters and a limit', async () => {
    for (const [query, from, to] of [
      ['&type=metrics', 1, 2],
      ['&sender=elixir', 2, 3],
      ['&agent=b', 0, 0],
      ['&limit=2', 0, 2],
    ]) {
      const answer = await read(its.parley, `?since=all&follow=false${query}`);
      assert.deepEqual(framesOf(answer.body), messages.slice(from, to), query);
    }
  });

  it('goes on with what is sent, from the first moment', async () => {
    const more = { type: 'heartbeat', timestamp: 1705392009 };
    const reading = read(its.parley, '?since=all&agent=a&limit=4');
    const sent = await post(its.parley, '/v1/supervisor/messages?agent=a', JSON.stringify(more));
    assert.equal(sent.status, 200, sent.text);
    assert.deepEqual(framesOf((await reading).body), [...messages, more]);
  });

  it('gets what is sent while it waits', async () => {
    const opened = new Promise((resolve, reject) => {
      request(its.parley, 'GET', '/v1/supervisor/stream?limit=1', {
        headers: { Accept: FRAMES_TYPE },
      }).then(resolve, reject);
    });
    const last = { type: 'shutdown', timestamp: 1705392011, reason: 'r' };
    let answer;
    opened.then((each) => (answer = each));
    for (let i = 0; answer === undefined; i++) {
      const message = JSON.stringify({ ...last, timestamp: last.timestamp + i });
      assert.equal((await post(its.parley, '/v1/supervisor/messages', message)).status, 200);
    }
    assert.equal(framesOf((await opened).body)[0].reason, 'r');
  });

  it('has large messages whole', async () => {
    const large = { type: 'checkpoint', timestamp: 1705392020, data: { notes: 'x'.repeat(3 << 20) } };
    const sent = await post(its.parley, '/v1/supervisor/messages?agent=big', frames([large]), {
      type: FRAMES_TYPE,
    });
    assert.equal(sent.status, 200, sent.text);
    const answer = await read(its.parley, '?since=all&agent=big&limit=1');
    assert.deepEqual(answer.body, frames([large]));
  });

  it('is for one message in MessagePack', async () => {
    const answer = await read(its.parley, '?since=all&limit=1&type=metrics', MSGPACK_TYPE);
    assert.equal(answer.headers['content-type'], MSGPACK_TYPE);
    assert.deepEqual(decode(answer.body), messages[1]);
    const many = await read(its.parley, '?since=all&follow=false', MSGPACK_TYPE);
    assert.match(assertPackedProblem(many, 406, 'not-acceptable').detail, /limit=1/);
  });

  for (const [what, path, type] of [
    ['of all protocols', '/v1/stream', FRAMES_TYPE],
    ['of what was refused', '/v1/rejected/stream', FRAMES_TYPE],
    ['of a protocol that has none', '/v1/vlp/stream', FRAMES_TYPE],
    ['in a type that nobody has', '/v1/supervisor/stream', 'image/png'],
  ]) {
    it(`is refused ${what}`, async () => {
      const answer = await read(its.parley, '?follow=false', type, path);
      assertProblem(answer, 406, 'not-acceptable');
    });
  }

  it('is lines of JSON for whoever takes anything', async () => {
    for (const type of ['*/*', 'application/*', `${FRAMES_TYPE};q=0.5, application/x-ndjson`]) {
      const answer = await read(its.parley, '?since=all&follow=false&limit=1', type);
      assert.equal(answer.headers['content-type'], 'application/x-ndjson', type);
    }
  });
});
