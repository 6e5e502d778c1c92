// SPDX-License-Identifier: Apache-2.0
// Who holds which bead, and what waits for whom: a bead that is claimed, handed on, confirmed and
// claimed again; questions that are answered; pages, lines, parameters and tokens.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NDJSON_TYPE, get, post } from './lib/http.mjs';
import { startParley, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertProblem } from './lib/vlp.mjs';

const BEAD = 'bot-5so.1';
const said = (from, subject, to, body_md, more) => ({ from, subject, to, body_md, thread_id: BEAD, ...more });
const claim = (agent, item = BEAD) => `# C\n\n## Item\n${item}\n\n## Agent\n${agent}\n`;
const handoff = (from, to) => `# H\n\n## Item\n${BEAD}\n\n## From\n${from}\n\n## To\n${to}\n`;
const blocked = `# B\n\n## Item\n${BEAD}\n\n## Blocker\nThe schema\n`;
const question = '# Q\n\n## Question\nWhy?\n';
const critique = '# C\n\n## Target\nA2\n\n## Attack\nIt drifts.\n';
const ack = '# A\n\n## Status\nReceived\n';

async function send(server, message, options) {
  const answer = await post(server, '/v1/brenner/messages', JSON.stringify(message), options);
  assert.equal(answer.status, 200, answer.text);
  return `BRENNER:${answer.json.seq}`;
}

