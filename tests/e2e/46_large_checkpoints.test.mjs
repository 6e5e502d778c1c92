// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are larger than a message may be: their data goes to an object store, which the
// clients of NATS can read, and the message points to it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { headers } from 'nats';
import { atEnd } from './lib/cleanup.mjs';
import { MSGPACK_TYPE, msgpack } from './lib/frames.mjs';
import { JSON_TYPE, get, post } from './lib/http.mjs';
import { embeddedUrl, natsClient, startNats, storedMessage, streamInfo } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertProblem } from './lib/vlp.mjs';

const MIB = 1024 * 1024;
const BUCKET = 'parley_checkpoints';
const STREAM = `OBJ_${BUCKET}`;

const checkpoint = (bytes, more = {}) => ({
  type: 'checkpoint',
  timestamp: 1705392000,
  data: { agent_state: { id: 'agent-7', notes: 'é'.repeat(bytes / 2) }, metrics: { errors: 0.5 } },
  ...more,
});
const upload = (server, body, { query = '?agent=ada', ...options } = {}) =>
  post(server, `/v1/supervisor/messages${query}`, body, options);
const digestOf = (text) => `SHA-256=${createHash('sha256').update(text).digest('base64url')}=`;
async function held(client) {
  const { state } = await streamInfo(client, STREAM);
  return [state.messages, state.last_seq];
}
const objectsOf = async (client) => (await client.jetstream().views.os(BUCKET)).list();

async function read(client, name, bucket = BUCKET) {
  const store = await client.jetstream().views.os(bucket);
  const blob = await store.getBlob(name); // it compares the digest
  return blob && Buffer.from(blob).toString();
}

