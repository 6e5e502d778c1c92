// SPDX-License-Identifier: Apache-2.0
// Who must acknowledge which Brenner message, and what waits for an agent: by id, event id, place and
// subject, over pages, as lines, and with tokens that are bound to an agent.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NDJSON_TYPE, get, post } from './lib/http.mjs';
import { startParley, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertProblem } from './lib/vlp.mjs';

const THREAD = 'RS-20260101-heat';
const said = (from, subject, to, body_md, more) => ({ from, subject, to, body_md, thread_id: THREAD, ...more });
const asking = { ack_required: true };
const question = '# Q\n\n## Question\nWhy?\n\n## Urgency\nBlocking\n';
const kickoff = '# K\n\n## Context\nIt is warm.\n';
const ack = (id, status) => `# A\n${id === undefined ? '' : `\n## Message ID\n${id}\n`}\n## Status\n${status}\n`;

async function send(server, message, options) {
  const answer = await post(server, '/v1/brenner/messages', JSON.stringify(message), options);
  assert.equal(answer.status, 200, answer.text);
  return `BRENNER:${answer.json.seq}`;
}

async function list(server, path, options) {
  let answer;
  await until('the index has it', async () => {
    answer = await get(server, path, options);
    return answer.status !== 503;
  });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const brief = ({ message, recipient, acknowledged, answered }) =>
  [message, recipient, acknowledged && `${acknowledged.status} ${acknowledged.message}`, answered];

describe('acknowledgements', () => {
  const its = useParley({ args: ['--index', 'on'] });
  let eventId, last;
  before(async () => {
    await send(its.parley, said('Ann', 'QUESTION: By id', ['Bob', 'Cleo'], question, { ...asking, id: 'q-1' }));
    const place = await send(its.parley, said('Ann', 'INFO: By event', ['Bob'], 'x', asking));
    const { json } = await get(its.parley, `/v1/brenner/messages/${place}`);
    eventId = json.id;
    await send(its.parley, said('Ann', 'KICKOFF: By subject', [], kickoff, asking));
    await send(its.parley, said('Bob', 'ACK: x', ['Ann'], ack('q-1', 'Received')));
    await send(its.parley, said('Bob', 'ACK: x', ['Ann'], ack('q-1', 'Completed')));
    await send(its.parley, said('Cleo', 'INFO: Because', ['Ann'], 'x'));
    await send(its.parley, said('Bob', 'ACK: x', ['Ann'], ack(eventId, 'Understood'), { thread_id: 'COORD-other' }));
    await send(its.parley, said('Cleo', 'ACK: By subject', ['Ann'], ack(undefined, 'Will Action')));
    await send(its.parley, said('Bob', 'INFO: To all', [], 'x', asking));
    await send(its.parley, said('Ann', 'ACK: x', ['Bob'], ack('BRENNER:9', 'Received')));
    last = await send(its.parley, said('Cleo', 'ACK: nothing', ['Ann'], ack('none', 'Received')));
  });
  const acks = (query) => list(its.parley, `/v1/brenner/acks?${query}&after=${last}&wait=5`);
  const wanted = [
    ['BRENNER:1', 'Bob', 'Completed BRENNER:5', 'BRENNER:9'],
    ['BRENNER:1', 'Cleo', null, 'BRENNER:6'],
    ['BRENNER:2', 'Bob', 'Understood BRENNER:7', 'BRENNER:9'],
    ['BRENNER:3', null, 'Will Action BRENNER:8', null],
    ['BRENNER:9', 'Ann', 'Received BRENNER:10', null],
    ['BRENNER:9', 'Cleo', null, null],
  ];

  it('find their message by its id, that of its event, its place or its subject', async () => {
    const { json, headers } = await acks(`thread=${THREAD}`);
    assert.deepEqual(json.items.map(brief), wanted);
    assert.deepEqual(json.unmatched, [{ message: 'BRENNER:11', sender: 'Cleo', subject: 'ACK: nothing' }]);
    assert.deepEqual(json.items.map(({ urgent, overdue }) => [urgent, overdue]),
      wanted.map(([place]) => [place === 'BRENNER:1', false]));
    assert.match(headers['parley-index'], /^BRENNER:\d+$/);
    assert.deepEqual((await acks('limit=1000')).json.items, json.items);
    assert.deepEqual((await acks('thread=COORD-other')).json.items, []);
  });

  it('are listed if they are open, or overdue', async () => {
    assert.deepEqual((await acks('open=true')).json.items.map(brief), [wanted[5]]);
    assert.deepEqual((await acks('open=false')).json.items.map(brief), wanted.slice(0, 5));
    assert.deepEqual((await acks('overdue=true')).json.items, []);
    await until('it is overdue', async () => (await acks('overdue=1ms')).json.items.length === 1);
  });

  it('come in pages, also within a message, as lines, and once', async () => {
    const items = [];
    for (let cursor; cursor !== null; ) {
      const { json } = await acks(`limit=1${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
      assert.ok(json.items.length <= 1);
      items.push(...json.items.map(brief));
      cursor = json.next;
    }
    assert.deepEqual(items, wanted);
    const { text, headers } = await get(its.parley, '/v1/brenner/acks', { headers: { accept: NDJSON_TYPE } });
    const read = text.trim().split('\n').map(JSON.parse);
    assert.deepEqual(read.slice(0, -1).map(brief), wanted);
    assert.equal(read.at(-1).unmatched.length, 1);
    const again = await get(its.parley, '/v1/brenner/acks', { headers: { accept: NDJSON_TYPE, 'if-none-match': headers.etag } });
    assert.deepEqual([again.status, again.text], [304, '']);
  });

  it('are missing in the inbox of an agent', async () => {
    const inbox = async (query) => (await list(its.parley, `/v1/brenner/inbox?${query}`)).json.items;
    const of = (items) => items.map(({ stream, sequence, acknowledged }) => [`${stream}:${sequence}`, acknowledged?.status]);
    assert.deepEqual(of(await inbox('agent=Bob')),
      [['BRENNER:1', 'Completed'], ['BRENNER:2', 'Understood'], ['BRENNER:3', undefined], ['BRENNER:10', undefined]]);
    assert.deepEqual(of(await inbox('agent=Bob&unacked=true')), [['BRENNER:3', undefined]]);
    assert.deepEqual(of(await inbox('agent=Cleo&unacked=true')), [['BRENNER:1', undefined], ['BRENNER:9', undefined]]);
    assert.deepEqual(of(await inbox('agent=Cleo&unacked=false')), [['BRENNER:3', 'Will Action']]);
    assert.deepEqual(await inbox('agent=Nobody&unacked=false'), []);
  });

  it('are not listed from a cursor of another list', async () => {
    const cursors = [];
    for (const path of ['brenner/messages', 'brenner/acks', 'brenner/threads', 'brenner/senders']) {
      cursors.push((await list(its.parley, `/v1/${path}?limit=1`)).json.next);
    }
    for (const [i, cursor] of cursors.entries()) {
      for (const path of ['brenner/acks', 'brenner/inbox', 'brenner/items', 'brenner/senders', 'vlp/messages']) {
        const name = path.replace('/', '.');
        const answer = await get(its.parley, `/v1/${path}?${path.endsWith('inbox') ? 'agent=Bob&' : ''}cursor=${encodeURIComponent(cursor)}`);
        if (cursor.startsWith(`${name}:`)) assert.equal(answer.status, 200, `${i}`);
        else assert.ok(assertProblem(answer, 400, 'invalid-parameter').detail.endsWith(`begins with \`${name}:\`.`), answer.text);
      }
    }
  });

  it('are refused with unknown parameters, and of protocols that have none', async () => {
    const refused = await get(its.parley, '/v1/brenner/inbox');
    assertProblem(refused, 400, 'invalid-parameter');
    assert.match(refused.json.detail, /`agent` is required/);
    for (const path of ['acks?open=1', 'acks?overdue=soon', 'acks?overdue=400d', 'acks?cursor=brenner.acks:1/x', 'acks?agent=Bob',
      'inbox?agent=Bob&unacked=yes', 'inbox?agent=Bob&thread=x', 'inbox?agent=', 'acks?after=VLP:1']) {
      assertProblem(await get(its.parley, `/v1/brenner/${path}`), 400, 'invalid-parameter');
    }
    for (const protocol of ['roundtable', 'supervisor', 'vlp', 'nope']) {
      assertProblem(await get(its.parley, `/v1/${protocol}/acks`), 404, 'not-found');
      assertProblem(await get(its.parley, `/v1/${protocol}/inbox?agent=Bob`), 404, 'not-found');
    }
  });

  it('are in the list of protocols', async () => {
    const { views } = (await get(its.parley, '/v1/protocols/brenner')).json;
    assert.deepEqual(views.slice(3).map(({ address, parameters }) => [address, ...parameters.slice(0, 2)]),
      [['/v1/brenner/acks', 'thread', 'open'], ['/v1/brenner/inbox', 'agent', 'unacked'],
        ['/v1/brenner/items', 'kind', 'state']]);
  });
});

