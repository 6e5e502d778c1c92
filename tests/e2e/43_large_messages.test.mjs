// SPDX-License-Identifier: Apache-2.0
// Messages that take long to check, and bodies that take long to come: neither keeps others waiting,
// and what is held of all of them has a bound.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { FRAMES_TYPE, MSGPACK_TYPE, decode, frame } from './lib/frames.mjs';
import {
  JSON_TYPE,
  NDJSON_TYPE,
  chunk,
  connectRaw,
  ndjson,
  post,
  rawChunkedHead,
  rawPost,
  send,
  sendLines,
  validate,
} from './lib/http.mjs';
import { embeddedUrl, lastSequence, natsClient, storedMessage, storedMessages } from './lib/nats.mjs';
import { parley as runParley, parleyFor, useParley } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { unreadBytes } from './lib/sockets.mjs';
import { assertAccepted, assertProblem, brokenClaim, claim, lines } from './lib/vlp.mjs';

const MIB = 1024 * 1024;
const PATIENCE = { timeout: 240_000 };

// As slow as JSON gets: a value in five bytes, and no message.
const nulls = (bytes) => Buffer.from(`{"a":[${'null,'.repeat(bytes / 5)}null]}`);
// As slow as MessagePack gets: a map of short keys, and no message.
function keys(bytes) {
  const [ENTRY, MAP_32, STRING_OF_4, NIL] = [6, 0xdf, 0xa4, 0xc0];
  const map = Buffer.alloc(5 + Math.floor(bytes / ENTRY) * ENTRY, NIL);
  map[0] = MAP_32;
  map.writeUInt32BE(Math.floor(bytes / ENTRY), 1);
  for (let at = 5, key = 0; at < map.length; at += ENTRY, key += 1) {
    map[at] = STRING_OF_4;
    for (let i = 1; i <= 4; i++) map[at + i] = 0x30 + ((key >> (24 - 6 * i)) & 0x3f);
  }
  return map;
}
const checkpoint = (bytes) => ({
  type: 'checkpoint',
  timestamp: 1705392000,
  data: { agent_state: { id: 'agent-7', notes: 'x'.repeat(bytes) } },
});
const largeClaim = (bytes) => claim({ content: 'x'.repeat(bytes) });

// One message as a body of many.
const MANY = [
  ['a line', NDJSON_TYPE, (bytes) => nulls(bytes)],
  ['an element', JSON_TYPE, (bytes) => Buffer.concat([Buffer.from('['), nulls(bytes), Buffer.from(']')])],
  ['a frame', FRAMES_TYPE, (bytes) => frame(keys(bytes))],
];

// Resolves once `bytes` are with the kernel; its answer comes with `answer`.
async function begin(t, server, bytes) {
  const connection = await connectRaw(server);
  atEnd(t, () => connection.close());
  await connection.write(bytes);
  return connection;
}

// Sends the request, and while it is served asks for fifty other verdicts; returns its answer, which
// comes behind those. They are sent at once, on a connection that is there already: they cost a few
// milliseconds, and it a thousand times that, so that the order hardly depends on who else runs. Where
// this process itself stands still for so long, it sees the answer first: then it tries once more.
async function answerBehindOthers(t, server, request) {
  for (let attempts = 3; ; attempts--) {
    const { answer, isBehind } = await answerBesideOthers(t, server, request);
    if (isBehind) return answer;
    assert.notEqual(attempts, 1, 'fifty others are answered before it');
  }
}

async function answerBesideOthers(t, server, request) {
  const others = await begin(t, server, '');
  const large = await begin(t, server, request);
  let isAnswered = false;
  const verdict = large.answer(PATIENCE).then((answer) => {
    isAnswered = true;
    return answer;
  });
  await others.write(Buffer.concat(Array(50).fill(rawPost('/v1/vlp/validate', JSON.stringify(claim())))));
  for (let i = 0; i < 50; i++) {
    assert.equal(JSON.parse((await others.answer(PATIENCE)).text).valid, true);
  }
  const isBehind = !isAnswered;
  return { answer: await verdict, isBehind };
}

