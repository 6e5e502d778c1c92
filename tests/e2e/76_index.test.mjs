// SPDX-License-Identifier: Apache-2.0
// The index: what was sent is found by id, thread, sender and reference, over restarts and SIGKILL, and
// after the file was damaged or removed; each token sees what it may; a server without one says so.

import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NDJSON_TYPE, get, post } from './lib/http.mjs';
import { PATIENT, list, send } from './lib/index.mjs';
import { parley, parleyFor, startParley, useParley } from './lib/parley.mjs';
import { embeddedUrl, natsClient } from './lib/nats.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertProblem, claim, uniqueId } from './lib/vlp.mjs';

async function indexCheck(server) {
  const { json } = await get(server, '/readyz', { headers: { accept: 'application/json' } });
  return json.checks.find(({ name }) => name === 'index');
}
const idsOf = (answer) => answer.json.items.map(({ id }) => id);

describe('without an index', () => {
  const its = useParley();

  it('lists say that there is none', async () => {
    for (const path of ['/v1/vlp/messages', '/v1/brenner/threads', '/v1/vlp/senders', '/v1/vlp/chain?id=x', '/v1/vlp/sessions', '/v1/vlp/contexts?sender=x', '/v1/supervisor/evolutions',
      '/v1/trace?id=x']) {
      assertProblem(await get(its.parley, path), 404, 'no-index');
    }
  });

  it('one message is found by its place, with its data, and not read twice', async () => {
    const sent = claim({ session_id: 'SES-one' });
    const place = await send(its.parley, [sent]);
    const path = `/v1/vlp/messages/${place}`;
    const found = await get(its.parley, path);
    assert.equal(found.status, 200, found.text);
    assert.equal(found.json.id, sent.id);
    assert.equal(`${found.json.stream}:${found.json.sequence}`, place);
    assert.equal(found.json.thread, 'SES-one');
    assert.deepEqual(found.json.data, sent);
    assert.equal(found.json.refers_to, undefined);
    const again = await get(its.parley, path, { headers: { 'if-none-match': found.headers.etag } });
    assert.deepEqual([again.status, again.text], [304, '']);
  });

  it('says which messages are not there', async () => {
    await send(its.parley, [claim()]);
    for (const place of ['VLP:99999', 'VLP:0', 'VLP', 'BRENNER:1', 'NOPE:1', 'VLP:x']) {
      assertProblem(await get(its.parley, `/v1/vlp/messages/${place}`), 404, 'not-found');
    }
    assertProblem(await get(its.parley, '/v1/vlp/messages/VLP:1?data=true'), 400, 'invalid-parameter');
  });

  it('shows a message that is not valid as it is', async (t) => {
    const nats = await natsClient(t, embeddedUrl(its.parley));
    const { seq } = await nats.jetstream().publish('vlp.safe.claim', 'no JSON');
    const { json } = await get(its.parley, `/v1/vlp/messages/VLP:${seq}`);
    assert.equal(json.type, 'parley.foreign');
    assert.equal(Buffer.from(json.data_base64, 'base64').toString(), 'no JSON');
  });
});

