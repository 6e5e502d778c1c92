// SPDX-License-Identifier: Apache-2.0
// Requests that proxies and servers may read differently: refused, and the connection closed, so
// that nothing can be smuggled past either.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chunk, rawFor, rawPost, send } from './lib/http.mjs';
import { lastSequence } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { assertAccepted, claim } from './lib/vlp.mjs';

const post = (...headers) =>
  [
    'POST /v1/vlp/messages HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    ...headers,
  ].join('\r\n') + '\r\n\r\n';

// A whole request, which must not be answered as one when it hides in the body of another.
const hidden = (text) => rawPost('/v1/vlp/messages', text).toString();

describe('a request whose end is in doubt', () => {
  const its = useParley();
  const text = JSON.stringify(claim());
  const size = Buffer.byteLength(text);
  const inChunks = `${chunk(text)}0\r\n\r\n`;
  const secret = JSON.stringify(claim({ sender: 'The Smuggler' }));

  for (const [what, bytes] of [
    [
      'both Content-Length and Transfer-Encoding',
      post(`Content-Length: ${size}`, 'Transfer-Encoding: chunked') + inChunks,
    ],
    [
      'both, the other way round',
      post('Transfer-Encoding: chunked', `Content-Length: ${inChunks.length}`) + inChunks,
    ],
    [
      'two Content-Lengths that differ',
      post(`Content-Length: ${size}`, 'Content-Length: 3') + text,
    ],
    ['two Content-Lengths in one header', post(`Content-Length: ${size}, 3`) + text],
    ['a blank before the colon', post(`Content-Length : ${size}`) + text],
    ['a Content-Length that is no number', post('Content-Length: many') + text],
    ['a Content-Length with a sign', post(`Content-Length: +${size}`) + text],
    ['a negative Content-Length', post('Content-Length: -1') + text],
    ['a Content-Length in hex', post('Content-Length: 0x10') + text],
    ['an empty Content-Length', post('Content-Length: ') + text],
    ['a Content-Length of 2 to the 65', post('Content-Length: 36893488147419103232') + text],
    [
      'a Content-Length that no number holds',
      post('Content-Length: 99999999999999999999999') + text,
    ],
    ['a Transfer-Encoding other than chunked', post('Transfer-Encoding: gzip') + inChunks],
    ['a Transfer-Encoding after chunked', post('Transfer-Encoding: chunked, identity') + inChunks],
    [
      'two Transfer-Encodings',
      post('Transfer-Encoding: chunked', 'Transfer-Encoding: identity') + inChunks,
    ],
    ['a misspelt Transfer-Encoding', post('Transfer-Encoding: xchunked') + inChunks],
    [
      'a blank before the colon of Transfer-Encoding',
      post('Transfer-Encoding : chunked') + inChunks,
    ],
    ['a NUL in a header', post(`X-Odd: a\0b`, `Content-Length: ${size}`) + text],
  ]) {
    it(`by ${what} is 4xx or 5xx, the connection closed, and nothing stored`, async (t) => {
      const before = await lastSequence(its.nats);
      const connection = await rawFor(t, its.parley, Buffer.from(bytes + hidden(secret), 'latin1'));
      const received = await connection.end();
      assert.match(received, /^HTTP\/1\.1 400 /, received.slice(0, 200));
      assert.equal(received.match(/HTTP\/1\.1 /g).length, 1, received); // (contract 15, attack F6)
      assert.match(received, /application\/problem\+json/);
      assert.equal(await lastSequence(its.nats), before);
    });
  }

  // (attack F3) More of them, cut anywhere, are in tests/unit/test_http_bytes.c.
  const hex = size.toString(16);
  for (const [what, body] of [
    ['a chunk whose size is not a number', `zz\r\n${text}\r\n0\r\n\r\n`],
    ['bare LF in all of its chunks', `${hex}\n${text}\n0\n\n`],
    ['bare LF after a chunk extension', `${hex};\n${text}\r\n0\r\n\r\n`],
    ['bare LF after the data of a chunk', `${hex}\r\n${text}\n0\r\n\r\n`],
    ['bare LF in its last chunk', `${hex}\r\n${text}\r\n0;\n\r\n`],
    ['a folded trailer', `${hex}\r\n${text}\r\n0\r\nX-Sum: 1\r\n 2\r\n\r\n`],
    [
      'a Transfer-Encoding in its trailers',
      `${hex}\r\n${text}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ],
    ['a Content-Length in its trailers', `${hex}\r\n${text}\r\n0\r\nContent-Length: 3\r\n\r\n`],
  ]) {
    it(`by ${what} is 400, the connection closed, and nothing stored`, async (t) => {
      const before = await lastSequence(its.nats);
      const bytes = post('Transfer-Encoding: chunked') + body + hidden(secret);
      const received = await (await rawFor(t, its.parley, bytes)).end();
      assert.match(received, /^HTTP\/1\.1 400 /, received.slice(0, 200));
      assert.equal(received.match(/HTTP\/1\.1 /g).length, 1, received);
      assert.match(received, /"type":"\/problems\/malformed"/);
      assert.equal(await lastSequence(its.nats), before);
    });
  }

  it('by nothing, but without a Host, is 400 as HTTP/1.1 demands', async (t) => {
    const bytes = rawPost('/v1/vlp/validate', text).toString().replace('Host: localhost\r\n', '');
    const connection = await rawFor(t, its.parley, bytes);
    assert.equal((await connection.answer()).status, 400);
  });

  it('by both Content-Length and Transfer-Encoding is 400', async (t) => {
    const bytes = post(`Content-Length: ${size}`, 'Transfer-Encoding: chunked') + inChunks;
    const connection = await rawFor(t, its.parley, bytes);
    assert.equal((await connection.answer()).status, 400);
    await connection.end();
  });

  // The headers alone, so that a server that waits for a body that never comes would hang.
  it('is refused before its body', async (t) => {
    const head = post('Content-Length: 10', 'Transfer-Encoding: chunked');
    const connection = await rawFor(t, its.parley, head);
    assert.equal((await connection.answer()).status, 400);
  });
});

describe('a request that is only unusual', () => {
  const its = useParley();
  const body = () => JSON.stringify(claim());

  it('may follow another before that one is answered', async (t) => {
    const requests = [rawPost('/v1/vlp/messages', body()), rawPost('/v1/vlp/messages', body())];
    const connection = await rawFor(t, its.parley, Buffer.concat(requests));
    const [first, second] = [await connection.answer(), await connection.answer()];
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.equal(JSON.parse(second.text).seq, JSON.parse(first.text).seq + 1);
  });

  it('may expect 100-continue', async (t) => {
    const text = body();
    const connection = await rawFor(
      t,
      its.parley,
      post(`Content-Length: ${Buffer.byteLength(text)}`, 'Expect: 100-continue'),
    );
    assert.equal((await connection.answer()).status, 100);
    await connection.write(text);
    assert.equal((await connection.answer()).status, 200);
  });

  it('may be HTTP/1.0, whose connection then closes', async (t) => {
    const request = rawPost('/v1/vlp/messages', body()).toString().replace('HTTP/1.1', 'HTTP/1.0');
    const connection = await rawFor(t, its.parley, request);
    assert.equal((await connection.answer()).status, 200);
    await connection.end();
  });

  it('may have blanks after its lengths', async (t) => {
    const text = body();
    const connection = await rawFor(t, its.parley);
    for (const request of [
      post(`Content-Length: ${Buffer.byteLength(text)} \t`) + text,
      `${post('Transfer-Encoding: chunked ')}${chunk(text)}0\r\n\r\n`,
    ]) {
      await connection.write(request);
      assert.equal((await connection.answer()).status, 200);
    }
  });

  it('may ask the server itself for its OPTIONS', async (t) => {
    const connection = await rawFor(t, its.parley, 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.equal((await connection.answer()).status, 204);
  });

  it('may name its headers in any case', async (t) => {
    const request = rawPost('/v1/vlp/messages', body())
      .toString()
      .replace('Content-Type', 'cOnTeNt-TyPe')
      .replace('Content-Length', 'CONTENT-LENGTH');
    const connection = await rawFor(t, its.parley, request);
    assert.equal((await connection.answer()).status, 200);
  });

  it('may arrive one byte at a time', async (t) => {
    const connection = await rawFor(t, its.parley);
    const bytes = rawPost('/v1/vlp/messages', body(), { headers: ['X-Padding: 1'] });
    for (const byte of bytes) await connection.write(Buffer.from([byte]));
    assert.equal((await connection.answer()).status, 200);
  });

  it('may be one of a thousand on the same connection', async (t) => {
    const connection = await rawFor(t, its.parley);
    for (let i = 0; i < 1000; i++) {
      await connection.write(rawPost('/v1/vlp/validate', body()));
      assert.equal((await connection.answer()).status, 200);
    }
  });
});

describe('a request that is too much', () => {
  const its = useParley();
  const get = (target, ...headers) =>
    [`GET ${target} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n') + '\r\n\r\n';

  for (const [what, bytes, status, name] of [
    ['a path of 100 kB', get(`/${'x'.repeat(100_000)}`), 414, 'uri-too-long'],
    ['headers of 100 kB', get('/', `X: ${'x'.repeat(100_000)}`), 431, 'head-too-large'],
    ['20,000 headers', get('/', ...Array(20_000).fill('X: 1')), 431, 'head-too-large'],
    ['500 query options', get(`/livez?${'&'.repeat(500)}`), 414, 'uri-too-long'],
    [
      '1,500 query options for a stream',
      get(`/v1/vlp/stream?${'&'.repeat(1500)}`),
      414,
      'uri-too-long',
    ],
    [
      'a head of 17 kB for a stream',
      get('/v1/vlp/stream', `Cookie: ${'x'.repeat(17_000)}`),
      431,
      'head-too-large',
    ],
    ['no HTTP at all', 'hello, is anybody there?\r\n\r\n', 400, 'invalid-parameter'],
    [
      'an expectation of something',
      post('Expect: something', 'Content-Length: 2') + '{}',
      417,
      'expectation-failed',
    ],
  ]) {
    it(`with ${what} is ${status}, and the server goes on`, async (t) => {
      const connection = await rawFor(t, its.parley, bytes);
      const received = await connection.end();
      assert.equal(received.split(' ')[1], String(status), received.slice(0, 200));
      assert.ok(received.includes(`"type":"/problems/${name}"`), received);
      assertAccepted(await send(its.parley, claim()));
    });
  }

  // (contract 6)
  for (const path of ['/livez', '/v1/vlp/stream?follow=false&since=all']) {
    it(`allows a token of 12 kB to ${path.split('?')[0]}`, async (t) => {
      const head = get(path, `Authorization: Bearer ${'x'.repeat(12_000)}`, 'Connection: close');
      const connection = await rawFor(t, its.parley, head);
      assert.equal((await connection.answer()).status, 200);
    });
  }
});
