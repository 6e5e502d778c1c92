// SPDX-License-Identifier: Apache-2.0
// Views of the index that tell a state from several messages: sessions, how they were left, and
// how agents have changed their code.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NDJSON_TYPE, get, post } from './lib/http.mjs';
import { PATIENT, list, send } from './lib/index.mjs';
import { startParley, useParley } from './lib/parley.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertProblem, claim } from './lib/vlp.mjs';

describe('the sessions of a protocol', () => {
  const said = (id, type, sender, changes) => claim({ id, type, sender, session_id: 'S', ...changes });
  const messages = [
    said('C1', 'claim', 'Ann'),
    said('C2', 'claim', 'Ann', { provenance: ['a'] }),
    said('Q1', 'query', 'Bob', { safety: { level: 'review' } }),
    said('Q2', 'query', 'Bob'),
    said('R', 'response', 'Eve', { refers_to: 'Q2', session_id: 'T' }),
    said('X', 'session_context', 'Ann', { keywords: ['k'], payload: {} }),
  ];
  const its = useParley({ args: ['--index', 'on'] });
  before(() => send(its.parley, messages));
  const sessions = (query = '') => list(its.parley, `/v1/vlp/sessions?after=VLP:${messages.length}&${PATIENT}${query}`);
  const openOf = ({ open }) => open.map(({ id, waits_for }) => [id, waits_for]);

  it('say who took part, how many messages of each type they have, and what is open', async () => {
    const { json, headers } = await sessions();
    const [one, other] = json.items;
    assert.deepEqual([one.session, one.count, one.who], ['S', 5, ['Ann', 'Bob']]);
    assert.deepEqual(one.types, { claim: 2, query: 2, session_context: 1 });
    assert.deepEqual(one.lanes, { safe: 4, review: 1 });
    assert.equal(one.context, 'VLP:6');
    assert.deepEqual(openOf(one), [['C1', 'supports'], ['Q1', 'answers']]);
    assert.deepEqual(one.open[0], { message: 'VLP:1', id: 'C1', type: 'vlp.claim', sender: 'Ann', waits_for: 'supports' });
    assert.deepEqual([other.session, other.context, other.open], ['T', null, []]);
    assert.equal(json.next, null);
    assert.match(headers['parley-index'], /^VLP:\d+$/);
    assert.deepEqual((await sessions('&session=S')).json.items, [one]);
    assert.deepEqual((await sessions('&session=none')).json.items, []);
  });

  it('come in pages, as lines, and once', async () => {
    const first = await sessions('&limit=1');
    assert.deepEqual(first.json.items.map(({ session }) => session), ['S']);
    const second = await sessions(`&limit=1&cursor=${first.json.next}`);
    assert.deepEqual(second.json.items.map(({ session }) => session), ['T']);
    const { text, headers } = await get(its.parley, '/v1/vlp/sessions', { headers: { accept: NDJSON_TYPE } });
    assert.deepEqual(text.trim().split('\n').map((line) => JSON.parse(line).session), ['S', 'T', undefined]);
    const again = await get(its.parley, '/v1/vlp/sessions', { headers: { accept: NDJSON_TYPE, 'if-none-match': headers.etag } });
    assert.deepEqual([again.status, again.text], [304, '']);
  });

  it('close what is answered, supported or corrected', async () => {
    const place = await send(its.parley, [
      said('E', 'evidence', 'Eve', { refers_to: 'C1', provenance: ['a'] }),
      said('K', 'correction', 'Bob', { refers_to: 'Q1' }),
    ]);
    const { json } = await list(its.parley, `/v1/vlp/sessions?session=S&after=${place}&${PATIENT}`);
    assert.deepEqual(json.items[0].open, []);
  });

  it('are refused with what they do not know, and of protocols that have none', async () => {
    for (const query of ['session=', 'thread=S', 'limit=0', 'after=BRENNER:1']) {
      assertProblem(await get(its.parley, `/v1/vlp/sessions?${query}`), 400, 'invalid-parameter');
    }
    for (const protocol of ['roundtable', 'supervisor', 'brenner']) {
      assertProblem(await get(its.parley, `/v1/${protocol}/sessions`), 404, 'not-found');
    }
  });
});