describe('an index', () => {
  const data = temporaryFolder();
  const args = ['--index', 'on'];
  const session = 'SES-index';
  const root = claim({ session_id: session });
  const support = claim({ type: 'evidence', refers_to: root.id, provenance: ['a'], keywords: ['heat'] });
  let server, place;
  before(async () => {
    server = await startParley({ data, args });
    place = await send(server, [root, support, ...Array.from({ length: 20 }, () => claim())]);
  });
  after(() => server.stop());

  it('finds a message that was just sent, by its id, its thread and what refers to it', async () => {
    const found = await list(server, `/v1/vlp/messages?id=${root.id}&after=${place}&${PATIENT}`);
    assert.deepEqual(idsOf(found), [root.id]);
    assert.match(found.headers['parley-index'], /^VLP:\d+$/);
    assert.equal(found.json.next, null);
    assert.deepEqual(idsOf(await list(server, `/v1/vlp/messages?thread=${session}`)), [root.id]);
    assert.deepEqual(idsOf(await list(server, `/v1/vlp/messages?refers_to=${root.id}`)), [support.id]);
    assert.deepEqual(idsOf(await list(server, '/v1/vlp/messages?keyword=heat')), [support.id]);
    assert.deepEqual(idsOf(await list(server, `/v1/vlp/messages?id=${uniqueId()}`)), []);
    assert.deepEqual(idsOf(await list(server, `/v1/trace?id=${support.id}`)), [root.id, support.id]);
  });

  it('lists threads and senders', async () => {
    const threads = await list(server, `/v1/vlp/threads?after=${place}&${PATIENT}`);
    assert.deepEqual(threads.json.items.map(({ thread, count }) => [thread, count]), [[session, 1]]);
    const senders = await list(server, '/v1/vlp/senders');
    assert.deepEqual(senders.json.items.map(({ sender, count }) => [sender, count]), [['The Observer', 22]]);
  });

  it('gives pages, and lines', async () => {
    let path = `/v1/vlp/messages?limit=5&after=${place}&${PATIENT}`;
    const ids = [];
    for (let cursor; cursor !== null; ) {
      const page = await list(server, cursor === undefined ? path : `${path}&cursor=${cursor}`);
      ids.push(...idsOf(page));
      cursor = page.json.next;
    }
    assert.equal(new Set(ids).size, 22);
    const answer = await get(server, '/v1/vlp/messages?limit=2', { headers: { accept: NDJSON_TYPE } });
    const read = answer.text.trim().split('\n').map(JSON.parse);
    assert.equal(read.length, 3);
    assert.ok(read.at(-1).next);
  });

  it('gives the data, as messages have it, in lists and of one', async () => {
    const path = `/v1/vlp/messages?after=${place}&${PATIENT}`;
    const bare = await list(server, path);
    const whole = await list(server, `${path}&data=true`);
    assert.equal(whole.json.next, null);
    assert.deepEqual(whole.json.items.slice(0, 2).map(({ data }) => data), [root, support]);
    assert.deepEqual(whole.json.items.map(({ data, datacontenttype, ...item }) => item), bare.json.items);
    assert.deepEqual(await list(server, `${path}&data=false`).then(({ json }) => json), bare.json);
    const answer = await get(server, '/v1/vlp/messages?limit=2&data=true', { headers: { accept: NDJSON_TYPE } });
    const read = answer.text.trim().split('\n').map(JSON.parse);
    assert.deepEqual(read.slice(0, 2).map(({ data }) => data.id), [root.id, support.id]);
    assert.ok(read[2].next);
    const one = await get(server, '/v1/vlp/messages/VLP:1');
    const { refers_to, unresolved, referred_by, ...item } = one.json;
    assert.deepEqual(item, whole.json.items[0]);
    assert.deepEqual([refers_to, unresolved], [[], []]);
    assert.deepEqual(referred_by.map(({ id, relation }) => [id, relation]), [[support.id, 'supports']]);
    const other = await get(server, '/v1/vlp/messages/VLP:2');
    assert.deepEqual(other.json.refers_to.map(({ id, relation }) => [id, relation]), [[root.id, 'supports']]);
    assertProblem(await get(server, `${path}&data=yes`), 400, 'invalid-parameter');
  });

  it('answers 304 to a client that has the page', async () => {
    for (const path of ['/v1/vlp/messages?limit=3', '/v1/vlp/threads', '/v1/vlp/senders', `/v1/trace?id=${root.id}`]) {
      const first = await list(server, path);
      const again = await get(server, path, { headers: { 'if-none-match': first.headers.etag } });
      assert.deepEqual([again.status, again.text], [304, '']);
      const other = await get(server, path, { headers: { 'if-none-match': 'W/"0"' } });
      assert.deepEqual([other.status, other.json], [200, first.json]);
    }
  });

  it('refuses what it does not know', async () => {
    assertProblem(await get(server, '/v1/vlp/messages?ids=x'), 400, 'invalid-parameter');
    assertProblem(await get(server, '/v1/vlp/messages?limit=1001'), 400, 'invalid-parameter');
    assertProblem(await get(server, '/v1/vlp/messages?since=now'), 400, 'invalid-parameter');
    for (const wait of ['', '-1', '0x5', '+5', '%205', '1e0', '5.1', 'inf', 'nan', '.', '1.2.3']) {
      assertProblem(await get(server, `/v1/vlp/messages?after=VLP:1&wait=${wait}`), 400, 'invalid-parameter');
    }
    assertProblem(await get(server, '/v1/vlp/messages?cursor=vlp.messages:x'), 400, 'invalid-parameter');
    for (const place of ['VLP', 'VLP:', 'VLP:x', 'VLP:0', 'VLP:1x', 'VLP:1:2', 'VLP:1,VLP:2']) {
      const refused = await get(server, `/v1/vlp/messages?after=${place}`);
      assertProblem(refused, 400, 'invalid-parameter');
      assert.match(refused.json.detail, /STREAM:SEQUENCE/);
    }
    for (const place of ['BRENNER:1', 'NOPE:1', 'BRENNER:2026-01-01T00:00:00Z:7']) {
      const refused = await get(server, `/v1/vlp/messages?after=${place}`);
      assertProblem(refused, 400, 'invalid-parameter');
      assert.match(refused.json.detail, /STREAM:SEQUENCE of a receipt of Vigilith/);
    }
    assertProblem(await get(server, '/v1/trace?id=x&after=NOPE:1'), 400, 'invalid-parameter');
    assertProblem(await get(server, '/v1/trace?id=x&after=BRENNER:999'), 503, 'index-behind');
    assertProblem(await get(server, '/v1/trace'), 400, 'invalid-parameter');
    assertProblem(await get(server, '/v1/vlp/messages?after=VLP:999999'), 503, 'index-behind');
    assertProblem(await get(server, '/v1/vlp/messages', { headers: { accept: 'text/html' } }), 406, 'not-acceptable');
  });

  it('is in the list of protocols, each view with its parameters', async () => {
    const { views } = (await get(server, '/v1/protocols/vlp')).json;
    assert.deepEqual(views.map(({ name, address }) => [name, address]), [
      ['messages', '/v1/vlp/messages'], ['threads', '/v1/vlp/threads'], ['senders', '/v1/vlp/senders'],
      ['chain', '/v1/vlp/chain'], ['sessions', '/v1/vlp/sessions'],
      ['contexts', '/v1/vlp/contexts'],
    ]);
    assert.ok(views[0].parameters.includes('refers_to'));
    for (const { name, address, parameters } of views) {
      const path = `${address}?${parameters.at(-1)}=1${{ chain: '&id=x', contexts: '&sender=x' }[name] ?? ''}`;
      assert.equal((await get(server, path)).status, 200);
    }
    const namesOf = async (protocol) =>
      (await get(server, `/v1/protocols/${protocol}`)).json.views.map(({ name }) => name);
    assert.deepEqual(await namesOf('roundtable'), ['messages', 'threads', 'senders']);
    assert.deepEqual(await namesOf('supervisor'), ['messages', 'threads', 'senders', 'evolutions']);
  });

  it('has a file that no other user may read', () => {
    assert.equal(statSync(join(data, 'index.sqlite')).mode & 0o777, 0o600);
  });

  it('goes on after a restart, and is made again when it was removed or is damaged', async () => {
    const file = join(data, 'index.sqlite');
    const changes = [
      () => {},
      () => ['', '-wal', '-shm'].forEach((end) => rmSync(file + end, { force: true })),
      () => {
        rmSync(`${file}-wal`, { force: true });
        writeFileSync(file, 'not an index'.repeat(1000));
      },
    ];
    for (const change of changes) {
      await server.stop();
      change();
      server = await startParley({ data, args });
      const found = await list(server, `/v1/vlp/messages?limit=1000&after=${place}&${PATIENT}`);
      assert.equal(found.json.items.length, 22);
    }
    assert.ok(existsSync(`${file}.bad`));
    await until('it is whole again, and /readyz says so', async () => (await indexCheck(server)).status === 'ok');
    assert.equal(server.logged('index.rebuilt').length, 1);
  });

  it('is made again when its file is removed or replaced while the server runs', async () => {
    const file = join(data, 'index.sqlite');
    const changes = [
      () => ['', '-wal', '-shm'].forEach((end) => rmSync(file + end, { force: true })),
      () => rmSync(file),
      () => {
        writeFileSync(`${file}.new`, 'not an index'.repeat(1000));
        renameSync(`${file}.new`, file);
      },
    ];
    const before = server.logged('index.rebuilt').length;
    for (const [i, change] of changes.entries()) {
      change();
      await until('the log says so', () => server.logged('index.rebuilt').length === before + i + 1);
      await until('it answers', async () => {
        const found = await list(server, `/v1/vlp/messages?limit=1000&after=${place}&${PATIENT}`);
        return found.status === 200 && found.json.items.length === 22;
      });
    }
  });

  it('is checked and removed while no server keeps it, and its lag and size are metrics', async () => {
    await until('they are', async () => {
      const { text } = await get(server, '/metrics');
      return /^parley_index_lag_messages 0$/m.test(text) && /^parley_index_bytes [1-9]\d*$/m.test(text);
    });
    const status = async (action) => (await parley(['index', action, '--data', data])).code;
    assert.equal(await status('check'), 2);
    await server.stop();
    assert.equal(await status('check'), 0);
    writeFileSync(join(data, 'index.sqlite'), 'not an index'.repeat(1000));
    assert.equal(await status('check'), 1);
    assert.equal(await status('rebuild'), 0);
    assert.equal(await status('check'), 2);
    assert.equal(await status('repair'), 2);
    server = await startParley({ data, args });
    const found = await list(server, `/v1/vlp/messages?limit=1000&after=${place}&${PATIENT}`);
    assert.equal(found.json.items.length, 22);
  });

  it('goes on after SIGKILL', async () => {
    server.signal('SIGKILL');
    await server.program.hasExited();
    server = await startParley({ data, args });
    const last = await send(server, [claim({ session_id: 'SES-after' })]);
    const found = await list(server, `/v1/vlp/messages?thread=SES-after&after=${last}&${PATIENT}`);
    assert.equal(found.json.items.length, 1);
    assert.equal((await list(server, '/v1/vlp/senders')).json.items[0].count, 23);
  });
});

