// SPDX-License-Identifier: Apache-2.0
// `parley pipe`: frames on standard input and output, over HTTP to a server that may go and come
// back.

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { authority } from './lib/certificates.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { FRAMES_TYPE, frame, frames, framesOf } from './lib/frames.mjs';
import { get, ndjson, post } from './lib/http.mjs';
import { freePorts, startNats } from './lib/nats.mjs';
import { BINARY, parley, parleyFor, startParley, useParley } from './lib/parley.mjs';
import { pipeFor } from './lib/pipe.mjs';
import { until } from './lib/poll.mjs';
import { run, temporaryFolder } from './lib/program.mjs';

// Less than the minute for which an attempt waits if nothing tells it that standard input has ended.
const LIMIT_MS = 59_000;

const beat = (timestamp) => ({ type: 'heartbeat', timestamp });
const entry = (sequence, text = 'naïve ✓') => ({
  type: 'wal_entry',
  timestamp: 1705392000,
  data: { operation: 'state_update', params: { text }, sequence },
});
const checkpoint = (id) => ({ type: 'checkpoint', timestamp: 1705392000, data: { agent_state: { id } } });
const shutdown = (reason) => ({ type: 'shutdown', timestamp: 1705392000, reason });

// The events of an agent and its supervisor, once they can be read.
async function stored(server, agent, headers) {
  const path = `/v1/supervisor/stream?since=all&follow=false&agent=${agent}`;
  const answer = await until('they can be read', async () => {
    const each = await get(server, path, { headers });
    return each.status === 200 && each;
  });
  return ndjson(answer.text);
}

const isStored = (server, agent, count, headers) =>
  until(`${count} messages of ${agent} are stored`, async () => {
    const events = await stored(server, agent, headers);
    return events.length >= count && events;
  });

const start = (t, agent, side, server, ...more) =>
  pipeFor(t, ['--agent', agent, '--from', side, ...more, server.url]);

// One whose stream is open: nothing is sent before.
async function open(t, agent, side, server, ...more) {
  const pipe = start(t, agent, side, server, ...more);
  const count = (await stored(server, agent)).length;
  await pipe.write(frames([side === 'gerbil' ? beat(1) : shutdown('first')]));
  await isStored(server, agent, count + 1);
  return pipe;
}

const assertEnded = ({ code, stderr }) => assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });

// [[frame, code]]: what a pipe has said of the frames of an agent.
const codesOf = (pipe) => pipe.messages.map(({ error }) => [error.details.frame, error.code]);

