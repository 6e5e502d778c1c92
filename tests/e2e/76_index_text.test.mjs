// SPDX-License-Identifier: Apache-2.0
// Search of words in the index: what is found, in pages and with other parameters; what is said without
// --index-text, and what becomes of an index when the option comes or goes.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NDJSON_TYPE, get, post } from './lib/http.mjs';
import { parley, startParley, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertProblem, claim, uniqueId } from './lib/vlp.mjs';

const WORDS = ['--index', 'on', '--index-text'];

async function sendTo(server, protocol, message) {
  const answer = await post(server, `/v1/${protocol}/messages`, JSON.stringify(message));
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function search(server, protocol, q, more = {}) {
  const query = new URLSearchParams({ q, ...more });
  let answer;
  await until('the index has it', async () => {
    answer = await get(server, `/v1/${protocol}/messages?${query}`);
    return answer.status !== 503;
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}
const later = ({ stream, seq }) => ({ after: `${stream}:${seq}`, wait: '5' });
const idsOf = ({ items }) => items.map(({ id }) => id);

describe('text of messages', () => {
  const its = useParley({ args: WORDS });
  const said = [
    claim({ content: 'The naïve cells divided TWICE, in the assay' }),
    claim({ content: { finding: 'cells, twice', more: ['divided; late'] }, sender: 'Other' }),
    claim({ content: 'an assay without cells' }),
  ];
  let place;
  before(async () => {
    for (const message of said) place = later(await sendTo(its.parley, 'vlp', message));
  });
  const found = async (q, more) =>
    idsOf(await search(its.parley, 'vlp', q, { ...place, ...more })).map((id) =>
      said.findIndex((message) => message.id === id),
    );

  const rows = [
    ['cells', [0, 1, 2]],
    ['twice divided', [0, 1]],
    ['"naive cells"', [0]],
    ['"cells twice"', [1]],
    ['"twice divided"', []],
    ['Assay', [0, 2]],
    ['cell', []],
    ['cells OR nothing', []],
    ['-assay (', [0, 2]],
  ];
  for (const [q, wanted] of rows) {
    it(`that ${q} finds is ${wanted.length} messages of three`, async () => {
      assert.deepEqual(await found(q), wanted);
    });
  }

  it('is found with other parameters, in pages, with data and as lines', async () => {
    assert.deepEqual(await found('cells', { sender: 'Other' }), [1]);
    assert.deepEqual(await found('cells', { id: said[2].id }), [2]);
    assert.deepEqual(await found('cells', { until: '2020-01-01T00:00:00Z' }), []);
    assert.deepEqual(await found('cells', { since: '2020-01-01T00:00:00Z' }), [0, 1, 2]);
    const first = await search(its.parley, 'vlp', 'cells', { ...place, limit: '2' });
    assert.equal(first.items.length, 2);
    assert.deepEqual(await found('cells', { limit: '2', cursor: first.next }), [2]);
    const whole = await search(its.parley, 'vlp', 'assay', { ...place, data: 'true' });
    assert.deepEqual(whole.items.map(({ data }) => data), [said[0], said[2]]);
    const { text } = await get(its.parley, '/v1/vlp/messages?q=late', { headers: { accept: NDJSON_TYPE } });
    const read = text.trim().split('\n').map(JSON.parse);
    assert.deepEqual([read[0].id, read[1].next], [said[1].id, null]);
  });

  it('is that of bodies and subjects of Brenner, and of results of Round Table', async () => {
    const info = await sendTo(its.parley, 'brenner', { subject: 'INFO: Zygotes', body_md: '# So\n\nThey halve.', from: 'A' });
    for (const q of ['zygotes', 'they "halve"']) {
      assert.deepEqual(idsOf(await search(its.parley, 'brenner', q, later(info))), [info.id]);
    }
    const request = taskRequest('cell.count');
    await sendTo(its.parley, 'roundtable', request);
    const result = await sendTo(
      its.parley,
      'roundtable',
      taskResult(request.id, {
        payload: { status: 'completed', result: { format: 'text', content: 'Eleven zygotes' } },
      }),
    );
    assert.deepEqual(idsOf(await search(its.parley, 'roundtable', 'zygotes', later(result))), [result.id]);
    assert.deepEqual(idsOf(await search(its.parley, 'roundtable', 'text')), []);
    assertProblem(await get(its.parley, '/v1/supervisor/messages?q=zygotes'), 400, 'invalid-parameter');
  });

  it('is not searched for nothing, or for too much', async () => {
    const words = Array.from({ length: 33 }, () => 'w').join(' ');
    for (const q of ['', '"', '--', '😀', '— "✓"', words, 'w'.repeat(1025)]) {
      const answer = await get(its.parley, `/v1/vlp/messages?q=${encodeURIComponent(q)}`);
      assertProblem(answer, 400, 'invalid-parameter');
      assert.match(answer.json.detail, /phrases/);
    }
  });
});

describe('an index', () => {
  const data = temporaryFolder('parley-words-');
  const message = claim({ content: `the word ${uniqueId()}` });
  let server;
  after(() => server.stop());
  const restart = async (args) => {
    await server?.stop();
    server = await startParley({ data, args });
  };

  it('without --index-text says that it has no words', async () => {
    await restart(['--index', 'on']);
    const { seq } = await sendTo(server, 'vlp', message);
    await until('it is indexed', async () => (await get(server, `/v1/vlp/messages?after=VLP:${seq}`)).status === 200);
    const answer = await get(server, '/v1/vlp/messages?q=word');
    assertProblem(answer, 404, 'no-index');
    assert.match(answer.json.detail, /--index-text/);
  });

  it('is made again when the option comes, and kept after that', async () => {
    for (let round = 0; round < 2; round++) {
      await restart(WORDS);
      assert.deepEqual(idsOf(await search(server, 'vlp', 'word', { after: 'VLP:1', wait: '5' })), [message.id]);
      const wanted = round === 0 ? 1 : 0; // lines, which are written after the answer perhaps
      await until('the log has them', () => server.logged('index.rebuilt').length >= wanted);
      assert.equal(server.logged('index.rebuilt').length, wanted);
    }
  });

  it('forgets the words when the option goes', async () => {
    await restart(['--index', 'on']);
    const path = '/v1/vlp/messages?q=word&after=VLP:1&wait=5';
    await until('it has none', async () => (await get(server, path)).status === 404);
    assert.equal((await get(server, '/v1/vlp/messages')).json.items.length, 1);
    assert.equal(server.logged('index.rebuilt').length, 0);
  });

  it('is needed for the option', async () => {
    const { code, stderr } = await parley(['serve', '--index-text', '--listen', '127.0.0.1:0', '--data', data]);
    assert.equal(code, 2);
    assert.match(stderr, /--index-text needs the index: --index on/);
  });
});
