// SPDX-License-Identifier: Apache-2.0
// MessagePack in a request: one map, or frames of them; and what is too large for NATS though it is
// valid.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NDJSON_TYPE, post } from './lib/http.mjs';
import { FRAMES_TYPE, MSGPACK_TYPE, frame, frames, msgpack } from './lib/frames.mjs';
import { lastSequence, storedMessages } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { assertProblem, ruleIds } from './lib/vlp.mjs';

const STREAM = 'SUPERVISOR';
const NATS_MAX_PAYLOAD = 8 * 1024 * 1024;

const heartbeat = { type: 'heartbeat', timestamp: 1705392000 };
const metrics = { type: 'metrics', timestamp: 1705392001, data: { error_rate: 0.1, queue: -3 } };
const shutdown = { type: 'shutdown', timestamp: 1705392002, reason: 'so long ✓' };
const unknown = { type: 'gossip', timestamp: 1705392003 };

const path = (what) => `/v1/supervisor/${what}`;
const sendTo = (server, what, body, type = FRAMES_TYPE) => post(server, path(what), body, { type });
const statuses = (answer) => answer.lines.slice(0, -1).map((line) => [line.line, line.status]);

describe('MessagePack to /messages', () => {
  const its = useParley();

  it('is stored as the same message in JSON', async () => {
    for (const message of [heartbeat, metrics, shutdown]) {
      const answer = await sendTo(its.parley, 'messages', msgpack(message), MSGPACK_TYPE);
      assert.equal(answer.status, 200, answer.text);
      const [stored] = await storedMessages(its.nats, { stream: STREAM, from: answer.json.seq });
      assert.deepEqual(JSON.parse(stored.payload), message);
      assert.equal(stored.subject, answer.json.subject);
    }
  });

  it('has no charset but UTF-8', async () => {
    for (const type of [MSGPACK_TYPE, FRAMES_TYPE]) {
      const answer = await sendTo(its.parley, 'validate', msgpack(heartbeat), `${type}; charset=latin1`);
      assertProblem(answer, 415, 'unsupported-media-type');
    }
  });

  it('that is invalid is told by the byte', async () => {
    const answer = await sendTo(its.parley, 'messages', msgpack(unknown), MSGPACK_TYPE);
    const { violations } = assertProblem(answer, 422, 'invalid-message');
    assert.deepEqual(ruleIds(violations), ['IPC-003']);
    assert.deepEqual(violations[0].at, { offset: 6 });
  });
});

describe('frames', () => {
  const its = useParley();

  it('are stored one by one, with a result each, in order', async () => {
    const before = await lastSequence(its.nats, STREAM);
    const messages = [heartbeat, metrics, shutdown];
    const answer = await sendTo(its.parley, 'messages', frames(messages));
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers['content-type'], /^application\/x-ndjson\b/);
    assert.deepEqual(statuses(answer), [
      [1, 'accepted'],
      [2, 'accepted'],
      [3, 'accepted'],
    ]);
    const stored = await storedMessages(its.nats, { stream: STREAM, from: before + 1 });
    assert.deepEqual(
      stored.map(({ payload }) => JSON.parse(payload)),
      messages,
    );
  });

  const odd = Buffer.concat([
    frames([heartbeat]),
    Buffer.alloc(4), // a frame of no bytes
    frames([unknown]),
    frame(Buffer.from([0xc1])),
    frames([shutdown]),
    Buffer.from([0, 0]), // cut short
  ]);
  const first = frames([heartbeat]).length;
  const third = first + 4 + frames([unknown]).length;
  const end = odd.length - 2;

  it('that are wrong stop no others', async () => {
    const answer = await sendTo(its.parley, 'messages', odd);
    assert.deepEqual(statuses(answer), [
      [1, 'accepted'],
      [2, 'invalid'],
      [3, 'invalid'],
      [4, 'invalid'],
      [5, 'accepted'],
      [6, 'invalid'],
    ]);
    const found = answer.lines.slice(0, -1).flatMap((line) => line.violations ?? []);
    assert.deepEqual(ruleIds(found), ['GW-001', 'IPC-003', 'GW-001', 'GW-001']);
    assert.deepEqual(
      found.map(({ at }) => at.offset),
      [first, first + 4 + 4 + 6, third + 4, end],
    );
    assert.deepEqual(answer.lines.at(-1).summary, {
      received: 6,
      accepted: 2,
      duplicate: 0,
      invalid: 4,
      failed: 0,
    });
  });

  it('are the same wherever an upload is cut', async () => {
    const whole = (await sendTo(its.parley, 'validate', odd)).text;
    for (let cut = 1; cut < odd.length; cut++) {
      const pieces = [odd.subarray(0, cut), odd.subarray(cut)];
      assert.equal((await sendTo(its.parley, 'validate', pieces)).text, whole, `cut at ${cut}`);
    }
    const bytes = Array.from(odd, (byte) => Buffer.from([byte]));
    assert.equal((await sendTo(its.parley, 'validate', bytes)).text, whole, 'byte by byte');
  });

  it('can be filtered into the valid messages as JSON lines', async () => {
    const answer = await sendTo(its.parley, 'validate?emit=messages', odd);
    assert.deepEqual(answer.lines, [heartbeat, shutdown]);
  });
});

describe('a valid message that is over what NATS takes', () => {
  const its = useParley();
  const large = {
    type: 'restore',
    timestamp: 1705392000,
    checkpoint_id: '550e8400-e29b-41d4-a716-446655440000',
    snapshot: { agent_state: { notes: 'x'.repeat(NATS_MAX_PAYLOAD + 1) } },
    wal_entries: [],
  };

  function assertBothLimits(detail) {
    assert.match(detail, new RegExp(`\\b${NATS_MAX_PAYLOAD} bytes\\b.*max_payload`));
    assert.match(detail, new RegExp(`\\b${100 * 1024 * 1024} bytes\\b`));
  }

  it('is 413, which names both limits', async () => {
    for (const [body, type] of [
      [JSON.stringify(large), undefined],
      [msgpack(large), MSGPACK_TYPE],
    ]) {
      assertBothLimits(
        assertProblem(await post(its.parley, path('messages'), body, { type }), 413, 'too-large')
          .detail,
      );
    }
  });

  it('is valid with a warning that names both limits (contract 7)', async () => {
    for (const [body, type] of [
      [JSON.stringify(large), undefined],
      [msgpack(large), MSGPACK_TYPE],
      [frames([large]), FRAMES_TYPE],
    ]) {
      const answer = await post(its.parley, path('validate'), body, { type });
      const verdict = type === FRAMES_TYPE ? answer.lines[0] : answer.json;
      assert.equal(verdict.valid, true);
      assert.ok(verdict.subject);
      const [warning] = verdict.violations; // others are the protocol's, after it
      assert.deepEqual([warning.rule, warning.severity], ['GW-101', 'warning']);
      assertBothLimits(warning.message);
    }
  });

  it('fails alone among many', async () => {
    const messages = [heartbeat, large, shutdown];
    const lines = messages.map((message) => `${JSON.stringify(message)}\n`);
    for (const [body, type] of [
      [frames(messages), FRAMES_TYPE],
      [lines.join(''), NDJSON_TYPE],
    ]) {
      const answer = await sendTo(its.parley, 'messages', body, type);
      assert.deepEqual(statuses(answer), [
        [1, 'accepted'],
        [2, 'failed'],
        [3, 'accepted'],
      ]);
      assert.equal(answer.lines[1].problem.status, 413);
      assertBothLimits(answer.lines[1].problem.detail);
    }
  });
});
