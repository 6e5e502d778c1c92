// SPDX-License-Identifier: Apache-2.0
// What was refused is kept in NATS with what is wrong with it, and no answer depends on that. It is
// read back, and checked again.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { authority } from './lib/certificates.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { compress } from './lib/codings.mjs';
import { assertHalted, block, safe, session } from './lib/halts.mjs';
import { get, NDJSON_TYPE, post, send, sendLines, streamFor, validate } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { connectNats, embeddedUrl, natsClient, startNats, storedMessages, streamInfo } from './lib/nats.mjs';
import { BINARY, parley, parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { run, temporaryFolder } from './lib/program.mjs';
import { assertAccepted, assertProblem, brokenClaim, claim, lines } from './lib/vlp.mjs';

const QUARANTINE = { stream: 'REJECTED' };

// Nobody awaits an ack, so it may be stored after the answer.
async function kept(nats, count) {
  await until(`${count} are kept`, async () => {
    const { state } = await streamInfo(nats, 'REJECTED');
    return state.messages === count;
  });
  return storedMessages(nats, QUARANTINE);
}

describe('the quarantine', () => {
  const its = useParley({ args: ['--quarantine'] });

  it('is a stream of a day and 1 GiB, from which the oldest go', async () => {
    const { config } = await streamInfo(its.nats, 'REJECTED');
    assert.deepEqual(config.subjects, ['rejected.>']);
    assert.equal(config.max_age, 24 * 3600 * 1e9);
    assert.equal(config.max_bytes, 1 << 30);
    assert.equal(config.discard, 'old');
    assert.equal((await streamInfo(its.nats, 'VLP')).config.max_bytes, -1);
  });

  it('keeps what was refused, byte for byte, and what is wrong with it', async () => {
    const sent = ` ${JSON.stringify(brokenClaim())}\n`;
    const answer = await send(its.parley, sent, { headers: { 'X-Request-Id': 'my-request' } });
    const { violations } = assertProblem(answer, 422, 'invalid-message');
    const [message] = await kept(its.nats, 1);
    assert.equal(message.subject, 'rejected.vlp');
    assert.equal(message.payload.toString(), sent);
    assert.equal(message.headers['parley-rules'], 'VLP-005');
    assert.equal(message.headers['parley-request'], 'my-request');
    assert.equal(message.headers['content-type'], 'application/json');
    assert.match(message.headers['parley-time'], /^20\d\d-\d\d-\d\dT/);
    const found = JSON.parse(decodeURIComponent(message.headers['parley-violations']));
    assert.deepEqual(found, violations);
    const checked = await parley(['check', 'vlp', '--format', 'ndjson'], { input: message.payload });
    assert.match(checked.stdout, /VLP-005/);
  });

  it('keeps the refused ones of many, as they came out of their compression', async () => {
    const broken = [brokenClaim(), brokenClaim()];
    const body = compress('gzip', lines([claim(), broken[0], claim(), broken[1]]));
    const headers = { 'Content-Encoding': 'gzip' };
    const answer = await sendLines(its.parley, body, { type: NDJSON_TYPE, headers });
    assert.equal(answer.lines.at(-1).summary.invalid, 2);
    const messages = (await kept(its.nats, 3)).slice(1);
    assert.deepEqual(messages.map((one) => JSON.parse(one.payload)), broken);
    assert.deepEqual(messages.map((one) => one.headers['parley-line']), ['2', '4']);
  });

  it('keeps no verdicts, and nothing that was accepted', async () => {
    assertAccepted(await send(its.parley, claim()));
    assert.equal((await validate(its.parley, brokenClaim())).json.valid, false);
    assertProblem(await send(its.parley, brokenClaim()), 422, 'invalid-message');
    await kept(its.nats, 4);
  });

  it('keeps what a halt refuses, one or among many, and says so; its rules are not checked again', async () => {
    const halted = session();
    assertAccepted(await send(its.parley, block(halted)));
    const sent = safe(halted);
    const { detail } = await assertHalted(its.parley, sent);
    await sendLines(its.parley, lines([claim(), safe(halted)]), { type: NDJSON_TYPE });
    const messages = (await kept(its.nats, 6)).slice(4);
    assert.deepEqual(messages.map((one) => one.headers['parley-problem']), ['halted', 'halted']);
    assert.deepEqual(messages.map((one) => one.headers['parley-line']), [undefined, '2']);
    const { lines: events, text } = await get(its.parley, '/v1/rejected/stream?since=5&follow=false');
    const { problem, detail: told, data, rules, violations } = events[0];
    assert.deepEqual([problem, told, data, rules, violations], ['halted', detail, sent, undefined, undefined]);
    const checked = await parley(['check', 'vlp', '--rejected', '-'], { input: text });
    assert.deepEqual([checked.code, checked.stdout], [0, '']);
  });
});

describe('what was refused', () => {
  const its = useParley({ args: ['--quarantine'] });
  const unearned = claim({ type: 'notice', confidence: 0.95, content: 'it is so' });
  const sent = [];

  const read = (query, options) => get(its.parley, `/v1/rejected/stream?${query}`, options);
  const recheck = (protocol, input, ...args) =>
    parley(['check', ...args, protocol, '--rejected', '-'], { input });

  async function refuse(message, { protocol = 'vlp', ...options } = {}) {
    const { query = '', type, headers } = options;
    const path = `/v1/${protocol}/messages${query}`;
    const body = Buffer.isBuffer(message) ? message : JSON.stringify(message);
    const { violations } = assertProblem(
      await post(its.parley, path, body, { type, headers }), 422, 'invalid-message');
    sent.push(violations);
    await kept(its.nats, sent.length);
  }

  it('is read as it comes and from the past, as events with what is wrong', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/rejected/stream');
    const message = brokenClaim();
    await refuse(message, { headers: { 'X-Request-Id': 'my-request' } });
    const [live] = await stream.events(1);
    const { violations, resume, time, recordedtime, ...rest } = live;
    assert.deepEqual(rest, {
      specversion: '1.0',
      id: 'REJECTED:1',
      source: '/rejected',
      type: 'parley.rejected',
      subject: 'rejected.vlp',
      datacontenttype: 'application/json',
      sequence: '1',
      rules: 'VLP-005',
      request: 'my-request',
      data: message,
    });
    assert.deepEqual(JSON.parse(violations), sent[0]);
    assert.match(resume, /^REJECTED:.+:1$/);
    for (const moment of [time, recordedtime]) assert.match(moment, /^20\d\d-\d\d-\d\dT/);

    await refuse(Buffer.from('\x80', 'latin1'),
      { protocol: 'supervisor', type: 'application/msgpack' });
    await refuse(unearned, { query: '?strict=true' });
    const [event, ...more] = (await read(`since=${resume}&limit=1&follow=false`)).lines;
    assert.equal(event.data_base64, 'gA==');
    assert.equal(event.datacontenttype, 'application/msgpack');
    assert.deepEqual(more, []);
    const bare = await read('since=3&follow=false&envelope=none');
    assert.deepEqual(bare.lines, [unearned]);
    const sse = await read('since=3&limit=1', { headers: { Accept: 'text/event-stream' } });
    assert.match(sse.text, /^retry: 2000\nid: .*\n\nid: REJECTED:.+:3\ndata: {.*}\n\n$/s);
  });

  it('is not filtered, and is read with its own tokens', async () => {
    const rows = [['type=claim', /takes since, follow/], ['since=VLP:2026-01-01T00:00:00Z:1', /REJECTED/]];
    for (const [query, pattern] of rows) {
      assert.match(assertProblem(await read(query), 400, 'invalid-parameter').detail, pattern);
    }
    const all = await get(its.parley, '/v1/stream?since=all&follow=false');
    assert.equal(all.text, '');
  });

  it('is checked again with the rules of now', async () => {
    const { text } = await read('since=all&follow=false');
    const vlp = await recheck('vlp', text);
    assert.equal(vlp.code, 1, vlp.stderr);
    assert.match(vlp.stdout, /^REJECTED:1:1:\d+: error VLP-005 \/sender/m);
    assert.match(vlp.stdout, /^REJECTED:3: would pass now; it was refused for VLP-012$/m);
    assert.match(vlp.stderr, /2 messages, 1 invalid/);
    assert.doesNotMatch((await recheck('vlp', text, '--strict')).stdout, /would pass/);

    const supervisor = await recheck('supervisor', text, '--format', 'ndjson');
    assert.equal(supervisor.code, 1, supervisor.stderr);
    const [verdict, { summary }] = supervisor.stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.equal(verdict.file, 'REJECTED:2');
    assert.deepEqual(verdict.violations.map(({ rule }) => rule), sent[1].map(({ rule }) => rule));
    assert.deepEqual(summary, { received: 1, valid: 0, invalid: 1 });

    const none = await recheck('brenner', text);
    assert.equal(none.code, 0, none.stderr);
    const last = text.trim().split('\n').at(-1);
    assert.equal((await recheck('vlp', last)).code, 0);
  });
});