describe('acknowledgements without an index', () => {
  const its = useParley();

  it('are 404 no-index', async () => {
    for (const path of ['acks', 'inbox?agent=Bob']) {
      assertProblem(await get(its.parley, `/v1/brenner/${path}`), 404, 'no-index');
    }
  });
});

for (const [how, binding, options] of [
  ['with a token that is bound to an agent', ['--agent', 'Bob'], []],
  ['with --bind-sender', [], ['--bind-sender']],
]) {
  describe(`acknowledgements ${how}`, () => {
    const data = temporaryFolder();
    const tokens = {};
    let server;
    before(async () => {
      const file = join(data, 'tokens.json');
      tokens.Ann = await createToken(file, 'Ann', 'send:*,read:*', '--agent', 'Ann');
      tokens.Bob = await createToken(file, 'Bob', 'send:*,read:brenner', ...binding);
      tokens.none = await createToken(file, 'none', 'read:vlp');
      server = await startParley({ data, args: ['--index', 'on', '--tokens', file, ...options] });
      await send(server, said('Ann', 'INFO: One', ['Bob'], 'x', asking), bearer(tokens.Ann));
      await send(server, said('Ann', 'INFO: Two', ['Cleo'], 'x', asking), bearer(tokens.Ann));
    });
    after(() => server.stop());
    const as = (name, path) => list(server, path, bearer(tokens[name]));

    it('are those of the agent', async () => {
      const inbox = await as('Bob', '/v1/brenner/inbox?after=BRENNER:2&wait=5');
      assert.deepEqual(inbox.json.items.map(({ sequence }) => sequence), ['1']);
      assert.deepEqual((await as('Bob', '/v1/brenner/inbox?agent=Bob')).json, inbox.json);
      const refused = await get(server, '/v1/brenner/inbox?agent=Ann', bearer(tokens.Bob));
      assertProblem(refused, 403, 'forbidden');
      assert.match(refused.json.detail, /agent Bob only/);
      const { items } = (await as('Bob', '/v1/brenner/acks')).json;
      assert.deepEqual(items.map(brief), [['BRENNER:1', 'Bob', null, null]]);
      assert.equal((await as('Ann', '/v1/brenner/acks')).json.items.length, 2);
      for (const path of ['acks', 'inbox?agent=Bob']) {
        assertProblem(await get(server, `/v1/brenner/${path}`, bearer(tokens.none)), 403, 'forbidden');
      }
    });
  });
}
