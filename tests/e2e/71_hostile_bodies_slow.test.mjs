// SPDX-License-Identifier: Apache-2.0
// Bodies that nobody sends by accident: each ends in a clear error, and the server goes on.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MSGPACK_TYPE, msgpack } from './lib/frames.mjs';
import { chunk, post, rawChunkedHead, rawFor, rawPost, send, sendLines, validate } from './lib/http.mjs';
import { lastSequence, storedMessages } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { ifMemoryCounts, isSanitized, until } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { assertAccepted, assertProblem, claim, claims, lines, ruleIds } from './lib/vlp.mjs';

const MALFORMED = [
  '{',
  '}',
  '[',
  '{]',
  '{"',
  '{"a',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,',
  '{"a":1,}',
  '{,}',
  '{:}',
  '{a:1}',
  "{'a':1}",
  '{"a":01}',
  '{"a":1.}',
  '{"a":.5}',
  '{"a":+1}',
  '{"a":-}',
  '{"a":1e}',
  '{"a":1e+}',
  '{"a":0x10}',
  '{"a":NaN}',
  '{"a":Infinity}',
  '{"a":nul}',
  '{"a":truee}',
  '{"a":"\\x"}',
  '{"a":"\\u12"}',
  '{"a":"\\u12g4"}',
  '{"a":"\\ud800"}',
  '{"a":"\\udc00\\ud800"}',
  '{"a":"\n"}',
  '{"a":"\t"}',
  '{"a":"\u0001"}',
  '{"a":1}}',
  '{"a":1}x',
  '{"a":1} {"b":2}',
  '{"a" 1}',
  '{"a":1 "b":2}',
  '{"a":1,,"b":2}',
  '{"a":/**/1}',
  '// {}',
  '{"a":1}#',
  '\u00a0{}',
  '{"a":1}\0',
  '\0',
  '{"a":tru',
  '{"a":"\\',
  '"',
  'undefined',
  '{"a":[1,]}',
  '{"a":[,1]}',
  '{"a":[1 2]}',
];

describe('malformed JSON', () => {
  const its = useParley();

  it('is GW-001 in every form there is', async () => {
    for (const body of MALFORMED.filter((text) => !text.startsWith('['))) {
      const answer = await send(its.parley, body);
      const { violations } = assertProblem(answer, 400, 'malformed');
      assert.deepEqual(ruleIds(violations), ['GW-001'], JSON.stringify(body));
    }
  });

  it('is GW-001 line by line', async () => {
    const batch = MALFORMED.filter((text) => !text.includes('\n'));
    const answer = await sendLines(its.parley, lines(batch));
    assert.equal(answer.lines.length, batch.length + 1, answer.text);
    for (const [i, result] of answer.lines.slice(0, -1).entries()) {
      assert.equal(result.line, i + 1);
      assert.deepEqual(ruleIds(result.violations), ['GW-001'], JSON.stringify(batch[i]));
    }
  });

  it('is reported wherever a valid message is cut off', async () => {
    const text = JSON.stringify(claim({ content: { é: ['✓', 1.5e3, null] } }));
    const bytes = Buffer.from(text);
    for (let size = 1; size < bytes.length; size++) {
      const verdict = (await validate(its.parley, bytes.subarray(0, size))).json;
      const [{ rule }] = verdict.violations;
      assert.ok(rule === 'GW-001' || rule === 'GW-005', `${rule} at ${size}`);
    }
  });

  it('never gets past whatever single byte of a valid message is changed', async () => {
    const bytes = Buffer.from(JSON.stringify(claim({ content: '✓' })));
    for (let at = 0; at < bytes.length; at++) {
      for (const value of [0, 0x22, 0x5c, 0x7b, 0xff]) {
        if (bytes[at] === value) continue;
        const changed = Buffer.from(bytes);
        changed[at] = value;
        const verdict = (await validate(its.parley, changed)).json;
        if (!isJson(changed)) assert.equal(verdict.valid, false, changed.toString('latin1'));
      }
    }
  });

  it('of brackets a million deep is refused like any other', async () => {
    for (const unit of ['{"a":', '[']) {
      const depth = Math.floor((1024 * 1024 - 200) / unit.length);
      const body = `{"a":${unit.repeat(depth - 1)}`;
      const { violations } = assertProblem(await send(its.parley, body), 400, 'malformed');
      assert.deepEqual(ruleIds(violations), ['GW-004']);
    }
  });

  it('of eighty thousand keys is read like any other', async () => {
    const keys = Array.from({ length: 80_000 }, (_, i) => `"k${i}":1`).join(',');
    const text = JSON.stringify(claim()).replace(/\}$/, `,${keys}}`);
    assertAccepted(await send(its.parley, text));
  });
});