describe('parley pipe', () => {
  const its = useParley();

  it('connects an agent and its supervisor', async (t) => {
    const agent = await open(t, 'both', 'gerbil', its.parley);
    const supervisor = await open(t, 'both', 'elixir', its.parley);
    const sent = frames([entry(1), entry(2), beat(3)]);
    await supervisor.write(frames([shutdown('so long')]));
    // However its bytes come.
    for (const cut of [[0, 3], [3, 9], [9, 70], [70]]) await agent.write(sent.subarray(...cut));
    await supervisor.reads(3);
    assert.deepEqual(supervisor.bytes, sent, 'as they were sent, and nothing from before');
    assert.deepEqual(await agent.reads(2), [shutdown('first'), shutdown('so long')]);
    for (const pipe of [agent, supervisor]) assertEnded(await pipe.end());
    const subjects = new Set((await stored(its.parley, 'both')).map(({ subject }) => subject));
    assert.deepEqual([...subjects].sort(), [
      'supervisor.both.elixir.shutdown',
      'supervisor.both.gerbil.heartbeat',
      'supervisor.both.gerbil.wal_entry',
    ]);
  });

  for (const [side, other, where] of [
    ['gerbil', 'elixir', 'details'],
    ['elixir', 'gerbil', 'context'],
  ]) {
    it(`answers what is refused of ${side} as ${other} does`, async (t) => {
      const right = side === 'gerbil' ? beat(2) : shutdown('right');
      const pipe = start(t, `wrong-${side}`, side, its.parley);
      const wrong = [{ type: 'heartbeat' }, Buffer.alloc(0), 'text', { ...right, type: 'other' }];
      const bytes = wrong.flatMap((each) => [
        each.length === 0 ? frame(each) : frames([each]),
        frames([right]),
      ]);
      const { code } = await pipe.end(Buffer.concat(bytes));
      assert.equal(code, 0);
      // An empty frame is known to be wrong before the others are sent.
      const errors = pipe.messages.sort((a, b) => a.error[where].frame - b.error[where].frame);
      assert.deepEqual(errors.map(({ error }) => error[where].frame), [1, 3, 5, 7]);
      assert.ok(errors.every(({ type, error }) => type === 'error' && error.code === 'INVALID_MESSAGE'));
      assert.match(errors[0].error.message, /^IPC-002 at \/timestamp: /);
      assert.equal(errors[0].error[where].violations[0].rule, 'IPC-002');
      assert.match(errors[1].error.message, /empty/);
      assert.match(errors[2].error.message, /^GW-006: /);
      assert.match(errors[3].error.message, /^IPC-003 at \/type: /);
      const verdicts = await post(its.parley, `/v1/supervisor/validate?from=${other}`, pipe.bytes, {
        type: FRAMES_TYPE,
      });
      assert.deepEqual(verdicts.lines.at(-1), { summary: { received: 4, valid: 4, invalid: 0 } });
      // Of an agent, the same message is stored once.
      assert.equal((await stored(its.parley, `wrong-${side}`)).length, 1);
    });
  }

  it('passes large frames on whole, among small ones', async (t) => {
    const agent = await open(t, 'large', 'gerbil', its.parley);
    const supervisor = start(t, 'large', 'elixir', its.parley);
    const large = { type: 'hot_reload', timestamp: 2, code: 'z'.repeat(5 << 20), module: 'm' };
    const sent = frames([shutdown('a'), shutdown('b'.repeat(9000)), large, shutdown('c')]);
    assertEnded(await supervisor.end(sent));
    await agent.reads(4);
    assert.deepEqual(agent.bytes, sent);
  });

  it('has large checkpoints kept, and says of large messages what is wrong', async (t) => {
    const supervisor = await open(t, 'vault', 'elixir', its.parley);
    const agent = start(t, 'vault', 'gerbil', its.parley);
    const text = 'z'.repeat(9 << 20); // more than a message of NATS can have
    const kept = { type: 'checkpoint', timestamp: 2, data: { agent_state: { id: text } } };
    const wrong = { type: 'evolution_intent', timestamp: 2, hypothesis: { new_code: text } };
    const { code } = await agent.end(frames([kept, beat(1), wrong, beat(2)]));
    assert.equal(code, 0);
    const [pointer, ...beats] = await supervisor.reads(3);
    assert.ok(pointer.data.$object.startsWith('vault/'), JSON.stringify(pointer));
    assert.deepEqual(beats, [beat(1), beat(2)]);
    const [{ error }] = agent.messages;
    assert.deepEqual([error.code, error.details.frame], ['INVALID_MESSAGE', 3]);
    assert.match(error.message, /^IPC-0/);
  });

  it('brings an agent the acknowledgement of a checkpoint that was sent beside it', async (t) => {
    const agent = await open(t, 'acked', 'gerbil', its.parley);
    const checkpoint = { type: 'checkpoint', timestamp: 7, data: { agent_state: { id: 'a' } } };
    const path = '/v1/supervisor/messages?agent=acked&ack=true';
    for (let i = 0; i < 2; i++) {
      const { ack } = (await post(its.parley, path, JSON.stringify(checkpoint))).json;
      assert.deepEqual(await agent.reads(1), [ack]);
    }
    assertEnded(await agent.end());
    assert.equal(agent.messages.length, 1);
  });

  it('sends many in few requests', async (t) => {
    const all = Array.from({ length: 3000 }, (_, i) => entry(i));
    assertEnded(await start(t, 'many', 'gerbil', its.parley).end(frames(all)));
    const events = await stored(its.parley, 'many');
    assert.deepEqual(events.map(({ data }) => data.data.sequence), all.map((_, i) => i));
  });

  it('begins where --since says', async (t) => {
    const sent = [beat(1), beat(2), entry(3)];
    assertEnded(await start(t, 'since', 'gerbil', its.parley).end(frames(sent)));
    const supervisor = start(t, 'since', 'elixir', its.parley, '--since', 'all');
    assert.deepEqual(await supervisor.reads(3), sent);
    assertEnded(await supervisor.end());
    const { code, stderr } = await start(t, 'a', 'gerbil', its.parley, '--since', 'a b').exit();
    assert.equal(code, 1);
    assert.match(stderr, /^parley: cannot read from http.*: HTTP\/1.. 400 .*since.*\n$/);
  });

  for (const [what, bytes, why] of [
    ['cut off', frames([beat(1)]).subarray(0, -2), /inside this frame: \d+ of its \d+ bytes/],
    ['without its length', Buffer.from([0, 0]), /inside the length of a frame: 2 of its 4/],
    ['too large', Buffer.from([0x10, 0, 0, 0, 1, 2, 3]), /268435456 bytes, over the limit/],
    ['JSON', Buffer.from('{"type":"heartbeat"}'), /this is JSON/],
  ]) {
    it(`ends at a frame that is ${what}, once those before it are acknowledged`, async (t) => {
      const agent = `end-${what.replace(/ /g, '-')}`;
      const pipe = start(t, agent, 'gerbil', its.parley);
      const { code, stderr } = await pipe.end(Buffer.concat([frames([beat(1), beat(2)]), bytes]));
      assert.equal(code, 1);
      assert.match(stderr, /^parley: standard input is not whole frames: .*\n$/);
      assert.match(stderr, why);
      assert.equal(pipe.messages.at(-1).error.details.frame, 3);
      assert.equal((await stored(its.parley, agent)).length, 2);
    });
  }

  it('ends when nobody reads what it writes', async (t) => {
    const pipe = await open(t, 'unread', 'gerbil', its.parley);
    pipe.program.child.stdout.destroy();
    const told = await post(its.parley, '/v1/supervisor/messages?agent=unread&from=elixir',
      JSON.stringify(shutdown('nobody reads')));
    assert.equal(told.status, 200, told.text);
    assertEnded(await pipe.exit());
  });

  it('outlives the server, and sends and passes on everything once', async (t) => {
    const [port] = await freePorts(1);
    const listen = `127.0.0.1:${port}`;
    const first = await startParley({ listen });
    const agent = await open(t, 'outlive', 'gerbil', first);
    const supervisor = await open(t, 'outlive', 'elixir', first, '--since', '1h');
    const all = Array.from({ length: 40 }, (_, i) => entry(i));
    await agent.write(frames(all.slice(0, 10)));
    await isStored(first, 'outlive', 12);
    await first.kill();
    await agent.program.prints(/cannot read from .*; trying again/, 'stderr');
    await agent.write(frames(all.slice(10, 20)));
    await agent.program.prints(/cannot send to .*; trying again/, 'stderr');
    const second = await parleyFor(t, { data: first.data, listen });
    await agent.write(frames(all.slice(20)));
    assert.deepEqual(await supervisor.reads(41), [beat(1), ...all]);
    await supervisor.write(frames([shutdown('second')]));
    assert.deepEqual(await agent.reads(2), [shutdown('first'), shutdown('second')]);
    await agent.program.prints(/can send to .* again\n/, 'stderr');
    assert.equal((await agent.end()).code, 0);
    assert.equal((await supervisor.end()).code, 0);
    assert.equal((await stored(second, 'outlive')).length, 43);
  });

  it('says what it could not send, once its time is over', async (t) => {
    const gone = { url: 'http://127.0.0.1:1' };
    const pipe = start(t, 'a', 'gerbil', gone, '--linger', '0');
    const { code, stderr } = await pipe.end(frames([beat(1), entry(2), checkpoint('c'), beat(4)]));
    assert.equal(code, 1);
    assert.match(stderr, /standard input has ended/);
    assert.deepEqual(codesOf(pipe), [[2, 'WAL_FULL'], [3, 'CHECKPOINT_FAILED']]);
    assert.match(pipe.messages[0].error.message, /not acknowledged/);
    assert.ok(pipe.messages.every(({ error }) => error.details.again === undefined));
  });

  it('tells an agent which checkpoints and log entries are refused though they are valid', async (t) => {
    const server = await parleyFor(t, { args: ['--wal', 'strict', '--body-max', '2m'] });
    const pipe = start(t, 'full', 'gerbil', server);
    const all = [entry(1), entry(5), checkpoint('z'.repeat(3 << 20)), { ...entry(7), type: 'wal_batch', data: [entry(7).data] }];
    const invalid = [{ ...checkpoint('c'), data: [] }, { ...entry(2), data: {} }];
    const { code } = await pipe.end(frames([...all, ...invalid, checkpoint('c'), entry(2)]));
    assert.equal(code, 0);
    assert.deepEqual(codesOf(pipe), [
      [2, 'WAL_FULL'],
      [3, 'CHECKPOINT_FAILED'],
      [4, 'WAL_FULL'],
      [5, 'INVALID_MESSAGE'],
      [6, 'INVALID_MESSAGE'],
    ]);
    const [gap, tooLarge] = pipe.messages.map(({ error }) => error.details.problem);
    assert.deepEqual([gap.type, gap.expected], ['/problems/wal-gap', 2]);
    assert.equal(tooLarge.status, 413);
    const types = (await stored(server, 'full')).map(({ type }) => type);
    assert.deepEqual(types, ['supervisor.wal_entry', 'supervisor.checkpoint', 'supervisor.wal_entry']);
  });

  it('tells an agent once which checkpoints and log entries wait for NATS, and stores them', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url, args: ['--bus-patience', '100ms'] });
    const pipe = await open(t, 'waits', 'gerbil', server);
    await nats.kill();
    await pipe.write(frames([entry(1), beat(2), checkpoint('c')]));
    await pipe.reads(2);
    const written = pipe.write(frames([entry(2), checkpoint('z'.repeat(2 << 20))])); // taken later
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    await written;
    await isStored(server, 'waits', 6);
    assert.equal((await pipe.end()).code, 0);
    const codes = codesOf(pipe);
    assert.deepEqual(codes.slice(0, 2), [[2, 'WAL_FULL'], [4, 'CHECKPOINT_FAILED']]);
    assert.equal(new Set(codes.map(([frame]) => frame)).size, codes.length, 'each once');
    assert.ok(pipe.messages.every(({ error }) => error.details.again && error.details.problem.status >= 500));
  });

  it('sees the end of a file', { timeout: LIMIT_MS }, async () => {
    const command = 'exec "$0" pipe --agent a --from gerbil --linger 0 http://127.0.0.1:1 </dev/null';
    const { code, stderr } = await run('sh', ['-c', command, BINARY]);
    assert.equal(code, 1);
    assert.match(stderr, /standard input has ended/);
  });
});