describe('how a session was left', () => {
  const left = (id, sender, session_id, changes) =>
    claim({ id, type: 'session_context', sender, session_id, keywords: [], payload: {}, ...changes });
  const whole = left('X3', 'Ann', 'S', {
    keywords: ['research', 'pending:manual-review'],
    payload: { completed: ['verification'], pending: ['manual_review'], next_session_hints: ['Resolve the address'] },
  });
  const messages = [left('X1', 'Ann', 'S'), left('X2', 'Bob', 'S'), whole, left('X4', 'Bob', 'T'), claim({ sender: 'Ann', session_id: 'S' })];
  const its = useParley({ args: ['--index', 'on'] });
  before(() => send(its.parley, messages));
  const contexts = (query) => list(its.parley, `/v1/vlp/contexts?${query}&after=VLP:${messages.length}&${PATIENT}`);
  const idsOf = ({ json }) => json.items.map(({ id }) => id);

  it('is its last session_context, or that of a sender, with its data and what it says is open', async () => {
    const found = await contexts('session=S');
    const [item] = found.json.items;
    assert.deepEqual([item.id, item.type, item.data], ['X3', 'vlp.session_context', whole]);
    assert.deepEqual(item.open, {
      keywords: ['pending:manual-review'], pending: ['manual_review'], next_session_hints: ['Resolve the address'],
    });
    assert.equal(found.json.next, null);
    assert.match(found.headers['parley-index'], /^VLP:\d+$/);
    const place = (await list(its.parley, '/v1/vlp/sessions?session=S')).json.items[0].context;
    assert.equal(place, `${item.stream}:${item.sequence}`);
    for (const [query, ids] of [
      ['sender=Ann', ['X3']], ['sender=Bob', ['X4']], ['sender=Bob&session=S', ['X2']], ['session=T', ['X4']],
      ['session=T&sender=Ann', []], ['sender=Eve', []], ['session=none', []],
    ]) {
      assert.deepEqual(idsOf(await contexts(query)), ids, query);
    }
  });

  it('comes as lines, and once', async () => {
    const { text, headers } = await get(its.parley, '/v1/vlp/contexts?sender=Ann', { headers: { accept: NDJSON_TYPE } });
    assert.deepEqual(text.trim().split('\n').map((line) => JSON.parse(line).id), ['X3', undefined]);
    const again = await get(its.parley, '/v1/vlp/contexts?sender=Ann', {
      headers: { accept: NDJSON_TYPE, 'if-none-match': headers.etag },
    });
    assert.deepEqual([again.status, again.text], [304, '']);
  });

  it('is refused without a sender and a session, and of protocols that have no sessions', async () => {
    const refused = await get(its.parley, '/v1/vlp/contexts');
    assertProblem(refused, 400, 'invalid-parameter');
    assert.match(refused.json.detail, /`sender` or `session` is required/);
    for (const query of ['sender=', 'sender=Ann&limit=1', 'sender=Ann&data=true']) {
      assertProblem(await get(its.parley, `/v1/vlp/contexts?${query}`), 400, 'invalid-parameter');
    }
    assertProblem(await get(its.parley, '/v1/brenner/contexts?sender=Ann'), 404, 'not-found');
  });
});

