// SPDX-License-Identifier: Apache-2.0
// /convert: messages in another encoding of their protocol, all of them or none, and nothing
// stored.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertConverted, convert } from './lib/convert.mjs';
import { NDJSON_TYPE, get, post } from './lib/http.mjs';
import { FRAMES_TYPE, MSGPACK_TYPE, decode, frames, framesOf, msgpack } from './lib/frames.mjs';
import { freePorts, lastSequence } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { assertProblem, claim, lines, ruleIds } from './lib/vlp.mjs';

const heartbeat = { type: 'heartbeat', timestamp: 1705392000 };
const metrics = { type: 'metrics', timestamp: 1705392001, data: { error_rate: 0.1, queue: -3 } };
const shutdown = { type: 'shutdown', timestamp: 1705392002, reason: 'so long ✓' };
const all = [heartbeat, metrics, shutdown];

describe('one message', () => {
  const its = useParley();

  it('of JSON becomes one line of it, with nothing else changed', async () => {
    const text = '{ "id" : "M-1", "protocol":"VLP/1.1",\n "type":"claim","confidence":0.850}';
    const whole = JSON.stringify(claim()).replace(/^\{/, '{\n\t"a": 1.50, ');
    const answer = await convert(its.parley, 'vlp', 'json', whole);
    assertConverted(answer, 'application/json');
    assert.equal(answer.text, whole.replace('{\n\t"a": 1.50, ', '{"a":1.50,'));
    assertProblem(await convert(its.parley, 'vlp', 'json', text), 422, 'invalid-message');
  });

  it('of JSON becomes MessagePack, and that JSON', async () => {
    for (const message of all) {
      const packed = await convert(its.parley, 'supervisor', 'msgpack', JSON.stringify(message));
      assertConverted(packed, MSGPACK_TYPE);
      assert.deepEqual(decode(packed.body), message);
      assert.deepEqual(packed.body, msgpack(message), 'it is the shortest');
      const back = await convert(its.parley, 'supervisor', 'json', packed.body, {
        type: MSGPACK_TYPE,
      });
      assertConverted(back, 'application/json');
      assert.equal(back.text, JSON.stringify(message));
    }
  });

  it('becomes a frame, or a line', async () => {
    const framed = await convert(its.parley, 'supervisor', 'frames', JSON.stringify(heartbeat));
    assertConverted(framed, FRAMES_TYPE);
    assert.deepEqual(framesOf(framed.body), [heartbeat]);
    const line = await convert(its.parley, 'supervisor', 'ndjson', msgpack(heartbeat), {
      type: MSGPACK_TYPE,
    });
    assertConverted(line, NDJSON_TYPE);
    assert.equal(line.text, `${JSON.stringify(heartbeat)}\n`);
  });

  it('that is invalid is refused as on /messages', async () => {
    for (const [body, status, name] of [
      ['{"type":"gossip","timestamp":1}', 422, 'invalid-message'],
      ['{"type":', 400, 'malformed'],
    ]) {
      const there = assertProblem(
        await convert(its.parley, 'supervisor', 'frames', body),
        status,
        name,
      );
      const here = (await post(its.parley, '/v1/supervisor/messages', body)).json;
      assert.deepEqual({ ...there, instance: '' }, { ...here, instance: '' });
    }
  });
});

describe('many messages', () => {
  const its = useParley();

  it('become lines or frames, whatever they came as', async () => {
    for (const [body, type] of [
      [JSON.stringify(all), undefined],
      [lines(all), NDJSON_TYPE],
      [frames(all), FRAMES_TYPE],
    ]) {
      const framed = await convert(its.parley, 'supervisor', 'frames', body, { type });
      assertConverted(framed, FRAMES_TYPE);
      assert.deepEqual(framed.body, frames(all));
      const asLines = await convert(its.parley, 'supervisor', 'json', body, { type });
      assertConverted(asLines, NDJSON_TYPE);
      assert.equal(asLines.text, lines(all));
    }
  });

  it('become the same wherever an upload is cut', async () => {
    const body = frames(all);
    for (let cut = 1; cut < body.length; cut++) {
      const pieces = [body.subarray(0, cut), body.subarray(cut)];
      const answer = await convert(its.parley, 'supervisor', 'json', pieces, { type: FRAMES_TYPE });
      assert.equal(answer.text, lines(all), `cut at ${cut}`);
    }
  });

  it('may be more than memory should hold', async () => {
    const number = 100_000;
    const body = lines(Array(number).fill(metrics));
    const answer = await convert(its.parley, 'supervisor', 'frames', body, { type: NDJSON_TYPE });
    assertConverted(answer, FRAMES_TYPE);
    assert.equal(answer.body.length, number * frames([metrics]).length);
    assert.deepEqual(answer.body.subarray(-frames([metrics]).length), frames([metrics]));
  });

  it('are converted all or not at all', async () => {
    const body = lines([heartbeat, { type: 'gossip', timestamp: 1 }, shutdown, {}]);
    const answer = await convert(its.parley, 'supervisor', 'frames', body, { type: NDJSON_TYPE });
    const { detail, violations } = assertProblem(answer, 422, 'invalid-message');
    assert.match(detail, /^2 of 4 messages are invalid\b.*\bline 2\b/);
    assert.deepEqual(ruleIds(violations), ['IPC-003']);
  });

  for (const type of [FRAMES_TYPE, NDJSON_TYPE]) {
    it(`cannot be MessagePack, which holds one: ${type}`, async () => {
      const answer = await convert(its.parley, 'supervisor', 'msgpack', '', { type });
      const { detail } = assertProblem(answer, 400, 'invalid-parameter');
      assert.match(detail, /json, ndjson or frames, or send one message at a time/);
    });
  }
});

describe('/convert', () => {
  const its = useParley();

  it('stores nothing', async () => {
    const before = await lastSequence(its.nats, 'SUPERVISOR');
    await convert(its.parley, 'supervisor', 'frames', lines(all), { type: NDJSON_TYPE });
    await convert(its.parley, 'supervisor', 'msgpack', JSON.stringify(heartbeat));
    assert.equal(await lastSequence(its.nats, 'SUPERVISOR'), before);
  });

  it('needs no NATS', async (t) => {
    const [port] = await freePorts(1);
    const parley = await parleyFor(t, { nats: `nats://127.0.0.1:${port}`, isAway: true });
    const one = await convert(parley, 'supervisor', 'msgpack', JSON.stringify(heartbeat));
    assertConverted(one, MSGPACK_TYPE);
    const many = await convert(parley, 'supervisor', 'json', frames(all), { type: FRAMES_TYPE });
    assertConverted(many, NDJSON_TYPE);
  });

  it('names the encodings there are', async () => {
    for (const [protocol, query, known] of [
      ['vlp', '', 'json or ndjson'],
      ['vlp', '?to=msgpack', 'json or ndjson'],
      ['supervisor', '?to=markdown', 'json, ndjson, msgpack or frames'],
    ]) {
      const answer = await post(its.parley, `/v1/${protocol}/convert${query}`, '{}');
      const { detail } = assertProblem(answer, 400, 'invalid-parameter');
      assert.ok(detail.includes(known), detail);
    }
  });

  it('serves what is accepted, or nothing', async () => {
    const body = JSON.stringify(heartbeat);
    for (const [accept, status] of [
      [MSGPACK_TYPE, 200],
      ['application/x-msgpack', 200],
      ['application/json;q=1, */*;q=0.1', 200],
      ['application/json', 406],
      [`*/*, ${MSGPACK_TYPE};q=0`, 406],
    ]) {
      const answer = await convert(its.parley, 'supervisor', 'msgpack', body, {
        headers: { Accept: accept },
      });
      assert.equal(answer.status, status, accept);
    }
  });

  it('is asked by POST alone', async () => {
    const answer = await get(its.parley, '/v1/vlp/convert?to=json');
    assertProblem(answer, 405, 'method-not-allowed');
    assert.equal(answer.headers.allow, 'POST, OPTIONS');
  });
});