function isJson(bytes) {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

describe('a single message of 100 MB', () => {
  const its = useParley();
  const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');
  const begin = '{"id":"MSG001","content":"';

  for (const [what, head, wrap] of [
    [
      'with its Content-Length',
      rawPost('/v1/vlp/messages', begin)
        .toString()
        .replace(/Content-Length: \d+/, `Content-Length: ${begin.length + 100 * MEGABYTE.length}`),
      (bytes) => bytes,
    ],
    [
      'in chunks',
      Buffer.concat([
        Buffer.from(rawChunkedHead('/v1/vlp/messages', 'application/json')),
        chunk(begin),
      ]),
      chunk,
    ],
  ]) {
    it(`${what} is 413, which the sender gets to see`, async (t) => {
      const before = await lastSequence(its.nats);
      const connection = await rawFor(t, its.parley, head);
      const upload = async () => {
        for (let sent = 0; sent < 100 && !connection.closed; sent++) {
          if (!(await connection.write(wrap(MEGABYTE)))) return;
        }
        if (wrap === chunk) await connection.write('0\r\n\r\n');
      };
      const [answer] = await Promise.all([connection.answer(), upload()]);
      const problem = assertProblem(answer, 413, 'too-large');
      assert.match(problem.detail, /1 ?MiB|1[ ,]?048[ ,]?576/);
      assert.equal(await lastSequence(its.nats), before);
    });
  }

  it(`${ifMemoryCounts('takes no memory, and ')}leaves the server fit for the next`, async () => {
    assertAccepted(await send(its.parley, claim()));
    const peak = parseInt(processStatus(its.parley.pid, 'VmHWM'), 10);
    if (!isSanitized) assert.ok(peak < 100 * 1024, `the most it ever used: ${peak} kB`);
  });
});

describe('a message that grows as JSON', () => {
  const its = useParley();

  it(`past what may be gathered is refused${ifMemoryCounts(', and its memory given back')}`, async () => {
    const blob = Buffer.alloc(40 * 1024 * 1024, 1); // each byte is six of JSON
    const head = msgpack({ type: 'checkpoint', timestamp: 1, data: {} }).subarray(0, -1);
    const inner = [Buffer.from([0x81, 0xa1, 0x78, 0xdb]), Buffer.alloc(4), blob];
    inner[1].writeUInt32BE(blob.length);
    const body = Buffer.concat([head, ...inner]);
    const answer = await post(its.parley, '/v1/supervisor/messages', body, { type: MSGPACK_TYPE });
    assert.match(assertProblem(answer, 413, 'too-large').detail, /--gather-max/);
    const usedKb = () => parseInt(processStatus(its.parley.pid, 'VmRSS'), 10);
    if (!isSanitized) await until('it is given back', () => usedKb() < 150 * 1024);
  });
});

describe('a client that goes away', () => {
  const its = useParley();

  it('in the middle of anything leaves the server fit for the next', async (t) => {
    const whole = rawPost('/v1/vlp/messages', JSON.stringify(claim()));
    for (let size = 1; size <= whole.length; size += 7) {
      const connection = await rawFor(t, its.parley, whole.subarray(0, size));
      if (size % 2) connection.socket.resetAndDestroy();
      else connection.close();
    }
    assertAccepted(await send(its.parley, claim()));
  });

  it('but for the half that reads gets every answer, and has each message stored once', async (t) => {
    const before = await lastSequence(its.nats);
    const messages = claims(50);
    for (const message of messages) {
      const bytes = rawPost('/v1/vlp/messages', JSON.stringify(message));
      const connection = await rawFor(t, its.parley, bytes);
      connection.socket.end();
      assertAccepted(await connection.answer()); // (attack F0)
      assert.equal(await connection.end(), '');
    }
    assert.equal(await lastSequence(its.nats), before + 50);
    const stored = await storedMessages(its.nats, { from: before + 1 });
    const ids = stored.map((message) => message.headers['ce-id']).sort();
    assert.deepEqual(ids, messages.map((message) => message.id).sort());
  });
});
