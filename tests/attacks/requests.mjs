// SPDX-License-Identifier: Apache-2.0
// Hostile requests as data. They come besides those of e2e 70 (what proxies read differently), e2e
// 71 (bodies) and tests/unit/test_http_bytes.c (heads and chunks, cut anywhere), and none of those
// is here again. The fuzzer (fuzz.mjs) begins with all of these.
//
// A row: [what it is, what a client sends, what must come of it]. Text is Latin-1: a character is a
// byte. The client sends it, and that it will send no more. What must come of it are the statuses of
// all answers, in order ([]: the connection is closed without one), after which it is closed.

import { gzipSync } from 'node:zlib';
import { chunk } from '../e2e/lib/http.mjs';

const MIB = 1024 * 1024;
const HOST = 'Host: localhost';
const JSON_TYPE = 'Content-Type: application/json';
const TARGET = '/v1/vlp/messages';
const message = (sender) =>
  `{"id":"ATTACK","protocol":"VLP/1.1","type":"claim","timestamp":"2025-12-14T10:30:00Z",` +
  `"sender":"${sender}","content":"x","confidence":0.5}`;
const BODY = message('The Attacker');
const SIZE = BODY.length;
const CHUNKS = `${chunk(BODY)}0\r\n\r\n`;
const LENGTH = `Content-Length: ${SIZE}`;

const head = (line, ...headers) => `${[line, ...headers].join('\r\n')}\r\n\r\n`;
const post = (...headers) => head(`POST ${TARGET} HTTP/1.1`, HOST, JSON_TYPE, ...headers);
const get = (target, ...headers) => head(`GET ${target} HTTP/1.1`, HOST, ...headers);
const chunked = (body) => post('Transfer-Encoding: chunked') + body;

// Another whole request: answered, it got past the first one.
const HIDDEN = `${post(`Content-Length: ${message('The Smuggler').length}`)}${message('The Smuggler')}`;