async function list(server, query, options) {
  const answer = await get(server, `/v1/brenner/items?${query}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const brief = ({ sequence, kind, holder, recipient, state }) => [+sequence, kind, holder, recipient, state];

describe('items', () => {
  const its = useParley({ args: ['--index', 'on'] });
  let last;
  const times = [];
  const tell = async (...message) => {
    last = await send(its.parley, said(...message));
    times.push((await get(its.parley, `/v1/brenner/messages/${last}`)).json.time);
  };
  const items = async (query = 'state=open') => (await list(its.parley, `${query}&after=${last}&wait=5`)).json.items;

  it('say who holds a bead: the last claim, or the last handoff that is confirmed', async () => {
    await tell('Ann', `CLAIM: ${BEAD}`, ['Bob'], claim('Ann'));
    assert.deepEqual((await items()).map(brief), [[1, 'claim', 'Ann', undefined, 'held']]);
    await tell('Ann', `HANDOFF: ${BEAD} to Bob`, ['Bob'], handoff('Ann', 'Bob'), { ack_required: true });
    assert.deepEqual((await items()).map(brief),
      [[1, 'claim', 'Ann', undefined, 'held'], [2, 'handoff', 'Ann', 'Bob', 'waiting']]);
    await tell('Cleo', `ACK: ${BEAD} to Bob`, ['Ann'], ack);
    assert.equal((await items()).length, 2); // it is not for Cleo to confirm
    await tell('Bob', `ACK: ${BEAD} to Bob`, ['Ann'], ack);
    assert.deepEqual((await items()).map(brief), [[2, 'handoff', 'Bob', 'Bob', 'held']]);
    await tell('Cleo', 'CLAIM: more', ['Bob'], claim('Cleo'), { thread_id: 'COORD-beads' });
    assert.deepEqual((await items()).map(brief), [[5, 'claim', 'Cleo', undefined, 'held']]);
    const all = await items(`state=all&bead=${BEAD}`);
    assert.deepEqual(all.map(brief), [
      [1, 'claim', 'Cleo', undefined, 'ended'], [2, 'handoff', 'Cleo', 'Bob', 'ended'],
      [5, 'claim', 'Cleo', undefined, 'held']]);
    const ms = (time) => Math.floor(Date.parse(time));
    assert.deepEqual(all.map(({ since }) => ms(since)), [times[3], times[4], times[4]].map(ms));
    assert.deepEqual(all.map(({ bead }) => bead), [BEAD, BEAD, BEAD]);
  });

  it('wait for each of those whom they ask', async () => {
    await tell('Ann', 'QUESTION: Which?', ['Bob', 'Cleo'], question); // 6
    await tell('Ann', 'BLOCKED: it waits', ['Bob'], blocked);
    await tell('Ann', 'CRITIQUE: A2', [], critique, { thread_id: 'RS-20260101-heat' });
    const waiting = [
      [6, 'question', 'Cleo', 'Bob', 'waiting'], [6, 'question', 'Cleo', 'Cleo', 'waiting'],
      [7, 'blocked', 'Cleo', 'Bob', 'waiting'], [8, 'critique', null, null, 'waiting']];
    assert.deepEqual((await items('kind=question,blocked,critique')).map(brief), waiting);
    await tell('Cleo', 'INFO: That one', ['Ann'], 'x');
    await tell('Bob', 'ACK: it waits', ['Ann'], ack);
    await tell('Bob', 'ACK: A2', ['Ann'], ack, { thread_id: 'RS-20260101-heat' });
    assert.deepEqual((await items('kind=question,blocked,critique')).map(brief), [waiting[0]]);
    assert.deepEqual((await items('kind=question,blocked,critique&state=all')).map(({ state }) => state),
      ['waiting', 'answered', 'acknowledged', 'acknowledged']);
  });

  it('are those of a kind, a bead or a thread', async () => {
    for (const [query, wanted] of [
      ['state=open', [5, 6]],
      ['state=all&kind=claim', [1, 5]],
      ['state=all&kind=handoff,critique', [2, 8]],
      [`bead=${BEAD}`, [5, 6]], // the question names none, and is in the thread of this one
      [`bead=${BEAD.toUpperCase()}`, []],
      ['thread=COORD-beads', [5]],
      [`thread=COORD-beads&state=all&bead=${BEAD}`, [5]],
      ['thread=RS-20260101-heat&state=all', [8]],
      ['thread=RS-20260101-heat', []],
    ]) {
      assert.deepEqual((await items(query)).map(({ sequence }) => +sequence), wanted, query);
    }
  });

  it('come in pages, also within a message, as lines, and once', async () => {
    const whole = (await items('state=all')).map(brief);
    const found = [];
    for (let cursor; cursor !== null; ) {
      const { json } = await list(its.parley, `state=all&limit=1${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
      assert.ok(json.items.length <= 1);
      found.push(...json.items.map(brief));
      cursor = json.next;
    }
    assert.deepEqual(found, whole);
    const { text, headers } = await list(its.parley, 'state=all', { headers: { accept: NDJSON_TYPE } });
    const read = text.trim().split('\n').map(JSON.parse);
    assert.deepEqual(read.slice(0, -1).map(brief), whole);
    assert.equal(read.at(-1).next, null);
    assert.match(headers['parley-index'], /^BRENNER:\d+$/);
    const again = await get(its.parley, '/v1/brenner/items?state=all', { headers: { accept: NDJSON_TYPE, 'if-none-match': headers.etag } });
    assert.deepEqual([again.status, again.text], [304, '']);
  });

  it('are refused with unknown parameters, and of protocols that have none', async () => {
    for (const query of ['kind=', 'kind=info', 'kind=claim,', 'kind=,claim', 'kind=claims', 'state=closed', 'state=',
      'bead=', 'thread=', 'cursor=brenner.items:1/x', 'agent=Bob', 'open=true']) {
      assertProblem(await get(its.parley, `/v1/brenner/items?${query}`), 400, 'invalid-parameter');
    }
    for (const protocol of ['roundtable', 'supervisor', 'vlp', 'nope']) {
      assertProblem(await get(its.parley, `/v1/${protocol}/items`), 404, 'not-found');
    }
  });
});

describe('items without an index', () => {
  const its = useParley();

  it('are 404 no-index', async () => {
    assertProblem(await get(its.parley, '/v1/brenner/items'), 404, 'no-index');
  });
});

describe('items with tokens', () => {
  const data = temporaryFolder();
  const tokens = {};
  let server;
  before(async () => {
    const file = join(data, 'tokens.json');
    tokens.Ann = await createToken(file, 'Ann', 'send:*,read:*', '--agent', 'Ann');
    tokens.Bob = await createToken(file, 'Bob', 'read:brenner', '--agent', 'Bob');
    tokens.none = await createToken(file, 'none', 'read:vlp');
    server = await startParley({ data, args: ['--index', 'on', '--tokens', file] });
    await send(server, said('Ann', `CLAIM: ${BEAD}`, ['Cleo'], claim('Ann')), bearer(tokens.Ann));
  });
  after(() => server.stop());

  it('are seen by all who read the protocol, since who takes a bead must see who holds it', async () => {
    await until('it is indexed', async () =>
      (await list(server, 'state=open', bearer(tokens.Bob))).json.items.length === 1);
    assertProblem(await get(server, '/v1/brenner/items', bearer(tokens.none)), 403, 'forbidden');
  });
});
