// SPDX-License-Identifier: Apache-2.0
// The life of the server process: where it listens, what it refuses to start with, how it ends.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { holdThread } from './lib/held_thread.mjs';
import { get, openStream, rawFor, rawPost, readEvents, send, sendLines } from './lib/http.mjs';
import { embeddedUrl, freePorts, natsClient, startNats } from './lib/nats.mjs';
import {
  BINARY,
  assertNoSanitizerReport,
  parley,
  parleyFor,
  serveArguments,
} from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { Program, isRunning, temporaryFolder } from './lib/program.mjs';
import { endedByServer } from './lib/sockets.mjs';
import { assertAccepted, assertProblem, claim, claims, lines } from './lib/vlp.mjs';

// `parley serve` that must not start: how it ended.
const refusedToServe = (options) => parley(serveArguments({ data: temporaryFolder(), ...options }));

function assertRefused(result, ...words) {
  assert.equal(result.signal, null);
  assert.notEqual(result.code, 0, 'it refuses to start');
  assert.ok(!/listening on/.test(result.stdout), 'it never listened');
  for (const word of words) {
    assert.ok(result.stderr.includes(word), `the error names ${word}: ${result.stderr}`);
  }
}

describe('starting', () => {
  it('prints the address it listens on, which answers', async (t) => {
    const server = await parleyFor(t);
    assert.equal(server.host, '127.0.0.1');
    assert.equal((await get(server, '/livez')).status, 200);
    assert.equal((await get(server, '/readyz')).status, 200);
  });

  it('picks another free port for each server', async (t) => {
    const one = await parleyFor(t);
    const two = await parleyFor(t);
    assert.notEqual(one.port, two.port);
  });

  it('takes an address without a host as 127.0.0.1', async (t) => {
    const server = await parleyFor(t, { listen: ':0' });
    assert.equal(server.host, '127.0.0.1');
  });

  it('takes an option from its environment variable', async (t) => {
    const env = { PARLEY_DATA: temporaryFolder(), PARLEY_LISTEN: '127.0.0.1:0' };
    const program = new Program(BINARY, ['serve'], { env });
    atEnd(t, () => program.exit || program.killFamily());
    await program.prints(/^listening on http:\/\/127\.0\.0\.1:\d+$/m);
    assert.ok(existsSync(join(env.PARLEY_DATA, 'nats.url')));
    program.signal('SIGTERM');
    assert.deepEqual(await program.hasExited(), { code: 0, signal: null });
  });

  it('tells a person at a terminal where to look next (newcomer 2.10)', async (t) => {
    const data = temporaryFolder();
    // exec: a shell that waited for it would end of the Ctrl-C itself, as dash does.
    const command = `exec ${BINARY} serve --listen 127.0.0.1:0 --data ${data}`;
    const program = new Program('script', ['-qec', command, '/dev/null'], { isOpen: true });
    atEnd(t, () => program.exit || program.killFamily());
    await program.prints(new RegExp(`http://127\\.0\\.0\\.1:\\d+/ has examples; data is in ${data}; `));
    program.child.stdin.write('\x03'); // Ctrl-C
    assert.deepEqual(await program.hasExited(), { code: 0, signal: null });
  });

  it('prefers the option on the command line to the environment variable', async (t) => {
    const server = await parleyFor(t, { env: { PARLEY_LISTEN: 'nonsense' } });
    assert.equal((await get(server, '/livez')).status, 200);
  });

  it('makes its data folder, and keeps the way to its nats-server to itself', async (t) => {
    const data = join(temporaryFolder(), 'not', 'there');
    const server = await parleyFor(t, { data });
    assert.equal(statSync(join(data, 'nats.url')).mode & 0o777, 0o600);
    const client = await natsClient(t, embeddedUrl(server));
    assert.equal((await (await client.jetstreamManager()).streams.info('VLP')).config.name, 'VLP');
  });

  it('takes an address that is not loopback with --insecure', async (t) => {
    const server = await parleyFor(t, { listen: '0.0.0.0:0', args: ['--insecure'] });
    assert.equal(server.host, '0.0.0.0');
    assert.equal((await get(server, '/livez')).status, 200);
  });
});

describe('starting with closed standard files', () => {
  // (attack F11) A descriptor that is free must not become a socket that is then printed to.
  for (const closed of ['>&-', '<&- >&- 2>&-']) {
    it(`serves with ${closed}, and says of its output what is true`, async (t) => {
      const data = temporaryFolder();
      const [port] = await freePorts(1);
      const command = `exec "$0" serve --listen 127.0.0.1:${port} --data "$1" ${closed}`;
      const program = new Program('sh', ['-c', command, BINARY, data]);
      atEnd(t, () => program.exit || program.killFamily());
      const server = { url: `http://127.0.0.1:${port}`, port };
      await until('it is ready', async () => (await get(server, '/readyz')).status === 200);
      assertAccepted(await send(server, claim()));
      program.signal('SIGTERM');
      await program.hasExited();
      assert.doesNotMatch(program.stderr, /Invalid argument/);
    });
  }
});