// Each is refused with 400 and its connection closed, whatever follows it.
const smuggling = [
  ['chunked, twice', post('Transfer-Encoding: chunked, chunked') + CHUNKS],
  ['chunked in two headers', post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked') + CHUNKS],
  ['a vertical tab before chunked', post('Transfer-Encoding: \x0bchunked') + CHUNKS],
  ['a form feed after chunked', post('Transfer-Encoding: chunked\x0c') + CHUNKS],
  ['a no-break space before chunked', post('Transfer-Encoding: \xa0chunked') + CHUNKS],
  ['chunked in quotes', post('Transfer-Encoding: "chunked"') + CHUNKS],
  ['chunked with a parameter', post('Transfer-Encoding: chunked;q=1') + CHUNKS],
  ['a comma after chunked', post('Transfer-Encoding: chunked,') + CHUNKS],
  ['a comma before chunked', post('Transfer-Encoding: ,chunked') + CHUNKS],
  ['a Transfer-Encoding of nothing', post('Transfer-Encoding:') + CHUNKS],
  ['a Transfer-Encoding of nothing, and a length', post('Transfer-Encoding:', LENGTH) + BODY],
  ['identity, and a length', post('Transfer-Encoding: identity', LENGTH) + BODY],
  ['gzip before chunked', post('Transfer-Encoding: gzip, chunked') + CHUNKS],
  ['chunked, with a NUL in it', post('Transfer-Encoding: chun\0ked') + CHUNKS],
  ['a tab before the colon', post('Transfer-Encoding\t: chunked') + CHUNKS],
  ['a blank before the name', post(' Transfer-Encoding: chunked') + CHUNKS],
  ['a value on the next line', post('Transfer-Encoding:\r\n chunked') + CHUNKS],
  ['a value that is continued', post('Transfer-Encoding: chunked\r\n\t, identity') + CHUNKS],
  ['a blank before the first header', `POST ${TARGET} HTTP/1.1\r\n ${HOST}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ['a header behind a bare CR', post('X: y\rTransfer-Encoding: chunked', LENGTH) + BODY],
  ['a header behind a bare LF', post('X: y\nTransfer-Encoding: chunked', LENGTH) + BODY],
  ['a header behind a NUL', post('X: y\0Transfer-Encoding: chunked', LENGTH) + BODY],
  ['an end of the head in bare LF', `POST ${TARGET} HTTP/1.1\n${HOST}\n${LENGTH}\n\n${BODY}`],
  ['an end of the head in bare CR', `POST ${TARGET} HTTP/1.1\r${HOST}\r${LENGTH}\r\r${BODY}`],
  ['chunks over HTTP/1.0', post('Transfer-Encoding: chunked').replace('1.1', '1.0') + CHUNKS],
  ['the same length, twice', post(LENGTH, LENGTH) + BODY],
  ['the same length, twice in a header', post(`Content-Length: ${SIZE},${SIZE}`) + BODY],
  ['a length, and one of 0', post(LENGTH, 'Content-Length: 0') + BODY],
  ['a length with a semicolon', post(`${LENGTH};`) + BODY],
  ['a length with an underscore', post('Content-Length: 1_0') + BODY],
  ['a length with an exponent', post('Content-Length: 1e2') + BODY],
  ['a length with a NUL', post(`${LENGTH}\0`) + BODY],
  ['a length in digits that are not ASCII', post('Content-Length: \xd9\xa5') + BODY],
  ['a length of 2 to the 63, less 1', post('Content-Length: 9223372036854775807') + BODY],
  ['a length of 2 to the 63', post('Content-Length: 9223372036854775808') + BODY],
  ['a length of 2 to the 64', post('Content-Length: 18446744073709551616') + BODY],
  ['a length of 2 to the 64 and a bit', post(`Content-Length: ${2n ** 64n + BigInt(SIZE)}`) + BODY],
  ['a name with a blank in it', post('Content Length: 3', LENGTH) + BODY],
  ['a name with a NUL in it', post('Content-Length\0: 3', LENGTH) + BODY],
  ['a name that is not ASCII', post('\xffContent-Length: 3', LENGTH) + BODY],
  ['a name in brackets', post('(Content-Length): 3', LENGTH) + BODY],
  ['no name', post(': 3', LENGTH) + BODY],
  ['two Hosts', post('Host: localhost', LENGTH) + BODY],
  ['a NUL in the Host', head(`POST ${TARGET} HTTP/1.1`, 'Host: local\0host', JSON_TYPE, LENGTH) + BODY],
  ['two blanks in the first line', head(`POST  ${TARGET} HTTP/1.1`, HOST, LENGTH) + BODY],
  ['a blank after the version', head(`POST ${TARGET} HTTP/1.1 `, HOST, LENGTH) + BODY],
  ['a comma in the version', head(`POST ${TARGET} HTTP/1,1`, HOST, LENGTH) + BODY],
  ['a version without its dot', head(`POST ${TARGET} HTTP/11`, HOST, LENGTH) + BODY],
  ['a vertical tab for a blank', head(`POST\x0b${TARGET} HTTP/1.1`, HOST, LENGTH) + BODY],
  ['a NUL in the method', head(`PO\0ST ${TARGET} HTTP/1.1`, HOST, LENGTH) + BODY],
  ['a NUL in the target', head(`POST ${TARGET}\0 HTTP/1.1`, HOST, LENGTH) + BODY],
  ['a DEL in the target', head(`POST ${TARGET}\x7f HTTP/1.1`, HOST, LENGTH) + BODY],
  ['a bare CR in the target', head(`POST ${TARGET}\rX HTTP/1.1`, HOST, LENGTH) + BODY],
  ['a chunk of 2 to the 63, less 1', chunked(`7fffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk of 2 to the 63', chunked(`8000000000000000\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk of 2 to the 64, less 1', chunked(`ffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk of 2 to the 64', chunked(`10000000000000000\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk of 2 to the 64 and its size', chunked(`1${SIZE.toString(16).padStart(16, 0)}\r\n${BODY}\r\n0\r\n\r\n`)],
  ['chunks whose sum passes 2 to the 64', chunked(`1\r\n \r\nffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk of minus nothing', chunked(`${chunk(BODY)}-0\r\n\r\n`)],
  ['a size in digits that are not ASCII', chunked(`\xd9\xa5\r\n${BODY}\r\n0\r\n\r\n`)],
  ['300 zeros before a size', chunked(`${'0'.repeat(300)}${SIZE.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`)],
  ['an extension of 300 bytes', chunked(`${SIZE.toString(16)};${'x'.repeat(300)}\r\n${BODY}\r\n0\r\n\r\n`)],
  ['an extension with a NUL', chunked(`${SIZE.toString(16)};a=\0\r\n${BODY}\r\n0\r\n\r\n`)],
  ['5 kB of trailers', chunked(`${chunk(BODY)}0\r\nX: ${'y'.repeat(5000)}\r\n\r\n`)],
  ['a trailer with a NUL', chunked(`${chunk(BODY)}0\r\nX: \0\r\n\r\n`)],
].map(([what, bytes]) => [what, bytes + HIDDEN, [400]]);

// What is in doubt to nobody, but looks like it.
const unusual = [
  ['a method in lower case', head('get /livez HTTP/1.1', HOST), [405]],
  ['a method that nobody knows', head(`${'X'.repeat(1000)} /livez HTTP/1.1`, HOST), [405]],
  ['a header with an underscore', get('/livez', 'Transfer_Encoding: chunked', 'Content_Length: 9'), [200]],
  ['a GET with a body', `${get('/livez', 'Content-Length: 3')}abc`, [200]],
  ['a GET with a body that is a request', `${get('/livez', `Content-Length: ${HIDDEN.length}`)}${HIDDEN}`, [200]],
  ['a length of a petabyte', post('Content-Length: 1000000000000000') + BODY, []],
  ['a chunk of a petabyte', chunked(`38d7ea4c68000\r\n${BODY}`), []],
  ['a body that ends early', post(`Content-Length: ${SIZE + 1}`) + BODY, []],
  ['chunks without an end', chunked(chunk(BODY)), []],
  ['a head without an end', `GET /livez HTTP/1.1\r\n${HOST}\r\n`, []],
  ['nothing', '', []],
  ['an upgrade to HTTP/2', get('/livez', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'), [200]],
  ['an upgrade to a WebSocket', get('/livez', 'Connection: Upgrade', 'Upgrade: websocket'), [200]],
  ['headers that its Connection takes away', post('Connection: close, Content-Length', LENGTH) + BODY, [200]],
  ['a Range', get('/livez', 'Range: bytes=0-0,0-0,0-0,0-0'), [200]],
  ['an If-Match', get('/livez', 'If-Match: "x"'), [200]],
];

// Nothing of the file system is served, and an address has one spelling.
const paths = [
  ['/../../etc/passwd', 404],
  ['/%2e%2e/%2e%2e/etc/passwd', 404],
  ['/..%2f..%2fetc/passwd', 404],
  ['/problems/../livez', 404],
  ['/problems/%2e%2e/livez', 404],
  ['/problems/..', 404],
  ['/problems/%00', 404],
  ['/problems/x%00not-found', 404],
  ['/problems/not-found%00', 404],
  ['/problems/..%5c..%5cx', 404],
  ['/v1/../livez', 404],
  ['/./livez', 404],
  ['//livez', 404],
  ['/livez/', 404],
  ['/livez;x=1', 404],
  ['/livez%00', 404],
  ['/livez%20', 404],
  ['/livez%2f', 404],
  ['/livez%3f', 404],
  ['/LIVEZ', 404],
  ['/v1//vlp/stream', 404],
  ['/v1/vlp/stream/', 404],
  ['/v1/vlp%2fstream', 404],
  ['/v1/%2e/stream', 404],
  ['/v1/../vlp/stream', 404],
  ['/v1/protocols/..%2f..%2fx', 404],
  ['/v1/protocols/vlp%00', 404],
  ['/v1/protocols/%76lp', 404],
  ['/%6civez', 404],
  ['/livez?', 200],
  ['/livez?a=%00', 200],
  ['/livez?%', 200],
  ['/livez#x', 404],
  ['/v1/vlp/stream?since=%00', 400],
  ['/v1/vlp/stream?since=1%00', 400],
  ['/v1/vlp/stream?type=claim%0d%0aX:%20y&follow=false', 400],
  ['/v1/vlp/stream?follow=false%00', 400],
  [`/${'../'.repeat(4000)}`, 404],
  [`/v1/${'%2e%2e%2f'.repeat(1500)}`, 404],
  ['http://localhost/livez', 200],
  ['http://evil.example/livez', 421],
  ['HTTPS://evil.example?x=/', 421],
  ['http://localhost@evil.example/livez', 421],
  ['http://localhost:80@evil.example/livez', 421],
  ['http:///livez', 400],
  ['ftp://localhost/livez', 404],
  ['file:///etc/passwd', 404],
  ['localhost:80', 404],
  ['*', 404],
  ['livez', 404],
  ['\\livez', 404],
  ['?', 404],
  ['/%', 404],
  ['/%zz', 404],
  ['/\xff\xfe', 404],
].map(([target, status]) => [target.slice(0, 60), get(target), [status]]);

// Bodies that claim, nest or repeat more than they are.
const typed = (protocol, action, type, body) =>
  Buffer.concat([
    Buffer.from(
      head(
        `POST /v1/${protocol}/${action} HTTP/1.1`,
        HOST,
        `Content-Type: ${type}`,
        `Content-Length: ${body.length}`,
      ),
    ),
    body,
  ]);
const check = (protocol, type, body) => typed(protocol, 'validate', type, Buffer.from(body, 'latin1'));
const MSGPACK = 'application/msgpack';
const FRAMES = 'application/vnd.parley.frames';
const yaml = (text) => check('brenner', 'text/markdown', `---\n${text}\n---\nbody\n`);
const laughs = ['a0: &a0 ha', ...Array.from({ length: 60 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}]`)];

const bombs = [
  ['a map of 4 billion pairs', () => check('supervisor', MSGPACK, '\xdf\xff\xff\xff\xff'), [200]],
  ['an array of 4 billion', () => check('supervisor', MSGPACK, '\x81\xa1x\xdd\xff\xff\xff\xff'), [200]],
  ['a text of 4 GiB', () => check('supervisor', MSGPACK, '\x81\xa1x\xdb\xff\xff\xff\xffx'), [200]],
  ['a blob of 4 GiB', () => check('supervisor', MSGPACK, '\x81\xa1x\xc6\xff\xff\xff\xffx'), [200]],
  ['an extension of 4 GiB', () => check('supervisor', MSGPACK, '\x81\xa1x\xc9\xff\xff\xff\xff\x01x'), [200]],
  ['a million arrays in each other', () => check('supervisor', MSGPACK, `\x81\xa1x${'\x91'.repeat(MIB)}`), [200]],
  ['a million maps in each other', () => check('supervisor', MSGPACK, '\x81\xa1x'.repeat(MIB / 4)), [200]],
  ['a frame of 4 GiB', () => check('supervisor', FRAMES, '\xff\xff\xff\xffx'), [200]],
  ['a million frames of nothing', () => check('supervisor', FRAMES, '\0\0\0\0'.repeat(MIB / 4)), [200]],
  ['a million empty objects', () => check('vlp', 'application/json', `[${'{},'.repeat(MIB / 64)}{}]`), [200]],
  ['a billion laughs', () => yaml(laughs.join('\n')), [200]],
  ['an anchor in itself', () => yaml('a: &a [*a]'), [200]],
  ['merged keys', () => yaml('a: &a {b: c}\nd:\n  <<: [*a, *a]'), [200]],
  ['ten thousand anchors', () => yaml(Array.from({ length: 10_000 }, (_, i) => `a${i}: &x${i} 1`).join('\n')), [200]],
  ['a hundred thousand brackets', () => yaml(`a: ${'['.repeat(100_000)}`), [200]],
  ['a hundred thousand question marks', () => yaml('? '.repeat(100_000)), [200]],
  ['a hundred thousand dashes', () => yaml(`a:\n  ${'- '.repeat(100_000)}`), [200]],
  ['a tag that runs a program', () => yaml('a: !!python/object/apply:os.system ["id"]'), [200]],
  ['a number of a million digits', () => check('vlp', 'application/json', `{"confidence":${'9'.repeat(MIB / 2)}}`), [200]],
  ['an exponent of a million digits', () => check('vlp', 'application/json', `{"confidence":1e${'9'.repeat(MIB / 2)}}`), [200]],
  ['half a million escapes', () => check('vlp', 'application/json', `{"id":"${'\\u0000'.repeat(MIB / 8)}"}`), [200]],
  ['a time of a million digits', () => check('vlp', 'application/json', `{"timestamp":"${'1'.repeat(MIB / 2)}"}`), [200]],
];

// Bodies that are compressed: how much is inside is known only when it comes out.
const coded = (coding, body, type = 'application/json') =>
  Buffer.concat([
    Buffer.from(
      head(
        `POST ${TARGET} HTTP/1.1`,
        HOST,
        `Content-Type: ${type}`,
        `Content-Encoding: ${coding}`,
        `Content-Length: ${body.length}`,
      ),
    ),
    body,
  ]);
const NDJSON = 'application/x-ndjson';
const zeros = (bytes) => gzipSync(Buffer.alloc(bytes, ' '));
const changed = (bytes, at, value) => {
  bytes[at < 0 ? bytes.length + at : at] = value;
  return bytes;
};
// Frames of zstd by hand. A window descriptor of 0x48 is 512 KiB; an RLE block of 128 KiB has 4 bytes.
const ZSTD = '\x28\xb5\x2f\xfd';
const rle = (blocks, { window = '\x48', last = '\x03\0\x10 ' } = {}) =>
  Buffer.from(`${ZSTD}\0${window}${'\x02\0\x10 '.repeat(blocks)}${last}`, 'latin1');

const codings = [
  ['100 MB in 100 kB of gzip, as a message', () => coded('gzip', zeros(100 * MIB)), [413]],
  ['100 MB in 100 kB of gzip, as a line', () => coded('gzip', zeros(100 * MIB), NDJSON), [200]],
  ['20 MB of blank lines in gzip', () => coded('gzip', gzipSync(Buffer.alloc(20 * MIB, '\n')), NDJSON), [200]],
  ['1 GiB in 32 kB of zstd, as a message', () => coded('zstd', rle(8191)), [400]],
  ['1 GiB in 32 kB of zstd, as a line', () => coded('zstd', rle(8191), NDJSON), [200]],
  ['gzip in gzip', () => coded('gzip, gzip', gzipSync(zeros(MIB))), [415]],
  ['gzip in gzip, unsaid', () => coded('gzip', gzipSync(zeros(MIB))), [400]],
  ['a hundred codings', () => coded(Array(100).fill('gzip').join(), zeros(10)), [415]],
  ['gzip that is none', () => coded('gzip', Buffer.from(BODY)), [400]],
  ['gzip that ends early', () => coded('gzip', gzipSync(BODY).subarray(0, -9)), [400]],
  ['gzip with a wrong sum', () => coded('gzip', changed(gzipSync(BODY), -5, 0)), [400]],
  ['gzip with a wrong length', () => coded('gzip', changed(gzipSync(BODY), -1, 255)), [400]],
  ['gzip and something after it', () => coded('gzip', Buffer.concat([gzipSync(BODY), Buffer.from('x')])), [400]],
  ['a name in gzip that does not end', () => coded('gzip', Buffer.from(`\x1f\x8b\x08\x08\0\0\0\0\0\0${'x'.repeat(MIB)}`, 'latin1')), [400]],
  ['ten thousand members of nothing', () => coded('gzip', Buffer.concat(Array(10_000).fill(gzipSync('')))), [400]],
  ['zstd that is none', () => coded('zstd', Buffer.from(BODY)), [400]],
  ['zstd that ends early', () => coded('zstd', rle(3).subarray(0, -2)), [400]],
  ['a window of 2 GiB', () => coded('zstd', rle(3, { window: '\xa8' })), [400]],
  ['a window of 3 TiB', () => coded('zstd', rle(3, { window: '\xff' })), [400]],
  ['a frame of 4 GiB to skip', () => coded('zstd', Buffer.from('\x50\x2a\x4d\x18\xff\xff\xff\xffx', 'latin1')), [400]],
  ['a hundred thousand frames to skip', () => coded('zstd', Buffer.from('\x50\x2a\x4d\x18\0\0\0\0'.repeat(100_000), 'latin1')), [400]],
  ['a block that is none', () => coded('zstd', rle(3, { last: '\x07\0\x10 ' })), [400]],
];

export const REQUESTS = { smuggling, unusual, paths, bombs, codings };

export const bytesOf = (bytes) =>
  typeof bytes === 'function' ? bytesOf(bytes()) : Buffer.from(bytes, 'latin1');
