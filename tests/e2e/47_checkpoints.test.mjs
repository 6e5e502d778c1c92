// SPDX-License-Identifier: Apache-2.0
// What an agent goes on from: its checkpoints, listed and read whole, and the restore that is
// composed of the last one and the log after it. Objects are written by the official client.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { StringCodec, headers } from 'nats';
import { atEnd } from './lib/cleanup.mjs';
import { zstd } from './lib/codings.mjs';
import { FRAMES_TYPE, MSGPACK_TYPE, assertPackedProblem, decode, framesOf, msgpack } from './lib/frames.mjs';
import { JSON_TYPE, get, post, rawFor, rawPost, request } from './lib/http.mjs';
import { storedMessages } from './lib/nats.mjs';
import { parley, startParley, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertProblem } from './lib/vlp.mjs';

const BUCKET = 'parley_checkpoints';
const accepting = (type) => ({ headers: { Accept: type } });
let seconds = 1705392000;

const checkpoint = (data, more = {}) => ({ type: 'checkpoint', timestamp: ++seconds, ...more, data });
const entry = (sequence) => ({ operation: 'state_update', params: { [`k${sequence}`]: sequence }, sequence });
const logged = (sequence) => ({ type: 'wal_entry', timestamp: ++seconds, data: entry(sequence) });
const batch = (...sequences) => ({ type: 'wal_batch', timestamp: ++seconds, data: sequences.map(entry) });

async function send(its, agent, message) {
  const answer = await post(its.parley, `/v1/supervisor/messages?agent=${agent}`, JSON.stringify(message));
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

// As parley writes it: the object, then the message with a pointer in the place of its data.
async function sendObject(its, agent, message, change = {}) {
  const id = change.id ?? randomUUID();
  const name = change.name ?? `${agent}/${id}`;
  const bytes = change.bytes ?? Buffer.from(JSON.stringify(message.data));
  const js = its.nats.jetstream();
  const store = await js.views.os(BUCKET);
  let info = {};
  if (change.puts !== false) {
    info = await store.put({ name, options: { max_chunk_size: 128 * 1024 } }, readable(bytes));
  }
  const sum = createHash('sha256').update(bytes).digest('base64url');
  const digest = `SHA-256=${sum}${'='.repeat(-sum.length & 3)}`;
  if (info.digest) assert.equal(info.digest, digest);
  const pointer = { $object: change.pointsTo ?? name, size: bytes.length, digest, ...change.pointer };
  const its_headers = headers();
  its_headers.set('ce-id', id);
  if (change.hasHeader !== false) its_headers.set('Parley-Object', change.header ?? name);
  its_headers.set('Parley-Size', String(bytes.length));
  if (change.begun !== undefined) its_headers.set('Parley-Begun', String(change.begun));
  const payload = JSON.stringify({ ...message, data: pointer });
  const ack = await js.publish(`supervisor.${agent}.gerbil.checkpoint`, payload, { headers: its_headers });
  return { id, seq: ack.seq, size: bytes.length, store, name };
}

const readable = (bytes) =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });

// What the gateway has answered in the name of the agent's supervisor.
const acksOf = async (client, agent) =>
  (await storedMessages(client, { stream: 'SUPERVISOR' })).filter(({ subject }) =>
    subject.endsWith('.checkpoint_ack') && (agent === '*' || subject.startsWith(`supervisor.${agent}.`)));

const pathOf = (agent, id) => `/v1/supervisor/agents/${agent}/checkpoints${id ? `/${id}` : ''}`;
const restorePath = (agent, id) => `/v1/supervisor/agents/${agent}/restore${id ? `?checkpoint=${id}` : ''}`;
const restored = async (its, agent, type = 'application/json', id = undefined) => {
  const answer = await get(its.parley, restorePath(agent, id), accepting(type));
  assert.equal(answer.status, 200, answer.text);
  return answer;
};
const sequences = (restore) => restore.wal_entries.map((each) => each.sequence);

const large = {
  agent_state: { id: 'a', name: 'coder', version: '1', status: 'idle' },
  memory_blocks: Array.from({ length: 3000 }, (_, i) => ({ id: `m${i}`, text: `block ${i} ✓ `.repeat(8), embedding: [0.5, i / 4, -1] })),
  metrics: { total_requests: 1, avg_latency: 0.25, error_count: 0 },
};
const small = { agent_state: { id: 'a', name: 'coder', version: '1', status: 'acting' } };

