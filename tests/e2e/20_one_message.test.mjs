// SPDX-License-Identifier: Apache-2.0
// One message to /v1/vlp/messages: what the sender is told, good or bad.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, post, request, send, validate } from './lib/http.mjs';
import { lastSequence, storedMessage } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import {
  assertAccepted,
  assertProblem,
  assertViolation,
  brokenClaim,
  claim,
  ruleIds,
} from './lib/vlp.mjs';

// Else a shell's prompt is on the same line.
describe('an answer in JSON ends with a line feed', () => {
  const its = useParley();
  const headers = { Accept: 'application/json' };
  for (const [what, status, ask] of [
    ['a receipt', 200, () => send(its.parley, claim())],
    ['the receipts of an array', 200, () => send(its.parley, [claim()])],
    ['a verdict', 200, () => validate(its.parley, brokenClaim())],
    ['a refusal', 422, () => send(its.parley, brokenClaim())],
    ['another problem', 404, () => get(its.parley, '/nothing')],
    ['a list', 200, () => get(its.parley, '/v1/protocols')],
    ['a page of problems', 200, () => get(its.parley, '/problems', { headers })],
    ['the state', 200, () => get(its.parley, '/readyz', { headers })],
    ['openapi.json', 200, () => get(its.parley, '/openapi.json')],
  ]) {
    it(what, async () => {
      const answer = await ask();
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.headers['content-type'], /json/);
      assert.match(answer.text, /[}\]]\n$/);
    });
  }
});

describe('an invalid message that comes again as it was', () => {
  const its = useParley({ args: ['--reactors', '1'] });

  it('is called unchanged, with the number of tries, until something is changed', async () => {
    const message = brokenClaim();
    const tries = [];
    for (const body of [message, message, message, { ...message, content: 'else' }]) {
      const problem = assertProblem(await send(its.parley, body), 422, 'invalid-message');
      tries.push([problem.unchanged, problem.tries]);
    }
    const none = [undefined, undefined];
    assert.deepEqual(tries, [none, [true, 2], [true, 3], none]);
  });

  it('is not where it is only checked', async () => {
    const message = brokenClaim();
    await validate(its.parley, message);
    const { json } = await validate(its.parley, message);
    assert.equal(json.unchanged, undefined);
  });
});

describe('a valid message', () => {
  const its = useParley();

  it('is answered with where it went', async () => {
    const message = claim();
    const answer = await send(its.parley, message);
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers['content-type'], /^application\/json\b/);
    const seq = await lastSequence(its.nats);
    assert.deepEqual(answer.json, {
      protocol: 'vlp',
      type: 'claim',
      id: message.id,
      lane: 'safe',
      subject: 'vlp.safe.claim',
      stream: 'VLP',
      seq,
      duplicate: false,
      warnings: [],
    });
  });

  it('is in the stream when the answer arrives', async () => {
    const message = claim();
    const { seq } = assertAccepted(await send(its.parley, message));
    const stored = await storedMessage(its.nats, seq);
    assert.deepEqual(JSON.parse(stored.payload), message);
  });

  it('gets the next sequence number', async () => {
    const first = assertAccepted(await send(its.parley, claim()));
    const second = assertAccepted(await send(its.parley, claim()));
    assert.equal(second.seq, first.seq + 1);
  });

  it('is accepted with its warnings', async () => {
    const result = assertAccepted(await send(its.parley, claim({ id: 'M1' })));
    assert.deepEqual(ruleIds(result.warnings), ['VLP-101']);
    assert.equal(result.warnings[0].severity, 'warning');
    assertViolation(result.warnings[0]);
  });

  for (const [level, type, more] of [
    ['review', 'claim', {}],
    ['block', 'notice', { session_id: 'S-blocked' }],
    ['safe', 'evidence', { refers_to: 'MSG1', provenance: ['x'] }],
    ['safe', 'query', { confidence: undefined }],
    ['review', 'response', { refers_to: ['MSG1', 'MSG2'] }],
    ['safe', 'correction', { refers_to: 'MSG1' }],
    ['block', 'session_context', { session_id: 'S', payload: {}, keywords: ['k'] }],
  ]) {
    it(`of type ${type} at level ${level} goes to vlp.${level}.${type}`, async () => {
      const message = claim({ type, safety: { level }, ...more });
      const result = assertAccepted(await send(its.parley, message));
      assert.equal(result.type, type);
      assert.equal(result.lane, level);
      assert.equal(result.subject, `vlp.${level}.${type}`);
      assert.equal((await storedMessage(its.nats, result.seq)).subject, result.subject);
    });
  }

  it('may be sent with parameters on its media type', async () => {
    const type = 'Application/JSON; charset=UTF-8';
    assertAccepted(await send(its.parley, claim(), { type }));
  });

  it('may come in chunks', async () => {
    const text = JSON.stringify(claim());
    assertAccepted(await send(its.parley, [text.slice(0, 7), text.slice(7)]));
  });

  it('may be as large as 1 MiB', async () => {
    const message = claim({ content: '' });
    message.content = 'x'.repeat(1024 * 1024 - JSON.stringify(message).length);
    const { seq } = assertAccepted(await send(its.parley, message));
    assert.equal((await storedMessage(its.nats, seq)).payload.length, 1024 * 1024);
  });
});

