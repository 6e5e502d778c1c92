// SPDX-License-Identifier: Apache-2.0
// What the alerts are about, made to happen on a real server: each figure that an alert asks for
// moves. And promtool, which reads what parley writes and tests the rules.

import assert from 'node:assert/strict';
import { connect as connectTls } from 'node:tls';
import { connect as connectTcp } from 'node:net';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import { authority } from './lib/certificates.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { get, rawFor, rawPost, send, sendLines } from './lib/http.mjs';
import { loadFor } from './lib/load.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { IMPATIENT, parley, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskRequest } from './lib/roundtable.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { brokenClaim, claim, claims, lines } from './lib/vlp.mjs';

const fileOf = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

// Until `is(the value)` holds.
const moves = (server, name, labels, is, options) =>
  until(`${name} ${JSON.stringify(labels)} has moved`, async () =>
    is(valueOf(await metricsOf(server, options), name, labels)),
  );
const problem = (name) => ({ problem: name });
const vlp = { protocol: 'vlp' };
const isPositive = (value) => value > 0;
const isZero = (value) => value === 0;
const LOCALHOST = 'DNS:localhost,IP:127.0.0.1';

async function natsFor(t) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  return nats;
}

describe('alerts', { concurrency: 4 }, () => {
  it('promtool accepts what parley writes, and the rules do what they are to do', async (t) => {
    const server = await parleyFor(t);
    await send(server, claim());
    const { text } = await metricsOf(server);
    execFileSync('promtool', ['check', 'metrics'], { input: text });
    // Of the syntax alone: the file with the token is in the container.
    const config = fileOf('docker/prometheus/prometheus.yml');
    execFileSync('promtool', ['check', 'config', '--syntax-only', config]);
    execFileSync('promtool', ['check', 'rules', fileOf('docker/prometheus/alerts.yml')]);
    execFileSync('promtool', ['test', 'rules', fileOf('tests/monitoring/alerts_test.yml')]);
  });

  it('NATS goes: workers, streams, refused messages; it comes back: a reconnect', async (t) => {
    const nats = await natsFor(t);
    const server = await parleyFor(t, { nats: nats.url, args: IMPATIENT });
    await until('it is ready', async () => (await send(server, claim())).status === 200);
    await nats.kill();
    await moves(server, 'parley_workers_ready', {}, isZero);
    await moves(server, 'parley_nats_connections', {}, isZero);
    await moves(server, 'parley_jetstream_usable', { stream: 'VLP' }, isZero);
    assert.equal((await send(server, claim())).status, 503);
    await moves(server, 'parley_messages_total', { ...vlp, outcome: 'refused' }, isPositive);
    await moves(server, 'parley_problems_total', problem('bus-unavailable'), isPositive);
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    await moves(server, 'parley_nats_reconnects_total', {}, isPositive);
    await moves(server, 'parley_jetstream_usable', { stream: 'VLP' }, isPositive);
  });

  it('NATS does not answer: messages in flight, held, overloaded, failed', async (t) => {
    const nats = await natsFor(t);
    const args = [...IMPATIENT, '--reactors', '1', '--in-flight', '9', '--ack-timeout', '3s'];
    const server = await parleyFor(t, { nats: nats.url, args });
    await until('it is ready', async () => (await send(server, claim())).status === 200);
    await nats.freeze();
    const load = loadFor(t, server, { senders: 12 });
    await moves(server, 'parley_problems_total', problem('overloaded'), isPositive);
    await moves(server, 'parley_in_flight_messages', {}, (count) => count >= 8);
    await until('one is answered 504', () => load.statuses[504]);
    await moves(server, 'parley_messages_total', { ...vlp, outcome: 'failed' }, isPositive);
  });

  it('the embedded nats-server dies: a restart', async (t) => {
    const server = await parleyFor(t);
    process.kill(server.natsPid(), 'SIGKILL');
    await moves(server, 'parley_embedded_nats_restarts_total', {}, isPositive);
  });

  it('a stream has little room left', async (t) => {
    const nats = await natsFor(t);
    const server = await parleyFor(t, { nats: nats.url });
    await until('it is ready', async () => (await send(server, claim())).status === 200);
    const manager = await (await natsClient(t, nats.url)).jetstreamManager();
    const { config } = await manager.streams.info('VLP');
    await manager.streams.update('VLP', { ...config, discard: 'new', max_bytes: 4096 });
    await moves(server, 'parley_jetstream_limit_bytes', { stream: 'VLP' }, (max) => max === 4096);
    await moves(server, 'parley_jetstream_bytes', { stream: 'VLP' }, isPositive);
  });

  it('senders are wrong: tokens, rates, invalid messages', async (t) => {
    const tokens = join(temporaryFolder(), 'tokens');
    const create = async (name, allow) => {
      const made = await parley(['token', 'create', '--tokens', tokens, '--name', name, '--allow', allow]);
      assert.equal(made.code, 0, made.stderr);
      return { headers: { Authorization: `Bearer ${made.stdout.trim()}` } };
    };
    const scrape = await create('prometheus', 'metrics');
    const sender = await create('sender', 'send:vlp');
    const args = ['--tokens', tokens, '--rate-messages', '3'];
    const server = await parleyFor(t, { args });
    const isMoved = (name, labels) => moves(server, name, labels, isPositive, scrape);

    assert.equal((await get(server, '/metrics')).status, 401);
    assert.equal((await get(server, '/metrics', sender)).status, 403);
    await isMoved('parley_problems_total', problem('unauthenticated'));
    await isMoved('parley_problems_total', problem('forbidden'));
    await send(server, brokenClaim(), sender);
    await isMoved('parley_messages_total', { ...vlp, outcome: 'invalid' });
    await Promise.all(claims(20).map((each) => send(server, each, sender)));
    await isMoved('parley_problems_total', problem('rate-limited'));
  });

  it('a large body does not end: memory', async (t) => {
    const server = await parleyFor(t);
    await rawFor(t, server, rawPost('/v1/vlp/validate', 'x'.repeat(600_000)).slice(0, 500_000));
    await moves(server, 'parley_gathered_bytes', {}, isPositive);
  });

  it('a reader reads nothing: it is behind', async (t) => {
    const server = await parleyFor(t, { args: ['--reactors', '1'] });
    const content = 'x'.repeat(60_000);
    for (let i = 0; i < 8; i++) await sendLines(server, lines(claims(25, { content })));
    const reader = await rawFor(t, server, '');
    reader.socket.pause();
    await reader.write('GET /v1/vlp/stream?since=all HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await moves(server, 'parley_stream_reader_lag_messages', vlp, (lag) => lag > 10);
    await moves(server, 'parley_stream_readers', vlp, (count) => count === 1);
  });

  it('a conversation is halted, and a task waits for an agent', async (t) => {
    const server = await parleyFor(t);
    await send(server, claim({ session: 'S-7', safety: { level: 'block' } }));
    await moves(server, 'parley_halts_open', {}, (count) => count === 1);
    const request = taskRequest('security.scan');
    await sendTask(server, request);
    await get(server, '/v1/roundtable/tasks'); // the board is read when it is first asked
    await moves(server, 'parley_tasks_open', {}, (count) => count === 1);
    await sendTask(server, taskClaimed(request.id));
    await moves(server, 'parley_tasks_open', {}, isZero);
    const claimed = { protocol: 'roundtable', type: 'task.claimed', outcome: 'accepted' };
    await moves(server, 'parley_messages_total', claimed, (count) => count === 1);
  });

  it('nobody reads what was published straight to NATS', async (t) => {
    const nats = await natsFor(t);
    const client = await natsClient(t, nats.url);
    const manager = await client.jetstreamManager();
    await manager.streams.add({ name: 'VLP', subjects: ['vlp.>'] });
    // Somebody was given one of six messages, and keeps it; until then nobody gets another.
    const consumer = { ack_policy: 'explicit', ack_wait: 60e9, max_ack_pending: 1 };
    const filter = { durable_name: 'parley_halts', filter_subject: 'vlp.block.>' };
    await manager.consumers.add('VLP', { ...consumer, ...filter });
    for (let i = 0; i < 6; i++) await client.jetstream().publish('vlp.block.claim', '{}');
    const kept = await client.jetstream().pull('VLP', 'parley_halts');
    const server = await parleyFor(t, { nats: nats.url });
    await moves(server, 'parley_facts_pending_messages', vlp, (count) => count === 5);
    kept.ack();
    await moves(server, 'parley_facts_pending_messages', vlp, isZero);
  });

  it('TLS handshakes fail', async (t) => {
    const { ca, issue } = await authority();
    const { cert, key } = await issue('server', LOCALHOST);
    const tls = { ca: readFileSync(ca) };
    const server = await parleyFor(t, { args: ['--tls-cert', cert, '--tls-key', key], tls });
    const distrusts = connectTls({ port: server.port, host: '127.0.0.1' });
    distrusts.on('error', () => {});
    const plain = connectTcp(server.port, '127.0.0.1');
    plain.on('error', () => {});
    plain.end('no TLS\r\n\r\n');
    await moves(server, 'parley_tls_handshakes_total', { outcome: 'failed' }, (count) => count >= 1);
    await moves(server, 'parley_tls_handshakes_total', { outcome: 'done' }, isPositive);
    distrusts.destroy();
    plain.destroy();
  });
});
