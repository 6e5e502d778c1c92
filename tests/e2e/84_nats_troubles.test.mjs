// SPDX-License-Identifier: Apache-2.0
// What can be wrong with NATS and its streams: each is told by name, in the log once when it begins
// and once when it ends, by /readyz, and in the answer to a sender; and never with a password.
// (attack F4, F7, F8)

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, post, send, sendLines } from './lib/http.mjs';
import { connectNats, freePorts, natsClient, startNats, streamInfo } from './lib/nats.mjs';
import { IMPATIENT, parley, parleyFor, refusedStart, serveArguments } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertAccepted, assertProblem, claim, claims, lines } from './lib/vlp.mjs';

const SECRETS = /topsecret|hush|top%73ecret/;
const ACCOUNTS = `accounts {
  A {
    jetstream { max_file: 64M }
    users: [
      { user: all, password: topsecret }
      { user: deaf, password: topsecret, permissions: { subscribe: ["other"] } }
      { user: mute, password: topsecret, permissions: { publish: ["$JS.>", "_INBOX.>"] } }
      { user: blind, password: topsecret, permissions: { subscribe: { deny: ["$JS.EVENT.>"] } } }
    ]
  }
  B { users: [ { user: bare, password: topsecret } ] }
}`;

async function natsFor(t, { config, ...options } = {}) {
  const args = [];
  if (config) {
    const file = join(temporaryFolder(), 'nats.conf');
    writeFileSync(file, config);
    args.push('-c', file);
  }
  const nats = await startNats({ args, ...options });
  atEnd(t, () => nats.stop());
  return nats;
}

const as = (user, url) => url.replace('nats://', `nats://${user}:topsecret@`);
// What it says of NATS, without the reason that lasts until it has tried to connect again.
const logged = (server, pattern) =>
  server.logged('nats.').map(({ msg }) => msg)
    .filter((msg) => pattern.test(msg) && !/the connection was lost/.test(msg));

// Asked until it is refused for that reason: of several reactors one may hear of it later.
const refusedWith = (ask, pattern) =>
  until(`an answer says ${pattern}`, async () => {
    const answer = await ask();
    return answer.status === 503 && pattern.test(answer.json.detail) && answer;
  });

// It is in /readyz, in answers and, once, in the log; nothing of it is secret.
async function assertTold(server, pattern) {
  await until(`/readyz says ${pattern}`, async () => {
    const ready = await get(server, '/readyz');
    return ready.status === 503 && pattern.test(ready.json.detail);
  });
  const asks = [() => send(server, claim()), () => sendLines(server, lines(claims(2)))];
  for (const ask of asks) {
    const answer = await refusedWith(ask, pattern);
    assertProblem(answer, 503, 'bus-unavailable');
    assert.match(answer.headers['retry-after'], /^\d+$/);
    assert.doesNotMatch(answer.text, SECRETS);
  }
  await until(`the log says ${pattern}`, () => logged(server, pattern).length > 0);
  assert.equal(logged(server, pattern).length, 1, server.program.stderr);
  assert.doesNotMatch(server.program.stderr, SECRETS);
}

// Each waits for NATS for as long as a start does.
describe('what is wrong with NATS from the start', { concurrency: true }, () => {
  const rows = [
    ['no server', /NATS is unreachable.*nats:\/\/127\.0\.0\.1:\d+/, 'all', { isAway: true }],
    ['a wrong password', /NATS refused the credentials/, 'nobody', { config: ACCOUNTS }],
    ['a token that is wrong', /NATS refused the credentials/, '', { config: ACCOUNTS }],
    ['JetStream off', /JetStream is not enabled on/, 'all', { hasJetStream: false }],
    ['JetStream off for the account', /not enabled for this account/, 'bare', { config: ACCOUNTS }],
    ['no permission to hear answers', /permit this user to subscribe to _INBOX/, 'deaf',
      { config: ACCOUNTS }],
  ];
  for (const [what, pattern, user, { isAway, ...options }] of rows) {
    it(`is told by name: ${what}`, async (t) => {
      const { url } = isAway
        ? { url: `nats://127.0.0.1:${(await freePorts(1))[0]}` }
        : await natsFor(t, options);
      const withUser = user ? as(user, url) : url.replace('nats://', 'nats://hush@');
      const args = ['--reactors', '3', ...IMPATIENT];
      const server = await parleyFor(t, { nats: withUser, isAway: true, args });
      await assertTold(server, pattern);
    });
  }
});

