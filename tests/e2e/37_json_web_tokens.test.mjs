// SPDX-License-Identifier: Apache-2.0
// JSON Web Tokens, signed by Node's crypto with keys of the test's own: who is let in, what is said
// of one that is not valid, and keys that change while the server runs.

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { get, post, send, streamFor, validate } from './lib/http.mjs';
import { parley, parleyFor, serveArguments } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';

const ISSUER = 'https://issuer.example';
const KINDS = {
  RS256: ['rsa', { modulusLength: 2048 }],
  ES256: ['ec', { namedCurve: 'P-256' }],
  EdDSA: ['ed25519', {}],
};

function newKey(alg, kid = alg) {
  const { publicKey, privateKey } = generateKeyPairSync(...KINDS[alg]);
  return { alg, kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid } };
}

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = () => Math.floor(Date.now() / 1000);

function tokenOf(key, claims = {}, header = {}) {
  const body = [
    encode({ alg: key.alg, kid: key.kid, ...header }),
    encode({ iss: ISSUER, aud: 'parley', exp: now() + 300, sub: 'robin', scope: 'send:vlp read:vlp',
      ...claims }),
  ].join('.');
  const digest = key.alg === 'EdDSA' ? null : 'sha256';
  const form = { key: key.privateKey, dsaEncoding: 'ieee-p1363' };
  return `${body}.${signBytes(digest, Buffer.from(body), form).toString('base64url')}`;
}

const shows = (token) => ({ headers: { Authorization: `Bearer ${token}` } });

// A JWK set in a file, which `write` replaces as a whole.
function keySet(...keys) {
  const file = join(temporaryFolder(), 'keys.json');
  const write = (...all) => {
    writeFileSync(`${file}.new`, JSON.stringify({ keys: all.map(({ jwk }) => jwk) }));
    renameSync(`${file}.new`, file);
  };
  write(...keys);
  return { file, write };
}

const options = (file) => ['--jwks', file, '--jwt-issuer', ISSUER, '--jwt-audience', 'parley'];