describe('how agents have changed their code', () => {
  const data = temporaryFolder();
  const tokens = {};
  const UNKNOWN = '550e8400-e29b-41d4-a716-446655440000';
  let server, backup, last;
  let seconds = 1705392000;
  const tell = async (agent, type, members) => {
    const message = JSON.stringify({ type, timestamp: ++seconds, ...members });
    const answer = await post(server, `/v1/supervisor/messages?agent=${agent}`, message, bearer(tokens.all));
    assert.equal(answer.status, 200, answer.text);
    last = `SUPERVISOR:${answer.json.seq}`;
    return answer.json.id;
  };
  const intent = (agent) => tell(agent, 'evolution_intent', { hypothesis: { reason: 'r', target: 't', new_code: 'c' } });
  const decide = (agent, decision) => tell(agent, 'evolution_result', { success: decision === 'promoted', decision });
  const reload = (agent, id) => tell(agent, 'hot_reload', { code: 'c', ...(id && { backup_checkpoint_id: id }) });

  before(async () => {
    const file = join(data, 'tokens.json');
    tokens.all = await createToken(file, 'all', 'send:*,read:*');
    tokens.scribe = await createToken(file, 'scribe', 'read:supervisor', '--agent', 'scribe');
    tokens.other = await createToken(file, 'other', 'read:supervisor', '--agent', 'other');
    tokens.vlp = await createToken(file, 'vlp', 'read:vlp');
    server = await startParley({ data, args: ['--index', 'on', '--tokens', file] });
    backup = await tell('scribe', 'checkpoint', { data: { agent_state: { id: 'a' } } }); // 1
    await intent('scribe'); // 2
    await decide('scribe', 'promoted'); // 3
    await intent('scribe'); // 4
    await reload('scribe', backup.toUpperCase()); // 5: of the promotion before
    await decide('scribe', 'rejected'); // 6
    await reload('scribe', UNKNOWN); // 7
    await intent('scribe'); // 8
    await reload('other', backup); // 9: another agent's
    await decide('other', 'promoted'); // 10
  });
  after(() => server.stop());

  const path = (query) => `/v1/supervisor/evolutions?after=${last}&${PATIENT}${query}`;
  const ask = (query = '', name = 'all') => list(server, path(query), bearer(tokens[name]));
  const brief = ({ json }) =>
    json.items.map(({ agent, decision, intents, result, reloads, lacks }) => [
      agent, decision, intents.map(({ sequence }) => +sequence), result && +result.sequence,
      reloads.map(({ sequence, backup: of }) => [+sequence, of && of.message]), lacks,
    ]);
  const others = [
    ['other', null, [], null, [[9, null]], ['intent', 'result', 'backup']],
    ['other', 'promoted', [], 10, [], ['intent', 'reload']],
  ];
  const scribes = [
    ['scribe', 'promoted', [2], 3, [[5, 'SUPERVISOR:1']], []],
    ['scribe', 'rejected', [4], 6, [[7, null]], ['promotion', 'backup']],
    ['scribe', null, [8], null, [], ['result']],
  ];

  it('is each result with its intents, reloads and backups, and what has no partner', async () => {
    const found = await ask();
    assert.deepEqual(brief(found), [...others, ...scribes]);
    const [{ intents, result, reloads }] = found.json.items.slice(2);
    assert.deepEqual([intents[0].type, result.type, reloads[0].type],
      ['supervisor.evolution_intent', 'supervisor.evolution_result', 'supervisor.hot_reload']);
    assert.deepEqual(reloads[0].backup, { id: backup.toUpperCase(), message: 'SUPERVISOR:1' });
    assert.match(found.headers['parley-index'], /^SUPERVISOR:\d+$/);
    assert.deepEqual(brief(await ask('&agent=scribe')), scribes);
    assert.deepEqual(brief(await ask('&agent=nobody')), []);
    assert.deepEqual(brief(await ask('&agent=no.agent')), []);
  });

  it('comes in pages, as lines, and once', async () => {
    for (const query of ['', '&agent=scribe']) {
      const read = [];
      for (let cursor = ''; cursor !== null; ) {
        const page = await ask(`${query}&limit=1${cursor && `&cursor=${cursor}`}`);
        assert.ok(page.json.items.length <= 1);
        read.push(...brief(page));
        cursor = page.json.next;
      }
      assert.deepEqual(read, query === '' ? [...others, ...scribes] : scribes);
    }
    const options = (headers) => bearer(tokens.all, { accept: NDJSON_TYPE, ...headers });
    const { text, headers } = await get(server, '/v1/supervisor/evolutions?agent=other', options());
    assert.deepEqual(text.trim().split('\n').map((line) => JSON.parse(line).agent), ['other', 'other', undefined]);
    const again = await get(server, '/v1/supervisor/evolutions?agent=other', options({ 'if-none-match': headers.etag }));
    assert.deepEqual([again.status, again.text], [304, '']);
  });

  it('shows the backups of an agent to it alone, and says nothing of them to others', async () => {
    assert.deepEqual(brief(await ask('&agent=scribe', 'scribe')), scribes);
    const [promoted, rejected, pending] = brief(await ask('&agent=scribe', 'other'));
    assert.deepEqual(promoted, ['scribe', 'promoted', [2], 3, [[5, null]], []]);
    assert.deepEqual(rejected, ['scribe', 'rejected', [4], 6, [[7, null]], ['promotion']]);
    assert.deepEqual(pending, scribes[2]);
    assertProblem(await get(server, path(''), bearer(tokens.vlp)), 403, 'forbidden');
  });

  it('is refused with what it does not know, and of protocols that have none', async () => {
    for (const query of ['&agent=', '&session=S', '&cursor=a.b', '&cursor=supervisor.evolutions:scribe:1:2:NOPE',
      '&agent=other&cursor=supervisor.evolutions:scribe:', '&agent=other&cursor=supervisor.evolutions:other']) {
      assertProblem(await get(server, path(query), bearer(tokens.all)), 400, 'invalid-parameter');
    }
    assertProblem(await get(server, '/v1/vlp/evolutions', bearer(tokens.all)), 404, 'not-found');
  });
});