describe('a message that takes long to check', () => {
  const SLOW_BYTES = (isSanitized ? 8 : 80) * MIB;

  it('keeps nobody waiting on the same reactor', async (t) => {
    const parley = await parleyFor(t, { args: ['--reactors', '1'] });
    const request = rawPost('/v1/supervisor/validate', nulls(SLOW_BYTES));
    assert.equal(JSON.parse((await answerBehindOthers(t, parley, request)).body).valid, false);
  });

  for (const [what, type, bodyOf] of MANY) {
    it(`keeps nobody waiting as ${what} of a body`, async (t) => {
      const parley = await parleyFor(t, { args: ['--reactors', '1'] });
      const request = rawPost('/v1/supervisor/validate', bodyOf(SLOW_BYTES), { type });
      const [verdict, { summary }] = ndjson((await answerBehindOthers(t, parley, request)).text);
      assert.equal(verdict.valid, false);
      assert.deepEqual(summary, { received: 1, valid: 0, invalid: 1 });
    });
  }

  it('keeps nobody waiting when a body is converted', async (t) => {
    const parley = await parleyFor(t, { args: ['--reactors', '1'] });
    const path = '/v1/supervisor/convert?to=frames';
    const request = rawPost(path, nulls(SLOW_BYTES), { type: NDJSON_TYPE });
    assert.equal((await answerBehindOthers(t, parley, request)).status, 422);
  });

  it('that was sent whole is stored though its client has gone', async (t) => {
    const parley = await parleyFor(t);
    const message = largeClaim(MIB / 2);
    const connection = await begin(t, parley, rawPost('/v1/vlp/messages', JSON.stringify(message)));
    connection.close();
    const client = await natsClient(t, embeddedUrl(parley));
    await until('it is stored', async () => (await lastSequence(client)) === 1, PATIENCE);
    const { payload } = await storedMessage(client, 1);
    assert.equal(payload.toString(), JSON.stringify(message));
  });

  it('of a body is stored with what came before it though its client has gone', async (t) => {
    const parley = await parleyFor(t);
    const sent = [claim(), largeClaim(MIB / 2), claim()];
    const head = rawChunkedHead('/v1/vlp/messages');
    const connection = await begin(t, parley, Buffer.from(head));
    await connection.write(chunk(lines(sent)));
    connection.socket.end();
    const client = await natsClient(t, embeddedUrl(parley));
    await until('all is stored', async () => (await lastSequence(client)) === 3, PATIENCE);
    const stored = await storedMessages(client, { from: 1 });
    assert.deepEqual(
      stored.map(({ payload }) => JSON.parse(payload).id),
      sent.map(({ id }) => id),
    );
  });

  for (const [what, type, end] of [
    ['is', JSON_TYPE, ''],
    ['of a body is', NDJSON_TYPE, '\n'],
  ]) {
    it(`${what} answered by a server that drains`, async (t) => {
      // A drain lasts 12 s at least, and then as long as an ack may take.
      const parley = await parleyFor(t, { args: ['--ack-timeout', '10m'] });
      const body = Buffer.concat([nulls((isSanitized ? 4 : 40) * MIB), Buffer.from(end)]);
      const large = await begin(t, parley, rawPost('/v1/supervisor/validate', body, { type }));
      assertAccepted(await send(parley, claim()));
      parley.signal('SIGTERM');
      const answer = await large.answer(PATIENCE);
      assert.equal(answer.status, 200);
      assert.equal(ndjson(`${answer.text.trimEnd()}\n`)[0].valid, false);
      await parley.program.hasExited();
      assert.equal(parley.program.exit.code, 0);
    });
  }
});

describe('a large message', () => {
  const its = useParley();

  it('is stored as it was sent, and once', async () => {
    const message = largeClaim(MIB / 2);
    const first = assertAccepted(await send(its.parley, message));
    const stored = await storedMessage(its.nats, first.seq);
    assert.equal(stored.payload.toString(), JSON.stringify(message));
    assert.equal(stored.headers['ce-id'], message.id);
    const again = (await send(its.parley, message)).json;
    assert.deepEqual([again.seq, again.duplicate], [first.seq, true]);
  });

  it('that breaks a rule is told so', async () => {
    const answer = await send(its.parley, { ...largeClaim(MIB / 2), sender: '' });
    const { violations } = assertProblem(answer, 422, 'invalid-message');
    assert.equal(violations[0].rule, 'VLP-005');
  });

  it('over what NATS takes is 413', async () => {
    const text = JSON.stringify(checkpoint(9 * MIB));
    const isMany = { type: NDJSON_TYPE };
    const answer = await post(its.parley, '/v1/supervisor/messages', `${text}\n`, isMany);
    const [failed, { summary }] = ndjson(answer.text);
    assert.deepEqual([failed.problem.type, summary.failed], ['/problems/too-large', 1]);
  });

  it('is converted', async () => {
    const message = checkpoint(MIB);
    const text = JSON.stringify(message);
    const answer = await post(its.parley, '/v1/supervisor/convert?to=msgpack', text);
    assert.equal(answer.headers['content-type'], MSGPACK_TYPE, answer.text.slice(0, 500));
    assert.deepEqual(decode(answer.body), message);
  });
});