describe('an invalid message', () => {
  const its = useParley();

  it('is 422 with the rule, the place and the remedy, and is not stored', async () => {
    const before = await lastSequence(its.nats);
    const last =
      '  "timestamp": "2025-12-14T10:30:00Z", "sender": "é", "content": "x", "confidence": 1.5';
    const body = `{\n  "id": "MSG001",\n  "protocol": "VLP/1.0",\n  "type": "claim",\n${last}\n}`;
    const confidence = { line: 5, column: last.indexOf('1.5') + 1 };
    const problem = assertProblem(await send(its.parley, body), 422, 'invalid-message');
    problem.violations.forEach(assertViolation);
    assert.deepEqual(
      problem.violations.map(({ rule, severity, path, at }) => [rule, severity, path, at]),
      [
        ['VLP-002', 'error', '/protocol', { line: 3, column: 15 }],
        ['VLP-007', 'error', '/confidence', confidence],
      ],
    );
    assert.equal(await lastSequence(its.nats), before);
  });

  it('gets errors and warnings alike, in the order of the rule table', async () => {
    const message = claim({ id: 'M', sender: '', timestamp: '2025-12-14T10:30:00+01:00' });
    const problem = assertProblem(await send(its.parley, message), 422, 'invalid-message');
    assert.deepEqual(ruleIds(problem.violations), ['VLP-005', 'VLP-101', 'VLP-102']);
  });

  it('is told of a missing member by its pointer, and of its object by the place', async () => {
    const text = ` ${JSON.stringify(claim({ sender: undefined }))}`;
    const problem = assertProblem(await send(its.parley, text), 422, 'invalid-message');
    const [violation] = problem.violations;
    assert.deepEqual([violation.path, violation.at], ['/sender', { line: 1, column: 2 }]);
  });

  it('is told of an item of a list by its index', async () => {
    const message = claim({ provenance: ['fine', ''] });
    const problem = assertProblem(await send(its.parley, message), 422, 'invalid-message');
    assert.equal(problem.violations[0].path, '/provenance/1');
  });

  for (const [rule, what, body] of [
    ['GW-001', 'is no JSON', '{"id":'],
    ['GW-001', 'is empty', ''],
    ['GW-001', 'is blank', ' \r\n\t '],
    ['GW-001', 'is two JSON texts', '{}{}'],
    ['GW-001', 'has a comma too many', '{"id":"MSG1",}'],
    ['GW-001', 'has a lone surrogate', '{"id":"\\ud800"}'],
    ['GW-001', 'has a NUL in a key', '{"a\\u0000b":1}'],
    ['GW-001', 'has a NUL byte', '{"a":1}\0'],
    ['GW-001', 'begins with a byte-order mark', '\ufeff{"id":"MSG1"}'],
    [
      'GW-001',
      'has a number that no double holds',
      JSON.stringify(claim({ seq: 0 })).replace('"seq":0', '"seq":1e400'),
    ],
    ['GW-003', 'has a key twice', '{"id":"MSG1","\\u0069d":"MSG1"}'],
    ['GW-004', 'is nested 65 deep', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    ['GW-005', 'is not UTF-8', Buffer.from('{"id":"\xff"}', 'latin1')],
    ['GW-006', 'is a string', '"MSG1"'],
    ['GW-006', 'is null', 'null'],
    ['GW-006', 'is a number', '42'],
  ]) {
    it(`that ${what} is 400 with ${rule} alone`, async () => {
      const problem = assertProblem(await send(its.parley, body), 400, 'malformed');
      assert.deepEqual(ruleIds(problem.violations), [rule]);
      problem.violations.forEach(assertViolation);
    });
  }

  it('may be nested 64 deep', async () => {
    const text = JSON.stringify(claim({ payload: {} }));
    const deep = text.replace('"payload":{}', `"payload":${'{"a":'.repeat(62)}{}${'}'.repeat(62)}`);
    assertAccepted(await send(its.parley, deep));
  });

  it('that breaks a rule after a warning is 422, and the detail begins with the error', async () => {
    const answer = await post(its.parley, '/v1/brenner/messages', '{"subject":"QUESTION: why?"}');
    const { detail, violations } = assertProblem(answer, 422, 'invalid-message');
    assert.deepEqual(violations.map(({ rule, severity }) => [rule, severity]),
      [['MB-011', 'warning'], ['MB-120', 'error']]);
    assert.match(detail, /^MB-120 at line 1, column 1: .* There is more in `violations`\.$/);
  });

  it('over 1 MiB is 413 with GW-002, and the limit is named', async () => {
    const answer = await send(its.parley, claim({ content: 'x'.repeat(1024 * 1024) }));
    const problem = assertProblem(answer, 413, 'too-large');
    assert.deepEqual(ruleIds(problem.violations), ['GW-002']);
    assert.match(problem.detail, /1 ?MiB|1[ ,]?048[ ,]?576/);
  });
});

describe('the path, the method and the headers of a request', () => {
  const its = useParley();

  for (const path of ['/', '/page.js', '/livez', '/readyz', '/problems', '/problems/malformed']) {
    it(`GET ${path} is 200, and HEAD is the same without the body`, async () => {
      const full = await get(its.parley, path);
      assert.equal(full.status, 200);
      const head = await request(its.parley, 'HEAD', path);
      assert.equal(head.status, 200);
      assert.equal(head.body.length, 0);
      assert.equal(head.headers['content-type'], full.headers['content-type']);
    });
  }

  it('GET / is a page that shows what to type', async () => {
    const page = await get(its.parley, '/');
    assert.match(page.headers['content-type'], /^text\/html\b/);
    assert.match(page.text, /curl/);
    assert.match(page.text, /vlp/i);
  });

  for (const path of [
    '/nowhere',
    '/v1',
    '/v1/vlp/nowhere',
    '/v1/smoke-signals/messages',
    '/v1/vlp/messages/1',
    '/v2/vlp/messages',
    '/problems/no-such-problem',
  ]) {
    it(`${path} is 404`, async () => {
      assertProblem(await get(its.parley, path), 404, 'not-found');
    });
  }

  it('POST to a protocol that there is not is 404', async () => {
    assertProblem(await post(its.parley, '/v1/smoke-signals/messages', '{}'), 404, 'not-found');
  });

  for (const [method, path, allowed] of [
    ['GET', '/v1/vlp/validate', ['POST']],
    ['PUT', '/v1/vlp/messages', ['POST', 'GET', 'HEAD']],
    ['DELETE', '/v1/vlp/validate', ['POST']],
    ['HEAD', '/v1/vlp/validate', ['POST']],
    ['POST', '/v1/vlp/stream', ['GET', 'HEAD']],
    ['POST', '/v1/stream', ['GET', 'HEAD']],
    ['POST', '/livez', ['GET', 'HEAD']],
    ['DELETE', '/', ['GET', 'HEAD']],
  ]) {
    it(`${method} ${path} is 405, and Allow says ${allowed.join(' and ')}`, async () => {
      const answer = await request(its.parley, method, path);
      if (method === 'HEAD') assert.equal(answer.status, 405);
      else assertProblem(answer, 405, 'method-not-allowed');
      const allow = (answer.headers.allow ?? '').split(',').map((word) => word.trim());
      for (const word of allowed) assert.ok(allow.includes(word), answer.headers.allow);
      assert.ok(!allow.includes(method), answer.headers.allow);
    });
  }

  it('OPTIONS says what is allowed', async () => {
    const answer = await request(its.parley, 'OPTIONS', '/v1/vlp/messages');
    assert.ok([200, 204].includes(answer.status), String(answer.status));
    assert.match(answer.headers.allow, /\bPOST\b/);
  });

  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/msgpack',
    'application/json; charset=latin1', // (contract 19)
    'application/json; charset="utf-16"',
    'application/json; charset',
    null,
  ]) {
    it(`a body of type ${type ?? '(none)'} is 415, and Accept-Post says what will do`, async () => {
      const answer = await send(its.parley, claim(), { type });
      assertProblem(answer, 415, 'unsupported-media-type');
      assert.match(answer.headers['accept-post'], /application\/json/);
      assert.match(answer.headers['accept-post'], /application\/x-ndjson/);
    });
  }

  for (const charset of ['utf-8', 'UTF-8', '"Utf-8"']) {
    it(`a body with charset=${charset} is read`, async () => {
      const type = `application/json; charset=${charset}`;
      assertAccepted(await send(its.parley, claim(), { type }));
    });
  }

  for (const coding of ['br', 'deflate', 'gzip, gzip', 'gzip, zstd', 'aes128gcm']) {
    it(`a body encoded with ${coding} is 415, and Accept-Encoding says what will do`, async () => {
      const answer = await send(its.parley, claim(), { headers: { 'Content-Encoding': coding } });
      assertProblem(answer, 415, 'unsupported-media-type');
      assert.equal(answer.headers['accept-encoding'], 'gzip, zstd, identity');
    });
  }

  for (const accept of ['image/png', 'application/json;q=0, image/*']) {
    it(`Accept: ${accept} is 406, and nothing is stored`, async () => {
      const before = await lastSequence(its.nats);
      const answer = await send(its.parley, claim(), { headers: { Accept: accept } });
      assertProblem(answer, 406, 'not-acceptable');
      assert.equal(await lastSequence(its.nats), before);
    });
  }

  for (const accept of ['*/*', 'application/*', 'text/html, application/json;q=0.1']) {
    it(`Accept: ${accept} is served`, async () => {
      assertAccepted(await send(its.parley, claim(), { headers: { Accept: accept } }));
    });
  }

  for (const path of [
    '/v1/vlp/stream',
    '/v1/stream',
    '/v1/vlp/halts',
    '/v1/roundtable/tasks',
    '/v1/roundtable/tasks/650e8400-e29b-41d4-a716-446655440000',
    '/v1/roundtable/agents',
    '/v1/supervisor/agents/coder-1',
    '/v1/supervisor/agents/coder-1/checkpoints',
  ]) {
    it(`GET ${path} as an image is 406`, async () => {
      const answer = await get(its.parley, path, { headers: { Accept: 'image/png' } });
      assertProblem(answer, 406, 'not-acceptable');
    });
  }

  it('a request id that the client chose comes back in header and problem', async () => {
    const headers = { 'X-Request-Id': 'my-request.17' };
    const good = await send(its.parley, claim(), { headers });
    assert.equal(good.headers['x-request-id'], 'my-request.17');
    const bad = assertProblem(
      await send(its.parley, brokenClaim(), { headers }),
      422,
      'invalid-message',
    );
    assert.equal(bad.instance, 'my-request.17');
  });

  it('a request without an id is given one, each its own', async () => {
    const one = await send(its.parley, claim());
    const two = await get(its.parley, '/nowhere');
    assert.ok(one.headers['x-request-id']);
    assert.ok(two.headers['x-request-id']);
    assert.notEqual(one.headers['x-request-id'], two.headers['x-request-id']);
  });

  for (const name of [
    'malformed',
    'invalid-parameter',
    'not-found',
    'method-not-allowed',
    'not-acceptable',
    'too-large',
    'unsupported-media-type',
    'invalid-message',
    'bus-unavailable',
    'overloaded',
    'draining',
    'internal',
    'bus-timeout',
  ]) {
    it(`/problems/${name} explains it`, async () => {
      const page = await get(its.parley, `/problems/${name}`);
      assert.equal(page.status, 200);
      assert.ok(page.text.length > 100, page.text);
    });
  }
});
