// SPDX-License-Identifier: Apache-2.0
// A block that breaks a rule is refused, and halts all the same if its level and its session or sender can be
// read: sent alone, in a batch, or straight to NATS. The answer says so.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { useFleet } from './lib/fleet.mjs';
import { assertHalted, block, halts, release, review, safe, session } from './lib/halts.mjs';
import { JSON_TYPE, NDJSON_TYPE, rawFor, rawPost, readEvents, request, send, sendLines, validate } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { startNats } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { IMPATIENT, parley, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertAccepted, assertProblem, claim, lines, ruleIds, uniqueId } from './lib/vlp.mjs';

const unearned = (name, changes) =>
  block(name, { type: 'claim', confidence: 0.95, provenance: undefined, ...changes });

async function assertRefusedAndHalting(server, message, options) {
  const problem = assertProblem(await send(server, message, options), 422, 'invalid-message');
  assert.equal(problem.halted, true, JSON.stringify(problem));
  assert.match(problem.detail, /halts its conversation all the same/);
  assert.ok(problem.violations.length > 0);
  return problem;
}

async function assertRefusedAlone(server, message, status, name) {
  const problem = assertProblem(await send(server, message), status, name);
  assert.equal(problem.halted, undefined, JSON.stringify(problem));
}

describe('a block that breaks a rule', () => {
  const its = useFleet({ args: ['--reactors', '2'] });

  it('halts its session at all gateways, and the 422 says so', async () => {
    const [one, two] = its.gateways;
    const cases = [
      [unearned, {}, undefined],
      [unearned, {}, { query: '?escalate=true' }],
      [block, { confidence: 1 }, { query: '?strict=true' }],
      [block, { timestamp: 'yesterday' }, undefined],
      [block, { type: 'order', content: 3, confidence: 'high' }, undefined],
      [block, { safety: { level: 'block', issues: 'many' } }, undefined],
      [unearned, { content: 'x'.repeat(600_000) }, undefined],
    ];
    for (const [make, changes, options] of cases) {
      const halted = session();
      const message = make(halted, changes);
      await assertRefusedAndHalting(one, message, options);
      const { detail } = await assertHalted(one, safe(halted));
      assert.ok(detail.includes(message.id), detail);
      await until('the other gateway knows', async () => (await send(two, safe(halted))).status === 409);
      assertAccepted(await send(one, review(halted)));
    }
  });

  it('is listed as invalid, with what could be read, and is released like any other', async () => {
    const [one] = its.gateways;
    const halted = session();
    await assertRefusedAndHalting(one, block(halted, { id: 7, sender: undefined }));
    const { items } = await halts(one, `?session=${halted}`);
    assert.deepEqual(items.map(({ at, key, ...rest }) => rest), [
      { session: halted, why: 'Stop: it leaks.', invalid: true },
    ]);
    const { detail } = await assertHalted(one, safe(halted));
    assert.match(detail, /^An unknown sender has halted this conversation/);
    const answer = await release(one, halted);
    assert.equal(answer.released, 1);
    assertAccepted(await send(one, safe(halted)));
  });

  it('halts nothing any more when it is sent again after its release', async () => {
    const [one] = its.gateways;
    const halted = session();
    const message = unearned(halted);
    await assertRefusedAndHalting(one, message);
    await assertRefusedAndHalting(one, message);
    assert.equal((await release(one, halted)).released, 1);
    await assertRefusedAlone(one, message, 422, 'invalid-message');
    assertAccepted(await send(one, safe(halted)));
    await assertRefusedAndHalting(one, unearned(halted));
    await assertHalted(one, safe(halted));
  });

  it("without a session halts its sender's messages without one", async () => {
    const [one] = its.gateways;
    for (const session_id of [undefined, null]) {
      const sender = `agent-${uniqueId()}`;
      await assertRefusedAndHalting(one, block(session_id, { sender, timestamp: 'now' }));
      await assertHalted(one, claim({ sender }));
      assertAccepted(await send(one, claim({ sender, session_id: session() })));
    }
  });

  it('halts nothing where its level or its conversation cannot be read', async () => {
    const [one] = its.gateways;
    const sender = `agent-${uniqueId()}`;
    const names = { sender, session_id: session() };
    for (const message of [
      block(names.session_id, { sender, safety: { level: 'BLOCK' } }),
      block(names.session_id, { sender, safety: ['block'] }),
      block(7, { sender }),
      block(undefined, { sender: '' }),
    ]) {
      await assertRefusedAlone(one, message, 422, 'invalid-message');
    }
    const text = JSON.stringify(block(names.session_id, { sender }));
    const twice = text.replace('{', '{"sender":"x",');
    for (const body of [twice, text.slice(0, -1)]) {
      const answer = await request(one, 'POST', '/v1/vlp/messages', {
        headers: { 'Content-Type': 'application/json' },
        body,
      });
      assert.equal(assertProblem(answer, 400, 'malformed').halted, undefined);
    }
    assertAccepted(await send(one, claim(names)));
    assertAccepted(await send(one, claim({ sender })));
  });

  it('halts nothing where it is only validated or converted', async () => {
    const [one] = its.gateways;
    const halted = session();
    const verdict = await validate(one, unearned(halted));
    assert.equal(verdict.json.valid, false);
    const converted = await request(one, 'POST', '/v1/vlp/convert?to=json', {
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(unearned(halted)),
    });
    assert.equal(converted.status, 422, converted.text);
    assertAccepted(await send(one, safe(halted)));
  });

  it('halts from the next line of its body on, and none before it', async () => {
    const [one] = its.gateways;
    const [halted, other] = [session(), session()];
    const batch = [safe(halted), unearned(halted), safe(halted), safe(other), review(halted), unearned(halted)];
    const { lines: results } = await sendLines(one, lines(batch));
    assert.deepEqual(
      results.slice(0, 6).map((result) => result.problem?.type ?? result.status),
      ['accepted', 'invalid', '/problems/halted', 'accepted', 'accepted', 'invalid'],
    );
    assert.deepEqual(results.slice(0, 6).filter((result) => result.halted).map(({ line }) => line), [2, 6]);
    assert.equal(results[1].id, batch[1].id);
    assert.deepEqual(ruleIds(results[1].violations), ['VLP-012']);
    assert.deepEqual(results[6].summary, { received: 6, accepted: 3, duplicate: 0, invalid: 2, failed: 1 });
    const many = Array.from({ length: 300 }, (_, i) => (i === 150 ? unearned(other) : safe(other)));
    const { lines: all } = await sendLines(one, lines(many));
    assert.deepEqual(
      all.slice(0, 300).map((result) => result.status),
      many.map((_, i) => (i < 150 ? 'accepted' : i === 150 ? 'invalid' : 'failed')),
    );
  });

  it('halts when it was published straight to NATS', async () => {
    const { gateways, client } = its;
    const halted = session();
    client.publish('vlp.block.claim', JSON.stringify(unearned(halted)));
    await client.flush();
    for (const server of gateways) {
      await until('it is halted', async () => (await send(server, safe(halted))).status === 409);
    }
    client.publish('vlp.block.claim', `{"sender":"x",${JSON.stringify(block('unread')).slice(1)}`);
    client.publish('vlp.block.claim', 'Stop');
    const last = session();
    client.publish('vlp.block.claim', JSON.stringify(unearned(last)));
    await client.flush();
    await until('the last is halted', async () => (await send(gateways[0], safe(last))).status === 409);
    assertAccepted(await send(gateways[0], safe('unread')));
  });
});

