// SPDX-License-Identifier: Apache-2.0
// The artifact of a Brenner thread, folded from the stream for each request: as JSON, as Markdown, as
// the body of a COMPILED message, at an earlier message, and what has changed since one.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { get, post, request } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { assertProblem } from './lib/vlp.mjs';

const MARKDOWN = 'text/markdown';
const accepting = (Accept) => ({ headers: { Accept } });

const deltaOf = (operation, section, target_id, payload) => ({ operation, section, target_id, payload, rationale: 'r' });
const hypothesis = (name, more) =>
  deltaOf('ADD', 'hypothesis_slate', null, { name, claim: `${name} is so`, mechanism: 'm', anchors: ['§1'], ...more });
const edit = (target_id, payload) => deltaOf('EDIT', 'hypothesis_slate', target_id, payload);
const kill = (target_id) => deltaOf('KILL', 'hypothesis_slate', target_id, { reason: 'why not' });

const blocks = (deltas) => deltas.map((delta) => `\`\`\`delta\n${JSON.stringify(delta)}\n\`\`\`\n`).join('\n');

async function send(its, thread_id, from, subject, body_md) {
  const body = JSON.stringify({ subject, from, thread_id, body_md });
  const answer = await post(its.parley, '/v1/brenner/messages', body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.seq;
}
const sendDeltas = (its, thread, from, ...deltas) => send(its, thread, from, 'DELTA[opus]: x', blocks(deltas));

const pathOf = (thread, rest = '') => `/v1/brenner/threads/${thread}/artifact${rest}`;
const artifactOf = async (its, thread, query = '') => {
  const answer = await get(its.parley, pathOf(thread, query));
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};
const idsOf = (artifact) => artifact.sections.hypothesis_slate.map(({ id }) => id);

for (const [what, options] of [
  ['an artifact', {}],
  ['with a subject prefix, an artifact', { args: ['--subject-prefix', 'brenner=fleet-a'] }],
]) {
  describe(what, () => {
    const its = useParley(options);
    const thread = 'RS-20251230-cell-fate';
    const seqs = [];

    before(async () => {
      seqs.push(await sendDeltas(its, thread, 'GreenDog', hypothesis('a'), hypothesis('b')));
      seqs.push(await sendDeltas(its, 'other.thread', 'RedCreek', hypothesis('foreign')));
      seqs.push(await send(its, thread, 'RedCreek', 'INFO: not a delta', 'hello'));
      seqs.push(await sendDeltas(its, thread, 'BlueMountain', edit('H2', { claim: 'new' }), kill('H1'), edit('H7', {})));
    });

    it('is made of the deltas of its thread, and of no other', async () => {
      const artifact = await artifactOf(its, thread);
      assert.deepEqual(idsOf(artifact), ['H1', 'H2']);
      assert.equal(artifact.sections.hypothesis_slate[0].kill_reason, 'why not');
      assert.equal(artifact.sections.hypothesis_slate[1].claim, 'new');
      const { version, at, messages, complete, session_id, contributors } = artifact.metadata;
      assert.deepEqual([version, at, messages, complete, session_id], [2, seqs[3], 3, true, thread]);
      assert.deepEqual(contributors.map(({ agent }) => agent), ['GreenDog', 'BlueMountain']);
      assert.deepEqual(artifact.not_applied.map(({ code, seq }) => [code, seq]), [['INVALID_TARGET', seqs[3]]]);
    });

    it('is Markdown for those who accept that first', async () => {
      const answer = await get(its.parley, pathOf(thread), accepting(`${MARKDOWN}, application/json;q=0.5`));
      assert.equal(answer.headers['content-type'], `${MARKDOWN}; charset=utf-8`);
      assert.match(answer.text, /^# Brenner Protocol Artifact: RS-20251230-cell-fate\n/);
      assert.match(answer.text, /^### ~~H1: a~~ \[KILLED\]$/m);
    });

    it('is what it was at an earlier message, which need not be of the thread', async () => {
      for (const at of [seqs[0], seqs[1], seqs[2]]) {
        const artifact = await artifactOf(its, thread, `?at=${at}`);
        assert.equal(artifact.metadata.version, 1);
        assert.equal(artifact.metadata.at, at === seqs[1] ? seqs[0] : at);
        assert.equal(artifact.sections.hypothesis_slate[0].killed, undefined);
      }
      const { metadata } = await artifactOf(its, thread, '?at=999999');
      assert.deepEqual([metadata.version, metadata.at], [2, seqs[3]]);
    });

    it('says what has changed since a message', async () => {
      const changes = await artifactOf(its, thread, `?diff=${seqs[0]}`);
      assert.deepEqual([changes.from, changes.to], [{ at: seqs[0], version: 1 }, { at: seqs[3], version: 2 }]);
      assert.deepEqual(changes.changes.map(({ id, change }) => [id, change]), [['H1', 'killed'], ['H2', 'edited']]);
      const none = await artifactOf(its, thread, `?diff=${seqs[0]}&at=${seqs[2]}`);
      assert.deepEqual(none.changes, []);
      const answer = await get(its.parley, pathOf(thread, `?diff=${seqs[0]}`), accepting(MARKDOWN));
      assert.match(answer.text, /^- \*\*H1\*\* killed: why not$/m);
    });

    it('is a compiled body, which is valid as it is, and agrees with the fold', async () => {
      const body = await get(its.parley, pathOf(thread, '/compiled'));
      assert.equal(body.headers['content-type'], `${MARKDOWN}; charset=utf-8`);
      const message = { subject: 'COMPILED: v1', from: 'Boss', thread_id: thread, body_md: body.text };
      const verdict = await post(its.parley, '/v1/brenner/validate', JSON.stringify(message));
      assert.deepEqual([verdict.json.valid, verdict.json.violations], [true, []]);
      await send(its, thread, 'Boss', message.subject, message.body_md);
      const artifact = await artifactOf(its, thread);
      assert.deepEqual([artifact.compiled_differs, artifact.metadata.compiled_version], [[], 1]);
    });

    it('shows a COMPILED message that tells another story', async () => {
      const body = '# Compiled v9\n\n## Summary\nx\n\n## Contributors\n- RedCreek\n\n## Statistics\n- Hypotheses: 5\n';
      const seq = await send(its, thread, 'Boss', 'COMPILED: v9', body);
      const [differs] = (await artifactOf(its, thread)).compiled_differs;
      assert.deepEqual(differs, {
        seq,
        from: 'Boss',
        version: 9,
        statistics: [{ section: 'hypothesis_slate', compiled: 5, folded: 1, killed: 1 }],
        contributors: { missing: ['GreenDog', 'BlueMountain'], extra: ['RedCreek'] },
      });
    });

    it('leaves out what another client has written, unless it is valid', async () => {
      const first = options.args ? 'fleet-a' : 'brenner';
      const foreign = 'foreign.thread';
      await sendDeltas(its, foreign, 'GreenDog', hypothesis('a'));
      const message = { subject: 'DELTA[opus]: x', from: 'GreenDog', thread_id: foreign };
      for (const [subject, body_md] of [
        ['delta', '```delta\n{}\n```\n'],
        ['delta', blocks([hypothesis('b')])],
        ['info', blocks([hypothesis('not here')])],
      ]) {
        its.nats.publish(`${first}.${subject}.${foreign}`, JSON.stringify({ ...message, body_md }));
      }
      its.nats.publish(`${first}.delta.${foreign}`, 'no JSON');
      await its.nats.flush();
      const last = await sendDeltas(its, foreign, 'GreenDog', hypothesis('c'));
      const { metadata, sections } = await artifactOf(its, foreign);
      assert.deepEqual(sections.hypothesis_slate.map(({ name }) => name), ['a', 'b', 'c']);
      assert.deepEqual([metadata.messages, metadata.unread, metadata.at], [6, 3, last]);
    });
  });
}

describe('a request for an artifact', () => {
  const its = useParley();
  before(() => sendDeltas(its, 'bead-1', 'GreenDog', hypothesis('a')));

  for (const [what, path, status, name, detail] of [
    ['of a thread that there is not', pathOf('bead-2'), 404, 'not-found', /has no message of the thread bead-2\.$/],
    ['before its first message', pathOf('bead-3', '?at=1'), 404, 'not-found', /up to 1\.$/],
    ['whose name is none', pathOf('*'), 404, 'not-found', /No thread has such a name/],
    ['whose name has an empty token', pathOf('a..b'), 404, 'not-found', /No thread has such a name/],
    ['whose name is too long', pathOf('a'.repeat(129)), 404, 'not-found', /No thread has such a name/],
    ['of a protocol without any', '/v1/vlp/threads/x/artifact', 404, 'not-found', /make no document/],
    ['compiled, of a protocol without any', '/v1/vlp/threads/x/artifact/compiled', 404, 'not-found', /make no document/],
    ['at nothing', pathOf('bead-1', '?at=0'), 400, 'invalid-parameter', /`at`|at/],
    ['at a text', pathOf('bead-1', '?at=x'), 400, 'invalid-parameter', /at/],
    ['with a difference after it', pathOf('bead-1', '?at=1&diff=2'), 400, 'invalid-parameter', /after `at`/],
    ['with an option that there is not', pathOf('bead-1', '?since=1'), 400, 'invalid-parameter', /since/],
    ['compiled, with a difference', pathOf('bead-1', '/compiled?diff=1'), 400, 'invalid-parameter', /diff/],
  ]) {
    it(`${what} is ${status}`, async () => {
      assert.match(assertProblem(await get(its.parley, path), status, name).detail, detail);
    });
  }

  for (const [path, type] of [[pathOf('bead-1'), 'text/html'], [pathOf('bead-1', '/compiled'), 'application/json']]) {
    it(`at ${path} cannot have ${type}`, async () => {
      assertProblem(await get(its.parley, path, accepting(type)), 406, 'not-acceptable');
    });
  }

  it('has a head without a body', async () => {
    const answer = await request(its.parley, 'HEAD', pathOf('bead-1'));
    assert.deepEqual([answer.status, answer.text], [200, '']);
  });

  it('of a thread of many messages reads all of them, in several batches', async () => {
    const thread = 'long';
    const count = 700;
    const lines = Array.from({ length: count }, (_, i) =>
      JSON.stringify({
        subject: 'DELTA[opus]: x',
        from: `Agent-${i % 3}`,
        thread_id: thread,
        body_md: blocks([deltaOf('ADD', 'anomaly_register', null, { name: `n${i}`, observation: 'o'.repeat(900), conflicts_with: [], status: 'active' })]),
      }),
    );
    const sent = await post(its.parley, '/v1/brenner/messages', `${lines.join('\n')}\n`, { type: 'application/x-ndjson' });
    assert.equal(sent.lines.at(-1).summary.accepted, count, sent.text.slice(0, 500));
    const artifact = await artifactOf(its, thread);
    const names = artifact.sections.anomaly_register.map(({ id, name }) => [id, name]);
    assert.deepEqual(names, Array.from({ length: count }, (_, i) => [`X${i + 1}`, `n${i}`]));
    assert.deepEqual([artifact.metadata.messages, artifact.metadata.complete], [count, true]);
  });

  it('of a thread of more than 10,000 messages reads the first 10,000', async () => {
    const thread = 'endless';
    const line = JSON.stringify({ subject: 'INFO: x', from: 'GreenDog', thread_id: thread, body_md: 'y' });
    const type = 'application/x-ndjson';
    const sent = await post(its.parley, '/v1/brenner/messages', `${line}\n`.repeat(10_001), { type });
    assert.equal(sent.lines.at(-1).summary.accepted, 10_001);
    const { metadata } = await artifactOf(its, thread);
    const { seq } = sent.lines[9_999];
    assert.deepEqual([metadata.messages, metadata.complete, metadata.at], [10_000, false, seq]);
    const whole = await artifactOf(its, thread, `?at=${seq}`);
    assert.deepEqual([whole.metadata.messages, whole.metadata.complete], [10_000, true]);
  });

  it('of a thread beyond what a document may hold says that there is more', async () => {
    const thread = 'large';
    const body = (i) => blocks([deltaOf('ADD', 'anomaly_register', null, { name: `n${i}`, observation: 'o'.repeat(900_000) })]);
    for (let i = 0; i < 12; i++) await send(its, thread, 'GreenDog', 'DELTA[opus]: x', body(i));
    const { metadata, sections } = await artifactOf(its, thread);
    assert.equal(metadata.complete, false);
    assert.ok(sections.anomaly_register.length > 3 && sections.anomaly_register.length < 12);
  });
});