describe('parley pipe, behind a proxy', () => {
  it('gives up in time on one that does not answer', { timeout: LIMIT_MS }, async (t) => {
    const proxy = createServer((request, response) => {
      if (request.method === 'GET') response.write('{"type":"parley.open","resume":"S:1:0"}\n');
    });
    await new Promise((resolve) => { proxy.listen(0, '127.0.0.1', resolve); });
    atEnd(t, () => proxy.closeAllConnections());
    atEnd(t, () => proxy.close());
    const url = `http://127.0.0.1:${proxy.address().port}`;
    const pipe = start(t, 'a', 'gerbil', { url }, '--linger', '500ms');
    const { code, stderr } = await pipe.end(frames([beat(1)]));
    assert.equal(code, 1);
    assert.match(stderr, /standard input has ended/);
  });

  it('tells an agent once what waits, however often it is sent, and not of what a proxy says', async (t) => {
    const problem = { type: '/problems/bus-unavailable', title: 'T', status: 503, detail: 'D' };
    const line = (number) => `${JSON.stringify({ line: number, status: 'failed', problem })}\n`;
    const answers = [
      (response) => response.writeHead(502).end('<html>Bad gateway</html>'),
      (response) => response.writeHead(429).end(JSON.stringify({ ...problem, status: 429 })),
      (response) => response.end(`${line(2)}{"summary":{}}\n`),
      (response) => response.writeHead(503).end(JSON.stringify(problem)),
      (response) => response.end(`${line(1)}{"summary":{}}\n`),
      (response) => response.end('{"summary":{"received":1}}\n'),
    ];
    const bodies = [];
    const proxy = createServer(async (request, response) => {
      if (request.method === 'GET') return response.write('{"type":"parley.open","resume":"S:1:0"}\n');
      bodies.push(Buffer.concat(await request.toArray()));
      return answers[Math.min(bodies.length, answers.length) - 1](response);
    });
    await new Promise((resolve) => { proxy.listen(0, '127.0.0.1', resolve); });
    atEnd(t, () => proxy.closeAllConnections());
    atEnd(t, () => proxy.close());
    const pipe = start(t, 'a', 'gerbil', { url: `http://127.0.0.1:${proxy.address().port}` });
    const { code, stderr } = await pipe.end(frames([beat(1), checkpoint('c')]));
    assert.equal(code, 0, stderr);
    assert.deepEqual(bodies.map((body) => framesOf(body).length), [2, 2, 2, 1, 1, 1]);
    assert.deepEqual(pipe.messages.map(({ error }) => error), [
      { code: 'CHECKPOINT_FAILED', message: 'T: D', details: { frame: 2, problem, again: true } },
    ]);
    assert.match(stderr, /cannot send to .*: HTTP.1.1 502 .*; trying again\n.*can send to .* again/);
  });

  it('sends again, less at once, and says what is refused without a reason', async (t) => {
    const bodies = [];
    const proxy = createServer(async (request, response) => {
      if (request.method === 'GET') return response.write('{"type":"parley.open","resume":"S:1:0"}\n');
      const body = Buffer.concat(await request.toArray());
      if (bodies.push(body) === 1) return response.writeHead(503, { 'Retry-After': '0' }).end();
      if (bodies.length === 2) return response.end('{"line":2,"status":"failed","problem":{"status":504}}\n');
      const isTooLarge = body.length > 9000 || framesOf(body).length > 1;
      if (isTooLarge) return response.writeHead(413).end('<html>Too large</html>');
      return response.end('{"summary":{"received":1}}\n');
    });
    await new Promise((resolve) => { proxy.listen(0, '127.0.0.1', resolve); });
    atEnd(t, () => proxy.closeAllConnections());
    atEnd(t, () => proxy.close());
    const url = `http://127.0.0.1:${proxy.address().port}/prefix`;
    const pipe = start(t, 'a', 'gerbil', { url });
    const small = [beat(1), beat(2), beat(3)];
    const large = [entry(4, 'x'.repeat(9000)), entry(5, 'y'.repeat(2 << 20))];
    const { code, stderr } = await pipe.end(frames([...small, ...large]));
    assert.equal(code, 0, stderr);
    assert.deepEqual(codesOf(pipe), [[4, 'WAL_FULL'], [5, 'WAL_FULL']]);
    const stored = bodies.slice(2).filter((body) => body.length < 9000 && framesOf(body).length === 1);
    assert.deepEqual(stored.map((body) => framesOf(body)[0]), small);
    assert.match(stderr, /cannot send to .*: HTTP.1.1 503 .*; trying again\n.*can send to .* again/);
  });
});