describe('a block in the name of another', () => {
  it('halts nothing, whatever else is wrong with it', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const args = ['--tokens', file, '--name', 'a', '--allow', 'send:*', '--agent', 'alice'];
    const { stdout } = await parley(['token', 'create', ...args]);
    const server = await parleyFor(t, { args: ['--tokens', file] });
    const headers = { Authorization: `Bearer ${stdout.trim()}` };
    const sendAs = (message) => send(server, message, { headers });
    const halted = session();
    for (const changes of [{}, { timestamp: 'now' }]) {
      const problem = assertProblem(await sendAs(block(halted, { sender: 'bob', ...changes })), 403, 'forbidden');
      assert.equal(problem.halted, undefined);
    }
    assertAccepted(await sendAs({ ...safe(halted), sender: 'alice' }));
    const own = assertProblem(await sendAs(unearned(halted, { sender: 'alice' })), 422, 'invalid-message');
    assert.equal(own.halted, true);
  });
});

const isKey = (frame) => frame.kind === 'publish' && /^\$KV\.parley_halts\./.test(frame.subject);

describe('a block that breaks a rule, whose client goes before its halt is stored', () => {
  it('halts all the same, alone and in a batch', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const server = await parleyFor(t, { nats: wire.url });
    for (const isBatch of [false, true]) {
      const [halted, after] = [session(), session()];
      const batch = [unearned(halted), safe(halted), unearned(halted), safe(after)];
      const body = isBatch ? lines(batch) : JSON.stringify(batch[0]);
      const type = isBatch ? NDJSON_TYPE : JSON_TYPE;
      const hold = wire.hold(isKey);
      const raw = await rawFor(t, server, rawPost('/v1/vlp/messages', body, { type }));
      await hold.reached();
      raw.socket.resetAndDestroy();
      await until('the client is seen to be gone', async () =>
        valueOf(await metricsOf(server), 'parley_http_connections') === 1);
      hold.release();
      await assertHalted(server, safe(halted));
      if (isBatch) {
        await until('the last line is stored', async () =>
          (await readEvents(server, `since=all&thread=${after}`)).length === 1);
      }
    }
  });
});

describe('a block that breaks a rule, while its halt cannot be stored', () => {
  it('gets 503, alone and in a batch, and 422 when it is sent again', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const server = await parleyFor(t, { nats: wire.url, args: [...IMPATIENT, '--ack-timeout', '1s'] });
    const halted = session();
    const message = unearned(halted);
    const hold = wire.hold(isKey);
    const problem = assertProblem(await send(server, message), 503, 'bus-unavailable');
    assert.match(problem.detail, /The halt could not be stored in the bucket `parley_halts`/);
    const { lines: results } = await sendLines(server, lines([message]));
    assert.equal(results[0].problem.type, '/problems/bus-unavailable');
    hold.release();
    await assertRefusedAndHalting(server, message);
    await assertHalted(server, safe(halted));
  });
});