describe('messages without an id of their own', () => {
  const its = useParley({ args: ['--index', 'on'] });
  const sendOne = async (subject, body_md) => {
    const message = { subject, body_md, from: 'Ann', to: ['Bob'], thread_id: 'COORD-assay' };
    const answer = await post(its.parley, '/v1/brenner/messages', JSON.stringify(message));
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };

  it('are found, and referred to, by the id of their receipts', async () => {
    const asked = await sendOne('QUESTION: Which assay', '# Which\n\n## Question\nWhich?\n');
    const ack = await sendOne('ACK: Which assay', `# Ack\n\n## Message ID\n${asked.id}\n\n## Status\nReceived\n`);
    const later = `after=BRENNER:${ack.seq}&${PATIENT}`;
    const found = await list(its.parley, `/v1/brenner/messages?id=${asked.id}&${later}`);
    assert.deepEqual(found.json.items.map(({ sequence }) => sequence), [`${asked.seq}`]);
    assert.deepEqual(idsOf(await list(its.parley, `/v1/brenner/messages?refers_to=${asked.id}`)), [ack.id]);
    assert.deepEqual(idsOf(await list(its.parley, `/v1/trace?id=${ack.id}`)), [asked.id, ack.id]);
    const { json } = await get(its.parley, `/v1/brenner/messages/BRENNER:${ack.seq}`);
    assert.deepEqual([json.refers_to.map(({ id }) => id), json.unresolved], [[asked.id], []]);
  });
});

