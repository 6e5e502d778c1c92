// SPDX-License-Identifier: Apache-2.0
// Every text in every example of every protocol, and every query option and header of a request that
// reaches NATS, replaced by texts that mean something to NATS, to HTTP or to a log. What is published
// is read by a client that hears everything: each subject is one that the protocol may have, each
// header is one of ours with a value of printable ASCII, and there is one message for each receipt.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NDJSON_TYPE, get, post } from '../e2e/lib/http.mjs';
import { embeddedUrl, lastSequence, natsClient } from '../e2e/lib/nats.mjs';
import { parley as runParley, parleyFor } from '../e2e/lib/parley.mjs';
import { until } from '../e2e/lib/poll.mjs';
import { temporaryFolder } from '../e2e/lib/program.mjs';
import { taskResult } from '../e2e/lib/roundtable.mjs';
import { claim } from '../e2e/lib/vlp.mjs';
import { exchange } from './exchange.mjs';

const HOSTILE = [
  '',
  ' ',
  '.',
  '..',
  '.a',
  'a.',
  'a..b',
  '*',
  '>',
  'a.*',
  'a.>',
  'a b',
  'a\tb',
  'a\r\nb',
  'a\r\nNats-Msg-Id: evil',
  'a\r\n\r\nNATS/1.0\r\nEvil: 1',
  'a\nPUB evil 0\r\n\r\n',
  'a\r\nMSG evil 1 0\r\n\r\n',
  'a\0b',
  '\0',
  '\x01\x1b[2J\x07\x7f',
  '\x85\u2028\u2029\u202e\ufeff',
  'é✓😀',
  '%0d%0a%2e%00',
  '%',
  '$JS.API.STREAM.DELETE.VLP',
  '_INBOX.evil',
  '../../etc/passwd',
  '"\'`$(id)\\',
  '<script>alert(1)</script>',
  'x'.repeat(257),
  '.'.repeat(300),
  'é'.repeat(5000),
];

// The messages that differ from `message` in one text, that or the name of a member.
function* poisoned(message, value = message, path = []) {
  const put = (change) => {
    const copy = structuredClone(message);
    if (copy.id) copy.id = randomUUID(); // or it would be another message of an id
    const parent = path.slice(0, -1).reduce((at, key) => at[key], copy);
    change(parent, path.at(-1));
    return copy;
  };
  if (typeof value === 'string') {
    for (const text of HOSTILE) yield put((parent, key) => (parent[key] = text));
  } else if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      yield* poisoned(message, inner, [...path, Array.isArray(value) ? Number(key) : key]);
    }
    if (path.length > 0 && !Array.isArray(value)) {
      for (const text of HOSTILE) yield put((parent, key) => (parent[key] = { [text]: 1 }));
    }
  }
}

const HEADERS =
  /^(nats-msg-id|parley-digest|traceparent|ce-(specversion|id|source|type|time))$/i;
const TOKEN = /^[\x21-\x7e]+$/;

const KEY = /^\$KV\.parley_(tasks\.[0-9a-f-]{36}(\.claim|\.end|\.progress)?|halts\.[0-9a-f]+\.[0-9a-f]+)$/;

function assertHarmless({ subject, headers }, protocol) {
  const [first, ...tokens] = subject.split('.');
  assert.equal(first, protocol, subject);
  // A thread of Brenner may have dots.
  assert.ok(tokens.length >= 1 && (tokens.length <= 3 || protocol === 'brenner'), subject);
  for (const token of tokens) assert.match(token, /^[^\s*>\x00-\x20\x7f]+$/, subject);
  for (const [name, values] of headers ?? []) {
    assert.match(name, HEADERS, subject);
    assert.equal(values.length, 1, `${name} of ${subject}`);
    assert.match(values[0], TOKEN, `${name} of ${subject}`);
  }
}