describe('refusing to start', () => {
  it('refuses an address that is not loopback without tokens or --insecure', async () => {
    assertRefused(await refusedToServe({ listen: '0.0.0.0:0' }), '0.0.0.0', '--insecure');
  });

  it('refuses the IPv6 address of every interface likewise', async () => {
    assertRefused(await refusedToServe({ listen: '[::]:0' }), '::', '--insecure');
  });

  it('refuses an address that is no address', async () => {
    assertRefused(await refusedToServe({ listen: 'nonsense' }), 'nonsense');
  });

  it('refuses a port that is taken', async (t) => {
    const server = await parleyFor(t);
    const result = await refusedToServe({ listen: `127.0.0.1:${server.port}` });
    assertRefused(result, String(server.port));
  });

  it('refuses a data folder that another parley holds', async (t) => {
    const server = await parleyFor(t);
    assertRefused(await refusedToServe({ data: server.data }), server.data);
    assertAccepted(await send(server, claim()));
  });

  it('refuses an option that it does not know', async () => {
    assertRefused(await refusedToServe({ args: ['--no-such-option'] }), '--no-such-option');
  });

  it('refuses a stream that exists and does not cover its subjects', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const manager = await (await natsClient(t, nats.url)).jetstreamManager();
    await manager.streams.add({ name: 'VLP', subjects: ['other.>'] });
    // Where it hears nothing of NATS for 3 s, as on a busy machine, it serves, and only logs it later.
    const result = await until('it hears of the stream while it starts', async () => {
      const args = serveArguments({ data: temporaryFolder(), nats: nats.url });
      const program = new Program(BINARY, args);
      atEnd(t, () => program.exit || program.killFamily());
      const waits = program.prints(/event=start\.waiting/, 'stderr');
      await Promise.race([waits, program.exited]).catch(() => {});
      if (!program.exit) return program.killFamily();
      return { ...program.exit, stdout: program.stdout, stderr: program.stderr };
    });
    assertNoSanitizerReport(result.stderr);
    assertRefused(result, 'VLP');
  });
});