describe('checkpoints', () => {
  const its = useParley();

  it('are listed, the newest first, with the ids of /agents', async () => {
    const first = await send(its, 'lists', checkpoint(small));
    const second = await sendObject(its, 'lists', checkpoint(large));
    const third = await send(its, 'lists', checkpoint(small));
    await send(its, 'other', checkpoint(small));
    const { items, next } = (await get(its.parley, pathOf('lists'))).json;
    assert.equal(next, undefined);
    assert.deepEqual(items.map(({ seq, gone }) => [seq, gone]), [[third.seq, false], [second.seq, false], [first.seq, false]]);
    assert.deepEqual([items[1].id, items[1].size], [second.id, second.size]);
    const about = (await get(its.parley, '/v1/supervisor/agents/lists')).json.checkpoint;
    assert.deepEqual([about.id, about.seq, about.size], [items[0].id, third.seq, items[0].size]);
    for (const { id, size, gone } of items) {
      assert.match(id, /^[0-9a-f]{8}-/);
      assert.ok(size > 0 && !gone);
    }
  });

  for (const [what, data] of [
    ['small', small],
    ['large', { ...large, memory_blocks: [...large.memory_blocks, { id: 'last', text: 'x'.repeat(800_000) }] }],
  ]) {
    it(`are acknowledged once with ack=true, however often they are sent: ${what}`, async () => {
      const agent = `acked-${what}`;
      const message = checkpoint(data);
      const receipts = [];
      for (const more of ['', '', '&from=gerbil']) receipts.push(await send(its, `${agent}&ack=true${more}`, message));
      const [first] = receipts;
      assert.deepEqual(receipts.slice(1), [1, 2].map(() => ({ ...first, duplicate: true })));
      const [{ id, size }] = (await get(its.parley, pathOf(agent))).json.items;
      assert.deepEqual(first.ack, { type: 'checkpoint_ack', timestamp: message.timestamp, size, checkpoint_id: id });
      assert.equal(first.id, id);
      const acks = await acksOf(its.nats, agent);
      assert.deepEqual(acks.map(({ payload }) => JSON.parse(payload)), [first.ack]);
      const [{ headers: had, subject }] = acks;
      assert.equal(subject, `supervisor.${agent}.elixir.checkpoint_ack`);
      assert.deepEqual([had['nats-msg-id'], had['ce-source']], [`ack:${id}`, `/supervisor/${agent}/elixir`]);
      const about = (await get(its.parley, `/v1/supervisor/agents/${agent}`)).json;
      assert.deepEqual([about.checkpoint_ack.checkpoint_id, about.checkpoint_ack.size], [id, size]);
      assert.equal(about.checkpoint.id, id);
      const restore = await get(its.parley, `/v1/supervisor/agents/${agent}/restore`);
      assert.equal(restore.json.checkpoint_id, id);
    });
  }

  // JSON may write any name with escapes, and a UUID either case.
  for (const [what, data] of [['small', small], ['large', { ...large, padding: 'x'.repeat(1 << 20) }]]) {
    it(`are the same whose names are escaped: ${what}`, async () => {
      const agent = `escaped-${what}`;
      const message = checkpoint(data);
      const text = JSON.stringify(message).replace('"data"', '"d\\u0061ta"');
      const url = `/v1/supervisor/messages?agent=${agent}`;
      const receipt = (await post(its.parley, url, text)).json;
      const { items } = (await get(its.parley, pathOf(agent))).json;
      assert.deepEqual(items.map(({ id, seq }) => [id, seq]), [[receipt.id, receipt.seq]]);
      assert.deepEqual((await restored(its, agent)).json.snapshot, data);
      for (const id of [receipt.id, receipt.id.toUpperCase()]) {
        assert.deepEqual((await get(its.parley, pathOf(agent, id))).json, message);
      }
    });
  }

  it('are acknowledged only alone, and for a named agent', async () => {
    const before = (await acksOf(its.nats, '*')).length;
    const body = JSON.stringify(checkpoint(small));
    const ask = (path, query, text = body, options = {}) =>
      post(its.parley, `/v1/supervisor/${path}?${query}`, text, options);
    const problem = assertProblem(await ask('messages', 'ack=true'), 400, 'invalid-parameter');
    assert.match(problem.detail, /needs `agent`/);
    const lines = { type: 'application/x-ndjson' };
    for (const [text, options] of [[`[${body}]`], [`${body}\n`, lines], ['', { type: FRAMES_TYPE }]]) {
      const refused = await ask('messages', 'agent=a&ack=true', text, options);
      assert.match(assertProblem(refused, 400, 'invalid-parameter').detail, /alone in its request/);
    }
    assert.equal((await ask('validate', 'agent=a&ack=true')).json.valid, true);
    const beat = JSON.stringify({ type: 'heartbeat', timestamp: 1 });
    assert.equal((await ask('messages', 'agent=a&ack=true', beat)).json.ack, undefined);
    assert.equal((await acksOf(its.nats, '*')).length, before);
  });

  it('come in pages', async () => {
    const seqs = [];
    for (let i = 0; i < 5; i++) seqs.unshift((await send(its, 'pages', checkpoint(small))).seq);
    const read = [];
    for (let next = ''; next !== undefined; ) {
      const page = (await get(its.parley, `${pathOf('pages')}?limit=2${next && `&cursor=${next}`}`)).json;
      read.push(...page.items.map(({ seq }) => seq));
      next = page.next;
    }
    assert.deepEqual(read, seqs);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'cursor=', 'cursor=-1', 'since=1', 'limit=1&limit=2']) {
      assertProblem(await get(its.parley, `${pathOf('pages')}?${query}`), 400, 'invalid-parameter');
    }
  });

  for (const [what, data, put] of [
    ['in the message', small, async (message) => {
      await send(its, 'reads', message);
      return (await get(its.parley, pathOf('reads'))).json.items[0].id;
    }],
    ['in the object store', large, async (message) => (await sendObject(its, 'reads', message)).id],
    ['in one chunk', small, async (message) => (await sendObject(its, 'reads', message)).id],
  ]) {
    it(`are read whole, with their data ${what}`, async () => {
      const message = checkpoint(data, { metadata: { wal_sequence: 7 }, version: 2 });
      const id = await put(message);
      const json = await get(its.parley, pathOf('reads', id));
      assert.equal(json.status, 200, json.text);
      assert.equal(json.headers['content-type'], 'application/json');
      assert.deepEqual(json.json, message);
      const binary = await get(its.parley, pathOf('reads', id), accepting(MSGPACK_TYPE));
      assert.equal(binary.headers['content-type'], MSGPACK_TYPE);
      assert.deepEqual(decode(binary.body), message);
      const byOldName = await get(its.parley, pathOf('reads', id), accepting('application/x-msgpack'));
      assert.deepEqual(byOldName.body, binary.body);
      const frame = await get(its.parley, pathOf('reads', id), accepting(FRAMES_TYPE));
      assert.deepEqual(framesOf(frame.body), [message]);
      assert.deepEqual(frame.body.subarray(4), binary.body);
    });
  }

  it('are read whole as parley stored them in the object store', async () => {
    const blocks = Array.from({ length: 12 }, () => large.memory_blocks).flat();
    const message = checkpoint({ ...large, memory_blocks: blocks }, { version: 2, metadata: { x: 1 } });
    const { seq } = await send(its, 'whole', message);
    const { items } = (await get(its.parley, pathOf('whole'))).json;
    assert.deepEqual(items.map((each) => [each.seq, each.gone]), [[seq, false]]);
    assert.equal(items[0].size, Buffer.byteLength(JSON.stringify(message.data)));
    assert.equal((await get(its.parley, '/v1/supervisor/agents/whole')).json.checkpoint.id, items[0].id);
    assert.deepEqual((await get(its.parley, pathOf('whole', items[0].id))).json, message);
    const binary = await get(its.parley, pathOf('whole', items[0].id), accepting(MSGPACK_TYPE));
    assert.deepEqual(decode(binary.body), message);
    await send(its, 'whole', logged(1));
    const { json } = await restored(its, 'whole');
    assert.deepEqual(json.snapshot, message.data);
    assert.deepEqual(sequences(json), [1]);
  });

  it('are gone once their object is', async () => {
    const { id, store, name } = await sendObject(its, 'gone', checkpoint(large));
    await store.delete(name);
    const { items } = (await get(its.parley, pathOf('gone'))).json;
    assert.deepEqual(items.map((each) => [each.id, each.gone]), [[id, true]]);
    assertProblem(await get(its.parley, pathOf('gone', id)), 410, 'gone');
    assertProblem(await get(its.parley, '/v1/supervisor/agents/gone/restore'), 410, 'gone');
  });

  it('are of one agent', async () => {
    const { id, name } = await sendObject(its, 'owner', checkpoint(large));
    assertProblem(await get(its.parley, pathOf('thief', id)), 404, 'not-found');
    for (const change of [
      { id, name, puts: false }, // as it is, on the subject of another
      { header: name, pointsTo: name, puts: false },
      { pointsTo: name },
      { header: name },
      { hasHeader: false }, // a pointer of a client's own
      { pointsTo: 'owner/../thief', header: 'owner/../thief', puts: false },
    ]) {
      const forged = await sendObject(its, 'thief', checkpoint(large), change);
      const answer = await get(its.parley, pathOf('thief', forged.id));
      assertProblem(answer, 404, 'not-found');
      assertProblem(await get(its.parley, '/v1/supervisor/agents/thief/restore'), 404, 'not-found');
    }
  });

  for (const [what, pointer] of [
    ['digest', { digest: `SHA-256=${'A'.repeat(43)}=` }],
    ['size', { size: 3 }],
    ['size, larger than any', { size: Number.MAX_SAFE_INTEGER }],
  ]) {
    it(`whose object has another ${what} are refused before anything is sent`, async () => {
      const { id } = await sendObject(its, 'wrong', checkpoint(large), { pointer });
      assertProblem(await get(its.parley, pathOf('wrong', id)), 500, 'internal');
    });
  }

  for (const text of ['', '[]', '{}{}', '{"agent_state":{}},"timestamp":0']) {
    it(`whose object is ${JSON.stringify(text)} are refused`, async () => {
      const { id } = await sendObject(its, 'fence', checkpoint(small), { bytes: Buffer.from(text) });
      assertProblem(await get(its.parley, pathOf('fence', id)), 500, 'internal');
    });
  }

  for (const what of ['lacks a chunk', 'has other bytes']) {
    it(`break off where the object ${what}`, async () => {
      const { id, name } = await sendObject(its, 'breaks', checkpoint(large));
      const manager = await its.nats.jetstreamManager();
      const meta = await manager.streams.getMessage(`OBJ_${BUCKET}`, {
        last_by_subj: `$O.${BUCKET}.M.${Buffer.from(name).toString('base64url')}${'='.repeat(-Buffer.from(name).toString('base64url').length & 3)}`,
      });
      const { nuid } = meta.json();
      const subject = `$O.${BUCKET}.C.${nuid}`;
      const last = await manager.streams.getMessage(`OBJ_${BUCKET}`, { last_by_subj: subject });
      await manager.streams.deleteMessage(`OBJ_${BUCKET}`, last.seq);
      if (what === 'has other bytes') {
        await its.nats.jetstream().publish(subject, Buffer.from(last.data).fill('x'));
      }
      await assert.rejects(get(its.parley, pathOf('breaks', id)), /aborted|ECONNRESET|hang up/);
      const binary = await get(its.parley, pathOf('breaks', id), accepting(MSGPACK_TYPE));
      assertPackedProblem(binary, 500, 'internal');
    });
  }

  it('that are not there are 404, and names that cannot be', async () => {
    const { id } = await send(its, 'known', checkpoint(small));
    assert.equal((await get(its.parley, pathOf('%6bnown', id))).status, 200);
    for (const path of [
      pathOf('known', randomUUID()),
      pathOf('known', `${id}x`),
      pathOf('known', `${id}%00`),
      pathOf('known', 'x'),
      pathOf('unknown', randomUUID()),
      '/v1/supervisor/agents/unknown/restore',
      pathOf('_'),
      pathOf('%2A'),
      pathOf('x'.repeat(65)),
    ]) {
      assertProblem(await get(its.parley, path), 404, 'not-found');
    }
    assert.deepEqual((await get(its.parley, pathOf('unknown'))).json, { items: [] });
    assertProblem(await get(its.parley, pathOf('known', 'x'), accepting('text/html')), 406, 'not-acceptable');
    assertProblem(await get(its.parley, `${pathOf('known', 'x')}?since=1`), 400, 'invalid-parameter');
    const none = await request(its.parley, 'GET', '/v1/vlp/agents/known/checkpoints');
    assert.equal(none.status, 404);
  });

  it('answer HEAD without a body', async () => {
    const { id } = await sendObject(its, 'heads', checkpoint(large));
    const answer = await request(its.parley, 'HEAD', pathOf('heads', id));
    assert.deepEqual([answer.status, answer.text], [200, '']);
  });
});