// As docs/api.md has it, which is what replaces a client in parley.
describe('curl … | parley check --rejected', () => {
  const script = 'set -o pipefail; curl -fsS "$@" | "$PARLEY" check vlp --rejected';
  const check = (server, ...args) =>
    run('bash', ['-c', script, 'bash', ...args, `${server}/v1/rejected/stream?since=all&follow=false`],
      { env: { PARLEY: BINARY } });

  async function assertFails(server, args, status, words) {
    const { code, stdout, stderr } = await check(server, ...args);
    assert.equal(code, status, stderr);
    assert.equal(stdout, '');
    assert.match(stderr, words);
  }

  it('reads what a server has kept, over TLS and with a token', async (t) => {
    const folder = temporaryFolder();
    const tokens = join(folder, 'tokens.json');
    const create = async (name, allow) => {
      const args = ['token', 'create', '--tokens', tokens, '--name', name, '--allow', allow];
      return (await parley(args)).stdout.trim();
    };
    const { ca, issue } = await authority();
    const { cert, key } = await issue('server', 'DNS:localhost,IP:127.0.0.1');
    const sender = await create('ci', 'send:vlp');
    const header = join(folder, 'header');
    writeFileSync(header, `Authorization: Bearer ${await create('ops', 'admin')}`);
    const args = ['--quarantine', '--tokens', tokens, '--tls-cert', cert, '--tls-key', key];
    const server = await parleyFor(t, { args, tls: { ca: readFileSync(ca) } });
    const headers = { Authorization: `Bearer ${sender}` };
    assertProblem(await send(server, brokenClaim(), { headers }), 422, 'invalid-message');
    await kept(await natsClient(t, embeddedUrl(server)), 1);
    const { code, stdout, stderr } = await check(server.url, '--cacert', ca, '-H', `@${header}`);
    assert.equal(code, 1, stderr);
    assert.match(stdout, /^REJECTED:1:1:\d+: error VLP-005/m);
    assert.match(stderr, /1 message, 1 invalid/);
    await assertFails(server.url, ['--cacert', ca], 22, /401/);
    await assertFails(server.url, ['-H', `@${header}`], 60, /certificate/);
  });

  it('fails if there is no answer, or only a part of one', async (t) => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n';
    const cut = net.createServer((socket) => {
      socket.once('data', () => socket.end(head));
    });
    await new Promise((resolve) => { cut.listen(0, '127.0.0.1', resolve); });
    const { port } = cut.address();
    await assertFails(`http://127.0.0.1:${port}`, [], 18, /outstanding|transfer closed/);
    await new Promise((resolve) => { cut.close(resolve); });
    await assertFails(`http://127.0.0.1:${port}`, [], 7, /connect/);
    await assertFails((await parleyFor(t)).url, [], 22, /503/);
  });
});

