// SPDX-License-Identifier: Apache-2.0
// A block halts its session for the lane safe: in one body, on other reactors and gateways, and
// when it was published straight to NATS, until people release it.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertHalted, block, halts, release, review, safe, session } from './lib/halts.mjs';
import { get, readEvents, request, send, sendLines } from './lib/http.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { parleyFor, startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertAccepted, assertProblem, claim, lines, uniqueId } from './lib/vlp.mjs';

// An answer per gateway, over several connections: a process has several reactors.
const onEveryReactor = (server, message) =>
  Promise.all(Array.from({ length: 8 }, () => send(server, message())));

describe('halts', () => {
  let nats;
  let one;
  let two;
  before(async () => {
    nats = await startNats();
    one = await startParley({ nats: nats.url, args: ['--reactors', '2'] });
    two = await startParley({ nats: nats.url, args: ['--reactors', '2'] });
  });
  after(async () => {
    await one?.stop();
    await two?.stop();
    await nats?.stop();
  });

  it('a block halts its session, on every reactor, and no other session', async () => {
    const halted = session();
    const message = block(halted);
    assert.equal(assertAccepted(await send(one, message)).subject, 'vlp.block.notice');
    for (const answer of await onEveryReactor(one, () => safe(halted))) {
      const { detail } = assertProblem(answer, 409, 'halted');
      assert.ok(detail.includes(message.id), detail);
      assert.ok(detail.includes(message.sender), detail);
    }
    assertAccepted(await send(one, safe(session())));
    assertAccepted(await send(one, review(halted)));
    assertAccepted(await send(one, block(halted)));
    const { items } = await halts(one, `?session=${halted}`);
    for (const { key } of items) assert.match(key, /^[0-9a-f]{32}\.[0-9a-f]{32}$/);
    assert.deepEqual(items.map(({ at, key, ...rest }) => rest).at(-1), {
      session: halted,
      by: message.sender,
      id: message.id,
      why: message.content,
    });
  });

  it('halts on the other gateway', async () => {
    const halted = session();
    assertAccepted(await send(one, block(halted)));
    await until('the other gateway knows', async () => {
      const answer = await send(two, safe(halted));
      return answer.status === 409 && assertProblem(answer, 409, 'halted');
    });
  });

  it('a line after the block in the same body is refused, and the order stays', async () => {
    const halted = session();
    const other = session();
    const batch = [safe(halted), block(halted), safe(halted), safe(other), review(halted)];
    const { lines: results } = await sendLines(one, lines(batch));
    assert.deepEqual(
      results.slice(0, 5).map((result) => result.problem?.type ?? result.status),
      ['accepted', 'accepted', '/problems/halted', 'accepted', 'accepted'],
    );
    const stored = results.slice(0, 5).flatMap((result) => result.seq ?? []);
    assert.deepEqual(stored, stored.toSorted?.((a, b) => a - b) ?? [...stored].sort((a, b) => a - b));
    const array = await request(one, 'POST', '/v1/vlp/messages', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify([block(other), safe(other), review(other)]),
    });
    assert.deepEqual(
      array.text.trim().split('\n').slice(0, 3).map((line) => JSON.parse(line).status),
      ['accepted', 'failed', 'accepted'],
    );
  });

  it("without a session it is the sender's messages without one", async () => {
    const sender = `agent-${uniqueId()}`;
    assertAccepted(await send(one, block(undefined, { sender })));
    await assertHalted(one, claim({ sender }));
    assertAccepted(await send(one, claim({ sender, session_id: session() })));
    assertAccepted(await send(one, claim()));
    assert.equal((await release(one, sender, 'sender')).released, 1);
    assertAccepted(await send(one, claim({ sender })));
  });

  it('is released by DELETE, with a notice, on both gateways, and no replay halts anew', async () => {
    const halted = session();
    const blocks = [block(halted), block(halted)];
    for (const message of blocks) assertAccepted(await send(one, message));
    await until('the other gateway knows both', async () =>
      (await halts(two, `?session=${halted}`)).items.length === 2);
    const answer = await release(two, halted);
    assert.equal(answer.released, 2);
    assertAccepted(await send(two, safe(halted)));
    await until('the first gateway knows', async () => (await send(one, safe(halted))).status === 200);
    const events = await readEvents(one, `since=all&thread=${halted}&type=notice&lane=safe`);
    const notice = events.find((event) => event.data.sender === 'parley').data;
    assert.equal(notice.content, 'Halt released: looked at it');
    assert.deepEqual(notice.provenance, ['parley:halts']);
    assert.deepEqual(notice.refers_to.toSorted?.() ?? [...notice.refers_to].sort(), blocks.map(({ id }) => id).sort());
    assert.deepEqual(await halts(one, `?session=${halted}`), { items: [] });
    for (const server of [one, two]) {
      assert.equal(assertAccepted(await send(server, blocks[0])).duplicate, true);
      assertAccepted(await send(server, safe(halted)));
    }
    const again = await release(one, halted);
    assert.deepEqual(again, { released: 0, notice: null });
    assertAccepted(await send(one, block(halted)));
    await assertHalted(one, safe(halted));
  });

  it('is listed with who released it, when and why, on both gateways', async () => {
    const [first, second] = [session(), session()];
    for (const halted of [first, second]) {
      assertAccepted(await send(one, block(halted)));
      const query = new URLSearchParams({ session: halted, reason: 'read it', released_by: 'Ada' });
      assert.equal((await request(one, 'DELETE', `/v1/vlp/halts?${query}`)).status, 200);
    }
    for (const server of [one, two]) {
      await until('it is listed', async () => (await halts(server, '?released=true')).items[0]?.session === second);
      const { items } = await halts(server, '?released=true');
      assert.equal(items[1].session, first);
      const { released_by: by, reason, released_at: at, released_principal: principal } = items[0];
      assert.deepEqual([by, reason, principal], ['Ada', 'read it', undefined]);
      assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000);
      assert.deepEqual((await halts(server, `?released=true&session=${first}`)).items, [items[1]]);
      assert.deepEqual((await halts(server, `?session=${first}`)).items, []);
    }
  });

  it('latches what was published straight to NATS', async (t) => {
    const client = await natsClient(t, nats.url);
    const halted = session();
    const message = block(halted);
    client.publish('vlp.block.notice', JSON.stringify(message));
    await client.flush();
    for (const server of [one, two]) {
      await until('it is halted', async () => (await send(server, safe(halted))).status === 409);
    }
    assert.equal((await release(one, halted)).released, 1);
    client.publish('vlp.block.notice', JSON.stringify(message));
    await client.flush();
    assertAccepted(await send(one, safe(halted)));
  });

  it('a session whose name is empty can be released, too', async () => {
    assertAccepted(await send(one, block('')));
    await assertHalted(one, safe(''));
    assert.equal((await get(one, '/v1/vlp/halts?session=')).json.items.length, 1);
    assert.equal((await release(one, '')).released, 1);
    assertAccepted(await send(one, safe('')));
  });

  it('refuses a release without a reason or a name, and what it does not know', async () => {
    for (const query of ['?session=S', '?reason=r', '?session=S&sender=T&reason=r', '?session=S&reason=', '?x=1',
      '?session=S&reason=r&released=true', '?session=S&reason=r&released_by=', `?session=S&reason=r&released_by=${'x'.repeat(129)}`]) {
      assertProblem(await request(one, 'DELETE', `/v1/vlp/halts${query}`), 400, 'invalid-parameter');
    }
    for (const query of ['reason=r', 'released=false', 'released_by=Ada']) {
      assertProblem(await get(one, `/v1/vlp/halts?${query}`), 400, 'invalid-parameter');
    }
    assertProblem(await get(one, '/v1/brenner/halts'), 404, 'not-found');
  });

  it('--on-halt ignore refuses nothing, and others see its blocks', async (t) => {
    const third = await parleyFor(t, { nats: nats.url, args: ['--on-halt', 'ignore'] });
    const halted = session();
    assertAccepted(await send(third, block(halted)));
    assertAccepted(await send(third, safe(halted)));
    await until('the others know', async () => (await send(one, safe(halted))).status === 409);
  });

  it('a fleet has halts of its own', async (t) => {
    const fleet = await parleyFor(t, { nats: nats.url, args: ['--subject-prefix', 'vlp=fleet-a'] });
    const halted = session();
    assertAccepted(await send(one, block(halted)));
    assertAccepted(await send(fleet, safe(halted)));
  });
});
