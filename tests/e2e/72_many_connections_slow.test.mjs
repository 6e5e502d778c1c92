// SPDX-License-Identifier: Apache-2.0
// Many connections at once: ready at the same instant, or open and quiet beside the work.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { connectRaw, openStream, rawPost, send } from './lib/http.mjs';
import { startParley, useParley } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { assertAccepted, claim, claims } from './lib/vlp.mjs';

// Opens `count` of something, a hundred at a time.
async function inTurns(count, open) {
  const all = [];
  while (all.length < count) {
    const size = Math.min(100, count - all.length);
    all.push(...(await Promise.all(Array.from({ length: size }, open))));
  }
  return all;
}

describe('connections that become ready at the same instant', () => {
  const its = useParley();

  for (const count of [1, 127, 128, 129, 255, 256, 257, 512]) {
    it(`are all served when they are ${count}`, async (t) => {
      const connections = await inTurns(count, () => connectRaw(its.parley));
      atEnd(t, () => connections.forEach((connection) => connection.close()));
      for (const path of ['/v1/vlp/messages', '/v1/vlp/validate', '/v1/vlp/messages']) {
        its.parley.signal('SIGSTOP');
        try {
          await Promise.all(
            connections.map((connection) =>
              connection.write(rawPost(path, JSON.stringify(claim()))),
            ),
          );
        } finally {
          its.parley.signal('SIGCONT');
        }
        const answers = await Promise.all(connections.map((connection) => connection.answer()));
        assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
      }
    });
  }

  it('are all served when they have only just been made', async (t) => {
    const opening = [];
    its.parley.signal('SIGSTOP');
    try {
      for (let i = 0; i < 256; i++) opening.push(connectRaw(its.parley));
      const connected = await Promise.all(opening);
      atEnd(t, () => connected.forEach((connection) => connection.close()));
      await Promise.all(
        connected.map((connection) =>
          connection.write(rawPost('/v1/vlp/messages', JSON.stringify(claim()))),
        ),
      );
    } finally {
      its.parley.signal('SIGCONT');
    }
    const connections = await Promise.all(opening);
    const answers = await Promise.all(connections.map((connection) => connection.answer()));
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
  });
});

// As many as this process and the server may have: each stream costs a file on both sides.
const STREAMS_WANTED = isSanitized ? 2_000 : 10_000;
function affordableStreams() {
  const [, hard] = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
  const limit = hard === 'unlimited' ? Infinity : Number(hard);
  return Math.min(STREAMS_WANTED, limit - 1000);
}
const isShort =
  affordableStreams() < STREAMS_WANTED &&
  `the limit of open files allows ${affordableStreams()} of ${STREAMS_WANTED} streams`;

describe('open streams', () => {
  it('in their thousands get every event each, and requests are answered beside them', async (t) => {
    const count = affordableStreams();
    const parley = await startParley();
    atEnd(t, () => parley.stop());
    const streams = await inTurns(count, () => openStream(parley, '/v1/vlp/stream'));
    atEnd(t, () => streams.forEach((stream) => stream.close()));
    assert.deepEqual([...new Set(streams.map((stream) => stream.status))], [200]);
    const messages = claims(20);
    for (const message of messages) assertAccepted(await send(parley, message));
    const wanted = messages.map((message) => message.id);
    for (const stream of streams) {
      const events = await stream.events(20);
      assert.deepEqual(
        events.map((event) => event.id),
        wanted,
      );
    }
    t.diagnostic(`the server's memory: ${processStatus(parley.pid, 'VmRSS')}`);
    parley.signal('SIGTERM');
    for (const stream of streams) {
      assert.equal((await stream.event())?.type, 'parley.end');
      assert.equal(await stream.event(), null);
      assert.ok(stream.ended);
    }
    assert.deepEqual(await parley.program.hasExited(), { code: 0, signal: null });
  });

  // So that a run with fewer is seen. (contract 5)
  it('were as many as the test wants', { skip: isShort }, () => {});

  it('that are dropped all at once leave nothing behind', async (t) => {
    const parley = await startParley();
    atEnd(t, () => parley.stop());
    const before = parley.openFiles();
    const streams = await inTurns(1000, () => openStream(parley, '/v1/vlp/stream'));
    for (const stream of streams) stream.close();
    assertAccepted(await send(parley, claim()));
    await until('their connections are closed', () => parley.openFiles() <= before + 5);
  });
});