describe('the quarantines of several fleets on one NATS', () => {
  const FLEETS = [
    [[], 'REJECTED', 'rejected.>'],
    [['--subject-prefix', 'vlp=fleet-a'], 'REJECTED_FLEET-A', 'rejected_fleet-a.>'],
    [['--subject-prefix', 'vlp=fleet-b,supervisor=s'], 'REJECTED_FLEET-B~S', 'rejected_fleet-b~s.>'],
  ];

  it('are not seen by each other', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const client = await natsClient(t, nats.url);
    const fleets = [];
    for (const [args, stream, subjects] of FLEETS) {
      const server = await parleyFor(t, { nats: nats.url, args: ['--quarantine', ...args] });
      fleets.push({ server, stream });
      assert.deepEqual((await streamInfo(client, stream)).config.subjects, [subjects]);
      assertProblem(await send(server, brokenClaim({ content: stream })), 422, 'invalid-message');
    }
    for (const { server, stream } of fleets) {
      await until('it is kept', async () => (await streamInfo(client, stream)).state.messages === 1);
      const [event, ...others] = (await get(server, '/v1/rejected/stream?since=all&follow=false')).lines;
      assert.deepEqual(others, []);
      assert.equal(event.data.content, stream);
      assert.equal(event.subject, `${stream.toLowerCase()}.vlp`);
      assert.equal(event.id, `${stream}:1`);
      assert.equal(event.source, '/rejected');
      const rest = await get(server, `/v1/rejected/stream?follow=false&since=${event.resume}`);
      assert.deepEqual([rest.status, rest.text], [200, '']);
      const { stdout } = await parley(['check', 'vlp', '--rejected'], { input: JSON.stringify(event) });
      assert.match(stdout, new RegExp(`^${stream}:1:1:\\d+: error VLP-005`, 'm'));
    }
  });

  it('are one where the fleet is one', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const client = await natsClient(t, nats.url);
    const options = { nats: nats.url, args: ['--quarantine', '--subject-prefix', 'vlp=fleet-a'] };
    const [first, second] = [await parleyFor(t, options), await parleyFor(t, options)];
    assertProblem(await send(first, brokenClaim()), 422, 'invalid-message');
    await until('it is kept', async () =>
      (await streamInfo(client, 'REJECTED_FLEET-A')).state.messages === 1);
    assert.equal((await get(second, '/v1/rejected/stream?since=all&follow=false')).lines.length, 1);
  });
});

