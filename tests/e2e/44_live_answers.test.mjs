// SPDX-License-Identifier: Apache-2.0
// Results that leave while their body still arrives: a live filter in a pipe, whatever speaks HTTP at
// its ends, with back-pressure both ways.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NDJSON_TYPE, chunk, connectRaw, rawChunkedHead, rawFor, rawPost } from './lib/http.mjs';
import http from 'node:http';
import { atEnd } from './lib/cleanup.mjs';
import { streamInfo } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { DEADLINE_MS, ifMemoryCounts, isSanitized, until, within } from './lib/poll.mjs';
import { Program, processStatus } from './lib/program.mjs';
import { openAtServer } from './lib/sockets.mjs';
import { brokenClaim, claim, claims, lines } from './lib/vlp.mjs';

const FILTER = '/v1/vlp/validate?emit=messages';
const peakKb = (parley) => parseInt(processStatus(parley.pid, 'VmHWM'), 10);

// Reads lines from its standard input, sends each, and prints the answer's lines as they come.
const PYTHON = `
import http.client, sys
c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
c.putrequest('POST', sys.argv[2])
c.putheader('Content-Type', 'application/x-ndjson')
c.putheader('Transfer-Encoding', 'chunked')
c.endheaders()
sock, answer = c.sock, None # which http.client lets go of, once it has read Connection: close
for line in sys.stdin:
    data = line.encode()
    sock.sendall(b'%x\\r\\n%s\\r\\n' % (len(data), data))
    answer = answer or c.getresponse()
    print(answer.readline().decode(), end='', flush=True)
sock.sendall(b'0\\r\\n\\r\\n')
print(answer.read().decode(), end='', flush=True)
`;

// Programs that send their standard input: their command line for an address.
const clients = {
  'curl -T .': (parley, path) => [
    'curl', // -T - would not look at the answer while it waits for its standard input
    ['-sN', '-X', 'POST', '-T', '.', '-H', `Content-Type: ${NDJSON_TYPE}`, parley.url + path],
  ],
  'Python': (parley, path) => ['python3', ['-uc', PYTHON, String(parley.port), path]],
};

function start(t, client, parley, path) {
  const program = new Program(...client(parley, path), { isOpen: true });
  atEnd(t, () => program.exit || program.killFamily());
  return program;
}

// The lines of a live answer to Node, and what sends its body.
function nodeExchange(t, parley, path) {
  const req = http.request({
    host: '127.0.0.1',
    port: parley.port,
    method: 'POST',
    path,
    agent: false,
    headers: { 'Content-Type': NDJSON_TYPE },
  });
  req.on('error', () => {});
  atEnd(t, () => req.destroy());
  const exchange = { req, text: '', ended: false };
  req.on('response', (response) => {
    exchange.response = response;
    response.setEncoding('utf8');
    response.on('data', (text) => (exchange.text += text));
    response.on('end', () => (exchange.ended = true));
    response.on('error', () => {});
  });
  return exchange;
}

