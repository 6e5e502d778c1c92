// SPDX-License-Identifier: Apache-2.0
// Answers in MessagePack, for agents that read nothing else: what JSON says, decoded by a library
// that shares nothing with parley. In each test the JSON answer to the same request is what counts.

import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { before, describe, it } from 'node:test';
import { JSON_TYPE, NDJSON_TYPE, get, post, request } from './lib/http.mjs';
import { FRAMES_TYPE, MSGPACK_TYPE, assertPackedProblem, decode, frames, msgpack } from './lib/frames.mjs';
import { useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertProblem, claim } from './lib/vlp.mjs';

const heartbeat = { type: 'heartbeat', timestamp: 1705392000 };
const metrics = { type: 'metrics', timestamp: 1705392001, data: { error_rate: 0.1, half: 0.5, queue: -3 } };
const checkpoint = { type: 'checkpoint', timestamp: 1705392002, data: { agent_state: {} } };
const unknown = { type: 'gossip', timestamp: 1705392003 };

const AGENT = 'reader';
const path = (what) => `/v1/supervisor/${what}`;
const send = (what, message = heartbeat) => ({
  method: 'POST',
  path: path(what),
  body: msgpack(message),
  type: MSGPACK_TYPE,
});
const read = (what) => ({ method: 'GET', path: path(what) });

const ask = (server, { method, path, body, type }, accept, headers = {}) =>
  request(server, method, path, {
    body,
    headers: { ...(type && { 'Content-Type': type }), ...(accept && { Accept: accept }), ...headers },
  });

const varies = ({ headers }) => (headers.vary ?? '').split(/, */).includes('Accept');

// What a request is answered in MessagePack and in JSON at one moment: ages grow meanwhile.
const askedTwice = (server, what, headers) =>
  until(`two equal answers to ${what.path}`, async () => {
    const earlier = await ask(server, what, JSON_TYPE, headers);
    const packed = await ask(server, what, MSGPACK_TYPE, headers);
    const later = await ask(server, what, JSON_TYPE, headers);
    return earlier.text === later.text && { packed, json: later };
  });

describe('answers of supervisor', () => {
  const its = useParley();

  before(async () => {
    for (const message of [heartbeat, metrics, checkpoint]) {
      const answer = await post(its.parley, path(`messages?agent=${AGENT}`), JSON.stringify(message));
      assert.equal(answer.status, 200, answer.text);
    }
  });

  const routes = [
    send(`messages?agent=${AGENT}`),
    send('validate', metrics),
    send('validate', unknown),
    { ...send('validate'), body: Buffer.from([0x81]) },
    { ...send('validate'), body: JSON.stringify(unknown), type: JSON_TYPE },
    read('agents'),
    read(`agents/${AGENT}`),
    read(`agents/${AGENT}/checkpoints`),
  ];
  for (const what of routes) {
    it(`are in MessagePack what they are in JSON: ${what.method} ${what.path}`, async () => {
      const { packed, json } = await askedTwice(its.parley, what);
      assert.equal(packed.status, json.status, packed.text);
      assert.equal(packed.status, 200, json.text);
      assert.equal(packed.headers['content-type'], MSGPACK_TYPE);
      assert.deepEqual(decode(packed.body), json.json);
      assert.equal(packed.headers['cache-control'], json.headers['cache-control']);
      assert.ok(varies(packed) && varies(json), 'a cache keeps both');
    });
  }

  const wishes = [
    [undefined, JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    [`${MSGPACK_TYPE}, ${JSON_TYPE}`, JSON_TYPE],
    [`${MSGPACK_TYPE};q=0.5, ${JSON_TYPE}`, JSON_TYPE],
    [`${MSGPACK_TYPE};q=0, */*`, JSON_TYPE],
    [MSGPACK_TYPE, MSGPACK_TYPE],
    ['Application/MessagePack, APPLICATION/MSGPACK', MSGPACK_TYPE],
    ['application/x-msgpack', 'application/x-msgpack'],
    ['application/vnd.msgpack', 'application/vnd.msgpack'],
    [`${MSGPACK_TYPE}, */*`, MSGPACK_TYPE],
    [`${JSON_TYPE};q=0.5, ${MSGPACK_TYPE}`, MSGPACK_TYPE],
    [`${NDJSON_TYPE};q=0.5, ${MSGPACK_TYPE};q=0.6`, MSGPACK_TYPE],
    [`${MSGPACK_TYPE};q=0`, 406],
    ['text/html', 406],
    [FRAMES_TYPE, 406],
  ];
  for (const [accept, wanted] of wishes) {
    it(`are ${wanted} for Accept: ${accept}`, async () => {
      for (const what of [send('validate'), send(`messages?agent=${AGENT}`), read('agents')]) {
        const answer = await ask(its.parley, what, accept);
        if (wanted === 406) {
          assertProblem(answer, 406, 'not-acceptable');
          continue;
        }
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.headers['content-type'], wanted);
        assert.equal(typeof (wanted === JSON_TYPE ? answer.json : decode(answer.body)), 'object');
      }
    });
  }

  it('to HEAD have the head of those to GET', async () => {
    const what = read(`agents/${AGENT}/checkpoints`);
    const whole = await ask(its.parley, what, MSGPACK_TYPE);
    const head = await ask(its.parley, { ...what, method: 'HEAD' }, MSGPACK_TYPE);
    for (const name of ['content-type', 'content-length', 'vary']) {
      assert.equal(head.headers[name], whole.headers[name], name);
    }
    assert.equal(head.body.length, 0);
  });

  it('are compressed as others are', async () => {
    const what = send('validate', { ...heartbeat, type: 'checkpoint', data: { memory_blocks: Array(50).fill({}) } });
    const json = await ask(its.parley, what, JSON_TYPE);
    const packed = await ask(its.parley, what, MSGPACK_TYPE, { 'Accept-Encoding': 'gzip' });
    assert.equal(packed.headers['content-encoding'], 'gzip');
    assert.deepEqual(decode(gunzipSync(packed.body)), json.json);
  });

  it('to many messages are no MessagePack', async () => {
    const many = [
      { ...send('messages'), body: JSON.stringify([heartbeat]), type: JSON_TYPE },
      { ...send('messages'), body: frames([heartbeat]), type: FRAMES_TYPE },
      { ...send('validate'), body: `${JSON.stringify(heartbeat)}\n`, type: NDJSON_TYPE },
    ];
    for (const what of many) {
      const refused = await ask(its.parley, what, MSGPACK_TYPE);
      assertPackedProblem(refused, 406, 'not-acceptable');
      const answer = await ask(its.parley, what, `${MSGPACK_TYPE}, ${NDJSON_TYPE};q=0.1`);
      assert.equal(answer.headers['content-type'], NDJSON_TYPE);
    }
  });
});

