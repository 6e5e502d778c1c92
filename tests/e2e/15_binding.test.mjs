// SPDX-License-Identifier: Apache-2.0
// What is a token's own: its Idempotency-Keys, and the agent in whose name it speaks and reads.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { get, post, readStream, send, sendLines, streamFor, validate } from './lib/http.mjs';
import { FRAMES_TYPE, framesOf } from './lib/frames.mjs';
import { connectNats, embeddedUrl, storedMessage } from './lib/nats.mjs';
import { parseMetrics, valueOf } from './lib/metrics.mjs';
import { parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { taskRequest } from './lib/roundtable.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';
import { nextTask } from './lib/work.mjs';

describe('an Idempotency-Key', () => {
  let server;
  let nats;
  let alice;
  let bob;
  const keyed = (token, key) => bearer(token, { 'Idempotency-Key': key });
  before(async () => {
    const file = join(temporaryFolder(), 'tokens.json');
    alice = await createToken(file, 'alice', 'send:*,read:*');
    bob = await createToken(file, 'bob', 'send:*,read:*');
    server = await startParley({ args: ['--tokens', file] });
    nats = await connectNats(embeddedUrl(server));
  });
  after(async () => {
    await nats?.close();
    await server?.stop();
  });

  it('is its token\'s: another token uses the same one for another message', async () => {
    const first = assertAccepted(await send(server, claim(), keyed(alice, 'nightly-1')));
    const message = claim();
    const other = assertAccepted(await send(server, message, keyed(bob, 'nightly-1')));
    assert.deepEqual([other.duplicate, other.seq], [false, first.seq + 1]);
    assert.equal((await storedMessage(nats, other.seq)).headers['nats-msg-id'], 'key:bob:nightly-1');
    assert.equal(assertAccepted(await send(server, message, keyed(bob, 'nightly-1'))).duplicate, true);
    assertProblem(await send(server, claim(), keyed(bob, 'nightly-1')), 409, 'id-reused');
  });

  it('of another\'s batch cannot be used up beforehand', async () => {
    assertAccepted(await send(server, claim(), keyed(bob, 'a:1')));
    assertAccepted(await send(server, claim(), keyed(bob, 'alice:a:1')));
    const { lines } = await sendLines(server, `${JSON.stringify(claim())}\n`, keyed(alice, 'a'));
    assert.equal(lines[0].status, 'accepted');
    const stored = await storedMessage(nats, lines[0].seq);
    assert.equal(stored.headers['nats-msg-id'], 'key:alice:a:1');
  });

  it('of one token gives it the same task again, and another token another', async () => {
    for (const task of ['a.x', 'a.y']) {
      const sent = JSON.stringify(taskRequest(task));
      assert.equal((await post(server, '/v1/roundtable/messages', sent, bearer(alice))).status, 200);
    }
    const taskOf = async (token) => {
      const answer = await nextTask(server, 'galahad', { key: 'k', ...bearer(token) });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.task.payload.task;
    };
    assert.equal(await taskOf(alice), 'a.x');
    assert.equal(await taskOf(bob), 'a.y');
    assert.equal(await taskOf(alice), 'a.x');
  });
});

describe('a token that is bound to an agent', () => {
  const forbidden = (answer, said) => {
    assertProblem(answer, 403, 'forbidden');
    const [violation] = answer.json.violations;
    assert.equal(violation.rule, 'GW-102');
    assert.equal(violation.severity, 'error');
    assert.equal(violation.message, said);
    return violation;
  };

  it('speaks for that one alone, in every protocol', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const token = await createToken(file, 'a', 'send:*', '--agent', 'alice');
    const server = await parleyFor(t, { args: ['--tokens', file] });
    assert.equal((await get(server, '/v1/whoami', bearer(token))).json.agent, 'alice');
    const own = claim({ sender: 'alice' });
    const other = claim({ sender: 'bob' });
    assertAccepted(await send(server, own, bearer(token)));
    const violation = forbidden(await send(server, other, bearer(token)),
      'the sender is "bob", and this token speaks for "alice" only');
    assert.equal(violation.path, '/sender');
    const verdict = (await validate(server, other, bearer(token))).json;
    assert.deepEqual([verdict.valid, verdict.subject, verdict.violations[0].rule],
      [false, null, 'GW-102']);
    const { lines } = await send(server, [own, other, { ...other, id: undefined }], bearer(token));
    assert.deepEqual(lines.slice(0, 3).map(({ status: s }) => s), ['duplicate', 'invalid', 'invalid']);
    assert.deepEqual(lines[2].violations.map(({ rule }) => rule), ['GW-102', 'VLP-001']);

    const heartbeat = (from) => JSON.stringify({ id: crypto.randomUUID(), version: '1.0', type: 'heartbeat',
      from, timestamp: '2025-12-14T10:30:00Z', payload: { status: 'ok' } });
    const table = (from) => post(server, '/v1/roundtable/messages', heartbeat(from), bearer(token));
    assert.equal((await table('alice')).status, 200);
    assert.equal(forbidden(await table('bob'), 'the sender is "bob", and this token speaks for "alice" only').path, '/from');

    const note = (from, to) => `---\nsubject: "INFO: é"\nto: [carol]\nfrom: ${from}\nthread_id: COORD-abc\n` +
      `${to}---\n# Information\n\nIt is back.\n`;
    const write = (text, query = '') => post(server, `/v1/brenner/messages${query}`, text,
      { type: 'text/markdown', ...bearer(token) });
    assert.equal((await write(note('alice', ''))).status, 200);
    forbidden(await write(note('alice\nsender_name: bob', '')),
      'the sender is "bob", and this token speaks for "alice" only');
    const json = JSON.stringify({ subject: 'INFO: a', body_md: 'b', from: 'alice', sender_name: 'bob' });
    assert.equal(forbidden(await post(server, '/v1/brenner/messages', json, bearer(token)),
      'the sender is "bob", and this token speaks for "alice" only').path, '/sender_name');
    assert.equal((await write(note('alice\nsender_name: alice', ''))).status, 200);
    const { id, ...rest } = other;
    for (const [what, at, answer] of [
      ['lines', { line: 1, column: 104 }, send(server, { ...other, id: 'MSG-0000000a-1' }, bearer(token))],
      ['pretty', { line: 6, column: 13 },
        post(server, '/v1/vlp/messages', JSON.stringify(other, null, 2), bearer(token))],
      ['stamped', { line: 5, column: 13 },
        post(server, '/v1/vlp/messages?stamp=true', JSON.stringify(rest, null, 2), bearer(token))],
      ['Markdown', { line: 4, column: 7 }, write(note('bob', ''))],
      ['Markdown, stamped', { line: 4, column: 7 }, write(note('bob', ''), '?stamp=true')],
      ['Markdown that breaks other rules too', { line: 4, column: 7 }, write(note('bob', 'ack_required: 1\n'))],
      ['Supervisor', { line: 1, column: 1 },
        post(server, '/v1/supervisor/messages?agent=bob', '{"type":"heartbeat","timestamp":1}', bearer(token))],
    ]) {
      const { violations } = assertProblem(await answer, 403, 'forbidden');
      assert.deepEqual([violations[0].rule, violations[0].at], ['GW-102', at], what);
    }

    const beat = JSON.stringify({ type: 'heartbeat', timestamp: 1 });
    const supervise = (query) => post(server, `/v1/supervisor/messages${query}`, beat, bearer(token));
    assert.equal((await supervise('?agent=alice')).status, 200);
    forbidden(await supervise('?agent=bob'), 'the sender is "bob", and this token speaks for "alice" only');
    forbidden(await supervise(''), 'no sender is named, and this token speaks for "alice" only');
  });

  it('is the one whose work a Brenner body claims or hands over', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const token = await createToken(file, 'a', 'send:brenner', '--agent', 'BlueLake');
    const server = await parleyFor(t, { args: ['--tokens', file] });
    const path = '/v1/brenner/messages';
    const claimOf = (...agents) => `# Claim\n\n## Item\nbd-1\n\n${agents.map((agent) => `## Agent\n${agent}\n`).join('\n')}`;
    const handOff = (from) => `# Handoff\n\n## From\n${from}\n\n## To\nRedLake\n\n## Item\nbd-1\n\n## State\nok\n`;
    const inJson = (subject, body_md) =>
      post(server, path, JSON.stringify({ subject, from: 'BlueLake', body_md }), bearer(token));
    const inMarkdown = (subject, body) =>
      post(server, path, `---\nsubject: "${subject}"\nfrom: BlueLake\n---\n${body}`, { type: 'text/markdown', ...bearer(token) });
    const says = (heading, name) => `\`${heading}\` is "${name}", and this token speaks for "BlueLake" only`;
    for (const write of [inJson, inMarkdown]) {
      assert.equal((await write('CLAIM: bd-1', claimOf('BlueLake'))).status, 200);
      assert.equal((await write('HANDOFF: bd-1', handOff('BlueLake'))).status, 200);
      assert.equal((await write('INFO: bd-1', claimOf('RedForest'))).status, 200);
    }
    for (const [subject, body, line, said] of [
      ['CLAIM: bd-1', claimOf('RedForest'), 6, says('## Agent', 'RedForest')],
      ['CLAIM: bd-1', claimOf('BlueLake', 'RedForest'), 9, says('## Agent', 'RedForest')],
      ['HANDOFF: bd-1', handOff('Stranger'), 3, says('## From', 'Stranger')],
    ]) {
      const json = forbidden(await inJson(subject, body), said);
      assert.deepEqual([json.path, json.body_at], ['/body_md', { line, column: 1 }]);
      const markdown = forbidden(await inMarkdown(subject, body), said);
      assert.deepEqual([markdown.path, markdown.at], ['/body_md', { line: line + 4, column: 1 }]);
    }
    const many = [['CLAIM: a', claimOf('BlueLake')], ['CLAIM: a', claimOf('RedForest')]]
      .map(([subject, body_md]) => JSON.stringify({ subject, from: 'BlueLake', body_md })).join('\n');
    const { lines } = await post(server, path, many, { type: 'application/x-ndjson', ...bearer(token) });
    assert.deepEqual(lines.slice(0, 2).map(({ status }) => status), ['accepted', 'invalid']);
    assert.deepEqual(lines[1].violations.map(({ rule }) => rule), ['GW-102']);
  });

  it('is every one with --bind-sender, by its name', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const alice = await createToken(file, 'alice', 'send:vlp');
    const proxy = await createToken(file, 'proxy', 'send:vlp', '--agent', 'The Observer');
    const server = await parleyFor(t, { args: ['--tokens', file, '--bind-sender'] });
    assertAccepted(await send(server, claim({ sender: 'alice' }), bearer(alice)));
    forbidden(await send(server, claim({ sender: 'proxy' }), bearer(proxy)),
      'the sender is "proxy", and this token speaks for "The Observer" only');
    assertAccepted(await send(server, claim({ sender: 'The Observer' }), bearer(proxy)));
  });

  it('is the one that asks for a task', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const alice = await createToken(file, 'alice', 'send:roundtable,read:roundtable');
    const sender = await createToken(file, 'sender', 'send:roundtable');
    const server = await parleyFor(t, { args: ['--tokens', file, '--bind-sender'] });
    const next = (agent, token) => nextTask(server, agent, { wait: 300, ...bearer(token) });
    forbidden(await next('bob', alice), 'the sender is "bob", and this token speaks for "alice" only');
    assertProblem(await next('sender', sender), 403, 'forbidden');
    assert.equal((await nextTask(server, 'alice', bearer(alice))).status, 204);
  });

  it('is asked for again before a request that waits is given a task', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const config = join(temporaryFolder(), 'parley.conf');
    const proxy = await createToken(file, 'proxy', 'send:roundtable,read:roundtable');
    const meter = await createToken(file, 'meter', 'metrics');
    writeFileSync(config, '');
    const server = await parleyFor(t, { args: ['--tokens', file, '--config', config] });
    const waits = nextTask(server, 'alice', { wait: 300, ...bearer(proxy) });
    await until('it waits', async () =>
      valueOf(parseMetrics((await get(server, '/metrics', bearer(meter))).text), 'parley_tasks_waiting') === 1);
    writeFileSync(config, 'bind-sender: true\n');
    server.signal('SIGHUP');
    await until('it is bound', async () => (await get(server, '/v1/whoami', bearer(proxy))).json.agent === 'proxy');
    const asked = JSON.stringify(taskRequest('a.x', { from: 'proxy' }));
    assert.equal((await post(server, '/v1/roundtable/messages', asked, bearer(proxy))).status, 200);
    forbidden(await waits, 'the sender is "alice", and this token speaks for "proxy" only');
    assert.equal((await nextTask(server, 'proxy', bearer(proxy))).status, 200);
  });
});

