// SPDX-License-Identifier: Apache-2.0
// strict, stamp, and options that cannot be.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, post, send, sendLines, validate } from './lib/http.mjs';
import { storedMessage } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { assertAccepted, assertProblem, claim, lines, ruleIds } from './lib/vlp.mjs';

const unearned = (type, more) => claim({ type, confidence: 0.95, ...more });

describe('query options', () => {
  const its = useParley();

  it('strict=true asks of every type that confidence be earned', async () => {
    const message = unearned('notice');
    assertAccepted(await send(its.parley, message, { query: '?strict=false' }));
    const answer = await send(its.parley, message, { query: '?strict=true' });
    assert.deepEqual(ruleIds(assertProblem(answer, 422, 'invalid-message').violations), [
      'VLP-012',
    ]);
  });

  it('without strict an assertive message that did not earn it is only warned', async () => {
    const result = assertAccepted(
      await send(its.parley, unearned('response', { refers_to: 'M1' })),
    );
    assert.deepEqual(ruleIds(result.warnings), ['VLP-103']);
  });

  it('violations=short leaves out hint and expected where there is a fix', async () => {
    const message = claim({ seq: '4', keywords: 7 });
    const query = '?violations=short';
    const members = (answer) => answer.violations.map((violation) => Object.keys(violation));
    const short = ['rule', 'severity', 'path', 'at', 'message', 'fix'];
    const long = ['rule', 'severity', 'path', 'at', 'message', 'hint', 'expected'];
    const refused = await send(its.parley, message, { query });
    assert.deepEqual(members(assertProblem(refused, 422, 'invalid-message')), [short, long]);
    assert.deepEqual(members((await validate(its.parley, message, { query })).json), [short, long]);
    const { lines: [result] } = await sendLines(its.parley, lines([message]), { query });
    assert.deepEqual(members(result), [short, long]);
    const full = await send(its.parley, message, { query: '?violations=full' });
    assert.deepEqual(members(full.json)[0], [...long, 'fix']);
  });

  it('stamp=true fills in what is absent after the opening brace, and no more', async () => {
    const rest = '"type":"claim" ,"sender":"é","content":"x","confidence":0.850}';
    const result = assertAccepted(await send(its.parley, `{${rest}`, { query: '?stamp=true' }));
    const text = (await storedMessage(its.nats, result.seq)).payload.toString();
    assert.ok(text.endsWith(rest), text);
    const message = JSON.parse(text);
    assert.deepEqual(Object.keys(message).slice(0, 3), ['id', 'protocol', 'timestamp']);
    assert.equal(Object.keys(message).length, 7, 'VLP has no version');
    assert.equal(message.protocol, 'VLP/1.1');
    assert.equal(message.id, result.id);
    assert.ok(message.id.length >= 3);
    assert.ok(Math.abs(Date.now() - Date.parse(message.timestamp)) < 60_000, message.timestamp);
    assert.deepEqual(result.warnings, []);
  });

  it('stamp=true leaves alone what is there', async () => {
    const message = claim();
    const { seq } = assertAccepted(await send(its.parley, message, { query: '?stamp=true' }));
    assert.equal((await storedMessage(its.nats, seq)).payload.toString(), JSON.stringify(message));
  });

  it('stamp=true does not fill in what is null', async () => {
    const answer = await send(its.parley, claim({ id: null }), { query: '?stamp=true' });
    const { violations } = assertProblem(answer, 422, 'invalid-message');
    assert.deepEqual(ruleIds(violations), ['VLP-001']);
  });

  it('stamp=true gives every message an id of its own', async () => {
    const message = claim({ id: undefined });
    const one = assertAccepted(await send(its.parley, message, { query: '?stamp=true' }));
    const two = assertAccepted(await send(its.parley, message, { query: '?stamp=true' }));
    assert.notEqual(one.id, two.id);
    assert.equal(two.duplicate, false);
  });

  it('stamp=true stamps every line of a batch', async () => {
    const batch = lines([claim({ id: undefined }), claim({ timestamp: undefined })]);
    const answer = await sendLines(its.parley, batch, { query: '?stamp=true' });
    assert.equal(answer.lines.at(-1).summary.accepted, 2);
  });

  it('a violation of a stamped message is placed in what was sent', async () => {
    const text = '{"type":"claim","sender":"s","content":"x","confidence":7}';
    const answer = await send(its.parley, text, { query: '?stamp=true' });
    const { violations } = assertProblem(answer, 422, 'invalid-message');
    assert.deepEqual(violations[0].at, { line: 1, column: text.indexOf('7') + 1 });
  });

  // The first 200 KB are checked by the reactor, more by the worker pool.
  for (const [size, filler] of [['a', 1], ['a large', 600_000]]) {
    it(`escalate=true has ${size} unearned claim reviewed, and its receipt says so`, async () => {
      const message = unearned('claim', { content: 'x'.repeat(filler), safety: { level: 'safe' } });
      const query = '?escalate=true';
      const receipt = assertAccepted(await send(its.parley, message, { query }));
      assert.equal(receipt.escalated, true);
      assert.equal(receipt.subject, 'vlp.review.claim');
      assert.equal(receipt.lane, 'review');
      const stored = JSON.parse((await storedMessage(its.nats, receipt.seq)).payload.toString());
      const code = 'missing_provenance_high_confidence';
      const detail = 'confidence >= 0.9 without provenance';
      const safety = { level: 'review', issues: [{ code, detail }] };
      assert.deepEqual(stored, { ...message, safety });
      const again = assertAccepted(await send(its.parley, message, { query }));
      assert.deepEqual(again, { ...receipt, duplicate: true });
      assertProblem(await send(its.parley, message), 422, 'invalid-message');
    });
  }

  it('escalate=true says so of every line that it changes, and of no other', async () => {
    const large = unearned('claim', { content: 'x'.repeat(600_000) });
    const batch = lines([unearned('claim'), claim(), large, claim({ confidence: 7 })]);
    const { lines: results } = await sendLines(its.parley, batch, { query: '?escalate=true' });
    assert.deepEqual(
      results.slice(0, 4).map(({ status, escalated }) => [status, escalated]),
      [['accepted', true], ['accepted', undefined], ['accepted', true], ['invalid', undefined]],
    );
  });

  it('escalate=true: a verdict and a conversion are of what would be stored', async () => {
    const message = unearned('claim');
    const query = '?escalate=true';
    const verdict = (await validate(its.parley, message, { query })).json;
    assert.equal(verdict.valid, true);
    assert.equal(verdict.escalated, true);
    assert.equal(verdict.subject, 'vlp.review.claim');
    const path = `/v1/vlp/convert${query}&to=json`;
    const converted = await post(its.parley, path, JSON.stringify(message));
    assert.equal(JSON.parse(converted.text).safety.level, 'review');
  });

  it('an object with nothing in it can be stamped', async () => {
    const answer = await validate(its.parley, '{}', { query: '?stamp=true' });
    assert.deepEqual(ruleIds(answer.json.violations), ['VLP-003', 'VLP-005', 'VLP-006', 'VLP-007']);
  });

  it('an option of another protocol is ignored', async () => {
    assertAccepted(await send(its.parley, claim(), { query: '?from=gerbil&agent=coder-1&domain=research' }));
  });

  for (const query of ['?frobnicate=1', '?strict=banana', '?stamp=perhaps', '?results=some']) {
    for (const endpoint of ['messages', 'validate']) {
      it(`/${endpoint}${query} is 400`, async () => {
        const poster = endpoint === 'messages' ? send : validate;
        const answer = await poster(its.parley, claim(), { query });
        const problem = assertProblem(answer, 400, 'invalid-parameter');
        const [, name] = /\?(\w+)=/.exec(query);
        assert.ok(problem.detail.includes(name), `the detail names ${name}: ${problem.detail}`);
      });
    }
  }

  // (contract 9)
  const twice = 'strict=true&strict=false';
  for (const [method, path] of [
    ['POST', `/v1/vlp/messages?${twice}`],
    ['POST', `/v1/vlp/validate?${twice}`],
    ['POST', '/v1/vlp/convert?to=json&to=ndjson'],
    ['GET', '/v1/vlp/stream?type=claim&type=query'],
    ['GET', `/v1/vlp/stream?${twice}`],
    ['GET', '/v1/stream?limit=1&limit=1'],
  ]) {
    it(`${method} ${path}: an option given twice is 400`, async () => {
      const answer =
        method === 'GET' ? await get(its.parley, path) : await post(its.parley, path, JSON.stringify(claim()));
      const problem = assertProblem(answer, 400, 'invalid-parameter');
      assert.match(problem.detail, /`\w+` is given twice/);
    });
  }

  // What an option cannot be is never a filter that matches nothing.
  for (const [path, why] of [
    ['/v1/roundtable/agents?capability=', /`capability` is empty: it takes a capability/],
    ['/v1/roundtable/agents?cursor=', /`cursor` is empty/],
    ['/v1/roundtable/tasks?domain=', /`domain` is empty/],
    ['/v1/roundtable/tasks?domain=a.b', /`a\.b`: it takes comma-separated domains, at most 64, each 1 to 128 of/],
    ['/v1/roundtable/tasks?holder=', /`holder` is empty/],
    ['/v1/roundtable/agents/a?state=alive', /`state`: this address takes none/],
    ['/v1/roundtable/tasks/550e8400-e29b-41d4-a716-446655440000?limit=1', /takes none/],
    ['/v1/supervisor/agents/a/restore?since=1', /Known here: checkpoint\./],
    ['/v1/supervisor/agents/a/restore?checkpoint=', /`checkpoint` is empty: it takes the id of a checkpoint: a UUID/],
    ['/v1/supervisor/agents/a/restore?checkpoint=x', /`checkpoint` cannot be `x`: it takes the id/],
    ['/v1/supervisor/agents/a/checkpoints/x?limit=1', /takes none/],
    ['/v1/supervisor/stream?agent=_', /name no agent \(`_`\)/],
    ['/v1/supervisor/stream?sender=coder-1', /supervisor's senders are gerbil, elixir/],
    ['/v1/roundtable/stream?domain=a.b', /each 1 to 128 of A-Z a-z 0-9 _ -/],
    ['/v1/stream?thread=', /`thread` is empty/],
    ['/v1/vlp/stream?sender=a%00b', /`sender` is not text/],
    ['/v1/roundtable/tasks?from=%FF', /`from` is not text/],
    ['/v1/vlp/halts?session=%C3', /`session` is not text/],
  ]) {
    it(`GET ${path} is 400`, async () => {
      assert.match(assertProblem(await get(its.parley, path), 400, 'invalid-parameter').detail, why);
    });
  }

  it('an unknown option is named with the one that was meant, in the same words everywhere', async () => {
    const poster = await post(its.parley, '/v1/vlp/messages?resluts=all', JSON.stringify(claim()));
    const reader = await get(its.parley, '/v1/vlp/stream?limt=1');
    for (const [answer, expected] of [
      [poster, /^Unknown query option `resluts`; did you mean `results`\? Known here: results, /],
      [reader, /^Unknown query option `limt`; did you mean `limit`\? Known here: since, /],
    ]) {
      assert.match(assertProblem(answer, 400, 'invalid-parameter').detail, expected);
    }
  });

  it('/validate?emit=feathers is 400', async () => {
    const answer = await validate(its.parley, claim(), { query: '?emit=feathers' });
    assertProblem(answer, 400, 'invalid-parameter');
  });

  for (const query of [
    'frobnicate=1',
    'since=yesterday',
    'since=-1',
    'since=5y',
    'since=2025-13-01T00:00:00Z',
    'since=VLP:nonsense',
    'follow=perhaps',
    'limit=many',
    'limit=-1',
    'envelope=some',
  ]) {
    it(`/stream?${query} is 400`, async () => {
      const answer = await get(its.parley, `/v1/vlp/stream?${query}`);
      const problem = assertProblem(answer, 400, 'invalid-parameter');
      const [name] = query.split('=');
      assert.ok(problem.detail.includes(name), `the detail names ${name}: ${problem.detail}`);
    });
  }

  it('a Last-Event-ID that is no token is 400', async () => {
    const answer = await get(its.parley, '/v1/vlp/stream', { headers: { 'Last-Event-ID': '?!' } });
    assertProblem(answer, 400, 'invalid-parameter');
  });

  it('a sequence number over all protocols is 400: it would mean nothing', async () => {
    assertProblem(await get(its.parley, '/v1/stream?since=1'), 400, 'invalid-parameter');
  });
});
