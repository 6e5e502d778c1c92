// SPDX-License-Identifier: Apache-2.0
// How parley proves who it is to NATS, and NATS to parley: an nkey, a credentials file in operator
// mode, and TLS with certificates of both; and what is said of a file that will not do.

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { nkeys } from 'nats';
import { authority } from './lib/certificates.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { get, send } from './lib/http.mjs';
import { startNats } from './lib/nats.mjs';
import { parley, parleyFor, serveArguments } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertAccepted, claim } from './lib/vlp.mjs';

const text = (bytes) => new TextDecoder().decode(bytes);

function fileOf(content, mode = 0o600) {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

// A nats-server with this configuration: its URL, by the name of its certificate.
async function natsFor(t, config) {
  const nats = await startNats({ args: ['-c', fileOf(config)] });
  atEnd(t, () => nats.stop());
  return `nats://localhost:${new URL(nats.url.replace('tls:', 'nats:')).port}`;
}

async function assertSends(t, nats, args) {
  const server = await parleyFor(t, { nats, args: ['--reactors', '1', ...args] });
  assertAccepted(await send(server, claim()));
  return server;
}

async function assertRefused(t, nats, args, pattern) {
  const server = await parleyFor(t, { nats, isAway: true, args: ['--reactors', '1', ...args] });
  let ready;
  await until(`/readyz says ${pattern}`, async () => {
    ready = await get(server, '/readyz');
    return ready.status === 503 && pattern.test(ready.json.detail);
  });
  assert.equal(ready.status, 503);
  return `${ready.text}${server.program.stderr}`;
}

// ---- JSON Web Tokens as NATS has them ----

function jwt(issuer, subject, claims) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = [
    encode({ typ: 'JWT', alg: 'ed25519-nkey' }),
    encode({
      jti: `${Math.random()}`,
      iat: Math.floor(Date.now() / 1000),
      iss: issuer.getPublicKey(),
      sub: subject.getPublicKey(),
      nats: { version: 2, ...claims },
    }),
  ].join('.');
  return `${body}.${Buffer.from(issuer.sign(new TextEncoder().encode(body))).toString('base64url')}`;
}

function credentials(account) {
  const user = nkeys.createUser();
  const token = jwt(account, user, { type: 'user', pub: {}, sub: {}, subs: -1, data: -1, payload: -1 });
  return `-----BEGIN NATS USER JWT-----\n${token}\n------END NATS USER JWT------\n
-----BEGIN USER NKEY SEED-----\n${text(user.getSeed())}\n------END USER NKEY SEED------\n`;
}

const UNLIMITED = {
  subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1,
};
const STORAGE = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };

function operatorMode() {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()];
  const accountToken = (key, limits) => jwt(operator, key, { type: 'account', limits });
  return {
    account,
    config: `
operator: ${jwt(operator, operator, { type: 'operator', system_account: system.getPublicKey() })}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: {
  ${system.getPublicKey()}: ${accountToken(system, UNLIMITED)}
  ${account.getPublicKey()}: ${accountToken(account, { ...UNLIMITED, ...STORAGE })}
}
`,
  };
}

// A server that NATS refuses says that it listens after three seconds: they wait side by side.
const TOGETHER = { concurrency: true };

describe('credentials for NATS', TOGETHER, () => {
  it('an nkey is enough, and another one is refused', async (t) => {
    const [user, other] = [nkeys.createUser(), nkeys.createUser()];
    const nats = await natsFor(t, `authorization { users: [ { nkey: ${user.getPublicKey()} } ] }`);
    const [, said] = await Promise.all([
      assertSends(t, nats, ['--nats-nkey', fileOf(`${text(user.getSeed())}\n`)]),
      assertRefused(t, nats, ['--nats-nkey', fileOf(text(other.getSeed()))],
        /NATS refused the credentials/),
    ]);
    assert.ok(!said.includes(text(other.getSeed())));
  });

  it('a credentials file is enough, and one of another account is refused', async (t) => {
    const { account, config } = operatorMode();
    const nats = await natsFor(t, config);
    const foreign = credentials(nkeys.createAccount());
    const [, said] = await Promise.all([
      assertSends(t, nats, ['--nats-creds', fileOf(credentials(account))]),
      assertRefused(t, nats, ['--nats-creds', fileOf(foreign)], /NATS refused the credentials/),
    ]);
    for (const line of foreign.split('\n')) assert.ok(line === '' || !said.includes(line));
  });
});

