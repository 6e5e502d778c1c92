// SPDX-License-Identifier: Apache-2.0
// Readers over a longer time: the keepalive of a quiet stream, and a reader that does not read.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { send, sendLines, streamFor } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { assertAccepted, claim, claims, lines, uniqueId } from './lib/vlp.mjs';

const SSE = { headers: { Accept: 'text/event-stream' } };
const EVENTS = isSanitized ? 5_000 : 20_000;

describe('a quiet stream', () => {
  const its = useParley();

  it('is kept alive by blank lines, and by comments as server-sent events', async (t) => {
    const ndjson = await streamFor(t, its.parley, '/v1/vlp/stream');
    const sse = await streamFor(t, its.parley, '/v1/vlp/stream', SSE);
    const quiet = async () => {
      assert.equal(await ndjson.line(), '');
      assert.equal(await ndjson.line(), '');
    };
    const commented = async () => {
      for (let seen = 0; seen < 2;) {
        const event = await sse.sse();
        if ('comment' in event) seen += 1;
        else assert.deepEqual(Object.keys(event), ['retry']);
      }
    };
    await Promise.all([quiet(), commented()]);
    const message = claim();
    assertAccepted(await send(its.parley, message));
    assert.equal((await ndjson.event()).id, message.id);
    assert.equal(JSON.parse((await sse.sseData()).data).id, message.id);
  });
});

describe('a reader that does not read', () => {
  const its = useParley();

  for (const [what, options] of [
    ['NDJSON', {}],
    ['server-sent events', SSE],
  ]) {
    it(`loses nothing of ${EVENTS} events (${what}), and slows nobody`, async (t) => {
      const sender = uniqueId();
      const slow = await streamFor(t, its.parley, `/v1/vlp/stream?sender=${sender}`, options);
      slow.pause();
      const quick = await streamFor(t, its.parley, `/v1/vlp/stream?sender=${sender}`, options);
      const read = async (stream) =>
        what === 'NDJSON'
          ? (await stream.event()).id
          : JSON.parse((await stream.sseData()).data).id;
      const messages = claims(EVENTS, { sender, content: 'x'.repeat(1000) });
      const sending = sendLines(its.parley, lines(messages), { query: '?results=summary' });
      for (const message of messages) assert.equal(await read(quick), message.id);
      assert.equal((await sending).lines[0].summary.accepted, EVENTS);
      slow.resume();
      for (const message of messages) assert.equal(await read(slow), message.id);
      const last = claim({ sender });
      assertAccepted(await send(its.parley, last));
      assert.equal(await read(slow), last.id);
    });
  }

  it('costs the server no memory to speak of', async () => {
    const peak = parseInt(processStatus(its.parley.pid, 'VmHWM'), 10);
    if (!isSanitized) assert.ok(peak < 100 * 1024, `the most it ever used: ${peak} kB`);
  });

  it('and leaves is forgotten', async (t) => {
    const before = its.parley.openFiles();
    for (let i = 0; i < 50; i++) {
      const stream = await streamFor(t, its.parley, '/v1/vlp/stream?since=all');
      stream.pause();
      stream.close();
    }
    await until('their connections are closed', () => its.parley.openFiles() <= before + 2);
  });
});
