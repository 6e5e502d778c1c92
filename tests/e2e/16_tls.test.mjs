// SPDX-License-Identifier: Apache-2.0
// HTTPS: what is spoken, who is let in, and that everything works as over plain connections.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { after, before, describe, it } from 'node:test';
import { authority } from './lib/certificates.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { NDJSON_TYPE, get, openStream, post, send, streamFor } from './lib/http.mjs';
import { parley, parleyFor, serveArguments, startParley } from './lib/parley.mjs';
import { until, within } from './lib/poll.mjs';
import { run, temporaryFolder } from './lib/program.mjs';
import { assertAccepted, assertProblem, claim, claims, lines } from './lib/vlp.mjs';

const LOCALHOST = 'DNS:localhost,IP:127.0.0.1';

// A server's certificate: the arguments with which parley uses it, and what its clients need.
async function certificateOfServer() {
  const { ca, issue } = await authority();
  const { cert, key } = await issue('server', LOCALHOST);
  const args = ['--tls-cert', cert, '--tls-key', key];
  return { ca, issue, cert, key, args, tls: { ca: readFileSync(ca) } };
}

// What an https client needs to show a certificate.
const shown = ({ cert, key }) => ({ cert: readFileSync(cert), key: readFileSync(key) });

const its = {};
before(async () => {
  its.certificate = await certificateOfServer();
  its.parley = await startParley(its.certificate);
});
after(() => its.parley?.stop());

// The whole of what a socket receives, and whether it ended in order.
function received(socket) {
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  return within(
    'the end of a connection',
    new Promise((resolve) => {
      const finish = (isWhole) => resolve({ text: Buffer.concat(chunks).toString(), isWhole });
      socket.on('end', () => finish(true));
      socket.on('error', () => finish(false));
      socket.on('close', () => finish(false));
    }),
  );
}

const connectTls = (options) =>
  tls.connect({ host: '127.0.0.1', port: its.parley.port, ...its.certificate.tls, ...options });

