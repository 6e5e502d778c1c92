// SPDX-License-Identifier: Apache-2.0
// Halts where they were not made: at gateways that start later, and whose watch is cut; and released ones,
// when their blocks come again.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { useFleet } from './lib/fleet.mjs';
import { get, request, send } from './lib/http.mjs';
import { natsClient, startNats, storedMessages } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { IMPATIENT, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertProblem, claim } from './lib/vlp.mjs';

const inSession = (session, changes) => claim({ session_id: session, ...changes });
const at = (level, session, changes) => inSession(session, { type: 'notice', safety: { level }, ...changes });
const block = (session, changes) => at('block', session, { content: 'It is on fire.', ...changes });

const halts = async (server, session) => {
  const answer = await get(server, `/v1/vlp/halts${session ? `?session=${encodeURIComponent(session)}` : ''}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.items;
};

const release = (server, session, reason = 'all clear') =>
  request(server, 'DELETE', `/v1/vlp/halts?${new URLSearchParams({ session, reason })}`);

async function isHalted(server, session) {
  const answer = await send(server, inSession(session));
  if (answer.status === 200) return false;
  assertProblem(answer, 409, 'halted');
  return true;
}

const halted = (server, session) => until('it is halted', () => isHalted(server, session));
const running = (server, session) => until('it runs', async () => !(await isHalted(server, session)));

async function assertTaken(server, message) {
  const answer = await send(server, message);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

describe('a block', () => {
  const its = useFleet({ gateways: 1 });

  it('halts at a gateway that is started later', async (t) => {
    const { nats, gateways } = its;
    await assertTaken(gateways[0], block('later'));
    const next = await parleyFor(t, { nats: nats.url });
    assert.ok(await isHalted(next, 'later'), 'with its first request');
  });
});

describe('a session that is released', () => {
  const its = useFleet();

  it('runs at all gateways, says so in a notice, and no replay of the block halts it', async () => {
    const { gateways, client } = its;
    const session = 'a session / of people';
    const blocks = [block(session), block(session, { content: 'It still is.' })];
    for (const each of blocks) await assertTaken(gateways[0], each);
    await halted(gateways[1], session);
    const answer = await release(gateways[1], session);
    assert.ok(answer.status < 300, answer.text);
    for (const gateway of gateways) await running(gateway, session);
    const notices = (await storedMessages(client)).filter(({ payload }) => /Halt released/.test(payload));
    assert.equal(notices.length, 1);
    const notice = JSON.parse(notices[0].payload);
    assert.equal(notice.content, 'Halt released: all clear');
    assert.deepEqual([notice.refers_to].flat().sort(), blocks.map(({ id }) => id).sort());
    assert.deepEqual(notice.provenance, ['parley:halts']);
    assert.match(notices[0].headers['nats-msg-id'], /^release:/);
    assert.equal((await send(gateways[0], notice)).status, 200, 'the notice is valid');
    for (const each of blocks) {
      await assertTaken(gateways[0], each);
      await client.jetstream().publish('vlp.block.notice', JSON.stringify(each));
    }
    // Something else is halted behind them: by then they have been read.
    await client.jetstream().publish('vlp.block.notice', JSON.stringify(block('after them')));
    for (const gateway of gateways) {
      await halted(gateway, 'after them');
      assert.equal(await isHalted(gateway, session), false);
    }
    await assertTaken(gateways[0], block(session, { content: 'A new fire.' }));
    await halted(gateways[1], session);
    const items = await halts(gateways[0], session);
    assert.equal(items.filter(({ released_at }) => !released_at).length, 1);
  });
});

const cannotSetClock = !process.env.CHAOS_CLOCK && 'CHAOS_CLOCK does not name the library of tests/chaos/clock.c';

describe('a halt that is released', { skip: cannotSetClock }, () => {
  const its = useFleet({ gateways: 1 });

  // A gateway whose clock is ahead.
  async function startAhead(t, days) {
    const clock = join(temporaryFolder(), 'offset');
    writeFileSync(clock, `${Math.round(days * 24 * 3600)}\n`);
    const env = {
      LD_PRELOAD: process.env.CHAOS_CLOCK,
      CHAOS_CLOCK_FILE: clock,
      ASAN_OPTIONS: `verify_asan_link_order=0:${process.env.ASAN_OPTIONS ?? ''}`,
    };
    const gateway = await parleyFor(t, { nats: its.nats.url, env });
    await until('it has read the halts', async () => (await get(gateway, '/readyz')).status === 200);
    return gateway;
  }

  const keyCount = async () => {
    const manager = await its.client.jetstreamManager();
    return (await manager.streams.info('KV_parley_halts')).state.messages;
  };

  it('is removed after 8 days, and those that are not stay for ever', async (t) => {
    const [gateway] = its.gateways;
    for (const session of ['over', 'open']) await assertTaken(gateway, block(session));
    assert.ok((await release(gateway, 'over')).status < 300);
    await running(gateway, 'over');
    assert.equal(await keyCount(), 2);
    assert.ok(await isHalted(await startAhead(t, 7.9), 'open'));
    assert.equal(await keyCount(), 2, 'not before');
    const later = await startAhead(t, 8.1);
    await until('its key is gone', async () => (await keyCount()) === 1);
    for (const each of [gateway, later]) {
      assert.ok(await isHalted(each, 'open'));
      assert.deepEqual(await halts(each, 'over'), []);
    }
  });
});

describe('a gateway whose watch is cut', () => {
  it('refuses safe with 503 until it has read the halts again, and then knows them', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const cut = await parleyFor(t, { nats: wire.url, args: IMPATIENT });
    const other = await parleyFor(t, { nats: nats.url });
    const client = await natsClient(t, nats.url);
    await assertTaken(cut, inSession('cut'));
    // Whatever a watch is told is held: entries and the heartbeats of its consumer.
    const hold = wire.hold((frame) => frame.kind === 'deliver' &&
      (/KV_parley_halts/.test(`${frame.reply} ${frame.body}`) || /\$KV\.parley_halts\./.test(frame.subject) ||
        /Idle Heartbeat/.test(frame.body)));
    await assertTaken(other, block('cut'));
    // At worst 6 s: the watch notices that it is cut.
    const answer = await until('safe is no longer taken', async () => {
      const each = await send(cut, inSession('cut'));
      return each.status !== 200 && each;
    });
    assert.ok([409, 503].includes(answer.status), answer.text);
    if (answer.status === 503) assert.match(answer.headers['retry-after'], /^\d+$/);
    await assertTaken(cut, at('review', 'cut'));
    hold.release();
    await until('it is halted', async () => (await send(cut, inSession('cut'))).status === 409);
    await until('others run', async () => (await send(cut, inSession('free'))).status === 200);
    await client.flush();
  });
});

describe('escalate=true', () => {
  const its = useFleet({ gateways: 1 });
  const unearned = (changes) => claim({ confidence: 0.95, ...changes });

  it('has an unearned claim reviewed instead of refused, and changes nothing else', async () => {
    const { gateways: [gateway], client } = its;
    const message = unearned({ id: randomUUID() });
    assert.equal((await send(gateway, message)).status, 422);
    const answer = await send(gateway, message, { query: '?escalate=true' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.escalated, true);
    assert.equal(answer.json.lane, 'review');
    const { payload, subject } = (await storedMessages(client)).at(-1);
    assert.equal(subject, 'vlp.review.claim');
    const { safety, ...rest } = JSON.parse(payload);
    assert.deepEqual(rest, message);
    assert.equal(safety.level, 'review');
    assert.deepEqual(safety.issues, [
      { code: 'missing_provenance_high_confidence', detail: 'confidence >= 0.9 without provenance' },
    ]);
  });

  it('leaves refused what is wrong in another way too, or says block', async () => {
    const [gateway] = its.gateways;
    for (const message of [unearned({ sender: '' }), unearned({ safety: { level: 'block' } })]) {
      assert.equal((await send(gateway, message, { query: '?escalate=true' })).status, 422);
    }
    const plain = await send(gateway, claim(), { query: '?escalate=true' });
    assert.equal(plain.json.escalated, undefined);
  });

  it('lets a claim of a halted session through, as review', async () => {
    const [gateway] = its.gateways;
    await assertTaken(gateway, block('escalated'));
    const answer = await send(gateway, unearned({ session_id: 'escalated' }), { query: '?escalate=true' });
    assert.equal(answer.status, 200, answer.text);
  });
});
