// SPDX-License-Identifier: Apache-2.0
// Two gateways on one NATS: the gateway keeps no state of its own, so each serves what the other
// took.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, readEvents, send, streamFor } from './lib/http.mjs';
import { embeddedUrl, startNats } from './lib/nats.mjs';
import { legacyRequest, rpc } from './lib/mcp.mjs';
import { IMPATIENT, parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskRequest } from './lib/roundtable.mjs';
import { assertAccepted, assertProblem, claim, claims } from './lib/vlp.mjs';

describe('two gateways on one NATS', () => {
  let nats;
  let one;
  let two;
  before(async () => {
    nats = await startNats();
    one = await startParley({ nats: nats.url });
    two = await startParley({ nats: nats.url });
  });
  after(async () => {
    await one?.stop();
    await two?.stop();
    await nats?.stop();
  });

  it('a client of MCP that began at one is served by the other', async () => {
    const clientInfo = { name: 'x', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const begun = await rpc(one, legacyRequest('initialize', params));
    assert.equal(begun.json.result.protocolVersion, '2025-11-25');
    const headers = { 'MCP-Protocol-Version': '2025-11-25' };
    const ask = async (server, name, args) =>
      (await rpc(server, legacyRequest('tools/call', { name, arguments: args }), { headers })).json.result;
    const task = taskRequest('docs.review', { to: 'mcp' });
    assert.equal((await ask(two, 'send', { protocol: 'roundtable', message: task })).isError, undefined);
    const taken = await until('it is seen', async () => (await ask(one, 'next_task', { agent: 'mcp' })).structuredContent.task ?? undefined);
    assert.deepEqual(taken, task);
    const report = { agent: 'mcp', task: task.id, kind: 'result', payload: { status: 'completed', result: { format: 'text', content: '' } } };
    assert.equal((await ask(two, 'report', report)).isError, undefined);
  });

  it('what is sent to one is read live from the other, either way', async (t) => {
    const atOne = await streamFor(t, one, '/v1/vlp/stream');
    const atTwo = await streamFor(t, two, '/v1/vlp/stream');
    const messages = claims(20);
    for (const [i, message] of messages.entries()) {
      assertAccepted(await send(i % 2 ? one : two, message));
    }
    const ids = messages.map((message) => message.id);
    assert.deepEqual(
      (await atOne.events(20)).map((event) => event.id),
      ids,
    );
    assert.deepEqual(
      (await atTwo.events(20)).map((event) => event.id),
      ids,
    );
  });

  it('a resume token of one is good at the other', async () => {
    for (const message of claims(3)) assertAccepted(await send(one, message));
    const all = await readEvents(one);
    const rest = await readEvents(two, `since=${encodeURIComponent(all.at(-3).resume)}`);
    assert.deepEqual(rest, all.slice(-2));
  });

  it('the same message sent to both is stored once', async () => {
    const message = claim();
    const answers = await Promise.all([send(one, message), send(two, message)]);
    const results = answers.map(assertAccepted);
    assert.equal(results[0].seq, results[1].seq);
    assert.equal(results.filter((result) => result.duplicate).length, 1);
  });

  it('one goes on when the other is killed', async (t) => {
    const third = await startParley({ nats: nats.url });
    atEnd(t, () => third.kill());
    const stream = await streamFor(t, one, '/v1/vlp/stream');
    const message = claim();
    assertAccepted(await send(third, message));
    await third.kill();
    const last = claim();
    assertAccepted(await send(one, last));
    assert.deepEqual(
      (await stream.events(2)).map((event) => event.id),
      [message.id, last.id],
    );
  });

  it('several that start at once on an empty NATS all start', async (t) => {
    const empty = await startNats();
    atEnd(t, () => empty.stop());
    const starting = Array.from({ length: 4 }, () => parleyFor(t, { nats: empty.url }));
    for (const gateway of await Promise.all(starting)) assertAccepted(await send(gateway, claim()));
  });

  it('a second gateway may use the nats-server of the first', async (t) => {
    const first = await parleyFor(t);
    const second = await parleyFor(t, { nats: embeddedUrl(first) });
    const message = claim();
    assertAccepted(await send(second, message));
    assert.deepEqual(
      (await readEvents(first)).map((event) => event.id),
      [message.id],
    );
    await second.stop();
  });
});

describe('an id that was used at one gateway', () => {
  const keyed = (key) => ({ headers: { 'Idempotency-Key': key } });

  it('is known at the other, though NATS was restarted between', async (t) => {
    const nats = await startNats();
    let running = nats;
    atEnd(t, () => running.stop());
    const one = await parleyFor(t, { nats: nats.url });
    const two = await parleyFor(t, { nats: nats.url, args: IMPATIENT });
    const message = claim();
    const request = taskRequest('restart.it');
    const first = assertAccepted(await send(one, message, keyed('restart')));
    const task = assertAccepted(await sendTask(one, request));
    await nats.kill();
    await until('the other has noticed', async () => (await get(two, '/readyz')).status === 503);
    running = await nats.restart();
    await until('the other is ready', async () => (await get(two, '/readyz')).text === 'ready\n');
    const again = assertAccepted(await send(two, message, keyed('restart')));
    assert.deepEqual(again, { ...first, duplicate: true });
    const other = assertProblem(await send(two, claim(), keyed('restart')), 409, 'id-reused');
    assert.equal(other.seq, first.seq);
    const repeated = { ...task, duplicate: true, state: 'requested' };
    assert.deepEqual(assertAccepted(await sendTask(two, request)), repeated);
    const reused = { ...request, payload: { task: 'restart.other' } };
    assertProblem(await sendTask(two, reused), 409, 'id-reused');
  });
});