describe('the ledger of a message', () => {
  const said = (id, type, sender, refers_to, session_id) =>
    claim({ id, type, sender, refers_to, session_id, provenance: ['a'] });
  const messages = [
    said('C', 'claim', 'Ann', undefined, 'S'),
    said('E', 'evidence', 'Bob', ['C', 'nowhere'], 'T'),
    said('K1', 'correction', 'Ann', ['C']),
    said('K2', 'correction', 'Eve', ['C']),
    said('K3', 'correction', 'Joe', ['C'], 'S'),
    said('R', 'response', 'Bob', ['C']),
    said('C', 'claim', 'Zoe', undefined, 'Z'),
    said('E2', 'evidence', 'Zoe', ['C']),
  ];
  const of = ({ json }) => json.items.map((item) => [item.id, item.relation, item.of, item.state]);
  const wanted = [
    ['C', null, null, 'superseded'],
    ['E', 'supports', 'VLP:1', 'stale'],
    ['K1', 'corrects', 'VLP:1', 'superseded'],
    ['K2', 'corrects', 'VLP:1', 'disputed'],
    ['K3', 'corrects', 'VLP:1', 'authoritative'],
    ['R', 'answers', 'VLP:1', null],
  ];
  const its = useParley({ args: ['--index', 'on'] });
  const chain = (query) => list(its.parley, `/v1/vlp/chain?${query}&after=VLP:${messages.length}&${PATIENT}`);
  before(() => send(its.parley, messages));

  it('says what supports, corrects and answers it, and which references lead nowhere', async () => {
    const found = await chain('id=C&sender=Ann');
    assert.deepEqual(of(found), wanted);
    assert.deepEqual(found.json.unresolved, [{ of: 'VLP:2', relation: 'supports', id: 'nowhere' }]);
    assert.deepEqual(found.json.mismatched, [{ of: 'VLP:6', relation: 'answers', id: 'C', type: 'vlp.claim' }]);
    assert.equal(found.json.ambiguous, undefined);
    assert.deepEqual(of(await chain('id=C&session=S')), wanted);
    assert.match(found.headers['parley-index'], /^VLP:\d+$/);
  });

  it('takes the newest of several messages with one id, and names the others', async () => {
    const { json } = await chain('id=C');
    assert.equal(json.ambiguous, true);
    assert.deepEqual(json.candidates, ['VLP:7', 'VLP:1']);
    assert.deepEqual(json.items.map(({ id, ambiguous }) => [id, ambiguous]), [['C', true], ['E2', true]]);
  });

  it('of what is not there is empty', async () => {
    for (const query of ['id=nothing', 'id=C&sender=Nobody', 'id=C&session=none']) {
      assert.deepEqual((await chain(query)).json.items, []);
    }
  });

  it('comes as lines, and once', async () => {
    const path = `/v1/vlp/chain?id=C&sender=Ann`;
    const { text, headers } = await get(its.parley, path, { headers: { accept: NDJSON_TYPE } });
    const read = text.trim().split('\n').map(JSON.parse);
    assert.deepEqual(of({ json: { items: read.slice(0, -1) } }), wanted);
    assert.equal(read.at(-1).next, null);
    assert.equal(read.at(-1).unresolved.length, 1);
    const again = await get(its.parley, path, { headers: { accept: NDJSON_TYPE, 'if-none-match': headers.etag } });
    assert.deepEqual([again.status, again.text], [304, '']);
  });

  it('is refused without an id, and of protocols that have none', async () => {
    const refused = await get(its.parley, '/v1/vlp/chain');
    assertProblem(refused, 400, 'invalid-parameter');
    assert.match(refused.json.detail, /`id` is required/);
    for (const query of ['id=', 'id=C&x=1', 'id=C&limit=1', 'id=C&session=', 'id=C&after=BRENNER:1']) {
      assertProblem(await get(its.parley, `/v1/vlp/chain?${query}`), 400, 'invalid-parameter');
    }
    for (const protocol of ['roundtable', 'supervisor', 'brenner', 'nope']) {
      assertProblem(await get(its.parley, `/v1/${protocol}/chain?id=C`), 404, 'not-found');
    }
  });
});

