// SPDX-License-Identifier: Apache-2.0
// One sender can make a quarter of the halts that can be open, also over a restart; the others are not
// concerned. What is wrong is said, and its halts are found and released together.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertHalted, block, halts, safe, session } from './lib/halts.mjs';
import { fleetFor } from './lib/fleet.mjs';
import { get, request, send, sendLines } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { embeddedUrl, natsClient } from './lib/nats.mjs';
import { parley, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertAccepted, assertProblem, lines } from './lib/vlp.mjs';

const SHARE_MAX = 8192;
const A_RELEASE = 1024;

const hex = (text) => createHash('md5').update(text).digest('hex');

// As a gateway would have written them: the bucket is read at any start.
async function writeHalts(client, count, value) {
  for (let i = 0; i < count; i++) {
    const name = `${value.by}-${i}`;
    client.publish(`$KV.parley_halts.${hex(name)}.${hex(`m${name}`)}`, JSON.stringify({ session: name, id: `M${i}`, ...value }));
  }
  await client.flush();
}

const haltsCheck = async (server) => {
  const { json } = await get(server, '/readyz', { headers: { Accept: 'application/json' } });
  return json.checks.filter(({ name }) => name === 'halts');
};

async function releaseAll(server, choice, headers) {
  const released = [];
  for (let more = true; more; ) {
    const query = new URLSearchParams({ ...choice, reason: 'a flood' });
    const answer = await request(server, 'DELETE', `/v1/vlp/halts?${query}`, { headers });
    assert.equal(answer.status, 200, answer.text);
    released.push(answer.json.released);
    more = answer.json.more === true;
  }
  return released;
}

describe('a sender that has made a quarter of all halts', () => {
  it('cannot halt any more, and others can, until its halts are released', async (t) => {
    const { nats, gateways: [first], client } = await fleetFor(t, { gateways: 1 });
    await writeHalts(client, SHARE_MAX, { by: 'flood' });
    const count = async (server) => valueOf(await metricsOf(server), 'parley_halts_open');
    await until('all are read', async () => (await count(first)) === SHARE_MAX);
    const restarted = await parleyFor(t, { nats: nats.url });
    for (const server of [first, restarted]) {
      const message = block(session(), { sender: 'flood' });
      const { detail } = assertProblem(await send(server, message), 503, 'bus-unavailable');
      assert.match(detail, /^This sender has made a quarter of all halts that can be open/);
      assertAccepted(await send(server, safe(message.session_id)));
      const { lines: results } = await sendLines(server, lines([
        block(session(), { sender: 'flood' }),
        block(session(), { sender: 'flood', timestamp: 'now' }),
        safe(session()),
      ]));
      assert.deepEqual(results.slice(0, 3).map(({ status }) => status), ['failed', 'failed', 'accepted']);
      const [check] = await haltsCheck(server);
      assert.equal(check.status, 'degraded');
      assert.match(check.reason, /^a sender has made as many of the open halts as one may/);
      assert.match((await get(server, '/readyz')).text, /^ready\nbut: a sender has made as many/);
      await until('it is counted', async () =>
        valueOf(await metricsOf(server), 'parley_halts_refused_total') === 3);
      const logged = await until('it is logged', () => server.logged('halt.refused').length === 3 && server.logged('halt.refused'));
      assert.deepEqual([logged[0].level, logged[0].by], ['warn', 'flood']);
      assert.match(logged[0].msg, /^this sender has made as many of the open halts as one may/);
    }
    const other = block(session(), { sender: 'other' });
    assertAccepted(await send(restarted, other));
    await assertHalted(restarted, safe(other.session_id));
    // What is published straight to NATS is not waited for: it would hold up those of others.
    client.publish('vlp.block.notice', JSON.stringify(block(session(), { sender: 'flood' })));
    const straight = block(session(), { sender: 'others' });
    client.publish('vlp.block.notice', JSON.stringify(straight));
    await client.flush();
    await until('it is halted', async () => (await send(first, safe(straight.session_id))).status === 409);

    assert.equal((await halts(first, '?by=flood')).items.length, 1000);
    assert.deepEqual((await halts(first, '?by=other')).items.map(({ id }) => id), [other.id]);
    const released = await releaseAll(first, { by: 'flood' });
    assert.deepEqual(released.filter((each) => each > 0), Array(SHARE_MAX / A_RELEASE).fill(A_RELEASE));
    assert.deepEqual((await halts(first, '?by=flood')).items, []);
    await assertHalted(first, safe(other.session_id));
    for (const server of [first, restarted]) {
      await until('there is room', async () => (await haltsCheck(server))[0].status === 'ok');
      assertAccepted(await send(server, block(session(), { sender: 'flood' })));
    }
  });
});

describe('many halts at once', () => {
  it('are each a line of the log, or counted by a later one', async (t) => {
    const { gateways: [server] } = await fleetFor(t, { gateways: 1 });
    const flood = Array.from({ length: 300 }, () => block(session(), { sender: 'flood' }));
    const { lines: results } = await sendLines(server, lines(flood));
    assert.equal(results.at(-1).summary.accepted, 300);
    await server.stop();
    const latched = server.logged('halt.latched');
    assert.ok(latched.length < 300, 'most are left out');
    const leftOut = (log) => log.reduce((sum, { left_out = 0 }) => sum + Number(left_out), 0);
    assert.equal(latched.length + leftOut(latched) + leftOut(server.logged('stop')), 300);
  });
});