describe('ending', { concurrency: 2 }, () => {
  it('exits with 0 on SIGTERM, and its nats-server is gone', async (t) => {
    const server = await parleyFor(t);
    const natsPid = server.natsPid();
    assert.ok(natsPid, 'it has a child');
    await server.stop();
    assert.equal(isRunning(natsPid), false);
  });

  for (const [accept, read] of [
    ['application/x-ndjson', (stream) => stream.event()],
    ['text/event-stream', async (stream) => JSON.parse((await stream.sseData())?.data ?? 'null')],
  ]) {
    it(`tells an open ${accept} stream parley.end, and ends the response in order`, async (t) => {
      const server = await parleyFor(t);
      const stream = await openStream(server, '/v1/vlp/stream', { headers: { Accept: accept } });
      server.signal('SIGTERM');
      const event = await read(stream);
      assert.equal(event?.type, 'parley.end');
      assert.equal(event.specversion, '1.0');
      while ((await stream.line()) !== null);
      assert.equal(stream.ended, true, 'the last chunk came');
      assert.deepEqual(await server.program.hasExited(), { code: 0, signal: null });
    });
  }

  it('exits with 0 on SIGTERM beside an idle connection', async (t) => {
    const server = await parleyFor(t);
    const connection = await rawFor(t, server, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.equal((await connection.answer()).status, 200);
    await server.stop();
    await connection.end();
  });

  // A server that drains, since half a request of `held` is there; `idle` has had an answer. (contract 1)
  // It does so until that is whole, however long this takes. One worker has said so: that of `stream`.
  async function drainingServer(t, signal = 'SIGTERM', { reactors = 1 } = {}) {
    const args = ['--reactors', `${reactors}`, '--ack-timeout', '10m', '--idle-timeout', '10m'];
    const server = await parleyFor(t, { args });
    const idle = await rawFor(t, server, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.equal((await idle.answer()).status, 200);
    const body = JSON.stringify(claim());
    const whole = rawPost('/v1/vlp/messages', body, { headers: ['Expect: 100-continue'] });
    const held = await rawFor(t, server, whole.subarray(0, -body.length));
    assert.equal((await held.answer()).status, 100, 'it has begun');
    const stream = await openStream(server, '/v1/vlp/stream');
    server.signal(signal);
    while ((await stream.event()).type !== 'parley.end');
    return { server, held, idle, rest: body };
  }

  async function finishHeld({ server, held, rest }) {
    await held.write(rest);
    const answer = await held.answer();
    assertAccepted(answer);
    assert.equal(answer.headers.connection, 'close');
    assert.deepEqual(await server.program.hasExited(), { code: 0, signal: null });
  }

  function assertDraining(answer) {
    assertProblem(answer, 503, 'draining');
    assert.match(answer.headers['retry-after'], /^\d+$/);
    assert.equal(answer.headers.connection, 'close');
  }

  for (const signal of ['SIGTERM', 'SIGINT']) {
    it(`finishes on ${signal} what was begun, and exits with 0 (contract 13)`, async (t) => {
      await finishHeld(await drainingServer(t, signal));
    });
  }

  it('takes new connections while it drains, and answers 503 draining (contract 1)', async (t) => {
    const draining = await drainingServer(t, 'SIGTERM', { reactors: 3 });
    const { server } = draining;
    await until('every worker drains', async () => {
      for (let i = 0; i < 30; i++) if ((await get(server, '/readyz')).status !== 503) return false;
      return true;
    });
    for (let i = 0; i < 30; i++) {
      assertDraining(await send(server, claim()));
      assertDraining(await get(server, '/readyz'));
    }
    for (const path of ['/v1/vlp/stream', '/v1/stream', '/', '/problems/draining', '/nowhere']) {
      assertDraining(await get(server, path));
    }
    assertDraining(await get(server, '/v1/vlp/stream', { headers: { Accept: 'text/event-stream' } }));
    assertDraining(await sendLines(server, lines(claims(3))));
    await finishHeld(draining);
  });

  it('lets a client that has sent more read that it drains', async (t) => {
    const draining = await drainingServer(t);
    const { server } = draining;
    const before = server.openFiles();
    const clients = Array.from({ length: 10 }, () => {
      const socket = connect(server.port, '127.0.0.1'); // nobody reads from it yet
      const client = { socket, received: '', closed: once(socket, 'close') };
      socket.on('error', ({ code }) => (client.error = code));
      socket.write(Buffer.concat(Array(400).fill(rawPost('/v1/vlp/messages', '{}'))));
      return client;
    });
    await until('they are answered', () => endedByServer(server) === clients.length);
    await until('they are closed', () => server.openFiles() <= before);
    for (const client of clients) {
      client.socket.on('data', (bytes) => (client.received += bytes));
      await client.closed;
      assert.equal(client.error, undefined); // a reset, which may take the answer away
      assert.match(client.received, /^HTTP\/1\.1 503 /);
    }
    await finishHeld(draining);
  });

  it('lives while it drains', async (t) => {
    const draining = await drainingServer(t);
    const answer = await get(draining.server, '/livez');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.connection, 'close');
    await finishHeld(draining);
  });

  it('answers on connections that were idle when it began to drain, and closes them', async (t) => {
    const draining = await drainingServer(t);
    const { idle } = draining;
    await idle.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assertDraining(await idle.answer());
    assert.equal(await idle.end(), '');
    await finishHeld(draining);
  });

  it('keeps idle connections to the end of the drain, which does not wait for them', async (t) => {
    const draining = await drainingServer(t);
    const { server, idle } = draining;
    const silent = await rawFor(t, server);
    const late = await rawFor(t, server, rawPost('/v1/vlp/validate', 'x'.repeat(50)).subarray(0, -9));
    assert.equal((await get(server, '/livez')).status, 200);
    assert.equal(idle.closed, false);
    await finishHeld(draining);
    for (const each of [idle, silent, late]) await each.end();
  });

  it('keeps on when a terminal that it was told to ignore ends', async (t) => {
    const server = await parleyFor(t, { wrapper: ['nohup'] });
    server.signal('SIGHUP');
    assertAccepted(await send(server, claim()));
    assert.equal((await get(server, '/readyz')).status, 200);
  });

  it('exits at once on a second SIGTERM, whatever is still under way', async (t) => {
    const { server } = await drainingServer(t);
    server.signal('SIGTERM');
    await server.program.hasExited('the second SIGTERM ends it');
  });

  for (const [when, signal] of [['it serves', null], ['it drains', 'SIGTERM']]) {
    it(`aborts when a worker does not come back to its loop while ${when} (field D)`, async (t) => {
      const server = await parleyFor(t, { args: ['--reactors', '2', '--stall-timeout', '1s'] });
      server.isEndedByTest = true;
      const worker = await holdThread(t, server, 'worker-1');
      if (signal) server.signal(signal);
      await server.program.prints(/event=worker\.stalled/, 'stderr');
      await worker.letGo(); // the kernel keeps a thread that is traced
      assert.deepEqual(await server.program.hasExited(), { code: null, signal: 'SIGABRT' });
    });
  }

  it('takes its nats-server along when it is killed', async (t) => {
    const server = await parleyFor(t);
    const natsPid = server.natsPid();
    await server.kill();
    await until('nats-server is gone too', () => !isRunning(natsPid));
  });

  it('has after a restart all that it had before, even when it was killed', async (t) => {
    const first = await parleyFor(t);
    const message = claim();
    const { seq } = assertAccepted(await send(first, message));
    const natsPid = first.natsPid();
    await first.kill();
    await until('nats-server is gone too', () => !isRunning(natsPid));
    const second = await parleyFor(t, { data: first.data });
    const events = await readEvents(second);
    assert.deepEqual(
      events.map((event) => [event.sequence, event.data]),
      [[String(seq), message]],
    );
  });
});
