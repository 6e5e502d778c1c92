// SPDX-License-Identifier: Apache-2.0
// Requests that are as they should be, several on a connection: what the fuzzer begins with besides
// those of requests.mjs.

import { gzipSync } from 'node:zlib';
import { FRAMES_TYPE, MSGPACK_TYPE, frames, msgpack } from '../e2e/lib/frames.mjs';
import { NDJSON_TYPE, chunk, rawChunkedHead, rawPost } from '../e2e/lib/http.mjs';
import { taskRequest, taskResult } from '../e2e/lib/roundtable.mjs';
import { brokenClaim, claim, claims, lines } from '../e2e/lib/vlp.mjs';

const get = (target, ...headers) =>
  Buffer.from(`${[`GET ${target} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`);
const heartbeat = { type: 'heartbeat', timestamp: 1705392000 };
const json = (value) => JSON.stringify(value);
const chunks = (path, pieces, type) =>
  Buffer.concat([Buffer.from(rawChunkedHead(path, type)), ...pieces.map(chunk), Buffer.from('0\r\n\r\n')]);
const markdown = `---\nthread_id: RS-1\ntype: question\nsubject: "Q"\nfrom: a\nto: [b]\n---\n# A\n\n- b\n`;

export const SEQUENCES = [
  [rawPost('/v1/vlp/messages', json(claim())), rawPost('/v1/vlp/validate', json(brokenClaim()))],
  [rawPost('/v1/vlp/messages', json(claims(3))), get('/livez')],
  [rawPost('/v1/vlp/messages?results=errors', lines(claims(5)), { type: NDJSON_TYPE })],
  [chunks('/v1/vlp/messages', [lines(claims(2)), lines(claims(1))]), get('/readyz')],
  [chunks('/v1/vlp/validate?emit=both', [lines(claims(2)), lines([brokenClaim()])])],
  [chunks('/v1/vlp/validate?emit=messages', [json(claims(2))], 'application/json')],
  [rawPost('/v1/vlp/messages', json(claim()), { headers: ['Idempotency-Key: one', 'Expect: 100-continue'] })],
  [rawPost('/v1/vlp/messages', gzipSync(json(claim())), { headers: ['Content-Encoding: gzip'] })],
  [rawPost('/v1/vlp/messages', gzipSync(lines(claims(9))), { type: NDJSON_TYPE, headers: ['Content-Encoding: gzip', 'Accept-Encoding: gzip'] })],
  [rawPost('/v1/roundtable/messages?domain=legal', json([taskRequest('a.b'), taskResult('0b5a6c3e-6f43-4d3a-9a51-000000000000')]))],
  [rawPost('/v1/supervisor/messages?agent=a', msgpack(heartbeat), { type: MSGPACK_TYPE })],
  [rawPost('/v1/supervisor/convert?to=ndjson', frames([heartbeat, heartbeat]), { type: FRAMES_TYPE })],
  [rawPost('/v1/supervisor/convert?to=frames', `${json(heartbeat)}\n${json(heartbeat)}\n`, { type: NDJSON_TYPE })],
  [rawPost('/v1/brenner/validate', markdown, { type: 'text/markdown', headers: ['Accept: text/markdown'] })],
  [rawPost('/v1/brenner/convert?to=json', markdown, { type: 'text/markdown' })],
  [get('/v1/vlp/stream?since=all&follow=false&limit=3')],
  [get('/v1/vlp/stream?since=1h&type=claim&sender=a,b', 'Accept: text/event-stream')],
  [get('/v1/stream?envelope=none&for=a', 'Accept-Encoding: gzip'), get('/livez')],
  [get('/v1/vlp/stream?since=5&follow=false', 'Last-Event-ID: VLP:2026-11-22T11:06:13.456570264Z:1')],
  [get('/'), get('/problems'), get('/problems/malformed'), get('/v1/protocols/vlp/schema')],
  [get('/v1/protocols/brenner/rules', 'Accept: text/markdown'), get('/nothing'), get('/livez')],
  [Buffer.from('HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n'), get('/livez')],
  [Buffer.from('GET /livez HTTP/1.0\r\n\r\n')],
].map((requests) => Buffer.concat(requests));
