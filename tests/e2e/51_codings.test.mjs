// SPDX-License-Identifier: Apache-2.0
// Compressed bodies: one message and many, as they arrive, and what is wrong with them. Compressed
// answers: streams, of which each event arrives before the next is sent, and what is long.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { CODINGS, codedStreamFor, compress, decompress, zstd } from './lib/codings.mjs';
import {
  chunk,
  get,
  JSON_TYPE,
  NDJSON_TYPE,
  post,
  rawChunkedHead,
  rawFor,
  request,
  send,
  sendLines,
  validate,
  validateLines,
} from './lib/http.mjs';
import { lastSequence } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { run, processStatus } from './lib/program.mjs';
import { ifMemoryCounts, isSanitized } from './lib/poll.mjs';
import { assertAccepted, assertProblem, brokenClaim, claim, claims, lines } from './lib/vlp.mjs';

const coded = (coding, type = JSON_TYPE) => ({ type, headers: { 'Content-Encoding': coding } });
const highWaterKb = (parley) => parseInt(processStatus(parley.pid, 'VmHWM'), 10);

// One that a few bytes stand for: `megabytes` of blank lines.
function gzipBomb(megabytes) {
  const one = gzipSync(Buffer.alloc(1 << 20, '\n'));
  return Buffer.concat(Array.from({ length: megabytes }, () => one)); // a member each
}

// Blocks of one byte that stands for 128 KiB: four bytes each (RFC 8878, section 3.1.1.2).
function zstdBomb(megabytes) {
  const block = Buffer.from([0x02, 0x00, 0x10, 0x0a]);
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]);
  return Buffer.concat([head, ...Array.from({ length: megabytes * 8 }, () => block)]);
}

describe('compressed bodies', () => {
  const its = useParley();

  for (const coding of [...CODINGS, 'GZIP', 'x-gzip', 'identity']) {
    it(`one message with Content-Encoding: ${coding}`, async () => {
      const message = claim();
      const text = JSON.stringify(message);
      const body = coding === 'identity' ? text : compress(/gzip/i.test(coding) ? 'gzip' : coding, text);
      const answer = await send(its.parley, body, coded(coding));
      assertAccepted(answer);
      assert.equal(answer.json.id, message.id);
    });
  }

  for (const coding of CODINGS) {
    it(`many messages, ${coding}: NDJSON and an array`, async () => {
      const messages = claims(300);
      const answer = await sendLines(
        its.parley,
        compress(coding, lines([...messages, brokenClaim()])),
        coded(coding, NDJSON_TYPE),
      );
      assert.deepEqual(answer.lines.at(-1).summary, {
        received: 301, accepted: 300, duplicate: 0, invalid: 1, failed: 0,
      });
      assert.deepEqual(
        answer.lines.slice(0, 300).map((result) => result.id),
        messages.map((message) => message.id),
      );
      const array = await send(its.parley, compress(coding, JSON.stringify(claims(20))), coded(coding));
      assert.equal(array.lines.at(-1).summary.accepted, 20);
    });

    it(`a large one in chunks, ${coding}`, async () => {
      const body = compress(coding, lines(claims(20_000)));
      const pieces = [];
      for (let at = 0; at < body.length; at += 10_000) pieces.push(body.subarray(at, at + 10_000));
      const answer = await validateLines(its.parley, pieces, {
        ...coded(coding, NDJSON_TYPE),
        query: '?results=summary',
      });
      assert.deepEqual(answer.lines, [{ summary: { received: 20_000, valid: 20_000, invalid: 0 } }]);
    });

    it(`results leave at each flush of the client, ${coding}`, async (t) => {
      const connection = await rawFor(
        t,
        its.parley,
        rawChunkedHead('/v1/vlp/messages').replace('\r\n\r\n', `\r\nContent-Encoding: ${coding}\r\n\r\n`),
      );
      for (let i = 0; i < 3; i++) {
        const { id } = await sendFlushed(connection, coding);
        await resultOf(connection, id);
      }
      await connection.write(chunk(''));
    });

    it(`one that is cut, or is followed by something, ${coding}`, async () => {
      const whole = compress(coding, JSON.stringify(claim()));
      const before = await lastSequence(its.nats);
      for (const [body, detail] of [
        [whole.subarray(0, -1), /ends too early/],
        [whole.subarray(0, 12), /ends too early/],
        [Buffer.concat([whole, Buffer.from('\n')]), /unexpected data after the end of the compressed/],
        [Buffer.from(JSON.stringify(claim())), /not compressed as its Content-Encoding says/],
      ]) {
        const problem = assertProblem(await send(its.parley, body, coded(coding)), 400, 'malformed');
        assert.match(problem.detail, detail);
        assert.equal(problem.violations[0].rule, 'GW-001');
      }
      assert.equal(await lastSequence(its.nats), before);
    });

    it(`of many, those before the end count, ${coding}`, async () => {
      const first = compress(coding, lines([claim(), claim()]));
      const body = Buffer.concat([first, compress(coding, JSON.stringify(claim())), Buffer.from('x')]);
      const answer = await sendLines(its.parley, body, coded(coding, NDJSON_TYPE));
      assert.deepEqual(
        answer.lines.map((line) => line.status ?? line.summary.received),
        ['accepted', 'accepted', 'invalid', 3],
      );
      assert.match(answer.lines[2].violations[0].message, /unexpected data after/);
    });
  }

  it('a window of more than 8 MiB is refused', async () => {
    const text = JSON.stringify(claim());
    assertAccepted(await send(its.parley, zstd(text, 23), coded('zstd')));
    const answer = await send(its.parley, zstd(JSON.stringify(claim()), 24), coded('zstd'));
    assert.match(assertProblem(answer, 400, 'malformed').detail, /window of more than 8 MiB/);
  });

  it('two headers are 415', async () => {
    const headers = { 'Content-Encoding': ['gzip', 'gzip'] };
    const answer = await send(its.parley, compress('gzip', '{}'), { headers });
    assertProblem(answer, 415, 'unsupported-media-type');
  });

  it('curl sends gzip and zstd', async () => {
    for (const coding of CODINGS) {
      const { stdout } = await run(
        'curl',
        [
          '-sS', '--data-binary', '@-', '-H', 'Content-Type: application/json',
          '-H', `Content-Encoding: ${coding}`, `${its.parley.url}/v1/vlp/messages`,
        ],
        { input: compress(coding, JSON.stringify(claim())) },
      );
      assert.match(stdout, /"lane":"safe"/);
    }
  });

  it(`bombs cost no time of others${ifMemoryCounts(', and no memory')}`, async () => {
    const megabytes = isSanitized ? 16 : 512;
    assertAccepted(await send(its.parley, claim()));
    const before = highWaterKb(its.parley);
    const bombs = [
      validateLines(its.parley, gzipBomb(megabytes), coded('gzip', NDJSON_TYPE)),
      validateLines(its.parley, zstdBomb(megabytes), coded('zstd', NDJSON_TYPE)),
      post(its.parley, '/v1/vlp/messages', gzipBomb(megabytes), coded('gzip')),
      post(its.parley, '/v1/vlp/messages', zstdBomb(megabytes), coded('zstd')),
    ];
    for (let i = 0; i < 20; i++) assertAccepted(await send(its.parley, claim()));
    const [gzipLines, zstdLines, gzipOne, zstdOne] = await Promise.all(bombs);
    assert.deepEqual(gzipLines.lines, [{ summary: { received: 0, valid: 0, invalid: 0 } }]);
    assert.match(zstdLines.lines[0].violations[0].message, /more than 2000 times its size/);
    assertProblem(gzipOne, 413, 'too-large');
    assertProblem(zstdOne, 400, 'malformed');
    if (!isSanitized) assert.ok(highWaterKb(its.parley) - before < 32 * 1024, 'memory is bounded');
  });
});