describe('pages with large data', () => {
  it('are short, and follow each other without gaps', async (t) => {
    const server = await parleyFor(t, { data: temporaryFolder(), args: ['--index', 'on'] });
    const sent = Array.from({ length: 12 }, () => claim({ content: 'x'.repeat(300000) }));
    let place;
    for (const message of sent) {
      place = await send(server, [message]);
    }
    const path = `/v1/vlp/messages?data=true&after=${place}&${PATIENT}`;
    const read = [];
    let pages = 0;
    for (let cursor; cursor !== null; pages++) {
      const page = await list(server, cursor === undefined ? path : `${path}&cursor=${cursor}`);
      read.push(...page.json.items.map(({ data }) => data.id));
      cursor = page.json.next;
    }
    assert.deepEqual(read, sent.map(({ id }) => id));
    assert.ok(pages > 1 && pages < 12, `${pages}`);
  });
});

describe('an index of a stream whose last message was removed', () => {
  it('is not behind for ever', async (t) => {
    const data = temporaryFolder();
    const first = await parleyFor(t, { data });
    const place = await send(first, [claim(), claim()]);
    const manager = await (await natsClient(t, embeddedUrl(first))).jetstreamManager();
    await manager.streams.deleteMessage('VLP', Number(place.split(':').at(-1)));
    await first.stop();
    const server = await parleyFor(t, { data, args: ['--index', 'on'] });
    await until('nothing is left to read', async () =>
      /^parley_index_lag_messages 0$/m.test((await get(server, '/metrics')).text));
    assert.equal((await list(server, '/v1/vlp/messages')).json.items.length, 1);
  });
});

