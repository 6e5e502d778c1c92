// SPDX-License-Identifier: Apache-2.0
// The log on standard error (docs/logs.md): what it says of a start and an end, in both forms, and
// that nobody has to read it; its lines about requests; and the traces that these belong to.

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, NDJSON_TYPE, post, send } from './lib/http.mjs';
import { embeddedUrl, natsClient, storedMessage } from './lib/nats.mjs';
import { parley, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { sendTask, taskRequest } from './lib/roundtable.mjs';
import { assertAccepted, claim } from './lib/vlp.mjs';

// One that was ready within 3 s. A start that takes longer, as on a busy machine, logs a warning, and
// is asked whether it is ready.
const promptFor = (t, options) =>
  until('it is ready at once', async () => {
    const server = await parleyFor(t, options);
    if (server.logged('start.waiting').length === 0) return server;
    return server.stop(); // and another one
  });

const TIME = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the log', () => {
  for (const form of ['logfmt', 'json']) {
    it(`says where the server is and with what, and that it ends (${form})`, async (t) => {
      const server = await promptFor(t, { args: ['--log-format', form] });
      const [versions, limits, listening] = server.logged('start.');
      assert.match(versions.parley, /^\d+\.\d+\.\d+$/);
      assert.equal(Number(limits.in_flight), 16384);
      assert.equal(listening.url, server.url);
      assert.equal(listening.data, server.data);
      assert.equal(listening.access, 'open');
      await server.stop();
      const lines = server.logged();
      assert.equal(lines.length, server.program.stderr.trim().split('\n').length);
      for (const { time, level, msg } of lines) {
        assert.match(time, TIME);
        assert.equal(level, 'info', msg);
      }
      assert.deepEqual(lines.slice(-2).map(({ event }) => event), ['drain.begin', 'stop']);
      assert.equal(lines.at(-2).reason, 'SIGTERM');
      assert.equal(Number(lines.at(-1).status), 0);
    });
  }

  it('leaves out what is less important than its level', async (t) => {
    const server = await promptFor(t, { args: ['--log-level', 'warn'] });
    await server.stop();
    assert.equal(server.program.stderr, '');
  });

  it('holds nothing up when nobody reads it, and says how much was left out', async (t) => {
    const server = await promptFor(t, { args: ['--access-log', 'all'] });
    const { stderr } = server.program.child;
    stderr.pause();
    const wave = () => Promise.all(Array.from({ length: 50 }, () => get(server, '/nowhere')));
    for (let i = 0; i < 20; i++) await wave(); // a pipe takes 64 KiB, which is 250 lines
    assert.equal((await get(server, '/livez')).status, 200);
    stderr.resume();
    const leftOut = () => server.logged().map((line) => Number(line.left_out ?? 0));
    await until('it says how many', async () => (await get(server, '/livez')) && Math.max(...leftOut()) > 0);
    await server.stop();
    const sum = leftOut().reduce((all, count) => all + count, server.logged('request').length);
    assert.ok(sum > 1000, `${sum} requests`);
  });
});

const requests = (server) => server.logged('request');
const BAD = { ...claim(), confidence: 7, content: 'PAYLOAD' };

describe('the access log', () => {
  it('has a line for a refused request, with what is wrong, and no payload', async (t) => {
    const server = await promptFor(t);
    assertAccepted(await send(server, claim()));
    const answer = await send(server, BAD);
    assert.equal(answer.status, 422);
    await until('it is logged', () => requests(server).length === 1); // the next may be another worker's
    await get(server, '/nowhere/PATH');
    await until('both are logged', () => requests(server).length === 2);
    const [refused, unknown] = requests(server);
    assert.equal(refused.request, answer.headers['x-request-id']);
    assert.equal(refused.method, 'POST');
    assert.equal(refused.route, '/v1/{protocol}/messages');
    assert.equal(refused.protocol, 'vlp');
    assert.equal(Number(refused.status), 422);
    assert.equal(refused.outcome, 'invalid-message');
    assert.equal(refused.rules, answer.json.violations.map(({ rule }) => rule).join(','));
    assert.equal(refused.peer, '127.0.0.1');
    assert.equal(Number(refused.received), JSON.stringify(BAD).length);
    assert.equal(Number(refused.sent), answer.text.length);
    assert.ok(Number(refused.duration_us) > 0);
    assert.equal(refused.token, undefined);
    assert.equal(refused.trace_id, undefined);
    assert.equal(unknown.outcome, 'not-found');
    assert.equal(unknown.route, undefined);
    assert.doesNotMatch(server.program.stderr, /PAYLOAD|PATH/);
  });

  it('has the name of the token that was shown for this request alone', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const create = ['token', 'create', '--tokens', file, '--name', 'seven', '--allow', 'send:vlp'];
    const secret = (await parley(create)).stdout.trim();
    const server = await promptFor(t, { args: ['--tokens', file] });
    const headers = { Authorization: `Bearer ${secret}` };
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    atEnd(t, () => agent.destroy());
    await send(server, BAD, { headers, agent });
    await get(server, '/v1/roundtable/stream', { headers, agent });
    await send(server, BAD, { agent });
    await get(server, '/nowhere', { agent });
    await until('all are logged', () => requests(server).length === 4);
    const seen = requests(server).map(({ status, token }) => `${status} ${token}`);
    assert.deepEqual(seen.sort(), ['401 undefined', '403 seven', '404 undefined', '422 seven']);
    assert.ok(!server.program.stderr.includes(secret));
  });

  it('has every request with --access-log all', async (t) => {
    const server = await promptFor(t, { args: ['--access-log', 'all'] });
    await send(server, claim());
    await send(server, BAD);
    await server.stop();
    const seen = requests(server).map(({ outcome }) => outcome);
    assert.deepEqual(seen.sort(), ['invalid-message', 'ok']);
  });
});

