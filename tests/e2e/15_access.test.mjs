// SPDX-License-Identifier: Apache-2.0
// Who is let in: tokens from their making to their end, scopes, and what a server does when its
// token file changes.

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, openStream, post, rawFor, send, streamFor, validate } from './lib/http.mjs';
import { parseMetrics, valueOf } from './lib/metrics.mjs';
import { BINARY, parley, parleyFor, serveArguments, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { Program, isRunning, temporaryFolder } from './lib/program.mjs';
import { sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';
import { TOKEN_FORM, bearer, createToken as create } from './lib/tokens.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';
import { askAndWait, nextTask } from './lib/work.mjs';

async function revoke(file, name) {
  const { code, stderr } = await parley(['token', 'revoke', '--tokens', file, name]);
  assert.equal(code, 0, stderr);
}

const status = async (server, token) => (await validate(server, claim(), bearer(token))).status;
const untilStatus = (server, token, wanted) =>
  until(`it is answered ${wanted}`, async () => (await status(server, token)) === wanted);

// What a stream says last, when the server ends it in order.
async function lastEvent(stream) {
  let last;
  for (let line; (line = await stream.line()) !== null;) last = line || last;
  assert.ok(stream.ended);
  const event = JSON.parse(last);
  assert.equal(event.type, 'parley.end');
  return event;
}

function assertUnauthenticated(answer, error, ...words) {
  assertProblem(answer, 401, 'unauthenticated');
  const challenge = 'Bearer realm="parley"' + (error ? `, error="${error}"` : '');
  assert.equal(answer.headers['www-authenticate'], challenge);
  for (const word of words) assert.match(answer.json.detail, word);
}

describe('tokens', () => {
  let server;
  let file;
  let all;
  let sender;
  const hasExpired = async (token) => {
    const { status: code, json } = await validate(server, claim(), bearer(token));
    return code === 401 && /has expired/.test(json.detail);
  };
  before(async () => {
    file = join(temporaryFolder(), 'tokens.json');
    all = await create(file, 'all', 'send:*,read:*');
    sender = await create(file, 'sender', 'send:vlp,read:brenner');
    server = await startParley({ args: ['--tokens', file, '--reactors', '2'] });
  });
  after(() => server?.stop());

  it('are asked for on loopback too, but not where everybody may look', async () => {
    for (const path of ['/', '/page.js', '/livez', '/readyz', '/problems', '/problems/forbidden',
      '/v1/protocols', '/v1/protocols/vlp', '/v1/protocols/vlp/schema', '/v1/protocols/vlp/rules',
      '/v1/protocols/vlp/examples']) {
      assert.equal((await get(server, path)).status, 200, path);
    }
    assertUnauthenticated(await send(server, claim()), null, /Authorization: Bearer TOKEN/);
    assertUnauthenticated(await get(server, '/v1/vlp/stream'), null);
    assertUnauthenticated(await get(server, '/v1/stream'), null);
    assertUnauthenticated(await post(server, '/v1/vlp/convert?to=ndjson', '{}'), null);
  });

  it('let in for what they were made for', async () => {
    assertAccepted(await send(server, claim(), bearer(sender)));
    const refused = await post(server, '/v1/brenner/validate', '{}', bearer(sender));
    assertProblem(refused, 403, 'forbidden');
    assert.equal(refused.headers['www-authenticate'],
      'Bearer realm="parley", error="insufficient_scope", scope="send:brenner"');
    assertProblem(await get(server, '/v1/vlp/stream', bearer(sender)), 403, 'forbidden');
  });

  it('are told what they allow', async () => {
    const who = async (token) => (await get(server, '/v1/whoami', bearer(token))).json;
    assert.deepEqual(await who(all), { scopes: ['send:*', 'read:*'], name: 'all' });
    assert.deepEqual(await who(sender), { scopes: ['send:vlp', 'read:brenner'], name: 'sender' });
    assertUnauthenticated(await get(server, '/v1/whoami'), null);
  });

  it('read of all protocols those that they may, and are told which they may not', async () => {
    const some = await get(server, '/v1/stream?since=all&follow=false', bearer(sender));
    assert.equal(some.status, 200);
    assert.equal(some.headers['parley-left-out'], 'vlp, roundtable, supervisor');
    assert.equal(some.text, '');
    assertAccepted(await send(server, claim(), bearer(all)));
    const every = await get(server, '/v1/stream?since=all&limit=1', bearer(all));
    assert.equal(every.headers['parley-left-out'], undefined);
    assert.match(every.text, /"type":"vlp\.claim"/);
  });

  it('are taken in any spelling of the scheme, and from the header alone', async () => {
    const spelled = (value) => validate(server, claim(), { headers: { Authorization: value } });
    for (const scheme of ['bearer ', 'BEARER   ']) {
      assert.equal((await spelled(scheme + all)).status, 200);
    }
    assertUnauthenticated(await spelled(`Basic ${all}`), null, /no other scheme/);
    assertUnauthenticated(await spelled(all), null, /must be `Bearer TOKEN`/);
    for (const path of [`/v1/stream?access_token=${all}`, `/v1/vlp/stream?access_token=${all}`]) {
      assertUnauthenticated(await get(server, path), 'invalid_request', /token in the URL/);
    }
  });

  it('that are wrong are refused without being logged', async () => {
    const unknown = await create(join(temporaryFolder(), 'other.json'), 'x', 'admin');
    for (const [token, words] of [
      [unknown, /does not know the token/],
      [all.slice(0, -1), /not a token of parley/],
      ['x'.repeat(4000), /not a token of parley/],
      ['', /not a token of parley|must be/],
    ]) {
      const answer = await validate(server, claim(), bearer(token));
      assert.equal(answer.status, 401);
      assert.match(answer.json.detail, words);
    }
    const { stderr } = server.program;
    for (const token of [unknown, all, sender]) assert.ok(!stderr.includes(token.slice(7, 40)));
    const logged = await until('it is logged', () => {
      const refused = server.logged('token.refused');
      return refused.length > 0 && refused;
    });
    assert.ok(logged.length <= 2, 'one line an address, worker and minute');
    assert.equal(logged[0].peer, '127.0.0.1');
  });

  it('are not needed to be told what is wrong with the address', async () => {
    assertProblem(await get(server, '/v1/vlp/validate'), 405, 'method-not-allowed');
    assertProblem(await get(server, '/nowhere'), 404, 'not-found');
  });

  it('do not make the server read a long body of somebody who has none', async (t) => {
    const head = 'POST /v1/vlp/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    for (const framing of ['Transfer-Encoding: chunked\r\n\r\n5\r\n[1234\r\n',
      'Content-Length: 10000000\r\n\r\n[1234']) {
      const connection = await rawFor(t, server, head + framing);
      const answer = await connection.answer();
      assert.equal(answer.status, 401);
      assert.equal(answer.headers.connection, 'close');
    }
  });

  it('are verified for each connection, and again once they have changed', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const file2 = await create(file, 'temporary', 'send:vlp');
    server.signal('SIGHUP');
    const ask = () => validate(server, claim(), { ...bearer(file2), agent });
    await until('it is known', async () => (await ask()).status === 200);
    assert.equal((await ask()).status, 200);
    assertUnauthenticated(await validate(server, claim(), { agent }), null);
    await revoke(file, 'temporary');
    server.signal('SIGHUP');
    await until('it is revoked', async () => (await ask()).status === 401);
    assertUnauthenticated(await ask(), 'invalid_token', /was revoked/);
    agent.destroy();
  });

  it('end the streams that they opened once they are revoked, and no others', async (t) => {
    const brief = await create(file, 'reader', 'read:*');
    server.signal('SIGHUP');
    const opened = (token, path, headers) => until('it is let in', async () => {
      const stream = await streamFor(t, server, path, bearer(token, headers));
      return stream.status === 200 && stream;
    });
    const ended = [
      await opened(brief, '/v1/vlp/stream'),
      await opened(brief, '/v1/stream?since=all&envelope=none'),
      await opened(brief, '/v1/roundtable/tasks?follow=true'),
      await opened(brief, '/v1/vlp/halts?follow=true'),
      await opened(brief, '/v1/supervisor/agents?follow=true'),
    ];
    const sse = await opened(brief, '/v1/vlp/stream', { Accept: 'text/event-stream' });
    const other = await opened(all, '/v1/vlp/stream');
    await opened(all, '/v1/roundtable/tasks?follow=true');
    await opened(all, '/v1/vlp/halts?follow=true');
    await opened(all, '/v1/supervisor/agents?follow=true');
    await revoke(file, 'reader');
    server.signal('SIGHUP');
    for (const stream of ended) assert.deepEqual((await lastEvent(stream)).data, { reason: 'token-revoked' });
    assert.match((await sse.sseData()).data, /"type":"parley\.end".*"token-revoked"/);
    assert.equal(await sse.line(), null);
    const sent = claim();
    assertAccepted(await send(server, sent, bearer(all)));
    assert.equal((await other.event()).data.id, sent.id);
  });

  it('claim no task and read no reply by a request that waits once they are revoked', async () => {
    const brief = await create(file, 'waiter', 'read:roundtable,send:roundtable');
    server.signal('SIGHUP');
    await untilStatus(server, brief, 403);
    const asked = taskRequest('code.review');
    const next = nextTask(server, 'late', { wait: 300, domains: ['late'], ...bearer(brief) });
    const told = askAndWait(server, asked, 300, bearer(brief, { Prefer: 'wait=300' }));
    const meter = await create(file, 'meter', 'metrics');
    const untilWaiting = (name, count) => until(`${count} of ${name}`, async () => {
      const { status: code, text } = await get(server, '/metrics', bearer(meter));
      return code === 200 && valueOf(parseMetrics(text), name) === count;
    });
    await untilWaiting('parley_tasks_waiting', 1);
    const other = nextTask(server, 'other', { wait: 300, domains: ['late'], ...bearer(all) });
    await untilWaiting('parley_tasks_waiting', 2);
    await untilWaiting('parley_awaited_replies', 1);

    await revoke(file, 'waiter');
    server.signal('SIGHUP');
    await untilStatus(server, brief, 401);
    const late = taskRequest('late.work');
    for (const message of [late, taskResult(asked.id, { from: asked.from })]) {
      assert.equal((await sendTask(server, message, bearer(all))).status, 200);
    }
    assertUnauthenticated(await next, 'invalid_token', /was revoked/);
    assert.equal((await other).json.task.id, late.id);
    const { status: code, json } = await told;
    assert.deepEqual([code, json.receipt.id, json.reply], [202, asked.id, undefined]);
  });

  it('expire, and end their streams', async (t) => {
    let brief;
    let seconds = 1; // twice as long each time: on a busy machine it may have expired before it is used
    const stream = await until('a stream is open in time', async () => {
      seconds *= 2;
      brief = await create(file, `brief-${seconds}`, 'send:vlp,read:vlp', '--expires', `${seconds}s`);
      server.signal('SIGHUP');
      const opened = () => streamFor(t, server, '/v1/vlp/stream', bearer(brief));
      const first = await until('its token is read', async () => {
        const each = await opened();
        return (each.status === 200 || (await hasExpired(brief))) && each;
      });
      return first.status === 200 && first;
    });
    const end = await lastEvent(stream);
    assert.deepEqual(end.data, { reason: 'token-expired' });
    await until('it has expired', async () => {
      const answer = await validate(server, claim(), bearer(brief));
      assertUnauthenticated(answer, 'invalid_token', /has expired/);
      return true;
    });
  });

  it('stay valid while their file cannot be read, and the log says why', async () => {
    const good = readFileSync(file);
    writeFileSync(file, '{"version":1,');
    server.signal('SIGHUP');
    await server.program.prints(/not valid JSON; the tokens that were read before stay valid/, 'stderr');
    assert.equal(await status(server, all), 200);
    assertUnauthenticated(await send(server, claim()), null);
    writeFileSync(file, good);
    chmodSync(file, 0o644);
    server.signal('SIGHUP');
    await server.program.prints(/mode 0644\): chmod 600 /, 'stderr');
    chmodSync(file, 0o600);
    const later = await create(file, 'later', 'send:vlp'); // which is seen without a signal, too
    await untilStatus(server, later, 200);
    assert.equal(await status(server, all), 200);
  });

  it('are read again on SIGHUP, which ends nothing', async () => {
    const stream = await openStream(server, '/v1/vlp/stream', bearer(all));
    const count = () => server.logged('token.read').length;
    const seen = count();
    server.signal('SIGHUP');
    await until('it says so', () => count() > seen);
    assertAccepted(await send(server, claim(), bearer(all)));
    assert.match((await stream.event()).type, /^vlp\./);
    stream.req.destroy();
  });
});

