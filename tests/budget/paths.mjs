// SPDX-License-Identifier: Apache-2.0
// The hot paths: what is sent along each of them, and how many messages that makes.

import http from 'node:http';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FRAMES_TYPE, frames } from '../e2e/lib/frames.mjs';
import { NDJSON_TYPE, LineStream, post } from '../e2e/lib/http.mjs';

const SINGLES = 300;
const LINES = 3000;
const READERS = 100;
const EVENTS = 100;

const dataOf = (name) =>
  readFileSync(fileURLToPath(new URL(`../../bench/data/${name}`, import.meta.url)), 'utf8');
const claim = JSON.parse(dataOf('claim.json'));
const delta = dataOf('brenner.md');
let count = 0;
const next = (message) => ({ ...message, id: `${++count}`.padStart(claim.id.length, '0') });
const numbered = (number, make) => Array.from({ length: number }, make);
const claims = (number) => numbered(number, () => `${JSON.stringify(next(claim))}\n`).join('');

function mustBe(status, answer) {
  if (answer.status !== status) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
}
const mustBe200 = (answer) => mustBe(200, answer);

// One after another on one connection, so that each run takes the same turns of the loop.
async function singles(server, path, type, make, { status = 200, headers } = {}) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < SINGLES; i++) {
    const answer = mustBe(status, await post(server, path, make(), { type, headers, agent }));
    const { valid, result } = answer.json;
    if (valid === false || result?.isError) throw new Error(answer.text);
  }
  agent.destroy();
  return SINGLES;
}

async function bulk(server, path, type, number, body) {
  const answer = mustBe200(await post(server, path, body, { type }));
  const { received, valid, accepted } = answer.lines.at(-1).summary;
  if (received !== number || (valid ?? accepted) !== number) throw new Error(answer.text);
  return number;
}

function openReader(server, path) {
  return new Promise((resolve, reject) => {
    const req = http.get({ port: server.port, path, agent: false }, (response) => {
      if (response.statusCode === 200) resolve(new LineStream(req, response));
      else reject(new Error(`${path}: ${response.statusCode}`));
    });
    req.on('error', reject);
  });
}

// A delivery is one event to one reader; what publishing it costs is shared by them.
async function fanOut(server) {
  const readers = await Promise.all(
    numbered(READERS, () => openReader(server, '/v1/vlp/stream?type=claim')),
  );
  await bulk(server, '/v1/vlp/messages', NDJSON_TYPE, EVENTS, claims(EVENTS));
  await Promise.all(readers.map((reader) => reader.events(EVENTS)));
  readers.forEach((reader) => reader.req.destroy());
  return READERS * EVENTS;
}

const JSON_TYPE = 'application/json';
const oneClaim = () => JSON.stringify(next(claim));
const unearnedClaim = () => JSON.stringify({ ...next(claim), confidence: 0.95, provenance: [] });
const callOf = (name, args) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });

// Each sends to `server`, and says how many messages that were. `example` gives one of those that
// parley itself offers, as text.
export const paths = {
  'POST validate, one claim': (server) =>
    singles(server, '/v1/vlp/validate', JSON_TYPE, oneClaim),
  'POST messages, one claim': (server) =>
    singles(server, '/v1/vlp/messages', JSON_TYPE, oneClaim),
  'POST messages, a refused claim': (server) =>
    singles(server, '/v1/vlp/messages', JSON_TYPE, unearnedClaim, { status: 422 }),
  'MCP send, one claim': (server) =>
    singles(
      ...[server, '/mcp', JSON_TYPE],
      () => callOf('send', { protocol: 'vlp', message: next(claim) }),
      { headers: { Accept: 'application/json, text/event-stream' } }, // as all clients have to
    ),
  'NDJSON validate, a claim': (server) =>
    bulk(server, '/v1/vlp/validate', NDJSON_TYPE, LINES, claims(LINES)),
  'NDJSON messages, a claim': (server) =>
    bulk(server, '/v1/vlp/messages', NDJSON_TYPE, LINES, claims(LINES)),
  'MessagePack frames validate, metrics': (server, example) => {
    const metrics = JSON.parse(example('supervisor', 'metrics'));
    const body = frames(numbered(LINES, () => metrics));
    return bulk(server, '/v1/supervisor/validate', FRAMES_TYPE, LINES, body);
  },
  'NDJSON validate, a task request': (server, example) => {
    const request = JSON.stringify(JSON.parse(example('roundtable', 'task-request')));
    const body = `${request}\n`.repeat(LINES);
    return bulk(server, '/v1/roundtable/validate', NDJSON_TYPE, LINES, body);
  },
  'POST validate, a Markdown delta': (server) =>
    singles(server, '/v1/brenner/validate', 'text/markdown', () => delta),
  'stream, one delivery': fanOut,
};