describe('a URL of NATS that cannot be', () => {
  it('stops the start with exit status 2 and what is expected', async () => {
    const options = { data: temporaryFolder(), nats: 'http://bob:topsecret@x' };
    const result = await parley(serveArguments(options));
    assert.equal(result.code, 2);
    assert.match(result.stderr, /nats:\/\/USER:PASSWORD@HOST:4222/);
    assert.doesNotMatch(result.stderr, SECRETS);
  });
});

const CHANGED = [
  ['not acknowledging', { no_ack: true }, /stream VLP .* does not acknowledge messages/],
];

describe('a stream of others', () => {
  for (const [what, config, pattern] of CHANGED) {
    it(`that is ${what} stops the start, and says why and what to do`, async (t) => {
      const nats = await natsFor(t);
      const manager = await (await natsClient(t, nats.url)).jetstreamManager();
      await manager.streams.add({ name: 'VLP', subjects: ['vlp.>'], ...config });
      const result = await refusedStart({ nats: nats.url });
      assert.equal(result.code, 1);
      assert.match(result.stderr, pattern);
      assert.match(result.stderr, /recreate it without that option/);
      assert.equal(result.stderr.trim().split('\n').length, 1, 'told once');
    });
  }
});

async function started(t, user, { config = ACCOUNTS, ...options } = {}) {
  const nats = await natsFor(t, { config });
  const url = as(user, nats.url);
  // One that had nothing to say of NATS while it started, as it may have on a busy machine.
  const server = await until('it starts without trouble', async () => {
    const args = ['--reactors', '3', ...IMPATIENT];
    const each = await parleyFor(t, { nats: url, args, ...options });
    return each.logged('nats.').length === 0 && each;
  });
  const client = await connectNats(as('all', nats.url));
  atEnd(t, () => client.close());
  return { nats, server, client, manager: await client.jetstreamManager() };
}