describe('a JSON Web Token', { concurrency: 2 }, () => {
  const keys = Object.keys(KINDS).map((alg) => newKey(alg));

  it('has its issuer named to who has none, where its audience is a URL (RFC 9728)', async (t) => {
    const path = '/.well-known/oauth-protected-resource';
    const { file } = keySet(...keys);
    const resource = 'https://parley.example:8443/mcp';
    const url = `https://parley.example:8443${path}`;
    const server = await parleyFor(t, {
      args: ['--jwks', file, '--jwt-issuer', ISSUER, '--jwt-audience', resource],
    });
    const metadata = await get(server, path);
    assert.deepEqual([metadata.status, metadata.json], [200, {
      resource,
      authorization_servers: [ISSUER],
      bearer_methods_supported: ['header'],
      resource_name: 'parley',
    }]);
    const challengeOf = async (options) => {
      const answer = await post(server, '/mcp', '{"jsonrpc":"2.0","id":1,"method":"ping"}', options);
      assertProblem(answer, 401, 'unauthenticated');
      return answer.headers['www-authenticate'];
    };
    const named = `resource_metadata="${url}"`;
    assert.equal(await challengeOf({}), `Bearer realm="parley", ${named}`);
    assert.equal(await challengeOf(shows(tokenOf(keys[0], { aud: 'another' }))),
      `Bearer realm="parley", error="invalid_token", ${named}`);
    assertAccepted(await send(server, claim(), shows(tokenOf(keys[0], { aud: resource }))));
    const other = await parleyFor(t, { args: options(file) });
    assertProblem(await get(other, path), 404, 'not-found');
    const refused = await send(other, claim());
    assert.equal(refused.headers['www-authenticate'], 'Bearer realm="parley"');
  });

  it('lets in by its scopes, whichever algorithm signed it', async (t) => {
    const server = await parleyFor(t, { args: options(keySet(...keys).file) });
    assertProblem(await send(server, claim()), 401, 'unauthenticated');
    for (const key of keys) {
      const token = tokenOf(key);
      assertAccepted(await send(server, claim(), shows(token)));
      const read = await get(server, '/v1/vlp/stream?since=all&follow=false', shows(token));
      assert.equal(read.status, 200);
      const other = await get(server, '/v1/brenner/stream?follow=false', shows(token));
      assert.match(assertProblem(other, 403, 'forbidden').detail, /robin.*read:brenner/);
    }
    const bound = (agent) => send(server, claim(), shows(tokenOf(keys[0], { agent })));
    assertAccepted(await bound(claim().sender));
    assert.match(JSON.stringify(assertProblem(await bound('somebody'), 403, 'forbidden')), /GW-102/);
    const none = await send(server, claim(), shows(tokenOf(keys[0], { scope: 'openid' })));
    assertProblem(none, 403, 'forbidden');
  });

  it('that is not valid gets 401 with the check that failed, and is not repeated', async (t) => {
    const server = await parleyFor(t, { args: options(keySet(...keys).file) });
    const [rsa, p256] = keys;
    const stranger = newKey('ES256');
    const rows = [
      [tokenOf(rsa, { exp: now() - 61 }), /expired \(exp\)/],
      [tokenOf(rsa, { nbf: now() + 120 }), /\(nbf\)/],
      [tokenOf(rsa, { aud: ['billing'] }), /\(aud\)/],
      [tokenOf(rsa, { iss: 'https://else.example' }), /\(iss\)/],
      [tokenOf(rsa, {}, { alg: 'none' }), /alg/],
      [tokenOf(rsa, {}, { alg: 'HS256' }), /alg/],
      [tokenOf(rsa, {}, { kid: 'ES256' }), /alg that is not that of its key/],
      [tokenOf(rsa, {}, { crit: ['exp'] }), /\(crit\)/],
      [tokenOf({ ...stranger, kid: p256.kid }), /signature/],
      [`${tokenOf(rsa)}.x`, /not a token of parley/],
    ];
    const answers = await Promise.all(rows.map(([token]) => validate(server, claim(), shows(token))));
    rows.forEach(([token, pattern], i) => {
      const answer = answers[i];
      assert.match(assertProblem(answer, 401, 'unauthenticated').detail, pattern);
      assert.match(answer.headers['www-authenticate'], /^Bearer .*error="invalid_token"/);
      const signature = token.split('.')[2];
      assert.ok(!answer.text.includes(signature) && !server.program.stderr.includes(signature));
    });
  });

  it('ends the streams that it opened when it expires, or its key is gone', async (t) => {
    const [first, second] = [newKey('ES256', 'first'), newKey('EdDSA', 'second')];
    const set = keySet(first, second);
    const server = await parleyFor(t, { args: options(set.file) });
    const opened = (key, claims) => streamFor(t, server, '/v1/vlp/stream', shows(tokenOf(key, claims)));
    const brief = await until('a stream is open in time', async () => {
      const stream = await opened(second, { exp: now() - 57 }); // it is taken for 60 s more
      return stream.status === 200 && stream;
    });
    const old = await opened(first);
    const stays = await opened(second);
    const reason = async (stream) => {
      let event;
      do event = await stream.anyEvent();
      while (event.type !== 'parley.end');
      return event.data.reason;
    };
    set.write(second);
    server.signal('SIGHUP');
    assert.equal(await reason(old), 'token-revoked');
    assert.equal(await reason(brief), 'token-expired');
    const sent = claim();
    assertAccepted(await send(server, sent, shows(tokenOf(second))));
    assert.equal((await stays.event()).data.id, sent.id);
  });

  it('is verified with the keys that the file has now', async (t) => {
    const [first, second] = [newKey('EdDSA', 'first'), newKey('EdDSA', 'second')];
    const set = keySet(first);
    const server = await parleyFor(t, { args: options(set.file) });
    const [old, young] = [tokenOf(first), tokenOf(second)];
    const answer = async (token) => (await validate(server, claim(), shows(token))).status;
    assert.deepEqual([await answer(old), await answer(young)], [200, 401]);
    set.write(first, second);
    await until('the second key is known', async () => (await answer(young)) === 200);
    assert.equal(await answer(old), 200);
    set.write(second);
    await until('the first key is gone', async () => (await answer(old)) === 401);
    await until('the second key is known', async () => (await answer(young)) === 200);
    writeFileSync(set.file, '{"keys":[');
    await until('the log says so', () => /the keys that were read before/.test(server.program.stderr));
    assert.equal(await answer(young), 200);
  });
});

describe('a file of keys that will not do', () => {
  it('ends the start with its name and what to do', async () => {
    const key = newKey('EdDSA');
    const open = keySet(key).file;
    chmodSync(open, 0o666);
    const secret = { jwk: { ...key.jwk, ...key.privateKey.export({ format: 'jwk' }) } };
    const weak = { jwk: generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }) };
    const rows = [
      ['/nowhere/to/be/found', 'No such file'],
      [open, `chmod go-w ${open}`],
      [keySet(secret).file, 'private key'],
      [keySet(weak).file, 'fewer than 2,048 bits'],
    ];
    for (const [file, says] of rows) {
      const result = await parley(serveArguments({ data: temporaryFolder(), args: options(file) }));
      assert.equal(result.code, 1, result.stderr);
      assert.ok(result.stderr.includes(`--jwks ${file}`) && result.stderr.includes(says), result.stderr);
      assert.ok(!result.stderr.includes(secret.jwk.d));
    }
  });
});