// A message in a member or frame of its own.
async function sendFlushed(connection, coding) {
  const message = claim();
  await connection.write(chunk(compress(coding, lines([message]))));
  return message;
}

async function resultOf(connection, id) {
  while (!connection.received.includes(id)) {
    assert.ok(!connection.closed, 'it is open');
    await new Promise((resolve) => (connection.wake = resolve));
  }
}

const accepting = (accept) => ({ headers: { 'Accept-Encoding': accept } });
const plainOf = (answer) => decompress(answer.headers['content-encoding'], answer.body).toString();

describe('compressed answers', () => {
  const its = useParley();

  for (const coding of CODINGS) {
    it(`a stream, ${coding}: each event arrives before the next is sent`, async (t) => {
      const stream = await codedStreamFor(t, its.parley, '/v1/vlp/stream', coding);
      assert.equal(stream.headers['content-encoding'], coding);
      assert.equal(stream.headers.vary, 'Accept-Encoding');
      assert.equal((await stream.anyEvent()).type, 'parley.open');
      for (let i = 0; i < 5; i++) {
        const message = claim();
        assertAccepted(await send(its.parley, message));
        assert.deepEqual((await stream.event()).data, message);
      }
    });

    it(`server-sent events, ${coding}`, async (t) => {
      const headers = { Accept: 'text/event-stream' };
      const stream = await codedStreamFor(t, its.parley, '/v1/stream', coding, headers);
      assert.equal(stream.headers['content-encoding'], coding);
      assert.match(stream.headers['content-type'], /^text\/event-stream/);
      for (let i = 0; i < 3; i++) {
        const message = claim();
        assertAccepted(await send(its.parley, message));
        assert.deepEqual(JSON.parse((await stream.sseData()).data).data, message);
      }
    });

    it(`a replay that ends, ${coding}`, async () => {
      const answer = await get(its.parley, '/v1/vlp/stream?since=all&follow=false', accepting(coding));
      const plain = await get(its.parley, '/v1/vlp/stream?since=all&follow=false');
      assert.equal(answer.headers['content-encoding'], coding);
      assert.equal(plainOf(answer), plain.text);
      assert.ok(answer.body.length < plain.body.length);
    });

    it(`results of many messages, ${coding}`, async () => {
      const body = lines(claims(100));
      for (const [what, headers] of [
        [body, {}],
        [[Buffer.from(body)], {}], // chunked: the answer is live
      ]) {
        const answer = await validateLines(its.parley, what, {
          headers: { 'Accept-Encoding': coding, ...headers },
        });
        assert.equal(answer.headers['content-encoding'], coding);
        const results = plainOf(answer).trimEnd().split('\n').map(JSON.parse);
        assert.deepEqual(results.at(-1), { summary: { received: 100, valid: 100, invalid: 0 } });
      }
    });

    it(`schemas, rules and pages, ${coding}; HEAD and ETag agree`, async () => {
      for (const path of ['/v1/protocols/vlp/schema', '/v1/protocols/vlp/rules', '/', '/problems']) {
        const plain = await get(its.parley, path);
        const answer = await get(its.parley, path, accepting(coding));
        assert.equal(answer.headers['content-encoding'], coding, path);
        assert.match(answer.headers.vary, /Accept-Encoding/);
        assert.equal(plainOf(answer), plain.text);
        const head = await request(its.parley, 'HEAD', path, accepting(coding));
        for (const name of ['content-encoding', 'content-length', 'etag', 'vary']) {
          assert.equal(head.headers[name], answer.headers[name], `${name} of ${path}`);
        }
        const { etag } = answer.headers;
        if (!etag) continue;
        // A weak one stands for all codings.
        if (!etag.startsWith('W/')) assert.notEqual(etag, plain.headers.etag);
        const again = { headers: { 'Accept-Encoding': coding, 'If-None-Match': etag } };
        const known = await get(its.parley, path, again);
        assert.equal(known.status, 304);
        // What of a 304 is said of the answer 200 has to be so (RFC 9110, sections 8.6 and 15.4.5).
        for (const name of ['content-length', 'etag', 'vary']) {
          assert.equal(known.headers[name], answer.headers[name], `${name} of ${path}`);
        }
        for (const name of ['content-encoding', 'content-type']) assert.equal(known.headers[name], undefined);
      }
    });

    it(`a long refusal, and never a tiny answer, ${coding}`, async () => {
      const more = accepting(coding);
      const wrong = claim({ provenance: Array.from({ length: 200 }, () => ({})) });
      const long = await validate(its.parley, wrong, more);
      assert.equal(long.headers['content-encoding'], coding);
      assert.equal(JSON.parse(plainOf(long)).valid, false);
      for (const answer of [
        await send(its.parley, claim(), more),
        await get(its.parley, '/livez', more),
        await validateLines(its.parley, lines([claim()]), more),
      ]) {
        assert.equal(answer.headers['content-encoding'], undefined);
        assert.equal(answer.status, 200);
      }
    });
  }

  it('the coding is the one that the client likes best', async () => {
    for (const [accept, coding] of [
      ['gzip, deflate, br, zstd', 'zstd'],
      ['gzip;q=1, zstd;q=0.5', 'gzip'],
      ['*', 'zstd'],
      ['identity;q=0, gzip', 'gzip'],
      ['br', undefined],
      ['gzip;q=0', undefined],
      ['identity, gzip;q=0.5', undefined],
    ]) {
      const { headers } = await get(its.parley, '/v1/protocols/vlp/schema', accepting(accept));
      assert.equal(headers['content-encoding'], coding, accept);
    }
  });

  it('curl --compressed', async () => {
    const url = `${its.parley.url}/v1/protocols/vlp/schema`;
    const plain = await run('curl', ['-sS', url]);
    const coded = await run('curl', ['-sS', '--compressed', '-w', '%{size_download}', url]);
    assert.ok(coded.stdout.startsWith(plain.stdout));
    assert.ok(Number(coded.stdout.slice(plain.stdout.length)) < plain.stdout.length / 2);
  });

  it('beyond --compression-max further streams are plain', async (t) => {
    const parley = await parleyFor(t, { args: ['--compression-max', '300k'] });
    const codings = [];
    for (let i = 0; i < 8; i++) {
      const stream = await codedStreamFor(t, parley, '/v1/vlp/stream', 'zstd');
      codings.push(stream.headers['content-encoding']);
      assert.equal((await stream.anyEvent()).type, 'parley.open');
    }
    assert.equal(codings[0], 'zstd');
    assert.equal(codings.at(-1), undefined);
  });
});