describe('a live answer', () => {
  const its = useParley();

  for (const [name, client] of Object.entries(clients)) {
    it(`gives ${name} each message before the next one is sent`, async (t) => {
      const program = start(t, client, its.parley, FILTER);
      let expected = '';
      for (const message of claims(5)) {
        const line = lines([message]);
        program.child.stdin.write(line);
        expected += line;
        await until(`the message comes back: ${program.stderr}`, () => program.stdout === expected);
      }
      program.child.stdin.end();
      assert.deepEqual(await program.hasExited(), { code: 0, signal: null });
      assert.equal(program.stdout, expected);
    });

    it(`gives ${name} each ack before the next message is sent`, async (t) => {
      const program = start(t, client, its.parley, '/v1/vlp/messages');
      for (let i = 1; i <= 5; i++) {
        program.child.stdin.write(lines([i === 3 ? brokenClaim() : claim()]));
        const status = i === 3 ? 'invalid' : 'accepted';
        await program.prints(new RegExp(`^{"line":${i},"status":"${status}".*}\n`, 'm'));
      }
      program.child.stdin.end();
      await program.hasExited();
      assert.match(program.stdout, /\n{"summary":{"received":5,"accepted":4,.*}}\n$/);
    });
  }

  it('gives Node each verdict before the next message is sent', async (t) => {
    const exchange = nodeExchange(t, its.parley, '/v1/vlp/validate');
    for (let i = 1; i <= 5; i++) {
      exchange.req.write(lines([i % 2 ? claim() : brokenClaim()]));
      const verdict = new RegExp(`^{"line":${i},"valid":${i % 2 === 1},.*}\n$`, 'm');
      await until(`verdict ${i}`, () => verdict.test(exchange.text));
    }
    exchange.req.end();
    await until('the end', () => exchange.ended);
    assert.equal(exchange.response.statusCode, 200);
    assert.match(exchange.text, /{"summary":{"received":5,"valid":3,"invalid":2}}\n$/);
  });

  it('comes behind the 100 that a client waits for', async (t) => {
    const head = rawChunkedHead(FILTER).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n');
    const connection = await rawFor(t, its.parley, head);
    assert.equal((await connection.answer()).status, 100);
    const line = lines([claim()]);
    await connection.write(chunk(line));
    await until('the message', () => connection.received.includes(line));
    await connection.write(chunk(''));
    const answer = await connection.answer();
    assert.equal(answer.status, 200);
    assert.equal(answer.text, line);
    assert.equal(answer.headers.connection, 'close');
    assert.equal(await connection.end(), '');
  });

  it('is the last of its connection: what follows its body is no request', async (t) => {
    const before = (await streamInfo(its.nats)).state.messages;
    const body = lines([claim()]);
    const smuggled = rawPost('/v1/vlp/messages', JSON.stringify(claim()));
    for (const path of ['/v1/vlp/messages', FILTER]) {
      const bytes = [rawChunkedHead(path), chunk(body), chunk(''), smuggled].map(Buffer.from);
      const connection = await rawFor(t, its.parley, Buffer.concat(bytes));
      assert.equal((await connection.answer()).status, 200);
      assert.equal(await connection.end(), '');
    }
    assert.equal((await streamInfo(its.nats)).state.messages, before + 1);
  });

  it('is not whole when a chunk of the body cannot be read', async (t) => {
    const connection = await rawFor(t, its.parley, rawChunkedHead('/v1/vlp/validate'));
    await connection.write(chunk(lines([claim()])));
    await until('a verdict', () => connection.received.includes('"line":1'));
    await connection.write('no length\r\n');
    await connection.end();
    assert.doesNotMatch(connection.received.toString(), /"summary"|\r\n0\r\n/);
  });

  it('goes on for a client that has closed its half', async (t) => {
    const body = lines(claims(1000));
    const connection = await rawFor(t, its.parley, rawChunkedHead(FILTER));
    await connection.write(Buffer.concat([chunk(body), chunk('')]));
    connection.socket.end();
    const answer = await connection.answer();
    assert.equal(answer.text, body);
  });

  it('is not for short bodies of announced length, which keep their connection', async (t) => {
    const connection = await rawFor(t, its.parley);
    for (const message of claims(2)) {
      const body = lines([message]);
      await connection.write(rawPost(FILTER, body, { type: NDJSON_TYPE }));
      const answer = await connection.answer();
      assert.equal(answer.text, body);
      assert.notEqual(answer.headers.connection, 'close');
    }
  });

  for (const path of ['/v1/vlp/messages', '/v1/vlp/validate', FILTER]) {
    it(`${path}: brings what there is of a short body that is slow (contract 19)`, async (t) => {
      const messages = claims(3);
      const whole = rawPost(path, lines(messages), { type: NDJSON_TYPE });
      const connection = await rawFor(t, its.parley, whole.subarray(0, whole.length - 2));
      await until('the second result', () => connection.received.includes(messages[1].id));
      await connection.write(whole.subarray(whole.length - 2));
      const answer = await connection.answer();
      assert.equal(answer.headers.connection, 'close');
      for (const { id } of messages) assert.ok(answer.text.includes(id), answer.text);
    });
  }

  it('brings the results of arrays and of long bodies, too', async (t) => {
    const connection = await rawFor(t, its.parley, rawChunkedHead(FILTER, 'application/json'));
    const [first, second] = claims(2).map((message) => JSON.stringify(message));
    await connection.write(chunk(`[${first},`));
    await until('the first element', () => connection.received.includes(first));
    await connection.write(Buffer.concat([chunk(`${second}]`), chunk('')]));
    assert.equal((await connection.answer()).text, `${first}\n${second}\n`);
    const body = lines(claims(8000));
    assert.ok(body.length > 1 << 20);
    const whole = rawPost(FILTER, body, { type: NDJSON_TYPE });
    const long = await rawFor(t, its.parley, whole.subarray(0, whole.length - 1));
    await until('the first message', () => long.received.includes(body.slice(0, 100)));
    await long.write(whole.subarray(whole.length - 1));
    assert.equal((await long.answer()).text, body);
  });

  it('ends when the client leaves, and what it had sent is stored', async (t) => {
    const before = (await streamInfo(its.nats)).state.messages;
    const connection = await rawFor(t, its.parley, rawChunkedHead('/v1/vlp/messages'));
    for (const message of claims(3)) await connection.write(chunk(lines([message])));
    await until('the acks', () => connection.received.includes('"line":3'));
    await connection.write(chunk(lines(claims(2))));
    connection.socket.end();
    connection.close();
    await until(
      'all five are stored',
      async () => (await streamInfo(its.nats)).state.messages === before + 5,
    );
  });

  const count = isSanitized ? 10_000 : 100_000;
  it(`takes ${count} lines and gives as many verdicts`, async (t) => {
    const exchange = nodeExchange(t, its.parley, '/v1/vlp/validate');
    const piece = lines([claim(), brokenClaim()]).repeat(500);
    for (let i = 0; i < count; i += 1000) {
      if (!exchange.req.write(piece)) {
        await within('the body is taken', new Promise((done) => exchange.req.once('drain', done)));
      }
    }
    exchange.req.end();
    await until('the end', () => exchange.ended);
    const results = exchange.text.trimEnd().split('\n');
    assert.equal(results.length, count + 1);
    results.slice(0, -1).forEach((text, i) => {
      assert.ok(text.startsWith(`{"line":${i + 1},"valid":${i % 2 === 0},`), text);
    });
    const summary = { received: count, valid: count / 2, invalid: count / 2 };
    assert.deepEqual(JSON.parse(results.at(-1)), { summary });
  });
});