describe('a release', () => {
  it('of all of a sender, or of all, tells readers once, and names no conversation', async (t) => {
    const { gateways: [server] } = await fleetFor(t, { gateways: 1 });
    const mine = [block(session(), { sender: 'a' }), block(session(), { sender: 'a' })];
    const theirs = [block(session(), { sender: 'b' }), block(session(), { sender: 'c', timestamp: 'now' })];
    for (const message of [...mine, ...theirs]) await send(server, message);
    const events = async () => {
      const { text } = await get(server, '/v1/vlp/stream?since=all&follow=false&envelope=none&sender=parley');
      return text.trim().split('\n').map((line) => JSON.parse(line));
    };
    assert.deepEqual(await releaseAll(server, { by: 'a' }), [2]);
    const [first] = await events();
    assert.equal(first.content, 'Halt released: a flood');
    assert.deepEqual(first.refers_to.toSorted?.() ?? [...first.refers_to].sort(), mine.map(({ id }) => id).sort());
    assert.equal(first.session_id, undefined);
    for (const { session_id } of mine) assertAccepted(await send(server, safe(session_id)));
    for (const { session_id } of theirs) await assertHalted(server, safe(session_id));
    assert.deepEqual(await releaseAll(server, { all: 'true' }), [2]);
    assert.equal((await events()).length, 2);
    assert.deepEqual(await releaseAll(server, { all: 'true' }), [0]);
    for (const { session_id } of theirs) assertAccepted(await send(server, safe(session_id)));
  });

  it('of halts whose values cannot be read takes all=true', async (t) => {
    const { gateways: [server], client } = await fleetFor(t, { gateways: 1 });
    const key = `${hex('a')}.${hex('b')}`;
    client.publish(`$KV.parley_halts.${key}`, 'not JSON');
    await client.flush();
    await until('it is there', async () => (await halts(server)).items.length === 1);
    assert.deepEqual((await halts(server)).items, [{ key }]);
    assert.deepEqual(await releaseAll(server, { by: 'a' }), [0]);
    assert.deepEqual(await releaseAll(server, { all: 'true' }), [1]);
    assert.deepEqual((await halts(server)).items, []);
  });

  it('names what it releases in one way', async (t) => {
    const { gateways: [server] } = await fleetFor(t, { gateways: 1 });
    for (const query of ['?by=a', '?by=&reason=r', '?all=yes&reason=r', '?all=true', '?by=a&all=true&reason=r', '?by=a&session=S&reason=r']) {
      assertProblem(await request(server, 'DELETE', `/v1/vlp/halts${query}`), 400, 'invalid-parameter');
    }
    for (const query of ['?all=true', '?by=', '?by=a&sender=b']) {
      assertProblem(await get(server, `/v1/vlp/halts${query}`), 400, 'invalid-parameter');
    }
  });
});

describe('a halt that was sent with a token', () => {
  it('is that of the token, whatever sender its message names', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const made = async (name, allow) => {
      const { stdout } = await parley(['token', 'create', '--tokens', file, '--name', name, '--allow', allow]);
      return { Authorization: `Bearer ${stdout.trim()}` };
    };
    const sender = await made('flood', 'send:vlp');
    const admin = await made('people', 'admin,read:vlp');
    const server = await parleyFor(t, { args: ['--tokens', file] });
    const client = await natsClient(t, embeddedUrl(server));
    const messages = ['x', 'y', 'people'].map((name) => block(session(), { sender: name }));
    for (const message of messages) assertAccepted(await send(server, message, { headers: sender }));
    const { json } = await get(server, '/v1/vlp/halts?by=flood', { headers: admin });
    assert.deepEqual(json.items.map(({ by, principal }) => [principal, by]).sort(),
      messages.map((message) => ['flood', message.sender]).sort());
    await writeHalts(client, SHARE_MAX - messages.length, { by: 'z', principal: 'flood' });
    await until('its share is used up', async () => {
      const answer = await send(server, block(session(), { sender: `of ${session()}` }), { headers: sender });
      return answer.status === 503 && /^This sender has made a quarter/.test(answer.json.detail);
    });
    const released = await releaseAll(server, { by: 'flood' }, admin);
    assert.ok(released.reduce((sum, each) => sum + each) >= SHARE_MAX, released.join());
    assertAccepted(await send(server, block(session()), { headers: sender }));
  });
});

describe('a release with a token', () => {
  it('has the name that it gives, and that of the token; one that is bound gives no other', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const people = bearer(await createToken(file, 'people', 'admin,read:vlp,send:vlp'));
    const bound = bearer(await createToken(file, 'bot', 'admin', '--agent', 'Grace'));
    const server = await parleyFor(t, { args: ['--tokens', file] });
    const release = (halted, more, as) =>
      request(server, 'DELETE', `/v1/vlp/halts?${new URLSearchParams({ session: halted, reason: 'r', ...more })}`, as);
    for (const [more, as, status, by, principal] of [
      [{ released_by: 'Ada' }, people, 200, 'Ada', 'people'],
      [{}, people, 200, 'people', undefined],
      [{ released_by: 'Ada' }, bound, 403],
      [{ released_by: 'Grace' }, bound, 200, 'Grace', 'bot'],
    ]) {
      const halted = session();
      assertAccepted(await send(server, block(halted), people));
      const answer = await release(halted, more, as);
      if (status === 403) {
        assert.match(assertProblem(answer, 403, 'forbidden').detail, /`Grace` only/);
      } else {
        assert.equal(answer.status, status, answer.text);
        const { json: { items } } = await get(server, `/v1/vlp/halts?released=true&session=${halted}`, people);
        assert.deepEqual(items.map((one) => [one.released_by, one.released_principal]), [[by, principal]]);
      }
    }
  });
});
