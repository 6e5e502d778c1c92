// SPDX-License-Identifier: Apache-2.0
// Prefer: wait on a request: its answer comes with the reply, whichever way that came.

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectNats, startNats } from './lib/nats.mjs';
import { NDJSON_TYPE, get, post, rawFor, rawPost } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { parley, parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { sendTask, taskClaimed, taskFailed, taskProgress, taskRequest, taskResult } from './lib/roundtable.mjs';

const PATH = '/v1/roundtable/messages';

const ask = (server, message, prefer = 'wait=300', headers = {}) =>
  post(server, PATH, JSON.stringify(message), { headers: { Prefer: prefer, ...headers } });

const waiting = async (server) => valueOf(await metricsOf(server), 'parley_awaited_replies');

const waits = (server, count) =>
  until(`${count} wait`, async () => (await waiting(server)) === count);

function assertReplied(answer, request, reply, { duplicate = false, seconds = 300 } = {}) {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['preference-applied'], `wait=${seconds}`);
  assert.equal(answer.json.receipt.id, request.id);
  assert.equal(answer.json.receipt.duplicate, duplicate);
  assert.deepEqual(answer.json.reply.data, reply);
  assert.equal(answer.json.reply.type, `roundtable.${reply.type}`);
}

describe('who waits for the reply', () => {
  let nats;
  let client;
  let one;
  let two;
  before(async () => {
    nats = await startNats();
    client = await connectNats(nats.url);
    one = await startParley({ nats: nats.url });
    two = await startParley({ nats: nats.url });
  });
  after(async () => {
    await client?.close();
    await one?.stop();
    await two?.stop();
    await nats?.stop();
  });

  it('gets it, whichever gateway took it, as an event', async () => {
    for (const [to, makes] of [
      [one, taskResult],
      [two, taskResult],
      [two, taskFailed],
    ]) {
      const request = taskRequest('code.review');
      const reply = makes(request.id);
      const answer = ask(one, request);
      await waits(one, 1);
      assert.equal((await sendTask(to, reply)).status, 200);
      assertReplied(await answer, request, reply);
    }
    await waits(one, 0);
  });

  it('shows it as a stream does', async () => {
    const request = taskRequest('code.review');
    const reply = taskResult(request.id);
    const answer = ask(two, request);
    await waits(two, 1);
    await sendTask(two, reply);
    const event = (await answer).json.reply;
    const page = await get(two, `/v1/roundtable/stream?since=all&follow=false&thread=${request.id}`);
    const events = page.text.trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(event, events.find(({ data }) => data?.id === reply.id));
  });

  it('gets one that was published straight to NATS', async () => {
    const request = taskRequest('code.review');
    const reply = taskResult(request.id);
    const answer = ask(one, request);
    await waits(one, 1);
    await client
      .jetstream()
      .publish(`roundtable.results.code.${request.id.toLowerCase()}`, JSON.stringify(reply));
    assertReplied(await answer, request, reply);
  });

  it('gets it at once when the request was answered before', async () => {
    const request = taskRequest('code.review');
    const reply = taskResult(request.id);
    await sendTask(one, request);
    await sendTask(two, reply);
    assertReplied(await ask(one, request), request, reply, { duplicate: true });
    assertReplied(await ask(two, request), request, reply, { duplicate: true });
  });

  it('waits on a connection that was kept alive, and goes on with it', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; i < 3; i++) {
      assert.equal((await get(one, '/livez', { agent })).status, 200);
      const request = taskRequest('code.review');
      const reply = taskResult(request.id);
      const body = JSON.stringify(request);
      const answer = post(one, PATH, body, { agent, headers: { Prefer: 'wait=60' } });
      await waits(one, 1);
      await sendTask(two, reply);
      assertReplied(await answer, request, reply, { seconds: 60 });
    }
    agent.destroy();
  });

  it('is told 202 and where to look when nothing comes', async () => {
    const request = taskRequest('code.review');
    const answer = await ask(one, request, 'wait=1');
    assert.equal(answer.status, 202, answer.text);
    assert.equal(answer.headers['preference-applied'], 'wait=1');
    assert.equal(answer.headers.location, `/v1/roundtable/tasks/${request.id}`);
    assert.deepEqual(Object.keys(answer.json), ['receipt']);
    assert.equal(answer.json.receipt.id, request.id);
  });

  it('waits for the id that was stamped, and is given it', async () => {
    const { id, version, timestamp, ...bare } = taskRequest('stamped.review');
    const stamped = (prefer) =>
      post(one, `${PATH}?stamp=true`, JSON.stringify(bare), { headers: { Prefer: prefer } });
    const answer = stamped('wait=300');
    const open = '/v1/roundtable/tasks?state=requested&domain=stamped';
    const task = await until('the request is open', async () => (await get(two, open)).json.items[0]);
    const reply = taskResult(task.id);
    assert.equal((await sendTask(two, reply)).status, 200);
    assertReplied(await answer, task, reply);

    const late = await stamped('wait=1');
    assert.equal(late.status, 202, late.text);
    assert.equal(late.headers.location, `/v1/roundtable/tasks/${late.json.receipt.id}`);
    assert.equal((await get(two, late.headers.location)).json.state, 'requested');
  });

  const expired = (answer, request) => {
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['preference-applied'], 'wait=300');
    assert.deepEqual(Object.keys(answer.json), ['receipt', 'state']);
    assert.equal(answer.json.receipt.id, request.id);
    assert.equal(answer.json.state, 'expired');
  };

  it('is told when its task expires, and at once when it has', async () => {
    const past = new Date(Date.now() - 7200_000).toISOString();
    const late = taskRequest('late.review', { timestamp: past });
    const short = taskRequest('short.review', { ttl: 1 });
    const [first, second] = await Promise.all([ask(one, short), ask(two, late)]);
    expired(first, short);
    expired(second, late);
    // Sent again with more time it is the same request, with the deadline of the first one.
    const again = await ask(two, { ...short, ttl: 3600 });
    expired(again, short);
    assert.equal(again.json.receipt.duplicate, true);
  });

  it('waits for a task that was claimed before its deadline, whichever way it was', async () => {
    const straight = (claim) =>
      client.jetstream().publish('roundtable.events.task.claimed', JSON.stringify(claim));
    const tasks = await Promise.all(
      [(claim) => sendTask(one, claim), (claim) => sendTask(two, claim), straight].map(async (claims) => {
        const request = taskRequest('code.review', { ttl: 5 });
        const answer = ask(one, request);
        await until('the request is known', async () => (await get(two, `/v1/roundtable/tasks/${request.id}`)).status === 200);
        await claims(taskClaimed(request.id));
        return { request, answer, deadline: Date.parse(request.timestamp) + 5000 };
      }),
    );
    await until('the deadlines are past', () => tasks.every(({ deadline }) => Date.now() > deadline + 2000));
    await waits(one, 3);
    for (const { request, answer } of tasks) {
      const reply = taskResult(request.id);
      assert.equal((await sendTask(two, reply)).status, 200);
      assertReplied(await answer, request, reply);
    }
  });

  it('gets the end that the requester gave to a task that had expired', async () => {
    const request = taskRequest('code.review', { ttl: 1 });
    expired(await ask(one, request), request);
    const end = taskFailed(request.id, { from: request.from });
    assert.equal((await sendTask(two, end)).status, 200);
    assertReplied(await ask(one, request), request, end, { duplicate: true });
  });

  it('is not kept waiting by what has no reply, by a batch, or by a preference that says nothing', async () => {
    const request = taskRequest('code.review');
    await sendTask(one, request);
    for (const [message, prefer, options] of [
      [taskProgress(request.id), 'wait=300'],
      [taskRequest('a.b'), 'wait=0'],
      [taskRequest('a.b'), 'wait=soon'],
      [taskRequest('a.b'), 'respond-async'],
      [taskRequest('a.b'), 'wait=300', { 'Content-Type': NDJSON_TYPE }],
    ]) {
      const answer = await ask(one, message, prefer, options);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers['preference-applied'], undefined);
    }
  });

  it('may go: nothing is left of it', async (t) => {
    const request = taskRequest('code.review');
    const bytes = rawPost(PATH, JSON.stringify(request), { headers: ['Prefer: wait=300'] });
    const connection = await rawFor(t, one, bytes);
    await waits(one, 1);
    connection.socket.destroy();
    await waits(one, 0);
    const reply = taskResult(request.id);
    assert.equal((await sendTask(one, reply)).status, 200);
  });

  it('has its receipt when the gateway drains', async (t) => {
    const server = await parleyFor(t, { nats: nats.url });
    const request = taskRequest('code.review');
    const answer = ask(server, request);
    await waits(server, 1);
    server.signal('SIGTERM');
    assert.equal((await answer).status, 202);
    await server.program.hasExited('parley ends after SIGTERM');
  });

  it('needs the scope read', async (t) => {
    const file = join(temporaryFolder(), 'tokens');
    const create = async (...allow) => {
      const args = ['token', 'create', '--tokens', file, '--name', `may-${allow.length}`];
      return (await parley([...args, '--allow', allow.join(',')])).stdout.trim();
    };
    const sends = await create('send:roundtable');
    const both = await create('send:roundtable', 'read:roundtable');
    const server = await parleyFor(t, { nats: nats.url, args: ['--tokens', file] });
    for (const [token, status, applied] of [
      [sends, 200, undefined],
      [both, 202, 'wait=1'],
    ]) {
      const authorization = { Authorization: `Bearer ${token}` };
      const answer = await ask(server, taskRequest('a.b'), 'wait=1', authorization);
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.headers['preference-applied'], applied);
    }
  });
});
