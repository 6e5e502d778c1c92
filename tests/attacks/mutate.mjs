// SPDX-License-Identifier: Apache-2.0
// What becomes of the bytes of requests: cut, repeated, exchanged, and mixed with what HTTP and the
// protocols give a meaning to.

const BYTES = [0, 1, 9, 10, 11, 13, 32, 34, 37, 44, 45, 46, 47, 48, 57, 58, 59, 91, 123, 127, 128, 255];
const NUMBERS = ['0', '1', '-1', '00', '255', '256', '65535', '2147483648', '4294967296', '9223372036854775807',
  '9223372036854775808', '18446744073709551616', 'ffffffff', '7fffffffffffffff', '1e999', ''];
const TOKENS = [
  '\r\n', '\r\n\r\n', '\n', '\0', '0\r\n\r\n', '1\r\nx\r\n', '{', '}', '[', ']', '"', '\\u0000', '%00', '%2e', '..', '//',
  'GET ', 'POST ', 'HEAD ', 'OPTIONS ', 'DELETE ', ' HTTP/1.1\r\n', ' HTTP/1.0\r\n', 'http://localhost', '*',
  'Transfer-Encoding: chunked\r\n', 'Content-Length: 0\r\n', 'Content-Length: 5\r\n', 'Connection: close\r\n',
  'Connection: keep-alive\r\n', 'Expect: 100-continue\r\n', 'Host: localhost\r\n', 'Accept: */*;q=0\r\n',
  'Accept: text/event-stream\r\n', 'Accept: application/x-ndjson\r\n', 'Accept: text/markdown\r\n',
  'Accept-Encoding: gzip, zstd\r\n', 'Content-Encoding: gzip\r\n', 'Content-Encoding: zstd\r\n',
  'Content-Encoding: gzip, gzip\r\n', 'Content-Type: application/msgpack\r\n', 'Content-Type: text/markdown\r\n',
  'Content-Type: application/x-ndjson\r\n', 'Content-Type: application/vnd.parley.frames\r\n',
  'Authorization: Bearer parley_x\r\n', 'Idempotency-Key: k\r\n', 'Last-Event-ID: VLP:x:1\r\n', 'Origin: null\r\n',
  'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n', 'Cookie: a=b\r\n', ': ', ';', ',',
  '?since=all&follow=false', '?emit=both', '?emit=messages', '?results=summary', '?stamp=true', '?to=frames',
  '&limit=1', '&envelope=none', '&type=claim', '&for=a', '&since=1h', '/validate', '/messages', '/convert', '/stream',
  '/v1/vlp', '/v1/roundtable', '/v1/supervisor', '/v1/brenner', '\x1f\x8b\x08\0', '\x28\xb5\x2f\xfd', '\xdf\xff\xff\xff\xff',
];
const LENGTH_MAX = 64 * 1024;
const PIECE_MAX = 64;
const STEPS_MAX = 6;

const splice = (bytes, at, removed, added) =>
  Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + removed)]);

function numbers(bytes) {
  return [...bytes.toString('latin1', 0, 4096).matchAll(/[0-9a-f]+(?=\r\n|[&, ])/g)];
}

// Each gives other bytes.  `others`: whole inputs to take from.
const STEPS = [
  (random, bytes, at) => splice(bytes, at, 1, Buffer.from([random.pick(BYTES)])),
  (random, bytes, at) => splice(bytes, at, 1, Buffer.from([(bytes[at] ?? 0) ^ (1 << random.below(8))])),
  (random, bytes, at) => splice(bytes, at, 0, Buffer.from(random.pick(TOKENS), 'latin1')),
  (random, bytes, at) => splice(bytes, at, random.below(PIECE_MAX), Buffer.from(random.pick(TOKENS), 'latin1')),
  (random, bytes, at) => splice(bytes, at, random.below(PIECE_MAX), Buffer.alloc(0)),
  (random, bytes, at) => splice(bytes, at, 0, bytes.subarray(at, at + random.below(PIECE_MAX))),
  (random, bytes, at) => splice(bytes, at, 0, Buffer.alloc(random.below(9000), random.pick(BYTES))),
  (random, bytes, at) => bytes.subarray(0, at),
  (random, bytes) => {
    const found = random.pick(numbers(bytes));
    if (!found) return bytes;
    return splice(bytes, found.index, found[0].length, Buffer.from(random.pick(NUMBERS)));
  },
  (random, bytes, at) => {
    const line = bytes.indexOf('\r\n', at);
    return line < 0 ? bytes : splice(bytes, line + 2, 0, Buffer.from(random.pick(TOKENS), 'latin1'));
  },
  (random, bytes, at, others) => {
    const other = random.pick(others);
    const from = random.below(other.length + 1);
    return splice(bytes, at, 0, other.subarray(from, from + random.below(4 * PIECE_MAX)));
  },
  (random, bytes, at, others) => Buffer.concat([bytes.subarray(0, at), random.pick(others)]),
  (random, bytes, at, others) => Buffer.concat([bytes, random.pick(others)]),
];

export function mutated(random, bytes, others) {
  let result = bytes;
  for (let step = random.below(STEPS_MAX); step >= 0; step--) {
    result = random.pick(STEPS)(random, result, random.below(result.length + 1), others);
  }
  return result.subarray(0, LENGTH_MAX);
}