// Writes chunks until the server takes no more.  Returns: how many bytes it took.
async function writeUntilStopped(connection, piece) {
  const isTaken = () => connection.socket.writableLength === 0;
  let sent = 0;
  for (;;) {
    connection.socket.write(piece);
    const isMoving = await until('it is taken', isTaken, { timeout: 1500 }).catch(() => false);
    if (!isMoving) return sent;
    sent += piece.length;
  }
}

describe('a client that does not read its live answer', () => {
  const piece = chunk(lines(claims(200)));
  const pieces = 400; // more than the sockets hold, which is 150

  const takes = ifMemoryCounts(', takes no memory');
  it(`cannot go on sending${takes}, and others are answered meanwhile`, async (t) => {
    const parley = await parleyFor(t, { args: ['--idle-timeout', '10m'] });
    const before = peakKb(parley);
    const connection = await connectRaw(parley);
    atEnd(t, () => connection.close());
    connection.socket.pause();
    await connection.write(rawChunkedHead('/v1/vlp/validate?emit=both'));
    const sent = await writeUntilStopped(connection, piece);
    assert.ok(sent > 0 && sent < 100e6, `${sent} bytes`);
    if (!isSanitized) assert.ok(peakKb(parley) - before < 5000, `${peakKb(parley) - before} kB`);
    const other = await rawFor(t, parley, rawPost('/v1/vlp/validate', JSON.stringify(claim())));
    assert.equal((await other.answer()).status, 200);
    connection.socket.resume(); // and when it reads, it gets all
    await until('the rest is taken', () => connection.socket.writableLength === 0);
    await connection.write(chunk(''));
    const answer = await connection.answer({ timeout: DEADLINE_MS });
    const count = ((sent + piece.length) / piece.length) * 200;
    assert.match(answer.text.slice(-200), new RegExp(`"received":${count},"valid":${count},`));
  });

  it('may send all first, if it waits long enough', async (t) => {
    const parley = await parleyFor(t, { args: ['--idle-timeout', '12s'] });
    const connection = await connectRaw(parley);
    atEnd(t, () => connection.close());
    connection.socket.pause();
    await connection.write(rawChunkedHead('/v1/vlp/validate?emit=both'));
    for (let i = 0; i < pieces; i++) connection.socket.write(piece);
    await within('all of it is taken', connection.write(chunk('')));
    connection.socket.resume();
    const answer = await connection.answer();
    assert.equal(answer.text.split('\n').length, pieces * 200 + 2);
  });

  it('is broken off when nothing moves for long', async (t) => {
    const parley = await parleyFor(t, { args: ['--idle-timeout', '5s'] });
    const connection = await connectRaw(parley);
    atEnd(t, () => connection.close());
    connection.socket.pause();
    await connection.write(rawChunkedHead('/v1/vlp/validate?emit=both'));
    for (let i = 0; i < pieces; i++) connection.socket.write(piece);
    const isTaken = await within('all of it is taken', connection.write(chunk('')));
    assert.ok(isTaken, 'it is open so far');
    await until('it is closed', () => openAtServer(parley) === 0);
    connection.socket.resume();
    await connection.end();
    assert.doesNotMatch(connection.received.subarray(-200).toString(), /"summary"/);
  });
});