describe('a restore', () => {
  const its = useParley();

  it('has the last checkpoint and what was logged after it', async () => {
    await send(its, 'plain', checkpoint(small));
    for (const each of [logged(1), batch(2, 3)]) await send(its, 'plain', each);
    const data = { agent_state: { ...small.agent_state, status: 'evolving' } };
    await send(its, 'plain', checkpoint(data));
    await send(its, 'elsewhere', logged(9));
    for (const each of [logged(4), batch(5, 6), logged(7)]) await send(its, 'plain', each);
    const { items } = (await get(its.parley, pathOf('plain'))).json;
    const { json } = await restored(its, 'plain');
    const { timestamp, ...rest } = json;
    assert.ok(Number.isInteger(timestamp));
    assert.deepEqual(rest, { type: 'restore', checkpoint_id: items[0].id, snapshot: data, wal_entries: [4, 5, 6, 7].map(entry) });
    const sent = await post(its.parley, '/v1/supervisor/validate?from=elixir', JSON.stringify(json));
    assert.equal(sent.json.valid, true, sent.text);
  });

  it('says which entries its log lacks, in each encoding', async () => {
    await send(its, 'holes', checkpoint(small, { version: 2, metadata: { wal_sequence: 0 } }));
    for (const each of [logged(1), batch(2, 5), logged(8)]) await send(its, 'holes', each);
    const { json } = await restored(its, 'holes');
    assert.deepEqual(sequences(json), [1, 2, 5, 8]);
    assert.deepEqual(json.metadata, { missing: [{ first: 3, last: 4 }, { first: 6, last: 7 }] });
    const { body } = await restored(its, 'holes', MSGPACK_TYPE);
    assert.deepEqual(decode(body).metadata, json.metadata);
    const [frame] = framesOf((await restored(its, 'holes', FRAMES_TYPE)).body);
    assert.deepEqual(frame.metadata, json.metadata);
    const sent = await post(its.parley, '/v1/supervisor/validate?from=elixir', JSON.stringify(json));
    assert.deepEqual([sent.json.valid, sent.json.violations], [true, []], sent.text);
    await send(its, 'holes', logged(3));
    await send(its, 'holes', batch(6, 7));
    assert.deepEqual((await restored(its, 'holes')).json.metadata, { missing: [{ first: 4, last: 4 }] });
    await send(its, 'holes', logged(4));
    assert.equal((await restored(its, 'holes')).json.metadata, undefined);
  });

  it('is the same as MessagePack and as a frame', async () => {
    await sendObject(its, 'encoded', checkpoint(large));
    for (const each of [batch(5, 6), logged(7)]) await send(its, 'encoded', each);
    const same = ({ timestamp, ...rest }) => rest;
    const expected = same((await restored(its, 'encoded')).json);
    assert.deepEqual(expected.snapshot, large);
    assert.deepEqual(sequences(expected), [5, 6, 7]);
    assert.deepEqual(same(decode((await restored(its, 'encoded', MSGPACK_TYPE)).body)), expected);
    assert.deepEqual(framesOf((await restored(its, 'encoded', FRAMES_TYPE)).body).map(same), [expected]);
  });

  it('has what was logged while its checkpoint was uploaded', async () => {
    await send(its, 'slow', logged(1));
    const { seq: begun } = await send(its, 'slow', logged(2));
    for (const each of [logged(3), batch(4, 5)]) await send(its, 'slow', each);
    await sendObject(its, 'slow', checkpoint(large), { begun });
    await send(its, 'slow', logged(6));
    assert.deepEqual(sequences((await restored(its, 'slow')).json), [3, 4, 5, 6]);
  });

  it('has what was logged while a checkpoint that NATS takes as a message was uploaded', async (t) => {
    const agent = 'slow-small';
    await send(its, agent, logged(1));
    const text = JSON.stringify(checkpoint({ memory_blocks: [{ id: 'b', text: 'x'.repeat(20000) }] }));
    const whole = rawPost(`/v1/supervisor/messages?agent=${agent}`, text, {
      headers: ['Expect: 100-continue'],
    });
    const upload = await rawFor(t, its.parley, whole.subarray(0, -text.length));
    assert.equal((await upload.answer()).status, 100, 'it has begun');
    let last = 1;
    for (const began = Date.now(); last < 10 || Date.now() < began + 300; ) {
      await send(its, agent, logged(++last));
    }
    await upload.write(text);
    assert.equal((await upload.answer()).status, 200);
    const entries = sequences((await restored(its, agent)).json);
    assert.ok(entries.length > 0, 'nothing of the log');
    assert.equal(entries.at(-1), last);
  });

  for (const [wal_sequence, wanted] of [
    [0, [1, 2, 3, 4, 5, 6]],
    [2, [3, 4, 5, 6]],
    [4, [5, 6]],
    [6, []],
    [3.5, [6]], // no integer: what was stored after it
    ['4', [6]],
  ]) {
    it(`goes by metadata.wal_sequence ${JSON.stringify(wal_sequence)}`, async () => {
      const agent = `numbered-${String(wal_sequence).replace('.', '-')}-${typeof wal_sequence}`;
      for (const each of [logged(1), logged(2), batch(3, 4), logged(5)]) await send(its, agent, each);
      await send(its, agent, checkpoint(small, { version: 2, metadata: { wal_sequence } }));
      await send(its, agent, logged(6));
      assert.deepEqual(sequences((await restored(its, agent)).json), wanted);
    });
  }

  it('finds entries that lie far before the checkpoint', async () => {
    await send(its, 'far', logged(1));
    await send(its, 'far', logged(2));
    await send(its, 'far', logged(3));
    const js = its.nats.jetstream();
    const beats = Array.from({ length: 2500 }, (_, i) =>
      js.publish('supervisor.far.gerbil.heartbeat', JSON.stringify({ type: 'heartbeat', timestamp: i })));
    await Promise.all(beats);
    await send(its, 'far', checkpoint(small, { version: 2, metadata: { wal_sequence: 1 } }));
    assert.deepEqual(sequences((await restored(its, 'far')).json), [2, 3]);
  });

  for (const [what, pack] of [
    ['MessagePack', (data) => msgpack(data)],
    ['JSON', (data) => Buffer.from(JSON.stringify(data, null, 2))],
  ]) {
    it(`unpacks a snapshot that was compressed as ${what}`, async () => {
      const packed = zstd(pack(large)).toString('base64');
      const message = { ...checkpoint(packed), compressed: true, compression: 'zstd', version: 2 };
      await send(its, `packed-${what}`, message);
      await send(its, `packed-${what}`, logged(8));
      const { json } = await restored(its, `packed-${what}`);
      assert.deepEqual(json.snapshot, large);
      assert.deepEqual(sequences(json), [8]);
      const { items } = (await get(its.parley, pathOf(`packed-${what}`))).json;
      assert.deepEqual((await get(its.parley, pathOf(`packed-${what}`, items[0].id))).json, message);
    });
  }

  // Checkpoints of one agent, entries between them: which entries a restore of each has, and which
  // it lacks. A later checkpoint covers nothing for an earlier one.
  const packed = zstd(msgpack(large)).toString('base64');
  const upTo = (wal_sequence) => ({ version: 2, metadata: { wal_sequence } });
  const HISTORY = [
    ['of before the log', (agent) => send(its, agent, checkpoint(small)), [1, 2, 5, 6, 7, 9], [[3, 4], [8, 8]]],
    ['', (agent) => send(its, agent, batch(1, 2))],
    ['up to 1', (agent) => send(its, agent, checkpoint(small, upTo(1))), [2, 5, 6, 7, 9], [[3, 4], [8, 8]]],
    ['', (agent) => send(its, agent, batch(5, 6))],
    ['in the object store', (agent) => sendObject(its, agent, checkpoint(large, upTo(5))), [6, 7, 9], [[8, 8]]],
    ['', (agent) => send(its, agent, logged(7))],
    [
      'compressed',
      (agent) => send(its, agent, { ...checkpoint(packed, { version: 2 }), compressed: true, compression: 'zstd' }),
      [9],
      [],
    ],
    ['', (agent) => send(its, agent, logged(9))],
    ['last', (agent) => send(its, agent, checkpoint(small, upTo(9))), [], []],
  ];

  it('goes back to each checkpoint that is asked for, with all of the log after it', async () => {
    const ids = [];
    for (const [, step] of HISTORY) ids.push((await step('back')).id);
    for (const [i, [what, , entries, missing]] of HISTORY.entries()) {
      if (!what) continue;
      const { json } = await restored(its, 'back', JSON_TYPE, ids[i]);
      const said = json.metadata?.missing?.map(({ first, last }) => [first, last]) ?? [];
      assert.deepEqual([json.checkpoint_id, sequences(json), said], [ids[i], entries, missing], what);
      assert.deepEqual(json.snapshot, /object|compressed/.test(what) ? large : small, what);
      const upper = (await restored(its, 'back', MSGPACK_TYPE, ids[i].toUpperCase())).body;
      assert.deepEqual({ ...decode(upper), timestamp: 0 }, { ...json, timestamp: 0 }, what);
    }
    const last = (await restored(its, 'back')).json;
    assert.equal(last.checkpoint_id, ids.at(-1));
  });

  it('of a checkpoint whose log is older than what the stream keeps says what it lacks', async () => {
    const { id } = await send(its, 'aged', checkpoint(small, upTo(0)));
    const manager = await its.nats.jetstreamManager();
    const [first, second] = [await send(its, 'aged', logged(1)), await send(its, 'aged', batch(2, 3))];
    for (const { seq } of [first, second]) await manager.streams.deleteMessage('SUPERVISOR', seq);
    await send(its, 'aged', logged(4));
    await send(its, 'aged', checkpoint(small, upTo(4)));
    const { json } = await restored(its, 'aged', JSON_TYPE, id);
    assert.deepEqual([sequences(json), json.metadata], [[4], { missing: [{ first: 1, last: 3 }] }]);
    assert.equal((await restored(its, 'aged')).json.metadata, undefined);
  });

  it('of a checkpoint that is not there says where those are that can be asked for', async () => {
    const kept = await sendObject(its, 'lost', checkpoint(large));
    const gone = await sendObject(its, 'lost', checkpoint(large));
    const foreign = await send(its, 'lost-too', checkpoint(small));
    await gone.store.delete(gone.name);
    for (const id of [randomUUID(), foreign.id]) {
      const problem = assertProblem(await get(its.parley, restorePath('lost', id)), 404, 'not-found');
      assert.match(problem.detail, /GET \/v1\/supervisor\/agents\/lost\/checkpoints lists them/);
    }
    for (const id of [undefined, gone.id]) {
      const problem = assertProblem(await get(its.parley, restorePath('lost', id)), 410, 'gone');
      assert.match(problem.detail, /\/agents\/lost\/checkpoints lists .* `restore\?checkpoint=ID`/);
    }
    const { items } = (await get(its.parley, pathOf('lost'))).json;
    const { id } = items.find((each) => !each.gone);
    assert.equal(id, kept.id);
    assert.equal((await restored(its, 'lost', JSON_TYPE, id)).json.checkpoint_id, id);
    for (const wrong of [`${id}0`, id.slice(1), `${id}&checkpoint=${id}`]) {
      const path = `/v1/supervisor/agents/lost/restore?checkpoint=${wrong}`;
      assertProblem(await get(its.parley, path), 400, 'invalid-parameter');
    }
    const long = await get(its.parley, pathOf('lost', 'x'.repeat(300)));
    assertProblem(long, 404, 'not-found');
  });

  it('passes over what is no valid entry', async () => {
    await send(its, 'foreign', checkpoint(small));
    const js = its.nats.jetstream();
    const subject = 'supervisor.foreign.gerbil.wal_entry';
    for (const text of ['no JSON', '{}', JSON.stringify(logged('x')), JSON.stringify({ type: 'heartbeat', timestamp: 1 })]) {
      await js.publish(subject, StringCodec().encode(text));
    }
    await send(its, 'foreign', logged(2));
    assert.deepEqual(sequences((await restored(its, 'foreign')).json), [2]);
  });

  it('has thousands of entries', async () => {
    await send(its, 'many', checkpoint(small));
    const count = 6000;
    const lines = [];
    for (let i = 1; i <= count; i++) lines.push(JSON.stringify(i % 3 ? logged(i) : batch(i)));
    const answer = await post(its.parley, '/v1/supervisor/messages?agent=many&results=summary', lines.join('\n'), { type: 'application/x-ndjson' });
    assert.equal(answer.status, 200, answer.text);
    const all = Array.from({ length: count }, (_, i) => i + 1);
    assert.deepEqual(sequences((await restored(its, 'many')).json), all);
    assert.deepEqual(sequences(decode((await restored(its, 'many', MSGPACK_TYPE)).body)), all);
  });

  it('gives a model agent the state that it had', async () => {
    const state = {};
    const apply = (each) => Object.assign(state, each.params);
    for (let i = 1; i <= 40; i++) {
      apply(entry(i));
      await send(its, 'model', logged(i));
      if (i % 13 === 0) {
        const data = { ...small, memory_blocks: [], conversation_history: [], kept: { ...state } };
        await send(its, 'model', checkpoint(data, { version: 2, metadata: { wal_sequence: i } }));
      }
    }
    const { json } = await restored(its, 'model');
    const again = { ...json.snapshot.kept };
    for (const each of json.wal_entries) Object.assign(again, each.params);
    assert.deepEqual(again, state);
    assert.equal(json.wal_entries.length, 1);
  });
});