// A server, and what is published there, but for what parley itself asks and probes; and the keys of
// what it keeps. Each test has its own: what is published once more, because NATS was silent for a
// moment, is heard late.
async function listen(t) {
  const server = await parleyFor(t);
  const connection = await natsClient(t, embeddedUrl(server));
  const heard = [];
  heard.keys = [];
  connection.subscribe('>', {
    callback: (_, { subject, headers }) => {
      if (subject.startsWith('$KV.')) heard.keys.push(subject);
      else if (!/^(\$(JS|SYS)|_INBOX|_parley)\./.test(subject)) heard.push({ subject, headers });
    },
  });
  await connection.flush();
  return { server, heard, connection };
}

describe('what a client sends reaches NATS as a value and as nothing else', () => {
  for (const protocol of ['vlp', 'roundtable', 'supervisor', 'brenner']) {
    it(`${protocol}: in any text of a message`, async (t) => {
      const { server, heard } = await listen(t);
      const examples = (await get(server, `/v1/protocols/${protocol}/examples`)).json;
      const messages = examples.flatMap(({ message }) => [...poisoned(message)]);
      const body = messages.map((message) => `${JSON.stringify(message)}\n`).join('');
      const path = `/v1/${protocol}/messages?results=errors`;
      const answer = await post(server, path, body, { type: NDJSON_TYPE });
      const { summary } = answer.lines.at(-1);
      assert.equal(summary.received, messages.length, answer.text);
      // A task that one of them has claimed or ended is not another's.
      const failed = answer.lines.filter(({ status }) => status === 'failed');
      for (const { problem } of failed) assert.equal(problem.status, 409, JSON.stringify(problem));
      assert.ok(summary.accepted > 0 && summary.invalid > 0, answer.text);
      const published = () => heard.length >= summary.accepted + summary.duplicate;
      await until('all that was accepted is heard', published);
      for (const message of heard) assertHarmless(message, protocol);
      for (const key of heard.keys) assert.match(key, KEY);
    });
  }
});

const heartbeat = () => ({ type: 'heartbeat', timestamp: 1705392000 });

describe('what a request says beside its body reaches NATS as a value and as nothing else', () => {
  const IN_A_HEADER = [...HOSTILE.slice(1), 'a\rb', 'a\nb', '\x7f', '\x80\xff'].map((text) =>
    Buffer.from(text).toString('latin1'),
  );

  for (const name of ['Idempotency-Key', 'traceparent', 'tracestate', 'X-Request-Id', 'Nats-Msg-Id', 'ce-id']) {
    it(`in the header ${name}`, async (t) => {
      const { server, heard, connection } = await listen(t);
      let accepted = 0;
      for (const value of IN_A_HEADER) {
        const body = JSON.stringify(claim());
        const head = ['POST /v1/vlp/messages HTTP/1.1', 'Host: localhost', 'Connection: close'];
        head.push('Content-Type: application/json', `Content-Length: ${body.length}`, `${name}: ${value}`);
        const { statuses, tail } = await exchange(server, `${head.join('\r\n')}\r\n\r\n${body}`);
        assert.ok([200, 400, 409, 431].includes(statuses[0]), `${statuses} ${tail}`);
        accepted += statuses[0] === 200;
      }
      await until('all that was accepted is heard', () => heard.length >= accepted);
      assert.equal(await lastSequence(connection, 'VLP'), accepted);
      for (const message of heard) assertHarmless(message, 'vlp');
    });
  }

  for (const [option, protocol, body] of [
    ['agent', 'supervisor', heartbeat],
    ['from', 'supervisor', heartbeat],
    ['domain', 'roundtable', () => taskResult(randomUUID())],
  ]) {
    it(`in the query option ${option}`, async (t) => {
      const { server, heard, connection } = await listen(t);
      let accepted = 0;
      for (const value of HOSTILE) {
        const path = `/v1/${protocol}/messages?${option}=${encodeURIComponent(value)}`;
        const answer = await post(server, path, JSON.stringify(body()));
        assert.ok([200, 400, 414].includes(answer.status), answer.text);
        accepted += answer.status === 200;
      }
      await until('all that was accepted is heard', () => heard.length >= accepted);
      assert.equal(await lastSequence(connection, protocol.toUpperCase()), accepted);
      for (const message of heard) assertHarmless(message, protocol);
      for (const key of heard.keys) assert.match(key, KEY);
    });
  }
});