describe('what is spoken', () => {
  it('is HTTPS, and says so', async () => {
    assert.match(its.parley.program.stdout, /^listening on https:\/\/127\.0\.0\.1:\d+$/m);
    const answer = await get(its.parley, '/readyz');
    assert.equal(answer.status, 200);
  });

  it('is not plain HTTP, whose clients are told', async () => {
    const socket = net.connect(its.parley.port, '127.0.0.1');
    const answer = received(socket);
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    const { text } = await answer;
    assert.match(text, /^HTTP\/1\.1 400 /);
    assert.match(text, /Use https:\/\//);
  });

  for (const [title, args, isSpoken] of [
    ['TLS 1.3', ['-tls1_3'], true],
    ['TLS 1.2', ['-tls1_2'], true],
    ['not TLS 1.1', ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'], false],
    ['not TLS 1.0', ['-tls1', '-cipher', 'ALL:@SECLEVEL=0'], false],
    ['not CBC', ['-tls1_2', '-cipher', 'ECDHE+AES:!AESGCM:!AESCCM:@SECLEVEL=0'], false],
    ['not the key exchange of RSA', ['-tls1_2', '-cipher', 'kRSA:@SECLEVEL=0'], false],
    ['not NULL', ['-tls1_2', '-cipher', 'eNULL:@SECLEVEL=0'], false],
  ]) {
    it(`is ${title}, as openssl s_client finds`, async () => {
      const address = `127.0.0.1:${its.parley.port}`;
      const result = await run('openssl', ['s_client', '-connect', address, '-brief', ...args]);
      assert.equal(/CONNECTION ESTABLISHED/.test(result.stderr), isSpoken, result.stderr);
    });
  }
});

describe('over TLS', () => {
  it('messages are stored, and streams deliver them', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream');
    const message = claim();
    assertAccepted(await send(its.parley, message));
    assert.equal((await stream.event()).data.id, message.id);
  });

  it('results leave while their body arrives', async (t) => {
    let goOn;
    const next = new Promise((resolve) => (goOn = resolve));
    const [first, second] = claims(2).map((message) => `${JSON.stringify(message)}\n`);
    async function* body() {
      yield first;
      await next;
      yield second;
    }
    const stream = await openStream(its.parley, '/v1/vlp/messages', {
      method: 'POST',
      headers: { 'Content-Type': NDJSON_TYPE },
      body: body(),
    });
    atEnd(t, () => stream.close());
    assert.equal(JSON.parse(await stream.line()).status, 'accepted');
    goOn();
    assert.equal(JSON.parse(await stream.line()).status, 'accepted');
    assert.equal(JSON.parse(await stream.line()).summary.accepted, 2);
    assert.equal(await stream.line(), null);
    assert.ok(stream.ended);
  });

  it('a large body comes back byte for byte', async () => {
    const body = lines(claims(20_000));
    const answer = await post(its.parley, '/v1/vlp/validate?emit=messages', body, {
      type: NDJSON_TYPE,
    });
    assert.equal(answer.status, 200);
    assert.ok(answer.text === body, 'what comes back is what was sent');
  });

  it('a client that has closed its half gets its answer', async () => {
    const socket = connectTls({ allowHalfOpen: true });
    const answer = received(socket);
    socket.end('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const { text } = await answer;
    assert.match(text, /^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  it('a body that is cut off is not taken for whole', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream');
    const text = JSON.stringify(claim());
    const socket = connectTls();
    await within('a handshake', new Promise((resolve) => socket.on('secureConnect', resolve)));
    socket.write(
      'POST /v1/vlp/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${text.length + 1}\r\n\r\n${text}`,
    );
    await until('all was sent', () => socket.writableLength === 0);
    socket.destroy();
    const message = claim();
    assertAccepted(await send(its.parley, message));
    assert.equal((await stream.event()).data.id, message.id, 'the next one is the first stored');
  });
});

describe('clients that keep to nothing', () => {
  it('leave nothing when they vanish', async () => {
    const before = its.parley.openFiles();
    const streams = [];
    for (let i = 0; i < 20; i++) streams.push(await openStream(its.parley, '/v1/vlp/stream'));
    assert.ok(its.parley.openFiles() > before);
    for (const stream of streams) stream.close();
    await until('all are closed', () => its.parley.openFiles() <= before);
  });

  it('may begin 1,000 handshakes and finish none', async () => {
    const before = its.parley.openFiles();
    const sockets = [];
    for (let i = 0; i < 1000; i++) {
      const socket = net.connect(its.parley.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(Buffer.from([0x16, 3, 1, 2, 0]));
      sockets.push(socket);
    }
    assert.equal((await get(its.parley, '/livez')).status, 200);
    for (const socket of sockets) socket.destroy();
    await until('all are closed', () => its.parley.openFiles() <= before);
  });

  it('may send anything', async () => {
    const ends = [];
    for (let i = 0; i < 100; i++) {
      const socket = net.connect(its.parley.port, '127.0.0.1');
      ends.push(received(socket));
      socket.end(Buffer.concat([Buffer.from(i % 2 ? [0x16, 3, 1] : []), randomBytes(500)]));
    }
    await Promise.all(ends);
    assert.equal((await get(its.parley, '/livez')).status, 200);
  });
});

describe('certificates of clients', () => {
  it('are required, and of the right authority', async (t) => {
    const { ca, issue, args, tls: trust } = its.certificate;
    const agent = await issue('agent', 'DNS:agent.example');
    const stranger = await (await authority()).issue('agent', 'DNS:agent.example');
    const server = await parleyFor(t, { args: [...args, '--tls-client-ca', ca], tls: { ...trust, ...shown(agent) } });
    const ask = (more) => get({ ...server, port: server.port, tls: { ...trust, ...more } }, '/livez');
    assert.equal((await ask(shown(agent))).status, 200);
    await assert.rejects(ask({}), /alert|ECONNRESET|socket/);
    await assert.rejects(ask(shown(stranger)), /alert|ECONNRESET|socket/);
  });
});

describe('a certificate that stands for a token', () => {
  it('may do what its entry allows, and nothing without one', async (t) => {
    const { ca, issue, args, tls: trust } = its.certificate;
    const agent = await issue('agent-7', 'DNS:agent-7.example');
    const other = await issue('agent-8', 'DNS:agent-8.example');
    const data = temporaryFolder();
    const create = ['token', 'create', '--data', data, '--name', 'seven', '--allow', 'send:vlp'];
    const made = await parley([...create, '--certificate', 'dns:agent-7.example']);
    assert.equal(made.code, 0, made.stderr);
    assert.equal(made.stdout, '', 'there is no secret');
    const server = await parleyFor(t, {
      data,
      args: [...args, '--tls-client-ca', ca, '--tls-client-optional'],
      tls: trust,
    });
    const as = (certificate) => ({ ...server, tls: { ...trust, ...certificate } });
    assertAccepted(await send(as(shown(agent)), claim()));
    assertProblem(await get(as(shown(agent)), '/v1/vlp/stream?follow=false'), 403, 'forbidden');
    assertProblem(await send(as(shown(other)), claim()), 403, 'forbidden');
    assertProblem(await send(as({}), claim()), 401, 'unauthenticated');
    const headers = { Authorization: 'Bearer dns:agent-7.example' };
    assertProblem(await send(as({}), claim(), { headers }), 401, 'unauthenticated');
  });
});

describe('parley health', () => {
  it('asks over TLS, and verifies who answers to a URL', async () => {
    const { port } = its.parley;
    const { ca, cert, key } = its.certificate;
    const local = { PARLEY_LISTEN: `127.0.0.1:${port}`, PARLEY_TLS_CERT: cert };
    const other = await authority();
    for (const [args, env, code, words] of [
      [[], local, 0, 'ready'],
      [['--ca', ca, `https://localhost:${port}`], {}, 0, 'ready'],
      [['--ca', ca, '--cert', cert, '--key', key, `https://127.0.0.1:${port}`], {}, 0, 'ready'],
      [[`https://127.0.0.1:${port}`], {}, 1, 'certificate'],
      [[`https://127.0.0.1:${port}`], { SSL_CERT_FILE: ca }, 0, 'ready'],
      [['--ca', ca, `https://127.0.0.2:${port}`], {}, 1, ''],
      [['--ca', other.ca, `https://127.0.0.1:${port}`], {}, 1, 'certificate'],
      [[`http://127.0.0.1:${port}`], {}, 1, 'HTTP/1.1 400'],
    ]) {
      // It waits 2 s for an answer, which a busy machine can take.
      await until(`it asks ${args}`, async () => {
        const result = await parley(['health', ...args], { env });
        assert.equal(result.code, code, result.stderr);
        assert.ok((result.stdout + result.stderr).includes(words), result.stderr);
        return true;
      });
    }
  });
});

describe('files', () => {
  it('are read again on SIGHUP, and connections go on', async (t) => {
    const certificate = await certificateOfServer();
    const { cert, key, tls: trust } = certificate;
    const server = await parleyFor(t, certificate);
    const stream = await streamFor(t, server, '/v1/vlp/stream');
    const renewed = await certificateOfServer();
    const trusting = { ...server, tls: renewed.tls };
    copyFileSync(renewed.cert, cert);
    copyFileSync(renewed.key, key);
    server.signal('SIGHUP');
    await until('the new certificate is shown', async () => {
      const answer = await get(trusting, '/livez').catch(() => null);
      return answer?.status === 200;
    });
    await assert.rejects(get({ ...server, tls: trust }, '/livez'), /certificate/);
    const message = claim();
    assertAccepted(await send(trusting, message));
    assert.equal((await stream.event()).data.id, message.id);
    writeFileSync(cert, 'half of a certificate');
    server.signal('SIGHUP');
    const { program } = server;
    await until('it says what is wrong', () => /in use: .*server\.pem/.test(program.stderr));
    assert.equal((await get(trusting, '/livez')).status, 200);
  });

  const refused = (args) =>
    parley(serveArguments({ data: temporaryFolder(), args: ['--check-config', ...args] }));

  it('that cannot be used are named by --check-config', async () => {
    const { cert, key, args, issue } = its.certificate;
    assert.equal((await refused(args)).code, 0);
    const other = await issue('other', LOCALHOST);
    const readable = `${key}.readable`;
    copyFileSync(key, readable);
    chmodSync(readable, 0o644);
    for (const [given, words] of [
      [['--tls-cert', cert], '--tls-key'],
      [['--tls-cert', cert, '--tls-key', other.key], 'does not belong'],
      [['--tls-cert', cert, '--tls-key', readable], 'chmod 600'],
      [['--tls-cert', `${cert}.none`, '--tls-key', key], 'cannot be read'],
      [['--tls-client-ca', cert], '--tls-cert'],
    ]) {
      const result = await refused(given);
      assert.notEqual(result.code, 0, words);
      assert.ok(result.stderr.includes(words), result.stderr);
    }
  });
});