describe('a message of another major version', () => {
  it('is a line of the log at level warn, alone and in a batch, and not where it is only checked', async (t) => {
    const server = await promptFor(t);
    const other = taskRequest('security.scan', { version: '2.0' });
    const answer = await sendTask(server, other);
    assert.equal(answer.status, 422);
    const batch = [taskRequest('security.scan'), other, { ...other, id: 'PAYLOAD', type: 'poem' }];
    const body = batch.map((each) => `${JSON.stringify(each)}\n`).join('');
    await post(server, '/v1/roundtable/messages', body, { type: NDJSON_TYPE });
    await sendTask(server, other, { to: 'validate' });
    await sendTask(server, taskRequest('security.scan', { version: 'two' }));
    await server.stop();
    const logged = server.logged('message.refused');
    assert.deepEqual(logged.map(({ level, protocol, rule, line, sender, id }) => [level, protocol, rule, line, sender, id]), [
      ['warn', 'roundtable', 'RT-003', undefined, other.from, other.id],
      ['warn', 'roundtable', 'RT-003', '2', other.from, other.id],
      ['warn', 'roundtable', 'RT-003', '3', other.from, 'PAYLOAD'],
    ]);
    assert.equal(logged[0].request, answer.headers['x-request-id']);
    assert.equal(logged[0].breaks, 'the major version is 1');
  });

  it('is counted where there are too many lines', async (t) => {
    const server = await promptFor(t);
    const body = Array.from({ length: 200 }, () => `${JSON.stringify(taskRequest('a.b', { version: '3.1.0' }))}\n`).join('');
    await post(server, '/v1/roundtable/messages', body, { type: NDJSON_TYPE });
    await server.stop();
    const lines = server.logged('message.refused');
    const leftOut = [...lines, ...server.logged('stop')].reduce((sum, { left_out = 0 }) => sum + Number(left_out), 0);
    assert.equal(lines.length + leftOut, 200);
  });
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('traces', () => {
  // What a message of each of these requests takes along to NATS, in order, and the server's lines.
  async function follow(t, args, requestHeaders) {
    const server = await promptFor(t, { args });
    const client = await natsClient(t, embeddedUrl(server));
    const found = [];
    for (const headers of requestHeaders) {
      const answer = await send(server, claim(), { headers });
      assertAccepted(answer);
      const { traceparent, tracestate } = (await storedMessage(client, answer.json.seq)).headers;
      assert.equal(answer.json.traceparent, traceparent);
      found.push({ traceparent, tracestate, response: answer.headers.traceresponse });
    }
    await server.stop();
    return { found, lines: requests(server) };
  }
  const NOTHING = { traceparent: undefined, tracestate: undefined, response: undefined };
  const traceOf = ({ trace_id: trace, span_id: span }) => [trace, span];

  it('go on to NATS and the receipt as they came; those that are recorded have a line', async (t) => {
    const recorded = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=1,b=2' };
    const unrecorded = { traceparent: `00-${TRACE}-${SPAN}-00` };
    const { found, lines } = await follow(t, [], [
      recorded,
      unrecorded,
      { traceparent: `00-${TRACE}-0-01`, tracestate: 'a=1' }, // not valid
      {},
    ]);
    assert.deepEqual(found, [{ ...NOTHING, ...recorded }, { ...NOTHING, ...unrecorded }, NOTHING, NOTHING]);
    assert.deepEqual(lines.map(traceOf), [[TRACE, SPAN]]);
    assert.equal(Number(lines[0].status), 200);
  });

  it('begin here with --trace', async (t) => {
    const { found, lines } = await follow(t, ['--trace'], [{}]);
    const [trace, span] = traceOf(lines[0]);
    assert.deepEqual(found[0], { ...NOTHING, traceparent: found[0].response, response: found[0].response });
    assert.equal(found[0].response, `00-${trace}-${span}-01`);
  });
});
