// SPDX-License-Identifier: Apache-2.0
// --durability machine: an answer that promises storage leaves once what it promises is on the disk.
// The thread that syncs the disk is held, as a slow disk would hold it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { block, halts, release, session } from './lib/halts.mjs';
import { holdThread } from './lib/held_thread.mjs';
import { chunk, get, post, rawChunkedHead, rawFor, readEvents, request, send, sendLines, validate } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { startNats } from './lib/nats.mjs';
import { parley, parleyFor, serveArguments, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { sendTask, taskRequest } from './lib/roundtable.mjs';
import { assertAccepted, assertProblem, brokenClaim, claim, claims, lines } from './lib/vlp.mjs';
import { nextTask } from './lib/work.mjs';

const held = (t, server) => holdThread(t, server, 'disk-sync');

// Whether an answer has come; what could come before is over, since JetStream has acknowledged.
async function hasCome(server, promise, acks) {
  let isThere = false;
  promise.then(() => (isThere = true), () => {});
  await until('JetStream has acknowledged', async () =>
    valueOf(await metricsOf(server), 'parley_ack_duration_seconds_count') >= acks);
  await get(server, '/livez');
  return isThere;
}

const acksOf = async (server) => valueOf(await metricsOf(server), 'parley_ack_duration_seconds_count');

describe('with --durability machine', () => {
  const its = useParley({ args: ['--durability', 'machine', '--reactors', '1'] });

  it('says so where it is ready, and in the metrics', async () => {
    const ready = await get(its.parley, '/readyz', { headers: { Accept: 'application/json' } });
    assert.equal(ready.json.durability, 'machine');
    assertAccepted(await send(its.parley, claim()));
    const metrics = await metricsOf(its.parley);
    assert.equal(valueOf(metrics, 'parley_durability_info', { durability: 'machine' }), 1);
    assert.ok(valueOf(metrics, 'parley_disk_sync_duration_seconds_count') > 0);
  });

  it('answers one message, and its repetition, once the disk is synced', async (t) => {
    const message = claim();
    const before = await acksOf(its.parley);
    const thread = await held(t, its.parley);
    const first = send(its.parley, message);
    assert.equal(await hasCome(its.parley, first, before + 1), false);
    const stored = (await readEvents(its.parley)).map(({ id }) => id);
    assert.ok(stored.includes(message.id), 'readers have it');
    const again = send(its.parley, message);
    assert.equal(await hasCome(its.parley, again, before + 2), false);
    await thread.letGo();
    assert.equal(assertAccepted(await first).duplicate, false);
    assert.equal((await again).json.duplicate, true);
  });

  it('answers a short batch once the disk is synced', async (t) => {
    const before = await acksOf(its.parley);
    const thread = await held(t, its.parley);
    const answer = sendLines(its.parley, lines(claims(3)));
    assert.equal(await hasCome(its.parley, answer, before + 3), false);
    await thread.letGo();
    assert.equal((await answer).lines.at(-1).summary.accepted, 3);
  });

  it('sends the results of a body that still comes once the disk is synced, each as soon as that', async (t) => {
    const connection = await rawFor(t, its.parley, rawChunkedHead('/v1/vlp/messages'));
    const text = () => connection.received.toString();
    const countOf = (pattern) => text().split(pattern).length - 1;
    for (let i = 1; i <= 3; i++) {
      const before = await acksOf(its.parley);
      const thread = await held(t, its.parley);
      await connection.write(chunk(`${JSON.stringify(claim())}\n`));
      await until('JetStream has acknowledged', async () => (await acksOf(its.parley)) > before);
      await get(its.parley, '/livez');
      assert.equal(countOf('"accepted"'), i - 1);
      await thread.letGo();
      await until('the result has come', () => countOf('"accepted"') === i);
    }
    const thread = await held(t, its.parley);
    await connection.write(chunk(`${JSON.stringify(claim())}\n`));
    await connection.write('0\r\n\r\n');
    await thread.letGo();
    await until('the summary has come', () => text().includes('"received":4,"accepted":4'));
    assert.deepEqual(text().match(/{"line":\d/g), [1, 2, 3, 4].map((line) => `{"line":${line}`));
  });

  it('answers a body that it reads no further, once the disk is synced', async (t) => {
    const server = await parleyFor(t, { args: ['--durability', 'machine', '--reactors', '1', '--in-flight', '16'] });
    const whole = claims(2000).map((each) => JSON.stringify(each)).join(',');
    const answer = await post(server, '/v1/vlp/messages?results=summary', `[${whole}, oops ${' '.repeat(400_000)}`);
    assert.equal(answer.lines.at(-1).summary.accepted, 2000, answer.text);
  });

  it('gives a task to an agent once its claim is on the disk', async (t) => {
    const task = taskRequest('docs.review');
    assert.equal((await sendTask(its.parley, task)).status, 200);
    const before = await acksOf(its.parley);
    const thread = await held(t, its.parley);
    const given = nextTask(its.parley, 'galahad', { wait: 60 });
    assert.equal(await hasCome(its.parley, given, before + 1), false);
    await thread.letGo();
    assert.equal((await given).json.task.id, task.id);
  });

  it('halts at once, and answers a block and a release once they are on the disk', async (t) => {
    const name = session();
    const thread = await held(t, its.parley);
    const blocked = send(its.parley, block(name));
    await until('it halts', async () => (await halts(its.parley, `?session=${name}`)).items.length === 1);
    await thread.letGo();
    assertAccepted(await blocked);
    const again = await held(t, its.parley);
    const released = release(its.parley, name);
    await until('it is released', async () => (await halts(its.parley, `?session=${name}`)).items.length === 0);
    await again.letGo();
    assert.equal((await released).released, 1);
  });

  it('refuses a block that breaks a rule once its halt is on the disk', async (t) => {
    const name = session();
    const thread = await held(t, its.parley);
    const blocked = send(its.parley, block(name, { timestamp: 'never' }));
    await until('it halts', async () => (await halts(its.parley, `?session=${name}`)).items.length === 1);
    let isThere = false;
    blocked.then(() => (isThere = true));
    await get(its.parley, '/livez');
    assert.equal(isThere, false);
    await thread.letGo();
    assert.equal((await blocked).json.halted, true);
  });

  it('holds back nothing that promises no storage', async (t) => {
    const thread = await held(t, its.parley);
    assertProblem(await send(its.parley, brokenClaim()), 422, 'invalid-message');
    assert.equal((await validate(its.parley, claim())).json.valid, true);
    assert.equal((await get(its.parley, '/v1/vlp/stream?follow=false')).status, 200);
    await thread.letGo();
  });

  it('forgets an answer whose client leaves while it waits', async (t) => {
    const server = await parleyFor(t, { args: ['--durability', 'machine'] });
    const before = await acksOf(server);
    const thread = await held(t, server);
    const body = JSON.stringify(claim());
    const head = `POST /v1/vlp/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    for (const leave of ['end', 'resetAndDestroy', 'destroy']) {
      const connection = await rawFor(t, server, head + body);
      await until('it is stored', async () => (await acksOf(server)) > before);
      connection.socket[leave]();
    }
    const live = await rawFor(t, server, rawChunkedHead('/v1/vlp/messages') + chunk(`${body}\n`));
    live.socket.resetAndDestroy();
    await thread.letGo();
    assertAccepted(await send(server, claim()));
  });
});

describe('without it', () => {
  it('the metrics say process, and no sync is made', async (t) => {
    const server = await parleyFor(t);
    assertAccepted(await send(server, claim()));
    const metrics = await metricsOf(server);
    assert.equal(valueOf(metrics, 'parley_durability_info', { durability: 'process' }), 1);
    assert.equal(valueOf(metrics, 'parley_disk_sync_duration_seconds_count'), 0);
  });
});

describe('with --durability server', () => {
  it('the log, /readyz and the metrics say so, and parley syncs nothing', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url, args: ['--durability', 'server'] });
    assertAccepted(await send(server, claim()));
    const [listening] = server.logged('start.listening');
    assert.equal(listening.durability, 'server');
    const ready = await get(server, '/readyz', { headers: { Accept: 'application/json' } });
    assert.equal(ready.json.durability, 'server');
    const metrics = await metricsOf(server);
    assert.equal(valueOf(metrics, 'parley_durability_info', { durability: 'server' }), 1);
    assert.equal(valueOf(metrics, 'parley_disk_sync_duration_seconds_count'), 0);
  });
});

describe('the option', () => {
  const refused = async (args, options) => {
    const data = temporaryFolder();
    const { code, stderr } = await parley([...serveArguments({ data, ...options, args })]);
    assert.equal(code, 2);
    return stderr;
  };

  it('machine is refused for servers of --nats, and says what to do', async () => {
    const stderr = await refused(['--durability', 'machine'], { nats: 'nats://127.0.0.1:1' });
    assert.match(stderr, /sync_interval: always/);
    assert.match(stderr, /--durability server/);
  });

  it('server is refused for the embedded server, and says what to do', async () => {
    assert.match(await refused(['--durability', 'server']), /--durability machine/);
  });
});