it('without --quarantine there is none, and reading it says so', async (t) => {
  const server = await parleyFor(t);
  const nats = await natsClient(t, embeddedUrl(server));
  assertProblem(await send(server, brokenClaim()), 422, 'invalid-message');
  await assert.rejects(streamInfo(nats, 'REJECTED'), /stream not found/);
  const answer = await get(server, '/v1/rejected/stream');
  assert.match(assertProblem(answer, 503, 'bus-unavailable').detail, /--quarantine/);
});

it('answers are the same when its stream is gone', async (t) => {
  const server = await parleyFor(t, { args: ['--quarantine'] });
  const nats = await connectNats(embeddedUrl(server));
  await (await nats.jetstreamManager()).streams.delete('REJECTED');
  for (let i = 0; i < 5; i++) {
    assertProblem(await send(server, brokenClaim()), 422, 'invalid-message');
    assertAccepted(await send(server, claim()));
  }
  await until('it is there again', () => streamInfo(nats, 'REJECTED'));
  await nats.close();
});

// An account of NATS with less room than the stream reserves.
async function smallNats(t) {
  const file = join(temporaryFolder(), 'nats.conf');
  writeFileSync(file, `accounts { A { jetstream { max_file: 64M }, users: [ { user: all, password: x } ] } }`);
  const nats = await startNats({ args: ['-c', file] });
  atEnd(t, () => nats.stop());
  return nats.url.replace('nats://', 'nats://all:x@');
}

it('without room for it everything else works, and it is tried again', async (t) => {
  const nats = await smallNats(t);
  const server = await parleyFor(t, { nats, args: ['--quarantine', '--reactors', '1'] });
  const why = /stream REJECTED .*cannot be created.*what is refused is not kept meanwhile/;
  const isDropped = async () =>
    valueOf(await metricsOf(server), 'parley_rejected_messages_total', { outcome: 'dropped' });
  assertAccepted(await send(server, claim()));
  assertProblem(await send(server, brokenClaim()), 422, 'invalid-message');
  const isUsable = async () =>
    valueOf(await metricsOf(server), 'parley_jetstream_usable', { stream: 'REJECTED' });
  assert.equal(await isDropped(), 1);
  assert.equal(await isUsable(), 0);
  const ready = await get(server, '/readyz');
  assert.equal(ready.status, 200);
  assert.match(ready.text, /^ready\nbut: .+\n$/);
  assert.match(ready.text, why);
  assertProblem(await get(server, '/v1/rejected/stream'), 503, 'bus-unavailable');
  await until('the log says so', () => server.logged('nats.').some(({ msg }) => why.test(msg)));

  const client = await natsClient(t, nats);
  const manager = await client.jetstreamManager();
  await manager.streams.add({ name: 'REJECTED', subjects: ['rejected.>'], max_bytes: 1 << 20 });
  await until('it is used', async () => (await get(server, '/readyz')).text === 'ready\n');
  assertProblem(await send(server, brokenClaim()), 422, 'invalid-message');
  const [message] = await kept(client, 1);
  assert.equal(message.headers['parley-dropped'], '1');
  await until('the metrics say so', async () => (await isUsable()) === 1);
  await until('the log says so', () => server.logged('nats.').length === 2);
});
