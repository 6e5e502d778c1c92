// SPDX-License-Identifier: Apache-2.0
// NATS goes away for less than --bus-patience: no sender notices. For longer: each is told why.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, send, sendLines } from './lib/http.mjs';
import { loadFor } from './lib/load.mjs';
import { embeddedUrl, natsClient, startNats, storedMessages, streamInfo } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertAccepted, assertProblem, claim, claims, lines } from './lib/vlp.mjs';

const PATIENT = ['--bus-patience', '1h', '--reactors', '2'];

async function serverFor(t, args) {
  const nats = { running: await startNats() };
  atEnd(t, () => nats.running.stop());
  const server = await parleyFor(t, { nats: nats.running.url, args });
  const restart = async () => (nats.running = await nats.running.restart());
  return { nats, server, restart };
}

const ready = (server) => get(server, '/readyz');
const hasNoticed = (server) =>
  until('it has noticed', async () => /unreachable/.test((await ready(server)).text));
const storedIds = async (url, t) =>
  (await storedMessages(await natsClient(t, url))).map(({ payload }) => JSON.parse(payload).id);

describe('NATS away for less than the patience', () => {
  it('is nothing to senders under load: each message is stored once', async (t) => {
    const { nats, server, restart } = await serverFor(t, PATIENT);
    const load = loadFor(t, server, { senders: 32 });
    for (let round = 0; round < 2; round++) {
      await load.accepts(200);
      await nats.running.kill();
      await restart();
    }
    await load.accepts(200);
    await load.stop();
    assert.deepEqual(Object.keys(load.statuses), ['200'], JSON.stringify(load.statuses));
    const stored = await storedMessages(await natsClient(t, nats.running.url));
    load.assertAccountedFor(stored);
    assert.equal(stored.length, load.accepted.size);
  });

  it('leaves /readyz at 200, which says what is waited for', async (t) => {
    const { nats, server, restart } = await serverFor(t, PATIENT);
    await nats.running.kill();
    await hasNoticed(server);
    const answer = await ready(server);
    assert.equal(answer.status, 200);
    assert.match(answer.text, /^ready\nbut: messages wait: NATS is unreachable/);
    await restart();
    await until('it is plain again', async () => (await ready(server)).text === 'ready\n');
  });

  it('stores a batch in the order sent, and answers in that order', async (t) => {
    const server = await parleyFor(t, { args: PATIENT });
    const messages = claims(8_000);
    async function* body() {
      for (let i = 0; i < messages.length; i += 500) {
        if (i === messages.length / 2) process.kill(server.natsPid(), 'SIGKILL');
        yield lines(messages.slice(i, i + 500));
      }
    }
    const answer = await sendLines(server, body());
    assert.equal(answer.status, 200, answer.text);
    const results = answer.lines;
    const { summary } = results.pop();
    const ids = messages.map(({ id }) => id);
    assert.equal(summary.accepted + summary.duplicate, ids.length, JSON.stringify(summary));
    assert.deepEqual(results.map(({ id }) => id), ids);
    assert.deepEqual(await storedIds(embeddedUrl(server), t), ids);
  });

  it('stores a batch that begins meanwhile', async (t) => {
    const { nats, server, restart } = await serverFor(t, PATIENT);
    await nats.running.kill();
    await hasNoticed(server);
    const messages = claims(100);
    const sent = sendLines(server, lines(messages), { query: '?results=summary' });
    await restart();
    assert.equal((await sent).lines[0].summary.accepted, 100);
    assert.deepEqual(await storedIds(nats.running.url, t), messages.map(({ id }) => id));
  });
});

describe('NATS away for longer than the patience', () => {
  it('is 503 with the reason, also on /readyz, and then at once', async (t) => {
    const { nats, server, restart } = await serverFor(t, ['--bus-patience', '500ms']);
    await nats.running.kill();
    await hasNoticed(server); // or the first may have been stored: 504
    for (const answer of [await send(server, claim()), await send(server, claim())]) {
      assert.match(assertProblem(answer, 503, 'bus-unavailable').detail, /NATS is unreachable/);
      assert.match(answer.headers['retry-after'], /^\d+$/);
    }
    await until('/readyz fails', async () => (await ready(server)).status === 503);
    assertProblem(await sendLines(server, lines(claims(3))), 503, 'bus-unavailable');
    await restart();
    await until('it is ready', async () => (await ready(server)).status === 200);
    assertAccepted(await send(server, claim()));
  });

  it('fails the lines of a batch that has begun, each with the reason', async (t) => {
    const { nats, server } = await serverFor(t, ['--bus-patience', '500ms']);
    const client = await natsClient(t, nats.running.url);
    async function* body() {
      yield lines(claims(1));
      await until('it is stored', async () => (await streamInfo(client)).state.messages === 1);
      await nats.running.kill();
      await hasNoticed(server);
      yield lines(claims(3));
    }
    const answer = await sendLines(server, body());
    const [first, ...others] = answer.lines.slice(0, -1);
    assert.equal(first.status, 'accepted', answer.text);
    const problems = others.map(({ problem }) => problem);
    assert.deepEqual(problems.map(({ status }) => status), [503, 503, 503]);
    for (const { detail } of problems) assert.match(detail, /NATS is unreachable/);
  });
});