describe('the token file', { concurrency: true }, () => {
  it('is refused at the start if others can read it, or it is not there', async () => {
    const data = temporaryFolder();
    const file = join(data, 'tokens.json');
    await create(file, 'a', 'admin');
    chmodSync(file, 0o640);
    const open = await parley(serveArguments({ data }));
    assert.equal(open.code, 1);
    assert.match(open.stderr, /other users may read or write it \(mode 0640\): chmod 600 /);
    const gone = await parley(serveArguments({ data, args: ['--tokens', join(data, 'no.json')] }));
    assert.equal(gone.code, 1);
    assert.match(gone.stderr, /no\.json: cannot open it: No such file/);
  });

  it('of the data folder counts from its first moment on, and not only until it is gone', async (t) => {
    const server = await parleyFor(t, { args: ['--reactors', '1'] }); // which knows it or not
    const file = join(server.data, 'tokens.json');
    assertAccepted(await send(server, claim()));
    const token = await create(file, 'a', 'send:vlp');
    await until('it asks', async () => (await send(server, claim())).status === 401);
    assert.equal(await status(server, token), 200);
    renameSync(file, `${file}.away`);
    await server.program.prints(/No such file or directory; the tokens that were read before stay/, 'stderr');
    assertUnauthenticated(await send(server, claim()), null);
    assert.equal(await status(server, token), 200);
  });

  it('may be a link that changes, as in Kubernetes', async (t) => {
    const folder = temporaryFolder();
    const tokens = [];
    for (const version of ['1', '2']) {
      mkdirSync(join(folder, version));
      tokens.push(await create(join(folder, version, 'tokens.json'), 'a', 'send:vlp'));
    }
    symlinkSync('1', join(folder, '..data'));
    symlinkSync('..data/tokens.json', join(folder, 'tokens.json'));
    const server = await parleyFor(t, { args: ['--tokens', join(folder, 'tokens.json')] });
    assert.equal(await status(server, tokens[0]), 200);
    symlinkSync('2', join(folder, '..next'));
    renameSync(join(folder, '..next'), join(folder, '..data'));
    await untilStatus(server, tokens[1], 200);
    await untilStatus(server, tokens[0], 401); // other workers are told a moment later
  });

  it('lets an address be open to other machines', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const token = await create(file, 'a', 'send:vlp');
    const server = await parleyFor(t, { listen: '0.0.0.0:0', args: ['--tokens', file] });
    assert.equal(await status(server, token), 200);
    assertUnauthenticated(await send(server, claim()), null);
  });
});