describe('what goes wrong later', () => {
  it('is told once when NATS goes away, and once when it is back', async (t) => {
    const { nats, server } = await started(t, 'all');
    await until('a message is taken', async () => (await send(server, claim())).status === 200);
    await nats.kill();
    await assertTold(server, /NATS is unreachable/);
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    await until('it is over', () => logged(server, /NATS: resolved$/).length > 0);
    await until('it is taken', async () => (await send(server, claim())).status === 200);
    assert.equal(logged(server, /./).length, 2, server.program.stderr);
  });

  it('is told of a stream that is sealed', async (t) => {
    const { server, manager } = await started(t, 'all');
    const { config } = await manager.streams.info('VLP');
    const sealed = { sealed: true, deny_delete: true, deny_purge: true, max_age: 0 };
    await manager.streams.update('VLP', { ...config, ...sealed, discard: 'new' });
    await until('/readyz says so', async () => {
      const ready = await get(server, '/readyz');
      return ready.status === 503 && /stream VLP .* sealed/.test(ready.json.detail);
    });
    assertProblem(await refusedWith(() => send(server, claim()), /sealed/), 503, 'bus-unavailable');
    await until('the log says so', () => logged(server, /stream VLP .* sealed/).length === 1);
  });

  const unusable = [
    ['sealed', /stream VLP .* sealed/, async (manager) => {
      const { config } = await manager.streams.info('VLP');
      const sealed = { sealed: true, deny_delete: true, deny_purge: true, max_age: 0 };
      await manager.streams.update('VLP', { ...config, ...sealed, discard: 'new' });
    }],
    ['one without acknowledgements', /stream VLP .*no_ack/, async (manager) => {
      await manager.streams.delete('VLP');
      await manager.streams.add({ name: 'VLP', subjects: ['vlp.>'], no_ack: true });
    }],
  ];
  for (const [what, pattern, change] of unusable) {
    it(`stops only its own protocol, also after NATS was away, if a stream becomes ${what}`, async (t) => {
      const { nats, server, manager } = await started(t, 'all', { args: ['--reactors', '2', ...IMPATIENT] });
      const claimIsRefused = async () =>
        assertProblem(await refusedWith(() => send(server, claim()), pattern), 503, 'bus-unavailable');
      const isTold = async () => pattern.test((await get(server, '/readyz')).json?.detail);
      const heartbeat = async () => {
        const body = { type: 'heartbeat', timestamp: Math.floor(Date.now() / 1000) };
        return (await post(server, '/v1/supervisor/messages', JSON.stringify(body))).status;
      };
      // Recreating the stream races against parley, which makes it again by itself.
      await until('it is changed', () => change(manager).then(() => true, () => false));
      await until('/readyz names it', isTold);
      await claimIsRefused();
      assert.equal(await heartbeat(), 200);
      await nats.kill();
      await until('NATS is unreachable', () => logged(server, /^NATS is unreachable/).length > 0);
      const again = await nats.restart();
      atEnd(t, () => again.stop());
      await until('the others are taken again', async () => (await heartbeat()) === 200);
      await until('/readyz names it again', isTold);
      await claimIsRefused();
      await until('the log says that NATS is back', () => logged(server, /NATS: resolved, but still/).length > 0);
      assert.match(logged(server, /./).at(-1), pattern);
      assert.equal(logged(server, /: resolved$/).length, 0, server.program.stderr);
    });
  }

  it('is told of a stream that is full, which keeps nobody from the others', async (t) => {
    const { server, manager } = await started(t, 'all');
    const { config } = await manager.streams.info('VLP');
    await manager.streams.update('VLP', { ...config, discard: 'new', max_msgs: 1 });
    assertAccepted(await send(server, claim()));
    const refused = assertProblem(await send(server, claim()), 503, 'bus-unavailable');
    assert.match(refused.detail, /maximum messages exceeded/);
    await until('/readyz says so', async () => {
      const ready = await get(server, '/readyz');
      return ready.status === 200 && /^but: stream VLP is full \(max_msgs 1/m.test(ready.text);
    });
    await until('the log says so', () => logged(server, /stream VLP is full/).length === 1);
    await manager.streams.update('VLP', { ...config, discard: 'new', max_msgs: 5 });
    await until('it is over', () => logged(server, /stream VLP: resolved$/).length > 0);
    await until('/readyz is plain', async () => (await get(server, '/readyz')).text === 'ready\n');
    assertAccepted(await send(server, claim()));
    assert.equal(logged(server, /./).length, 2, server.program.stderr);
  });

  it('is told of an account whose storage is used up', async (t) => {
    const { server } = await started(t, 'all', { config: ACCOUNTS.replace('64M', '8M') });
    const large = () => send(server, claim({ content: 'x'.repeat(900_000) }));
    const refused = await refusedWith(large, /resource limits exceeded for account/);
    assertProblem(refused, 503, 'bus-unavailable');
    await until('/readyz says so', async () =>
      /^but: stream VLP refuses .*resource limits/m.test((await get(server, '/readyz')).text),
    );
    await until('the log says so', () => logged(server, /resource limits/).length === 1);
  });

  it('is told of a permission to publish that is missing', async (t) => {
    const { server } = await started(t, 'mute', { args: ['--reactors', '3', '--ack-timeout', '1h'] });
    const pattern = /does not permit this user to publish to vlp\.safe\.claim\..*Nothing was stored/;
    for (let i = 0; i < 3; i++) {
      const detail = assertProblem(await send(server, claim()), 503, 'bus-unavailable').detail;
      assert.match(detail, pattern);
    }
    const many = lines(claims(200));
    const batch = await sendLines(server, many);
    assert.equal(batch.status, 200);
    const problems = batch.text.trim().split('\n').map((line) => JSON.parse(line).problem?.detail);
    assert.equal(problems.filter((detail) => pattern.test(detail)).length, 200);
    await until('/readyz says so', async () =>
      /permit this user to publish to vlp\.>/.test((await get(server, '/readyz')).text),
    );
    await until('the log says so', () => logged(server, /publish to vlp\.>/).length === 1);
  });

  for (const [user, how] of [['all', 'at once'], ['blind', 'without hearing of it']]) {
    it(`is nothing to a sender if a stream is deleted: it is made again ${how}`, async (t) => {
      const { server, client, manager } = await started(t, user);
      assertAccepted(await send(server, claim()));
      const { created } = await streamInfo(client);
      await manager.streams.delete('VLP');
      await until('it is made again', async () => (await streamInfo(client)).created !== created);
      const { state } = await streamInfo(client);
      assert.equal(state.last_seq, 0, JSON.stringify(state));
      assertAccepted(await send(server, claim()));
      assert.equal((await get(server, '/readyz')).text, 'ready\n');
      assert.equal(logged(server, /./).length, 0, server.program.stderr);
    });
  }
});