describe('large messages among small ones', () => {
  const its = useParley();
  const sizes = [0, 300 * 1024, 10, 700 * 1024, 700 * 1024, 2 * MIB, 5, 260 * 1024];
  const mixed = sizes.map((size, i) => {
    const message = { ...largeClaim(size + 1), ...(i % 3 === 1 ? { confidence: 7 } : {}) };
    return { ...message, id: `mixed-${i}` };
  });
  const body = lines(mixed);

  it('get the verdicts of parley check, to the byte', async () => {
    const check = ['check', 'vlp', '--format', 'ndjson', '--type', NDJSON_TYPE];
    const { stdout } = await runParley(check, { input: body });
    for (const pieces of [[body], [body.slice(0, 400_000), body.slice(400_000)]]) {
      const answer = await validate(its.parley, pieces, { type: NDJSON_TYPE });
      assert.equal(answer.text, stdout.replaceAll(/"file":"[^"]*",/g, ''));
    }
  });

  it('are stored in the order sent, with their results in that order', async () => {
    const { lines: results } = await sendLines(its.parley, body);
    const statuses = mixed.map((_, i) => (i % 3 === 1 || sizes[i] > MIB ? 'invalid' : 'accepted'));
    assert.deepEqual(
      results.slice(0, -1).map(({ line, status }) => [line, status]),
      statuses.map((status, i) => [i + 1, status]),
    );
    const stored = await storedMessages(its.nats, { from: results[0].seq });
    assert.deepEqual(
      stored.map(({ payload }) => payload.toString()),
      mixed.filter((_, i) => statuses[i] === 'accepted').map((message) => JSON.stringify(message)),
    );
  });

  it('come out of a filter as they went in', async () => {
    const all = lines([claim(), largeClaim(MIB / 2), brokenClaim(), largeClaim(MIB / 3), claim()]);
    const query = '?emit=messages';
    const answer = await validate(its.parley, [all], { type: NDJSON_TYPE, query });
    const [first, second, , ...rest] = all.split('\n');
    assert.equal(answer.text, [first, second, ...rest].join('\n'));
  });
});

describe('bodies that come slowly', () => {
  const STAYS = ['--idle-timeout', '10m']; // what is held, however long the others take

  it('hold no more than --gather-max of lines that do not end', async (t) => {
    const half = (isSanitized ? 5 : 50) * MIB;
    const limit = isSanitized ? '26m' : '256m';
    const parley = await parleyFor(t, { args: ['--reactors', '2', '--gather-max', limit, ...STAYS] });
    const path = '/v1/supervisor/validate';
    const start = chunk(Buffer.alloc(half, 'x'));
    const held = [];
    const hold = async () => {
      held.push(await begin(t, parley, Buffer.from(rawChunkedHead(path))));
      await held.at(-1).write(start);
    };
    for (let i = 0; i < 19; i++) await hold();
    const line = JSON.stringify({ type: 'heartbeat', timestamp: 1705392000 });
    const end = Buffer.concat([start, chunk(`\n${line}\n`), Buffer.from('0\r\n\r\n')]);
    // Five lines find room, and then one more finds none: once they have it, and not while others
    // give theirs back. Of lines that were read side by side fewer may be left; another one is held.
    const refused = async () => {
      await until('all is read', () => unreadBytes(parley) === 0);
      const last = await begin(t, parley, Buffer.from(rawChunkedHead(path)));
      await last.write(end);
      const results = ndjson((await last.answer(PATIENCE)).text);
      if (results[0].status === 'failed') return results;
      await hold();
      return null;
    };
    const [failed, valid, { summary }] = await until('one finds no room', refused, PATIENCE);
    assert.equal(failed.line, 1);
    assert.equal(failed.problem.type, '/problems/overloaded');
    assert.match(failed.problem.detail, /--gather-max/);
    assert.deepEqual([valid.line, valid.valid], [2, true]);
    assert.deepEqual(summary, { received: 2, valid: 1, invalid: 0, failed: 1 });
    const peak = parseInt(processStatus(parley.pid, 'VmHWM'), 10);
    if (!isSanitized) assert.ok(peak < 350 * 1024, `the most it ever used: ${peak} kB`);
    for (const connection of held) connection.close();
    const large = JSON.stringify(checkpoint(2 * half - MIB));
    const isAccepted = async () => (await post(parley, path, large, PATIENCE)).json.valid === true;
    await until('a large message is accepted', isAccepted, PATIENCE);
  });

  it('hold no more than --gather-max in sum; small ones are never refused', async (t) => {
    const parley = await parleyFor(t, { args: ['--reactors', '2', '--gather-max', '8m', ...STAYS] });
    const whole = rawPost('/v1/supervisor/validate', nulls(5 * MIB));
    const held = [];
    const send3MiB = () => post(parley, '/v1/supervisor/validate', nulls(3 * MIB), PATIENCE);
    // Another that is held each time: one that comes behind the whole one is refused itself.
    const refusal = async () => {
      held.push(await begin(t, parley, whole.subarray(0, 3.5 * MIB)));
      const answer = await send3MiB();
      return answer.status === 503 ? answer : undefined;
    };
    const answer = await until('a whole one is refused', refusal, PATIENCE);
    assertProblem(answer, 503, 'overloaded');
    assert.ok(answer.headers['retry-after']);
    assert.match(answer.json.detail, /--gather-max/);
    assertAccepted(await send(parley, claim({ content: 'x'.repeat(60 * 1024) })));
    for (const connection of held) connection.close();
    await until('there is room again', async () => (await send3MiB()).status === 200, PATIENCE);
  });
});