function assertStored(answer) {
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

describe('a checkpoint over 1 MiB', () => {
  const its = useParley();
  const message = checkpoint(3 * MIB + 7, { metadata: { wal_sequence: 7 } });
  const text = JSON.stringify(message);
  const data = JSON.stringify(message.data);

  it("is an object that NATS's own client reads, and a message that points to it", async () => {
    const receipt = assertStored(await upload(its.parley, text));
    const stored = await storedMessage(its.nats, receipt.seq, 'SUPERVISOR');
    const name = `ada/${receipt.id}`;
    const pointer = { $object: name, size: Buffer.byteLength(data), digest: digestOf(data) };
    assert.deepEqual(JSON.parse(stored.payload), { ...message, data: pointer });
    assert.equal(stored.headers['parley-object'], name);
    assert.equal(stored.headers['parley-size'], String(pointer.size));
    assert.equal(stored.headers['parley-begun'], String(receipt.seq - 1));
    assert.equal(stored.headers['ce-id'], receipt.id);
    assert.ok((await read(its.nats, name)) === data, 'the object is the text of `data`');
    const [info] = await objectsOf(its.nats);
    assert.deepEqual(
      [info.name, info.size, info.digest, info.chunks],
      [name, pointer.size, pointer.digest, Math.ceil(pointer.size / (128 * 1024))],
    );
  });

  it('that is sent again is the same object and the same message', async () => {
    const first = assertStored(await upload(its.parley, text));
    const before = await held(its.nats);
    const again = assertStored(await upload(its.parley, text));
    assert.deepEqual([again.seq, again.id, again.duplicate], [first.seq, first.id, true]);
    assert.deepEqual(await held(its.nats), before);
    const other = assertStored(await upload(its.parley, text, { query: '?agent=bob' }));
    assert.notEqual(other.id, first.id);
    assert.ok((await read(its.nats, `bob/${other.id}`)) === data);
  });

  it('may be MessagePack, or JSON on many lines, or come in pieces', async () => {
    const pretty = JSON.stringify(checkpoint(2 * MIB), null, 2);
    const whole = JSON.stringify(checkpoint(2 * MIB).data);
    for (const [body, type] of [
      [pretty, JSON_TYPE],
      [[pretty.slice(0, 1000), pretty.slice(1000)], JSON_TYPE],
      [msgpack(checkpoint(2 * MIB)), MSGPACK_TYPE],
    ]) {
      const { id } = assertStored(await upload(its.parley, body, { type, query: '?agent=eve' }));
      assert.ok((await read(its.nats, `eve/${id}`)) === whole, type);
    }
    const names = (await objectsOf(its.nats)).map(({ name }) => name);
    assert.equal(names.filter((name) => name.startsWith('eve/')).length, 1);
  });

  it('is in streams as its pointer', async () => {
    const { id, seq } = assertStored(await upload(its.parley, text));
    const query = 'follow=false&since=all&agent=ada';
    const { lines: events } = await get(its.parley, `/v1/supervisor/stream?${query}`);
    const event = events.find(({ sequence }) => sequence === String(seq));
    assert.equal(event.id, id);
    assert.equal(event.data.data.$object, `ada/${id}`);
  });

  it('that is sent several times at the same time is stored once', async () => {
    const query = '?agent=twin';
    const before = await held(its.nats);
    const uploads = Array.from({ length: 6 }, () => upload(its.parley, text, { query }));
    const ids = (await Promise.all(uploads)).map((answer) => assertStored(answer).id);
    const [id, ...others] = new Set(ids);
    assert.deepEqual(others, []);
    const info = (await objectsOf(its.nats)).find(({ name }) => name === `twin/${id}`);
    await until('the chunks of all others are gone', async () => {
      const [messages] = await held(its.nats);
      return messages === before[0] + info.chunks + 1;
    });
    assert.ok((await read(its.nats, info.name)) === data);
  });

  // Another object of `info`'s name, of the same bytes, as clients of NATS write it.
  async function writeLater(info, nuid) {
    const js = its.nats.jetstream();
    const replacing = headers();
    replacing.set('Nats-Rollup', 'sub');
    for (let at = 0; at < data.length; at += 128 * 1024) {
      await js.publish(chunksOf({ nuid }), data.slice(at, at + 128 * 1024));
    }
    const later = JSON.stringify({ ...info, nuid });
    return () => js.publish(metaOf(info), later, { headers: replacing });
  }
  const metaOf = ({ name }) =>
    `$O.${BUCKET}.M.${Buffer.from(name).toString('base64url').padEnd(56, '=')}`;
  const chunksOf = ({ nuid }) => `$O.${BUCKET}.C.${nuid}`;
  async function hasChunks(nuid) {
    const manager = await its.nats.jetstreamManager();
    const { state } = await manager.streams.info(STREAM, { subjects_filter: chunksOf({ nuid }) });
    return state.subjects !== undefined;
  }

  // Another gateway on its NATS, whose objects get their names when these are released.
  async function behindWire(t, args = []) {
    const url = new URL(embeddedUrl(its.parley));
    const wire = await NatsWire.to(url.href);
    atEnd(t, () => wire.close());
    url.port = new URL(wire.url).port;
    const parley = await parleyFor(t, { nats: url.href.replace(/\/$/, ''), args });
    const isName = ({ kind, subject }) => kind === 'publish' && subject.startsWith(`$O.${BUCKET}.M.`);
    return { parley, held: wire.hold(isName) };
  }

  it('that another gateway has stored meanwhile leaves only the chunks of that one', async (t) => {
    const query = '?agent=rival';
    const { id } = assertStored(await upload(its.parley, text, { query }));
    const info = (await objectsOf(its.nats)).find(({ name }) => name === `rival/${id}`);
    const name = await writeLater(info, 'RIVAL');
    await (await its.nats.jetstream().views.os(BUCKET)).delete(info.name);
    // A gateway whose object gets its name after that of the other one.
    const { parley, held } = await behindWire(t);
    const sending = upload(parley, text, { query });
    const { body } = await held.reached('the name of its own');
    const [, own] = body.match(/"nuid": ?"(\w+)"/);
    assert.ok(await hasChunks(own));
    await name();
    held.release();
    assertStored(await sending);
    await until('its own chunks are gone', async () => !(await hasChunks(own)));
    assert.ok(await hasChunks('RIVAL'));
    assert.ok((await read(its.nats, info.name)) === data);
  });

  it('is not answered before NATS has stored it, though it says that it is storing it', async (t) => {
    const query = '?agent=slow';
    const first = JSON.stringify(checkpoint(1.1 * MIB));
    const before = `slow/${assertStored(await upload(its.parley, first, { query })).id}`;
    const { parley, held } = await behindWire(t, ['--checkpoints-keep', '1']);
    const sending = upload(parley, text, { query });
    const { reply } = await held.reached('its name');
    // So nats-server 2.10 answers what comes again while its first copy is replicated.
    its.nats.publish(reply, JSON.stringify({ stream: STREAM, seq: 0, duplicate: true }));
    await until('it is published again', () => held.count === 2);
    held.release();
    const { id } = assertStored(await sending);
    await until('it is the only one', async () => {
      const names = (await objectsOf(its.nats)).map(({ name }) => name);
      return !names.includes(before);
    });
    assert.ok((await read(its.nats, `slow/${id}`)) === data);
  });

  it('that a client of NATS has marked as deleted is stored again', async () => {
    const query = '?agent=mark';
    const { id } = assertStored(await upload(its.parley, text, { query }));
    const info = (await objectsOf(its.nats)).find(({ name }) => name === `mark/${id}`);
    const mark = headers();
    mark.set('KV-Operation', 'DEL');
    await its.nats.jetstream().publish(metaOf(info), '', { headers: mark });
    assertStored(await upload(its.parley, text, { query }));
    assert.ok((await read(its.nats, info.name)) === data);
  });

  it('that another program replaces loses its chunks with the next upload', async () => {
    const { id } = assertStored(await upload(its.parley, text, { query: '?agent=old' }));
    const info = (await objectsOf(its.nats)).find(({ name }) => name === `old/${id}`);
    const name = await writeLater(info, 'LATER');
    await name();
    let number = 0;
    await until('the worker that wrote the first one has written another', async () => {
      const body = JSON.stringify(checkpoint(1.1 * MIB, { metadata: { wal_sequence: ++number } }));
      assertStored(await upload(its.parley, body, { query: '?agent=other' }));
      return !(await hasChunks(info.nuid));
    });
    assert.ok((await read(its.nats, info.name)) === data);
  });

  it('of nobody in particular is one of `_`', async () => {
    const { id } = assertStored(await upload(its.parley, text, { query: '' }));
    assert.ok((await read(its.nats, `_/${id}`)) === data);
  });

  it('is valid without the warning that NATS would not take it', async () => {
    const large = JSON.stringify(checkpoint(9 * MIB));
    const { json } = await post(its.parley, '/v1/supervisor/validate', large);
    assert.deepEqual(json.violations.map(({ rule }) => rule), ['IPC-101']);
  });

  it('is never a pointer to nothing: answered as a batch of one, it has to fit', async () => {
    const before = await held(its.nats);
    const large = JSON.stringify(checkpoint(9 * MIB));
    const headers = { Accept: 'application/x-ndjson' };
    const answer = await upload(its.parley, large, { headers });
    assert.equal(answer.lines[0].problem.type, '/problems/too-large', answer.text.slice(0, 500));
    assert.match(answer.lines[0].problem.detail, /A checkpoint may be larger if it is sent alone/);
    const fitting = await upload(its.parley, text, { headers, query: '?agent=zoe' });
    const stored = await storedMessage(its.nats, fitting.lines[0].seq, 'SUPERVISOR');
    assert.ok(stored.payload.toString() === text && !stored.headers['parley-object']);
    assert.deepEqual(await held(its.nats), before);
  });

  it('that breaks a rule is not stored', async () => {
    const before = await held(its.nats);
    const answer = await upload(its.parley, JSON.stringify({ ...message, version: 3 }));
    assertProblem(answer, 422, 'invalid-message');
    assert.deepEqual(await held(its.nats), before);
  });
});

it('one for which there is no room is refused before any of it is stored', async (t) => {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const client = await natsClient(t, nats.url);
  const subjects = ['C', 'M'].map((kind) => `$O.${BUCKET}.${kind}.>`);
  const limits = { max_bytes: 2 * MIB, discard: 'new', allow_rollup_hdrs: true };
  const manager = await client.jetstreamManager();
  await manager.streams.add({ name: STREAM, subjects, ...limits });
  const parley = await parleyFor(t, { nats: nats.url });
  const refused = await upload(parley, JSON.stringify(checkpoint(3 * MIB)));
  const { detail } = assertProblem(refused, 503, 'bus-unavailable');
  assert.match(detail, /room for 2097152 more bytes/);
  assert.deepEqual(await held(client), [0, 0]);
  assertStored(await upload(parley, JSON.stringify(checkpoint(1.2 * MIB))));
});

it('the oldest of an agent goes with one too many', async (t) => {
  const parley = await parleyFor(t, { args: ['--checkpoints-keep', '2'] });
  const client = await natsClient(t, embeddedUrl(parley));
  const names = [];
  for (const [agent, wal_sequence] of [['ada', 1], ['bob', 1], ['ada', 2], ['ada', 3]]) {
    const bytes = 2.2 * MIB; // that are removed in two pieces
    const text = JSON.stringify(checkpoint(bytes, { metadata: { wal_sequence } }));
    const { id } = assertStored(await upload(parley, text, { query: `?agent=${agent}` }));
    names.push(`${agent}/${id}`);
  }
  const left = names.slice(1).sort();
  await until('the first one is gone, chunks and all', async () => {
    const infos = await objectsOf(client);
    const [messages] = await held(client);
    const isRight = messages === infos.reduce((sum, { chunks }) => sum + chunks + 1, 0);
    return isRight && String(infos.map(({ name }) => name).sort()) === String(left);
  });
  assert.ok(await read(client, names[3]));
});

it('of many agents that upload at the same time the newest of each is kept', async (t) => {
  const parley = await parleyFor(t, { args: ['--checkpoints-keep', '1'] });
  const client = await natsClient(t, embeddedUrl(parley));
  const agents = Array.from({ length: 24 }, (_, i) => `agent-${i + 10}`);
  let names;
  for (let wal_sequence = 1; wal_sequence <= 3; wal_sequence++) {
    const text = JSON.stringify(checkpoint(1.1 * MIB, { metadata: { wal_sequence } }));
    const uploads = agents.map(async (agent) => {
      const { id } = assertStored(await upload(parley, text, { query: `?agent=${agent}` }));
      return `${agent}/${id}`;
    });
    names = await Promise.all(uploads);
  }
  await until('all others are gone', async () => {
    const left = await objectsOf(client);
    return String(left.map(({ name }) => name).sort()) === String(names);
  });
});

it('a fleet with a subject prefix has a store of its own', async (t) => {
  const parley = await parleyFor(t, { args: ['--subject-prefix', 'supervisor=fleet-a'] });
  const message = checkpoint(2 * MIB);
  const { id } = assertStored(await upload(parley, JSON.stringify(message)));
  const client = await natsClient(t, embeddedUrl(parley));
  const text = await read(client, `ada/${id}`, `${BUCKET}_fleet-a`);
  assert.ok(text === JSON.stringify(message.data));
});

it('a client cannot send a pointer', async (t) => {
  const parley = await parleyFor(t);
  const data = { $object: 'ada/1', size: 1, digest: 'SHA-256=x' };
  const answer = await upload(parley, JSON.stringify(checkpoint(0, { data })));
  const { violations } = assertProblem(answer, 422, 'invalid-message');
  assert.deepEqual([violations[0].rule, violations[0].path], ['IPC-017', '/data/$object']);
});