describe('problems of supervisor', () => {
  const its = useParley();

  const rows = [
    [send('messages', unknown), 422, 'INVALID_MESSAGE'],
    [{ ...send('messages'), body: Buffer.from([0x81]) }, 400, 'INVALID_MESSAGE'],
    [{ ...send('messages'), body: '{', type: JSON_TYPE }, 400, 'INVALID_MESSAGE'],
    [send('messages?ack=true'), 400, 'INVALID_PARAMETER'],
    [send('messages?agnet=a'), 400, 'INVALID_PARAMETER'],
    [{ ...send('messages'), type: 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [send('convert?to=msgpack', unknown), 422, 'INVALID_MESSAGE'],
    [read('agents?lim=1'), 400, 'INVALID_PARAMETER'],
    [read('agents/nobody'), 404, 'NOT_FOUND'],
    [read('halts'), 404, 'NOT_FOUND'],
    [read('agents/nobody/restore'), 404, 'NOT_FOUND'],
    [read('stream?sinse=all'), 400, 'INVALID_PARAMETER'],
    [{ ...read('agents'), method: 'DELETE' }, 405, 'METHOD_NOT_ALLOWED'],
  ];
  for (const [what, status, code] of rows) {
    it(`are an error of the document with ${code}: ${what.method} ${what.path} (${status})`, async () => {
      const headers = { 'X-Request-Id': 'the-same' };
      const json = await ask(its.parley, what, undefined, headers);
      const packed = await ask(its.parley, what, MSGPACK_TYPE, headers);
      assert.equal(json.status, status, json.text);
      assert.equal(packed.status, status);
      assert.equal(packed.headers['content-type'], MSGPACK_TYPE);
      const message = decode(packed.body);
      const { unchanged, tries, ...details } = message.error.details; // the same bytes, once more
      assert.deepEqual({ ...message, error: { ...message.error, details } }, {
        type: 'error',
        timestamp: message.timestamp,
        error: { code, message: json.json.detail, details: json.json },
      });
      const verdict = await post(its.parley, path('validate?from=elixir'), packed.body, { type: MSGPACK_TYPE });
      assert.equal(verdict.json.valid, true, verdict.text);
    });
  }

  it('are those of an agent for its supervisor', async () => {
    const answer = await ask(its.parley, send('messages?from=elixir', unknown), MSGPACK_TYPE);
    const { error } = decode(answer.body);
    assert.equal(error.code, 'INVALID_MESSAGE');
    assert.equal(error.context.status, 422);
    const verdict = await post(its.parley, path('validate?from=gerbil'), answer.body, { type: MSGPACK_TYPE });
    assert.equal(verdict.json.valid, true, verdict.text);
  });
});

describe('other protocols', () => {
  const its = useParley();

  it('have no answers in MessagePack', async () => {
    const refused = await post(its.parley, '/v1/vlp/messages', JSON.stringify(claim()), {
      headers: { Accept: MSGPACK_TYPE },
    });
    assertProblem(refused, 406, 'not-acceptable');
    const answer = await post(its.parley, '/v1/vlp/messages', JSON.stringify(claim()), {
      headers: { Accept: `${MSGPACK_TYPE}, */*;q=0.1` },
    });
    assert.equal(answer.headers['content-type'], JSON_TYPE);
    assert.ok(!varies(await get(its.parley, '/v1/vlp/halts')));
  });
});
