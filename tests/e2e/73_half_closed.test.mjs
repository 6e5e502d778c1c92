// SPDX-License-Identifier: Apache-2.0
// Clients that close their sending half as soon as the request is sent, as `nc -N`, socat and some
// proxies do: each whole request gets its answer, and then the connection is closed (attack F0).
// No connection of this server idles out, so one that closes was seen to be at its end.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FRAMES_TYPE, MSGPACK_TYPE, frames, msgpack } from './lib/frames.mjs';
import { JSON_TYPE, NDJSON_TYPE, chunk, connectRaw, rawChunkedHead, rawFor, rawPost, send } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { useParley } from './lib/parley.mjs';
import { pause, until } from './lib/poll.mjs';
import { assertAccepted, claim, lines } from './lib/vlp.mjs';

const AT_ONCE = 6;
const EACH = 30;

const its = useParley({ args: ['--idle-timeout', '1h'] });

const heartbeat = () => ({ type: 'heartbeat', timestamp: 1_700_000_000, payload: {} });
const oneLine = () => lines([claim()]);

const chunked = (path, body, type) =>
  Buffer.concat([Buffer.from(rawChunkedHead(path, type)), chunk(body), Buffer.from('0\r\n\r\n')]);

const asHttp10 = (bytes) => Buffer.from(bytes.toString('latin1').replace('HTTP/1.1', 'HTTP/1.0'), 'latin1');

// The whole of one answer; what is missing of it fails the test by name.
async function ask({ bytes, pieces, delay }) {
  const connection = await connectRaw(its.parley);
  try {
    const size = pieces ?? bytes.length;
    for (let at = 0; at < bytes.length; at += size) {
      await connection.write(bytes.subarray(at, at + size));
    }
    if (delay) await pause(delay);
    connection.socket.end();
    const text = await connection.end();
    assert.match(text, /^HTTP\/1\.[01] 200 /, 'it is answered');
    return text.slice(text.indexOf('\r\n\r\n') + 4);
  } finally {
    connection.close();
  }
}

async function askMany(shape, each = EACH) {
  let left = each * AT_ONCE;
  const answers = [];
  const askSome = async () => {
    while (left-- > 0) {
      answers.push(await ask({ ...shape, bytes: shape.request() }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, askSome));
  for (const answer of answers) assert.match(answer, shape.says);
  assert.equal(answers.length, each * AT_ONCE);
}

const ACCEPTED = /"seq":\d+/;
const VALID = /"valid":true/;
const SUMMARY = /"accepted":1/;
const MESSAGES = '/v1/vlp/messages';
const VALIDATE = '/v1/vlp/validate';

const shapes = [
  ['one message', ACCEPTED, () => rawPost(MESSAGES, JSON.stringify(claim()))],
  ['an array', SUMMARY, () => rawPost(MESSAGES, JSON.stringify([claim()]))],
  ['a line', SUMMARY, () => rawPost(MESSAGES, oneLine(), { type: NDJSON_TYPE })],
  ['one message in chunks', ACCEPTED, () => chunked(MESSAGES, JSON.stringify(claim()), JSON_TYPE)],
  ['a line in chunks, answered live', SUMMARY, () => chunked(MESSAGES, oneLine(), NDJSON_TYPE)],
  [
    'a MessagePack message',
    ACCEPTED,
    () => rawPost('/v1/supervisor/messages?from=gerbil', msgpack(heartbeat()), { type: MSGPACK_TYPE }),
  ],
  [
    'a frame',
    SUMMARY,
    () => rawPost('/v1/supervisor/messages?from=gerbil', frames([heartbeat()]), { type: FRAMES_TYPE }),
  ],
  ['one message by HTTP/1.0', ACCEPTED, () => asHttp10(rawPost(MESSAGES, JSON.stringify(claim())))],
  ['a line by HTTP/1.0', SUMMARY, () => asHttp10(rawPost(MESSAGES, oneLine(), { type: NDJSON_TYPE }))],
  ['a verdict', VALID, () => rawPost(VALIDATE, JSON.stringify(claim()))],
  ['a verdict on a line', VALID, () => rawPost(VALIDATE, oneLine(), { type: NDJSON_TYPE })],
  ['a verdict in chunks', VALID, () => chunked(VALIDATE, oneLine(), NDJSON_TYPE)],
  ['a page', /alive/, () => Buffer.from('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')],
].map(([name, says, request]) => ({ name, says, request }));

describe('a client that closes its sending half', () => {
  for (const shape of shapes) {
    it(`is answered: ${shape.name}`, () => askMany(shape));
    it(`is answered a little later: ${shape.name}`, () => askMany({ ...shape, delay: 1 }, 5));
    it(`is answered after many pieces: ${shape.name}`, () => askMany({ ...shape, pieces: 100 }, 5));
  }
});

describe('a reader that closes its sending half', () => {
  for (const [accept, version] of [
    [NDJSON_TYPE, '1.1'],
    ['text/event-stream', '1.1'],
    [NDJSON_TYPE, '1.0'],
  ]) {
    it(`goes on to read its stream, ${accept} by HTTP/${version}`, async (t) => {
      const head = `GET /v1/vlp/stream HTTP/${version}\r\nHost: localhost\r\nAccept: ${accept}\r\n\r\n`;
      const reader = await rawFor(t, its.parley);
      reader.socket.end(head);
      const received = () => reader.received.toString('latin1');
      await until('the head of the stream', () => received().includes('\r\n\r\n'));
      for (let i = 0; i < 3; i++) {
        const message = claim();
        assertAccepted(await send(its.parley, message));
        await until('the message comes', () => received().includes(`"id":"${message.id}"`));
      }
      assert.equal(reader.closed, false);
    });
  }

  it('and closes the other one too is forgotten', async (t) => {
    const readersNow = async () => valueOf(await metricsOf(its.parley), 'parley_stream_readers');
    await until('the readers before are forgotten', async () => (await readersNow()) === 0);
    const filesBefore = its.parley.openFiles();
    const readers = [];
    for (let i = 0; i < 20; i++) {
      const bytes = 'GET /v1/vlp/stream HTTP/1.1\r\nHost: localhost\r\n\r\n';
      readers.push(await rawFor(t, its.parley, bytes));
    }
    await until('all are served', async () => (await readersNow()) === readers.length);
    for (const reader of readers) reader.socket.end();
    await until('their streams stand', () => readers.every((each) => each.received.length > 0));
    for (const reader of readers) reader.close();
    await until('they are forgotten', async () => (await readersNow()) === 0);
    await until('their connections are closed', () => its.parley.openFiles() <= filesBefore);
  });
});