describe('parley pipe, where a server asks for tokens', () => {
  const folder = temporaryFolder();
  const tokens = join(folder, 'tokens.json');
  const its = useParley({ args: ['--reactors', '1', '--tokens', tokens, '--first-token'] });

  async function tokenFor(...allow) {
    const args = ['token', 'create', '--tokens', tokens, '--name', `t${allow.length}`];
    const { stdout, stderr } = await parley([...args, '--allow', allow.join()]);
    assert.ok(stdout.startsWith('parley_'), stderr);
    return stdout.trim();
  }

  it('shows the token of a file, or of the environment', async (t) => {
    const token = await tokenFor('send:supervisor', 'read:supervisor');
    const file = join(folder, 'token');
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
    const headers = { Authorization: `Bearer ${token}` };
    await until('the token is read', async () =>
      (await get(its.parley, '/v1/supervisor/stream?follow=false', { headers })).status === 200);
    const args = ['--agent', 'a', '--from', 'gerbil', its.parley.url];
    for (const [i, [more, env]] of [
      [['--token-file', file], {}],
      [[], { PARLEY_TOKEN_FILE: file }],
      [[], { PARLEY_TOKEN: token }],
    ].entries()) {
      assertEnded(await pipeFor(t, [...args, ...more], { env }).end(frames([beat(i)])));
    }
    assert.equal((await stored(its.parley, 'a', headers)).length, 3);
    chmodSync(file, 0o644);
    const { code, stderr } = await pipeFor(t, [...args, '--token-file', file]).end();
    assert.equal(code, 1);
    assert.match(stderr, /^parley: the token file .*token: other users may read .*\n$/);
  });

  it('says what a token lacks', async (t) => {
    const token = await tokenFor('send:supervisor');
    await until('the token is read', async () => (await get(its.parley, '/v1/supervisor/stream',
      { headers: { Authorization: `Bearer ${token}` } })).status === 403);
    const args = ['--agent', 'a', '--from', 'gerbil', its.parley.url];
    for (const [env, why] of [
      [{}, /401 .*; name a file with a token by --token-file/],
      [{ PARLEY_TOKEN: 'parley_wrong' }, /401 .*; the token is not accepted/],
      [{ PARLEY_TOKEN: token }, /403 .*; the token needs the scopes send and read/],
    ]) {
      const { code, stderr } = await pipeFor(t, args, { env }).end(frames([beat(1)]));
      assert.equal(code, 1);
      assert.match(stderr, why);
      assert.equal(stderr.split('\n').length, 2, stderr);
      assert.ok(!stderr.includes(token));
    }
  });
});

describe('parley pipe over TLS', () => {
  it('trusts the authority it is given', async (t) => {
    const { ca, issue } = await authority();
    const { cert, key } = await issue('server', 'IP:127.0.0.1');
    const args = ['--tls-cert', cert, '--tls-key', key];
    const server = await parleyFor(t, { args, tls: { rejectUnauthorized: false } });
    const agent = await open(t, 'tls', 'gerbil', server, '--ca', ca);
    const supervisor = await open(t, 'tls', 'elixir', server, '--ca', ca);
    const large = { type: 'hot_reload', timestamp: 2, code: 'z'.repeat(3 << 20), module: 'm' };
    await supervisor.write(frames([large, shutdown('after')]));
    assert.deepEqual(await agent.reads(3), [shutdown('first'), large, shutdown('after')]);
    assertEnded(await agent.end(frames([beat(3)])));
    assertEnded(await supervisor.end());
    const distrusting = start(t, 'tls', 'gerbil', server, '--linger', '0');
    await distrusting.program.prints(/cannot read from .*certificate.*; trying again/, 'stderr');
    assert.equal((await distrusting.end()).code, 1);
  });
});
