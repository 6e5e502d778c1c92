// SPDX-License-Identifier: Apache-2.0
// /v1/vlp/validate: a verdict on anything that can be read as a request, and nothing stored.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { msgpack } from './lib/frames.mjs';
import { post, send, validate } from './lib/http.mjs';
import { lastSequence } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { assertProblem, assertViolation, brokenClaim, claim, ruleIds } from './lib/vlp.mjs';

const MEMBERS = ['valid', 'protocol', 'type', 'id', 'lane', 'subject', 'violations'].sort();

describe('a verdict', () => {
  const its = useParley();

  it('on a valid message says where it would go', async () => {
    const message = claim({ safety: { level: 'review' } });
    const answer = await validate(its.parley, message);
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers['content-type'], /^application\/json\b/);
    assert.deepEqual(answer.json, {
      valid: true,
      protocol: 'vlp',
      type: 'claim',
      id: message.id,
      lane: 'review',
      subject: 'vlp.review.claim',
      violations: [],
    });
  });

  it('stores nothing', async () => {
    const before = await lastSequence(its.nats);
    await validate(its.parley, claim());
    assert.equal(await lastSequence(its.nats), before);
  });

  it('on a valid message lists its warnings', async () => {
    const verdict = (await validate(its.parley, claim({ id: 'M1' }))).json;
    assert.equal(verdict.valid, true);
    assert.deepEqual(ruleIds(verdict.violations), ['VLP-101']);
    verdict.violations.forEach(assertViolation);
  });

  it('on an invalid message has no subject, and what could be read', async () => {
    const message = brokenClaim({ safety: { level: 'block' } });
    const answer = await validate(its.parley, message);
    assert.equal(answer.status, 200);
    const { violations, ...rest } = answer.json;
    assert.deepEqual(ruleIds(violations), ['VLP-005']);
    violations.forEach(assertViolation);
    assert.deepEqual(rest, {
      valid: false,
      protocol: 'vlp',
      type: 'claim',
      id: message.id,
      lane: 'block',
      subject: null,
    });
  });

  it('with fix=true is on the fixed message, which it has beside what was applied', async () => {
    const { sender, ...rest } = claim({ confidence: '0.5', safety: { level: 'REVIEW' } });
    const message = { ...rest, sendr: sender, topic: null };
    const { violations, applied, ...verdict } = (
      await validate(its.parley, message, { query: '?fix=true' })
    ).json;
    assert.deepEqual(violations, []);
    assert.deepEqual(ruleIds(applied).sort(), ['VLP-005', 'VLP-007', 'VLP-013']);
    assert.deepEqual(verdict, {
      valid: true,
      protocol: 'vlp',
      type: 'claim',
      id: message.id,
      lane: 'review',
      subject: 'vlp.review.claim',
      message: { ...rest, sender, topic: null, confidence: 0.5, safety: { level: 'review' } },
    });
  });

  it('with fix=true leaves what would change the meaning', async () => {
    const message = claim({ confidence: 7, safety: { level: 'reviw' } });
    const verdict = (await validate(its.parley, message, { query: '?fix=true' })).json;
    assert.deepEqual(verdict.applied, []);
    assert.deepEqual(verdict.message, message);
    assert.deepEqual(verdict.violations.map((violation) => violation.fix.safe), [false, false]);
  });

  it('is the only one with fix=true: what an agent sends is not changed', async () => {
    for (const value of ['true', 'false']) {
      const answer = await send(its.parley, claim({ confidence: '0.5' }), { query: `?fix=${value}` });
      assertProblem(answer, 400, 'invalid-parameter');
      assert.match(answer.json.detail, /`fix`/);
    }
  });

  it('with fix=true is on each of many, and emit=messages has the fixed ones', async () => {
    const broken = [claim({ seq: '4' }), brokenClaim(), claim({ seq: 5 })];
    const body = broken.map((message) => `${JSON.stringify(message)}\n`).join('');
    const options = { type: 'application/x-ndjson' };
    const verdicts = await validate(its.parley, body, { ...options, query: '?fix=true' });
    assert.deepEqual(
      verdicts.lines.slice(0, 3).map(({ valid, applied, message }) => [valid, applied.length, message]),
      [
        [true, 1, { ...broken[0], seq: 4 }],
        [false, 0, broken[1]],
        [true, 0, broken[2]],
      ],
    );
    const query = '?fix=true&emit=messages';
    const fixed = await validate(its.parley, body, { ...options, query });
    assert.deepEqual(fixed.text.trim().split('\n').map(JSON.parse),
      [{ ...broken[0], seq: 4 }, broken[2]]);
  });

  it('with fix=true and Markdown has the message as JSON, and edits of its body', async () => {
    const body = '```delta\n{"operation":"kill","section":"hypothesis_slate","target_id":"H2",'
      + '"payload":{"kill_reason":"x"},"rationale":"ü",}\n```\n';
    const markdown = `---\nsubject: "Delta[gpt]: x"\nack_required: "false"\n---\n${body}`;
    const options = { type: 'text/markdown' };
    const fixed = { subject: 'DELTA[gpt]: x', ack_required: false };
    fixed.body_md = body.replace(',}', '}').replace('kill"', 'KILL"').replace('kill_reason', 'reason');
    const verdict = (
      await post(its.parley, '/v1/brenner/validate?fix=true', markdown, options)
    ).json;
    assert.deepEqual([verdict.valid, verdict.message, verdict.violations], [true, fixed, []]);
    assert.deepEqual(verdict.applied.map(({ rule, patch, edit }) => [rule, !patch, edit?.insert]), [
      ['MB-001', false, undefined],
      ['MB-121', false, undefined],
      ['MB-005', true, ''],
      ['MB-104', true, 'KILL'],
      ['MB-107', true, ''],
    ]);
    const converted = await post(its.parley, '/v1/brenner/convert?fix=true&to=markdown', markdown,
      options);
    assert.equal(converted.text, `---\nsubject: "DELTA[gpt]: x"\nack_required: false\n---\n${fixed.body_md}`);
  });

  it('has the edit of a text where that is, and its patch while texts are short', async () => {
    const block = '```delta\n{"operation":"kill"}\n```\n';
    for (const [filler, patches] of [[0, 3], [6000, 2], [20_000, 0]]) {
      const body_md = `${'ü'.repeat(filler / 2)}\n${block.repeat(3)}`;
      const message = { subject: 'DELTA[gpt]: x', body_md };
      const verdict = (
        await post(its.parley, '/v1/brenner/validate', JSON.stringify(message))
      ).json;
      const fixes = verdict.violations.flatMap(({ fix }) => fix ?? []);
      assert.equal(fixes.filter(({ patch }) => patch).length, patches);
      fixes.forEach(({ edit, safe }, i) => {
        const at = filler + 1 + i * block.length + block.indexOf('kill');
        assert.deepEqual([edit, safe], [{ offset: at, delete: 4, insert: 'KILL' }, true]);
      });
    }
  });

  it('with fix=true and MessagePack has null for the message', async () => {
    const message = msgpack({ type: 'heartbeat', timestamp: '1705392000' });
    const options = { type: 'application/msgpack' };
    const path = '/v1/supervisor/validate?fix=true';
    const verdict = (await post(its.parley, path, message, options)).json;
    assert.deepEqual([verdict.valid, verdict.message, verdict.applied], [false, null, []]);
    assert.deepEqual(verdict.violations[0].fix.patch,
      [{ op: 'replace', path: '/timestamp', value: 1705392000 }]);
  });

  it('is the only place for it: what is sent is not changed', async () => {
    const answer = await send(its.parley, claim({ seq: '4' }), { query: '?fix=true' });
    assert.match(assertProblem(answer, 400, 'invalid-parameter').detail, /`fix`/);
    const { violations } = assertProblem(await send(its.parley, claim({ seq: '4' })), 422,
      'invalid-message');
    assert.deepEqual(violations[0].fix.patch, [{ op: 'replace', path: '/seq', value: 4 }]);
  });

  it('has null for an id and a type that cannot be read', async () => {
    const verdict = (await validate(its.parley, claim({ id: 7, type: undefined }))).json;
    assert.deepEqual([verdict.id, verdict.type], [null, null]);
    assert.deepEqual(ruleIds(verdict.violations), ['VLP-001', 'VLP-003']);
  });

  for (const [rule, body] of [
    ['GW-001', '{"id":'],
    ['GW-001', ''],
    ['GW-003', '{"a":1,"a":1}'],
    ['GW-005', Buffer.from([0x22, 0xff, 0x22])],
    ['GW-006', '"text"'],
  ]) {
    it(`on a body that breaks ${rule} has every member, and null for the rest`, async () => {
      const answer = await validate(its.parley, body);
      assert.equal(answer.status, 200, answer.text);
      const { violations, ...rest } = answer.json;
      assert.deepEqual(ruleIds(violations), [rule]);
      violations.forEach(assertViolation);
      assert.deepEqual(rest, {
        valid: false,
        protocol: 'vlp',
        type: null,
        id: null,
        lane: null,
        subject: null,
      });
    });
  }

  it('has every member whatever the message', async () => {
    for (const message of [
      claim(),
      brokenClaim(),
      {},
      claim({ safety: 7 }),
      claim({ type: 'x' }),
    ]) {
      const verdict = (await validate(its.parley, message)).json;
      assert.deepEqual(Object.keys(verdict).sort(), MEMBERS);
    }
  });

  it('is not given on a body over the size limit: that is 413', async () => {
    const answer = await validate(its.parley, claim({ content: 'x'.repeat(1024 * 1024) }));
    assertProblem(answer, 413, 'too-large');
  });

  it('is not given on a body of another type: that is 415', async () => {
    const answer = await validate(its.parley, claim(), { type: 'text/plain' });
    assertProblem(answer, 415, 'unsupported-media-type');
  });
});