describe('a token that is bound to an agent of the supervisor', () => {
  let server;
  let nats;
  let all;
  let bob;
  const entry = (sequence) => ({ operation: 'state_update', params: {}, sequence });
  const data = { state: 'secret' };
  const messages = [
    ['gerbil', { type: 'heartbeat', timestamp: 1705392000 }],
    ['gerbil', { type: 'checkpoint', timestamp: 1705392001, data }],
    ['gerbil', { type: 'wal_entry', timestamp: 1705392002, data: entry(1) }],
    ['gerbil', { type: 'wal_batch', timestamp: 1705392003, data: [entry(2), entry(3)] }],
    ['elixir', {
      type: 'restore', timestamp: 1705392004, checkpoint_id: randomUUID(), snapshot: data, wal_entries: [entry(1)],
    }],
  ];
  const everything = messages.map(([, { type }]) => type);
  const say = async (agent, side, message) => {
    const answer = await post(server, `/v1/supervisor/messages?agent=${agent}&from=${side}`,
      JSON.stringify(message), bearer(all));
    assert.equal(answer.status, 200, answer.text);
  };
  const read = async (token, query, path = '/v1/supervisor/stream') =>
    readStream(server, `${path}?since=all&follow=false${query}`, bearer(token));
  const seen = ({ source, type }) => [source.split('/')[2], type.split('.')[1]].join(' ');
  const wanted = ['alice heartbeat', ...everything.map((type) => `bob ${type}`)];
  before(async () => {
    const file = join(temporaryFolder(), 'tokens.json');
    all = await createToken(file, 'all', 'send:*,read:*');
    bob = await createToken(file, 'b', 'send:*,read:*', '--agent', 'bob');
    server = await startParley({ args: ['--tokens', file] });
    nats = await connectNats(embeddedUrl(server));
    for (const agent of ['alice', 'bob']) {
      for (const [side, message] of messages) await say(agent, side, message);
    }
    // Nobody's checkpoint, and one of Alice that is not valid.
    const [, [, own]] = messages;
    await nats.jetstream().publish('supervisor._.gerbil.checkpoint', JSON.stringify(own));
    await nats.jetstream().publish('supervisor.alice.gerbil.checkpoint', '{"type":"checkpoint","data":{"a":');
  });
  after(async () => {
    await nats?.close();
    await server?.stop();
  });

  it('reads no checkpoint, log or restore of others', async () => {
    const events = (await read(bob, '')).lines;
    assert.deepEqual(events.map(seen), wanted);
    assert.deepEqual((await read(bob, '', '/v1/stream')).lines.map(seen), wanted);
    assert.deepEqual((await read(bob, '&agent=alice')).lines.map(seen), wanted.slice(0, 1));
    assert.deepEqual((await read(bob, '&type=checkpoint,restore')).lines.map(seen),
      ['bob checkpoint', 'bob restore']);
    const bare = (await read(bob, '&envelope=none')).text;
    assert.equal(bare.match(/secret/g).length, 2);
    const every = (await read(all, '')).lines;
    assert.equal(every.length, 2 * messages.length + 2);
    assert.equal(every.filter(({ type }) => type === 'parley.foreign').length, 1);
  });

  it('loses its place, and counts, by nothing that is left out', async () => {
    const first = (await read(bob, '&limit=2')).lines;
    assert.deepEqual(first.map(seen), wanted.slice(0, 2));
    const rest = await readStream(server,
      `/v1/supervisor/stream?follow=false&since=${encodeURIComponent(first[0].resume)}`, bearer(bob));
    assert.deepEqual(rest.lines.map(seen), wanted.slice(1));
  });

  it('gets the same as server-sent events and as frames', async () => {
    const accept = (type) => bearer(bob, { Accept: type });
    const path = '/v1/supervisor/stream?since=all&follow=false';
    const events = (await get(server, path, accept('text/event-stream'))).text
      .split('\n').filter((line) => line.startsWith('data:')).map((line) => JSON.parse(line.slice(5)));
    assert.deepEqual(events.map(seen), wanted);
    const framed = framesOf((await get(server, path, accept(FRAMES_TYPE))).body);
    assert.deepEqual(framed.map(({ type }) => type), ['heartbeat', ...everything]);
  });

  it('gets the same of what is stored while it reads', async (t) => {
    const streams = [];
    for (const query of ['', '&agent=alice,bob', '&since=all']) {
      const stream = await streamFor(t, server, `/v1/supervisor/stream?type=checkpoint,heartbeat${query}`,
        bearer(bob));
      assert.equal(JSON.parse(await stream.line()).type, 'parley.open');
      streams.push(stream);
    }
    for (let i = 0; i < 3; i++) await streams[2].line(); // what is stored already
    for (const [agent, at] of [['alice', 10], ['bob', 11]]) {
      await say(agent, 'gerbil', { type: 'checkpoint', timestamp: at, data });
      await say(agent, 'gerbil', { type: 'heartbeat', timestamp: at });
    }
    for (const stream of streams) {
      const events = [];
      while (events.length < 3) {
        const line = await stream.line();
        if (line && !line.includes('parley.keepalive')) events.push(JSON.parse(line));
      }
      assert.deepEqual(events.map(seen), ['alice heartbeat', 'bob checkpoint', 'bob heartbeat']);
    }
  });

  it('reads on for its new agent alone, once its binding has changed', async (t) => {
    const config = join(temporaryFolder(), 'parley.conf');
    const tokens = join(temporaryFolder(), 'tokens.json');
    writeFileSync(config, '');
    const token = await createToken(tokens, 'bob', 'read:*,admin');
    const own = await createToken(tokens, 'carol', 'send:*,read:*', '--agent', 'carol');
    const bound = await parleyFor(t, { args: ['--tokens', tokens, '--config', config] });
    const open = async (path, who) => {
      const stream = await streamFor(t, bound, path, bearer(who));
      assert.equal(JSON.parse(await stream.line()).type, 'parley.open');
      return stream;
    };
    const ended = [await open('/v1/supervisor/stream', token), await open('/v1/stream', token)];
    const other = await open('/v1/supervisor/stream', own);
    writeFileSync(config, 'bind-sender: true\n');
    bound.signal('SIGHUP');
    for (const stream of ended) {
      const end = JSON.parse(await stream.line());
      assert.deepEqual([end.type, end.data], ['parley.end', { reason: 'binding-changed' }]);
      assert.equal(await stream.line(), null);
    }
    const beat = JSON.stringify({ type: 'heartbeat', timestamp: 1 });
    const sent = await post(bound, '/v1/supervisor/messages?agent=carol', beat, bearer(own));
    assert.equal(sent.status, 200, sent.text);
    assert.equal(seen(JSON.parse(await other.line())), 'carol heartbeat');
  });

  it('is told when others made a checkpoint, and not which', async () => {
    const agentOf = async (token, name) =>
      (await get(server, `/v1/supervisor/agents/${name}`, bearer(token))).json;
    assert.deepEqual(Object.keys((await agentOf(bob, 'alice')).checkpoint), ['at', 'seq', 'age', 'overdue']);
    for (const [token, name] of [[bob, 'bob'], [all, 'alice']]) {
      assert.deepEqual(Object.keys((await agentOf(token, name)).checkpoint),
        ['at', 'seq', 'id', 'size', 'age', 'overdue']);
    }
    const { items } = (await get(server, '/v1/supervisor/agents', bearer(bob))).json;
    assert.deepEqual(items.map(({ checkpoint }) => 'id' in checkpoint), [false, true]);
  });
});