describe('TLS to NATS', TOGETHER, () => {
  let ca, issue, server, client;
  before(async () => {
    ({ ca, issue } = await authority());
    server = await issue('nats', 'DNS:localhost');
    client = await issue('parley', 'DNS:parley');
  });
  const start = (t) => natsFor(t, `tls {
  cert_file: "${server.cert}", key_file: "${server.key}", ca_file: "${ca}", verify: true
}`);

  it('each side proves who it is', async (t) => {
    const nats = await start(t);
    const certificate = ['--nats-tls-cert', client.cert, '--nats-tls-key', client.key];
    const trust = ['--nats-tls-ca', ca];
    await assertSends(t, nats, [...trust, ...certificate]);

    const byAddress = nats.replace('localhost', '127.0.0.1');
    const rows = [
      [byAddress, /IP address mismatch/, [...trust, ...certificate]],
      [nats, /unable to get local issuer/, ['--nats-tls-ca', (await authority()).ca, ...certificate]],
      [nats.replace('nats:', 'tls:'), /unable to get local issuer/, certificate],
      [nats, /expects a certificate/, trust],
    ];
    await Promise.all([
      ...rows.map(([url, pattern, args]) => assertRefused(t, url, args, pattern)),
      assertSends(t, byAddress, [...trust, ...certificate, '--nats-tls-name', 'localhost']),
    ]);
  });

  it('a server without TLS is not spoken to', async (t) => {
    const plain = await natsFor(t, '');
    await assertRefused(t, plain, ['--nats-tls-ca', ca], /NATS does not support TLS/);
  });
});

describe('a file for NATS that will not do', () => {
  it('ends the start with its name and what to do', async () => {
    const { issue } = await authority();
    const [one, other] = [await issue('one', 'DNS:one'), await issue('other', 'DNS:other')];
    const seed = text(nkeys.createUser().getSeed());
    const open = fileOf(seed, 0o644);
    const missing = '/nowhere/to/be/found';
    const rows = [
      ['--nats-nkey', open, `chmod 600 ${open}`],
      ['--nats-nkey', missing, 'No such file'],
      ['--nats-nkey', fileOf('nothing'), 'it has no seed of a user'],
      ['--nats-nkey', fileOf(text(nkeys.createAccount().getSeed())), 'it has no seed of a user'],
      ['--nats-creds', open, `chmod 600 ${open}`],
      ['--nats-creds', fileOf(seed), "it has no user's JWT and seed"],
      ['--nats-tls-ca', missing, ''],
      ['--nats-tls-ca', fileOf('not PEM'), ''],
      ['--nats-tls-cert', one.cert, '', '--nats-tls-key', other.key],
      ['--nats-tls-key', fileOf('x', 0o640), 'chmod 600', '--nats-tls-cert', one.cert],
    ];
    await Promise.all(rows.map(async ([option, path, says, ...more]) => {
      const args = [option, path, ...more];
      const result = await parley(
        serveArguments({ data: temporaryFolder(), nats: 'nats://127.0.0.1:1', args }));
      assert.equal(result.code, 1, `${args}: ${result.stderr}`);
      assert.ok(result.stderr.includes(option) && result.stderr.includes(path), result.stderr);
      assert.ok(result.stderr.includes(says), result.stderr);
      assert.ok(!result.stderr.includes(seed), result.stderr);
    }));
  });
});
