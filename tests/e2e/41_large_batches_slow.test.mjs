// SPDX-License-Identifier: Apache-2.0
// Bodies without an end in sight: the server's memory does not grow with them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NDJSON_TYPE, openStream, send } from './lib/http.mjs';
import { streamInfo } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { ifMemoryCounts, isSanitized } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { assertAccepted, brokenClaim, claim, lines } from './lib/vlp.mjs';

const LINES = isSanitized ? 100_000 : 1_000_000;
const MESSAGES = isSanitized ? 10_000 : 100_000;
const LIMIT_KB = 100 * 1024;
const inFlatMemory = ifMemoryCounts(', in flat memory');

function assertFlatMemory(parley) {
  const peak = parseInt(processStatus(parley.pid, 'VmHWM'), 10);
  if (!isSanitized) assert.ok(peak < LIMIT_KB, `the most it ever used: ${peak} kB`);
}

// `count` lines of which every third is broken, a few thousand to a piece.
function* thirdBroken(count) {
  const three = lines([claim(), claim(), brokenClaim()]);
  const piece = three.repeat(1000);
  let left = Math.floor(count / 3);
  for (; left >= 1000; left -= 1000) yield piece;
  yield three.repeat(left);
}

const upload = (path, body) => ({
  path,
  method: 'POST',
  headers: { 'Content-Type': NDJSON_TYPE },
  body,
});

async function results(parley, { path, ...options }, each) {
  const stream = await openStream(parley, path, options);
  assert.equal(stream.status, 200);
  let last;
  for (let line; (line = await stream.line(600_000)) !== null; last = line) {
    if (last !== undefined) each(last);
  }
  assert.ok(stream.ended, 'the response is whole');
  return JSON.parse(last).summary;
}

describe('a large body', () => {
  const its = useParley();
  const whole = Math.floor(LINES / 3) * 3;

  it(`of ${LINES} lines, every third broken, gets its errors in order${inFlatMemory}`, async () => {
    let expected = 3;
    const body = upload('/v1/vlp/validate?results=errors', thirdBroken(LINES));
    const summary = await results(its.parley, body, (line) => {
      assert.equal(Number(/"line":(\d+)/.exec(line)[1]), expected);
      expected += 3;
    });
    assert.deepEqual(summary, { received: whole, valid: (whole / 3) * 2, invalid: whole / 3 });
    assert.equal(expected, whole + 3);
    assertFlatMemory(its.parley);
  });

  it(`of ${MESSAGES} messages is stored, with a result for each${inFlatMemory}`, async () => {
    const count = MESSAGES;
    function* messages() {
      for (let i = 0; i < count; i += 1000) {
        yield lines(Array.from({ length: 1000 }, () => claim()));
      }
    }
    let expected = 1;
    const summary = await results(its.parley, upload('/v1/vlp/messages', messages()), (line) => {
      const result = JSON.parse(line);
      assert.deepEqual([result.line, result.status], [expected, 'accepted']);
      expected += 1;
    });
    assert.deepEqual(summary, {
      received: count,
      accepted: count,
      duplicate: 0,
      invalid: 0,
      failed: 0,
    });
    assert.equal((await streamInfo(its.nats)).state.messages, count);
    assertFlatMemory(its.parley);
  });

  it(`in an array of ${MESSAGES} elements is read${inFlatMemory}`, async () => {
    const count = MESSAGES;
    function* elements() {
      yield '[';
      for (let i = 0; i < count; i += 1000) {
        const part = Array.from({ length: 1000 }, () => JSON.stringify(claim())).join(',');
        yield i === 0 ? part : `,${part}`;
      }
      yield ']';
    }
    const summary = await results(
      its.parley,
      {
        path: '/v1/vlp/validate?results=errors',
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: elements(),
      },
      (line) => assert.fail(line),
    );
    assert.deepEqual(summary, { received: count, valid: count, invalid: 0 });
    assertFlatMemory(its.parley);
  });

  it('lets others be answered meanwhile', async () => {
    let isDone = false;
    const body = upload('/v1/vlp/validate?results=summary', thirdBroken(LINES / 2));
    const uploading = results(its.parley, body, () => {}).finally(() => (isDone = true));
    let answered = 0;
    while (!isDone) {
      assertAccepted(await send(its.parley, claim()));
      answered += 1;
    }
    await uploading;
    assert.ok(answered > 0);
  });
});