describe('with --bind-sender', () => {
  const tokens = {};
  let server;
  before(async () => {
    const file = join(temporaryFolder(), 'tokens.json');
    for (const name of ['coder-1', 'coder-2']) {
      const args = ['token', 'create', '--tokens', file, '--name', name, '--allow', 'send:supervisor,read:supervisor'];
      tokens[name] = (await parley(args)).stdout.trim();
    }
    server = await startParley({ args: ['--tokens', file, '--bind-sender', '--reactors', '1'] });
  });
  after(() => server?.stop());
  const as = (name) => ({ headers: { Authorization: `Bearer ${tokens[name]}` } });

  it('are for the agent of the token alone', async () => {
    const restores = [restorePath('coder-1'), restorePath('coder-1', randomUUID())];
    for (const path of [pathOf('coder-1'), pathOf('coder-1', randomUUID()), ...restores]) {
      const own = await get(server, path, as('coder-1'));
      assert.ok([200, 404].includes(own.status), own.text);
      assertProblem(await get(server, path, as('coder-2')), 403, 'forbidden');
      assert.equal((await get(server, path)).status, 401);
    }
  });

  it('leave room for others where one sender reads slowly', async (t) => {
    const path = '/v1/supervisor/agents/coder-1/restore';
    const message = checkpoint({ ...small, notes: 'x'.repeat(16e6) }); // more than sockets hold
    const headers = { ...as('coder-1').headers, 'Content-Type': 'application/json' };
    const sent = await post(server, '/v1/supervisor/messages?agent=coder-1', JSON.stringify(message), { headers });
    assert.equal(sent.status, 200, sent.text);
    const slow = await Promise.all(Array.from({ length: 12 }, () => openUnread(server.port, path, as('coder-1'))));
    atEnd(t, () => slow.forEach((each) => each.destroy()));
    assert.deepEqual(slow.map((each) => each.statusCode), Array(12).fill(200));
    const refused = assertProblem(await get(server, path, as('coder-1')), 503, 'overloaded');
    assert.match(refused.detail, /This sender has 12 requests for checkpoints in progress already/);
    assert.equal((await get(server, pathOf('coder-2'), as('coder-2'))).status, 200);
    slow.pop().destroy();
    await until('another one is let in', async () => (await get(server, path, as('coder-1'))).status === 200);
  });
});

// The answer to a request, of which nothing but the head is read.
const openUnread = (port, path, { headers }) =>
  new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port, path, headers, agent: false }, resolve).on('error', reject);
  });