describe('the first token', () => {
  it('is made once, kept in the data folder, and may do everything', async (t) => {
    const data = temporaryFolder();
    const args = ['--first-token'];
    const server = await startParley({ listen: '0.0.0.0:0', data, args });
    const path = join(data, 'first-token');
    assert.match(server.program.stderr, /first token created.*: cat .*first-token/);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const text = readFileSync(path, 'utf8');
    assert.match(text, TOKEN_FORM);
    assert.ok(!server.program.stderr.includes(text.trim()));
    assertAccepted(await send(server, claim(), bearer(text.trim())));
    assertUnauthenticated(await send(server, claim()), null);
    await server.stop();
    const again = await parleyFor(t, { listen: '0.0.0.0:0', data, args });
    assert.equal(readFileSync(path, 'utf8'), text);
    assert.ok(!again.program.stderr.includes('first token'));
    assert.equal(await status(again, text.trim()), 200);
  });
});

describe('SIGHUP', () => {
  it('ends a server whose terminal is gone', async (t) => {
    const data = temporaryFolder();
    const command = `exec ${BINARY} serve --listen 127.0.0.1:0 --data ${data}`;
    const program = new Program('script', ['-qec', command, '/dev/null'], { isOpen: true });
    atEnd(t, () => program.exit || program.killFamily());
    await program.prints(/listening on http:\/\/127\.0\.0\.1:\d+/);
    const [pid] = program.children();
    assert.ok(pid && existsSync(`/proc/${pid}/cmdline`));
    program.signal('SIGKILL');
    await until('it has ended', () => !isRunning(pid));
  });
});