// A line of the log that a client has written would begin with this.
const FORGED = 'time=FORGED';
const IN_A_LOG = ['\n', '\r\n', '\r', '%0a', '%0d%0a', '\x85', '\u2028', '\0', '\x1b[2J', '\x07', '\x7f'];
const LOGGED = [
  ['the method', (value) => `G${value} /livez HTTP/1.1\r\nHost: localhost\r\n\r\n`],
  ['the path', (value) => `GET /x${value} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
  ['an option', (value) => `GET /v1/vlp/stream?x${value}=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`],
  ['a filter', (value) => `GET /v1/vlp/stream?type=x${value} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
  ['the version', (value) => `GET /livez HTTP/1.1${value}\r\nHost: localhost\r\n\r\n`],
  ...['Host', 'Authorization', 'Origin', 'Referer', 'User-Agent', 'Cookie', 'X-Request-Id', 'X-Forwarded-For',
    'Forwarded', 'Content-Type', 'Content-Encoding', 'Accept', 'traceparent', 'Idempotency-Key', 'Last-Event-ID',
  ].map((name) => [
    name,
    (value) =>
      `POST /v1/vlp/messages HTTP/1.1\r\nHost: localhost\r\n${name}: Bearer x${value}\r\n` +
      'Content-Length: 2\r\nConnection: close\r\n\r\n{}',
  ]),
];

describe('the log', () => {
  for (const asksForTokens of [false, true]) {
    const whose = asksForTokens ? 'that asks for tokens ' : '';
    it(`of a server ${whose}has at most one line for a request, and none by a client`, async (t) => {
      const file = join(temporaryFolder(), 'tokens.json');
      const create = ['token', 'create', '--tokens', file, '--name', 'a', '--allow', 'send:vlp'];
      const { code, stderr } = asksForTokens ? await runParley(create) : { code: 0 };
      assert.equal(code, 0, stderr);
      const parley = await parleyFor(t, { args: asksForTokens ? ['--tokens', file] : [] });
      const values = IN_A_LOG.map((between) => Buffer.from(`${between}${FORGED}`).toString('latin1'));
      const send = (request) => exchange(parley, Buffer.from(request, 'latin1'));
      for (const [, requestOf] of LOGGED) { // more at once might find the log's reader too slow
        await Promise.all(values.map((value) => send(requestOf(value)))); // wrong tokens take a while
      }
      // The server's own lines: its start, and what it hears from NATS.
      const isOfServer = ({ event, route }) => /^(start|nats|server)\./.test(event) || route === '/readyz';
      const ofRequests = parley.logged().filter((line) => !isOfServer(line));
      const ofTokens = ofRequests.filter(({ event }) => event === 'token.refused').length;
      const oneAMinute = 2; // the test may run from one minute into the next
      assert.ok(ofTokens <= oneAMinute, `${ofTokens} refused tokens`);
      const others = ofRequests.length - ofTokens;
      assert.ok(others <= LOGGED.length * values.length, `${others} lines`);
      const refusals = () => parley.logged('token.refused').length;
      if (asksForTokens) await until('a wrong token is logged', () => refusals() > 0);
      else assert.equal(refusals(), 0);
      for (const line of parley.program.stderr.split('\n').slice(0, -1)) {
        assert.ok(!line.startsWith(FORGED) && line.startsWith('time=2'), line);
        assert.doesNotMatch(line, /FORGED|[\x00-\x1f\x7f-\x9f\u2028\u2029]/);
      }
    });
  }
});