describe('an index of a stream that was created again while it was stopped', () => {
  it('forgets the old one', async (t) => {
    const data = temporaryFolder();
    const args = ['--index', 'on'];
    const first = await parleyFor(t, { data, args });
    const place = await send(first, Array.from({ length: 5000 }, () => claim()));
    await list(first, `/v1/vlp/messages?limit=1&after=${place}&${PATIENT}`);
    await first.stop();
    const second = await parleyFor(t, { data });
    const manager = await (await natsClient(t, embeddedUrl(second))).jetstreamManager();
    await manager.streams.delete('VLP');
    await second.stop();
    const server = await parleyFor(t, { data, args });
    const sent = claim();
    await send(server, [sent]);
    await until('only the new one is listed', async () => {
      const { json } = await get(server, '/v1/vlp/messages');
      return json.items?.length === 1 && json.items[0].id === sent.id;
    });
  });
});

describe('an index with tokens', () => {
  const data = temporaryFolder();
  const session = '7d9f3b52-60d4-4c1c-8a7e-2f6b1c0e9d34';
  const tokens = {};
  let server;
  before(async () => {
    const file = join(data, 'tokens.json');
    tokens.all = await createToken(file, 'all', 'send:*,read:*');
    tokens.vlp = await createToken(file, 'vlp', 'read:vlp');
    tokens.agent = await createToken(file, 'agent', 'read:supervisor', '--agent', 'scribe');
    tokens.sends = await createToken(file, 'sends', 'send:*');
    server = await startParley({ data, args: ['--index', 'on', '--tokens', file, '--reactors', '1'] });
    const post1 = async (path, message) => {
      const answer = await post(server, path, JSON.stringify(message), bearer(tokens.all));
      assert.equal(answer.status, 200, answer.text);
    };
    await post1('/v1/vlp/messages', claim({ session_id: session }));
    const wal = { type: 'wal_entry', timestamp: 1705392000, data: { operation: 'state_update', params: {}, sequence: 1 } };
    await post1('/v1/supervisor/messages?agent=scribe', wal);
    await post1('/v1/supervisor/messages?agent=other', wal);
    await post1('/v1/supervisor/messages?agent=other', {
      type: 'process_request', timestamp: 1705392000, request_id: session, data: { message: 'm' },
    });
  });
  after(() => server.stop());

  const as = async (name, path) => {
    let answer;
    await until('the index has it', async () => {
      answer = await get(server, path, bearer(tokens[name]));
      return answer.status !== 503;
    });
    return answer;
  };
  const LATER = 'after=SUPERVISOR:3&wait=5';
  const kindsOf = ({ json }) => json.items.map(({ type, agent }) => (agent ? `${type} ${agent}` : type));

  it('refuses lists of protocols that a token does not read', async () => {
    assertProblem(await as('vlp', '/v1/supervisor/messages'), 403, 'forbidden');
    assertProblem(await as('agent', '/v1/vlp/threads'), 403, 'forbidden');
    assertProblem(await get(server, '/v1/trace?id=x'), 401, 'unauthenticated');
  });

  it('leaves room for others, however much one sender asks', async () => {
    const OF_ONE = 48;
    assert.equal((await as('all', '/v1/vlp/messages')).status, 200); // the index is there
    const waiting = Array.from({ length: OF_ONE + 1 }, () =>
      get(server, '/v1/vlp/messages?after=VLP:1000000&wait=5', bearer(tokens.vlp)));
    const refused = assertProblem(await Promise.race(waiting), 503, 'overloaded');
    assert.match(refused.detail, /^This sender has 48 requests/);
    assert.equal((await get(server, '/v1/vlp/messages', bearer(tokens.all))).status, 200);
    const ends = await Promise.all(waiting);
    assert.equal(ends.filter(({ json }) => json.type === '/problems/index-behind').length, OF_ONE);
  });

  it('shows the private messages of an agent to it alone', async () => {
    const path = `/v1/supervisor/messages?${LATER}`;
    assert.deepEqual(kindsOf(await as('all', path)), [
      'supervisor.wal_entry scribe', 'supervisor.wal_entry other', 'supervisor.process_request other',
    ]);
    assert.deepEqual(kindsOf(await as('agent', path)), [
      'supervisor.wal_entry scribe', 'supervisor.process_request other',
    ]);
  });

  it('shows one message to those that may see it', async () => {
    const status = async (name, path) => (await get(server, path, bearer(tokens[name]))).status;
    const [own, others] = ['/v1/supervisor/messages/SUPERVISOR:1', '/v1/supervisor/messages/SUPERVISOR:2'];
    assert.deepEqual([await status('agent', own), await status('agent', others)], [200, 404]);
    assert.deepEqual([await status('all', own), await status('all', others)], [200, 200]);
    assert.deepEqual([await status('vlp', own), await status('vlp', '/v1/vlp/messages/VLP:1')], [403, 200]);
  });

  it('traces through the protocols that the token reads', async () => {
    const all = await as('all', `/v1/trace?id=${session}&${LATER}`);
    assert.deepEqual(kindsOf(all), ['vlp.claim', 'supervisor.process_request other']);
    assert.equal(all.headers['parley-left-out'], undefined);
    const ofVlp = await as('vlp', `/v1/trace?id=${session}`);
    assert.deepEqual(kindsOf(ofVlp), ['vlp.claim']);
    assert.deepEqual(ofVlp.headers['parley-left-out'].split(', ').sort(), ['brenner', 'roundtable', 'supervisor']);
    const { detail } = assertProblem(await as('sends', '/v1/trace?id=x'), 403, 'forbidden');
    assert.match(detail, /the scope `read:\*` is missing\. That of one protocol .* suffices/);
    assert.deepEqual(kindsOf(await as('agent', `/v1/trace?id=${session}`)), ['supervisor.process_request other']);
  });
});
