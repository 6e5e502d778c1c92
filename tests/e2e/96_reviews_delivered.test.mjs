// SPDX-License-Identifier: Apache-2.0
// With reviewed=true a reader of the lane safe also gets what people approve, at the moment of its
// approval. The key of the decision decides what that is, not the notice, which anybody can publish.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { headers as natsHeaders } from 'nats';
import { atEnd } from './lib/cleanup.mjs';
import { useFleet } from './lib/fleet.mjs';
import { block, review, safe, session } from './lib/halts.mjs';
import { get, readEvents, readStream, send, streamFor } from './lib/http.mjs';
import { connectNats, startNats, storedMessage } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { parleyFor } from './lib/parley.mjs';
import { assertDecided, decide, decision, waiting } from './lib/reviews.mjs';
import { assertAccepted, assertProblem, uniqueId } from './lib/vlp.mjs';

const SAFE = 'lane=safe&reviewed=true';
const follow = async (t, server, query) => {
  const stream = await streamFor(t, server, `/v1/vlp/stream?${query}`);
  assert.equal((await stream.anyEvent()).type, 'parley.open');
  return stream;
};
const take = async (stream, count) => {
  const events = [];
  while (events.length < count) events.push(await stream.event());
  return events;
};
// Everything from a place on that concerns a session: of an approved message or of a notice.
const readOf = async (server, of, query) =>
  (await readEvents(server, query)).filter(({ data }) => data?.session_id === of);
const lastToken = async (server) => {
  const { seq } = assertAccepted(await send(server, safe(session())));
  return (await readEvents(server, `since=${seq}`))[0].resume;
};
const shown = (events) => events.map(({ sequence, reviewed }) => [Number(sequence), reviewed !== undefined]);
const seqOf = (place) => Number(place.split(':')[1]);

async function approve(server, place, changes) {
  return assertDecided(await decide(server, place, decision(changes)));
}

describe('what people approve', () => {
  const its = useFleet();

  it('is delivered with the decision before its notice, live on all gateways and from the past', async (t) => {
    const { gateways: [one, two] } = its;
    const since = `since=${await lastToken(one)}`;
    const live = [await follow(t, one, SAFE), await follow(t, two, SAFE), await follow(t, two, `${since}&${SAFE}`)];
    const of = session();
    const { place } = await waiting(one, of);
    const other = await waiting(two, of);
    const { at, notice } = await approve(two, place);
    const rejected = await approve(one, other.place, { decision: 'reject' });
    const [stored] = await readEvents(one, `since=${seqOf(place)}&limit=1`);
    const order = [[seqOf(place), true], [notice.seq, false], [rejected.notice.seq, false]];
    const past = await readOf(two, of, `${since}&${SAFE}`);
    assert.deepEqual(shown(past), order);
    const { resume, reviewed, ...event } = past[0];
    assert.deepEqual(reviewed, { by: 'Ada', at, reason: 'Checked.' });
    const { resume: own, ...same } = stored;
    assert.deepEqual(event, same);
    assert.notEqual(resume, own);
    for (const stream of live) assert.deepEqual(await take(stream, 3), past);
    assert.deepEqual(shown(await readOf(one, of, `${since}&lane=safe`)), order.slice(1));
    assert.deepEqual(shown(await readOf(one, of, `${since}&lane=safe&reviewed=false`)), order.slice(1));
    const all = await readOf(one, of, `${since}&reviewed=true`);
    assert.deepEqual(shown(all), [[seqOf(place), false], [seqOf(other.place), false], ...order]);
  });

  it('comes neither twice nor never to a reader that resumes, after whichever event it left', async (t) => {
    const { gateways } = its;
    const since = `since=${await lastToken(gateways[0])}`;
    for (let i = 0; i < 3; i++) {
      const { place } = await waiting(gateways[0]);
      assertAccepted(await send(gateways[1], safe(session())));
      await approve(gateways[i % 2], place);
    }
    const events = await readEvents(gateways[0], `${since}&${SAFE}`);
    assert.equal(events.length, 9);
    assert.equal(events.filter(({ reviewed }) => reviewed).length, 3);
    for (const [i, { resume }] of events.entries()) {
      const rest = await readEvents(gateways[i % 2], `since=${resume}&${SAFE}`);
      assert.deepEqual(rest, events.slice(i + 1));
      const [next] = await take(await follow(t, gateways[1], `since=${resume}&${SAFE}`), events[i + 1] ? 1 : 0);
      assert.deepEqual(next, events[i + 1]);
      const answer = await get(gateways[0], `/v1/vlp/stream?follow=false&${SAFE}`, { headers: { 'Last-Event-ID': resume } });
      assert.deepEqual(answer.lines, events.slice(i + 1));
    }
  });

  it('is chosen by its own members, and the notice by its own', async () => {
    const { gateways: [server] } = its;
    const since = `since=${await lastToken(server)}`;
    const [of, sender] = [session(), `agent-${uniqueId()}`];
    const { seq } = assertAccepted(await send(server, { ...review(of), sender }));
    const { notice } = await approve(server, `VLP:${seq}`, { by: 'Eve' });
    const [approved, told] = [[seq, true], [notice.seq, false]];
    const cases = {
      [`thread=${of}`]: [approved, told],
      [`thread=${session()}`]: [],
      [`sender=${sender}`]: [approved],
      'sender=Eve': [told],
      [`sender=Eve,${sender}`]: [approved, told],
      'type=claim': [approved],
      'type=vlp.notice': [told],
      [`type=claim&sender=${sender}&thread=${of}`]: [approved],
      [`type=notice&sender=${sender}`]: [],
      [`for=nobody&type=claim`]: [approved],
      'receiver=nobody': [],
    };
    for (const [query, expected] of Object.entries(cases)) {
      const events = await readEvents(server, `${since}&${SAFE}&${query}`);
      assert.deepEqual(shown(events.filter((event) => event.sequence >= seq)), expected, query);
    }
  });

  it('does not count for limit', async () => {
    const { gateways: [server] } = its;
    const since = `since=${await lastToken(server)}`;
    const { place } = await waiting(server);
    const { notice } = await approve(server, place);
    const answer = await readStream(server, `/v1/vlp/stream?${since}&${SAFE}&limit=1`);
    assert.deepEqual(shown(answer.lines.filter(({ type }) => type !== 'parley.open')), [[seqOf(place), true], [notice.seq, false]]);
  });

  it('is in streams without envelope, in server-sent events, and in the stream of all protocols', async () => {
    const { gateways: [server] } = its;
    const since = `since=${await lastToken(server)}`;
    const { place, message } = await waiting(server);
    const { notice } = await approve(server, place);
    const bare = await readEvents(server, `${since}&${SAFE}&envelope=none`);
    assert.deepEqual(bare.map(({ id }) => id), [message.id, (await storedMessage(its.client, notice.seq)).headers['ce-id']]);
    const [{ resume }] = await readEvents(server, `${since}&${SAFE}`);
    const { text } = await get(server, `/v1/vlp/stream?${since}&follow=false&${SAFE}`, { headers: { Accept: 'text/event-stream' } });
    assert.equal(text.match(/^id: .*$/m)[0], `id: ${resume}`);
    const all = await readStream(server, `/v1/stream?since=15m&follow=false&${SAFE}`);
    const at = all.lines.findIndex(({ reviewed, sequence }) => reviewed && Number(sequence) === seqOf(place));
    assert.equal(Number(all.lines[at + 1].sequence), notice.seq);
    const again = await readStream(server, `/v1/stream?since=${all.lines[at].resume}&follow=false&${SAFE}`);
    assert.deepEqual(again.lines, all.lines.slice(at + 1));
  });

  it('is a foreign event where it was published straight to NATS and is not valid', async () => {
    const { gateways: [server], client } = its;
    const since = `since=${await lastToken(server)}`;
    const { seq } = await client.jetstream().publish('vlp.review.claim', 'not JSON');
    const { notice } = await approve(server, `VLP:${seq}`);
    const events = await readEvents(server, `${since}&${SAFE}`);
    assert.deepEqual(shown(events), [[seq, true], [notice.seq, false]]);
    assert.equal(events[0].type, 'parley.foreign');
  });

  it('is not added to by a notice that is forged', async (t) => {
    const { gateways: [server, other], client } = its;
    const since = `since=${await lastToken(server)}`;
    const live = await follow(t, other, SAFE);
    const [undecided, rejected, approved] = [await waiting(server), await waiting(server), await waiting(server)];
    const { seq: plain } = assertAccepted(await send(server, safe(session())));
    await approve(server, rejected.place, { decision: 'reject' });
    const { notice } = await approve(server, approved.place);
    const genuine = await storedMessage(client, notice.seq);
    const forge = async (header, message = {}) => {
      const headers = natsHeaders();
      headers.set('Parley-Reviewed', header);
      const text = JSON.stringify({ ...JSON.parse(genuine.payload), ...message });
      return (await client.jetstream().publish('vlp.safe.notice', text, { headers })).seq;
    };
    const anew = () => ({ id: uniqueId() });
    const forged = [
      await forge(`${undecided.place} approve`, anew()),
      await forge(`${rejected.place} approve`, anew()),
      await forge(`${approved.place} approve`, anew()),
      await forge(`${approved.place} approve`), // a copy of the true one
      await forge(`${undecided.place} approve`),
      await forge(`VLP:${plain} approve`, anew()),
      await forge(`VLP:${notice.seq} approve`, anew()),
    ];
    for (const header of ['', ' ', 'approve', 'VLP:1', 'VLP: approve', 'VLP:0 approve', '*:1 approve', 'VLP.>:1 approve',
                          'V L P:1 approve', `${'x'.repeat(400)}:1 approve`, `VLP:${'9'.repeat(30)} approve`]) {
      forged.push(await forge(header, anew()));
    }
    const { seq: last } = assertAccepted(await send(server, safe(session())));
    for (const events of [await readEvents(server, `${since}&${SAFE}`), await take(live, forged.length + 5)]) {
      assert.deepEqual(events.filter(({ reviewed }) => reviewed).map(({ sequence }) => `VLP:${sequence}`), [approved.place]);
      assert.deepEqual(shown(events).slice(-forged.length - 1), [...forged, last].map((seq) => [seq, false]));
    }
  });

  it('of a session that is halted afterwards comes all the same', async () => {
    const { gateways: [server] } = its;
    const since = `since=${await lastToken(server)}`;
    const of = session();
    const { place } = await waiting(server, of);
    const { notice } = await approve(server, place);
    assertAccepted(await send(server, block(of)));
    assert.deepEqual(shown(await readOf(server, of, `${since}&${SAFE}`)), [[seqOf(place), true], [notice.seq, false]]);
  });

  it('is 400 where the notices cannot be seen, or nothing is reviewed', async () => {
    const { gateways: [server] } = its;
    const cases = [
      ['/v1/vlp/stream?reviewed=true&lane=review', /include `safe`/],
      ['/v1/vlp/stream?reviewed=true&lane=review,block', /include `safe`/],
      ['/v1/vlp/stream?reviewed=yes', /true or false/],
      ['/v1/vlp/stream?reviewed=', /true or false/],
      ['/v1/vlp/stream?reviewed=true&reviewed=true', /reviewed/],
      ['/v1/roundtable/stream?reviewed=true', /leave `reviewed` out, or read \/v1\/vlp\/stream\./],
      ['/v1/supervisor/stream?reviewed=true', /leave `reviewed` out/],
      ['/v1/rejected/stream?reviewed=true', /leave `reviewed` out/],
      ['/v1/stream?reviewed=true&lane=block', /include `safe`/],
    ];
    for (const [path, wants] of cases) {
      const { detail } = assertProblem(await get(server, path), 400, 'invalid-parameter');
      assert.match(detail, wants, path);
    }
    for (const path of ['/v1/roundtable/stream?reviewed=false', '/v1/stream?reviewed=true', '/v1/vlp/stream?reviewed=true&lane=review,safe']) {
      const { status } = await readStream(server, `${path}&follow=false`);
      assert.equal(status, 200, path);
    }
  });
});

describe('what people approve, where it is stored elsewhere', () => {
  for (const [what, stream, args = []] of [
    ['a stream of the operator that has other messages too', { name: 'all', subjects: ['orders.>', 'vlp.>'] }],
    ['a stream with a prefix', undefined, ['--subject-prefix', 'vlp=fleet-a']],
    ['a work queue, which has no past', { name: 'work', subjects: ['vlp.>'], retention: 'workqueue' }],
  ]) {
    it(`is delivered: ${what}`, async (t) => {
      const nats = await startNats();
      atEnd(t, () => nats.stop());
      const client = await connectNats(nats.url);
      atEnd(t, () => client.close());
      if (stream) await (await client.jetstreamManager()).streams.add(stream);
      const server = await parleyFor(t, { nats: nats.url, args });
      const live = await follow(t, server, SAFE);
      if (stream) await client.jetstream().publish(stream.subjects[0].replace('>', stream.retention ? 'safe.x' : 'x'), '{}');
      const { place, message } = await waiting(server);
      await approve(server, place);
      const [approved, notice] = await take(live, 2);
      assert.deepEqual([approved.data.id, approved.reviewed.by, notice.type], [message.id, 'Ada', 'vlp.notice']);
      if (stream?.retention) return;
      const events = await readEvents(server, `since=all&${SAFE}`);
      assert.deepEqual(events, [approved, notice]);
      assert.deepEqual(await readEvents(server, `since=${approved.resume}&${SAFE}`), [notice]);
    });
  }
});

// A fleet of its own for each: what it does to NATS would disturb the others.
async function alone(t, args) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const wire = await NatsWire.to(nats.url);
  atEnd(t, () => wire.close());
  const client = await connectNats(nats.url);
  atEnd(t, () => client.close());
  return { nats, wire, client, sender: await parleyFor(t, { nats: nats.url }), reader: await parleyFor(t, { nats: wire.url, args }) };
}
// What is asked for of decisions and of messages to be reviewed.
const isAsked = ({ kind, subject, body }) =>
  kind === 'publish' && (/MSG\.GET\.KV_parley_reviews|DIRECT\.GET\.KV_parley_reviews/.test(subject) ||
                         (/STREAM\.MSG\.GET\.VLP$/.test(subject) && body.includes('"seq"')));
const isMessage = (frame) => isAsked(frame) && frame.subject.endsWith('.VLP');

describe('what people approve, when NATS', () => {
  for (const [what, remove] of [
    ['the message', async (manager, place) => manager.streams.deleteMessage('VLP', seqOf(place))],
    ['the decision', async (manager, place) => manager.streams.purge('KV_parley_reviews', { filter: `$KV.parley_reviews.${place.replace(':', '.')}` })],
  ]) {
    it(`does not have ${what} any more, is left out`, async (t) => {
      const { client, sender, reader } = await alone(t);
      const { place } = await waiting(sender);
      const { notice } = await approve(sender, place);
      const { seq } = assertAccepted(await send(sender, safe(session())));
      await remove(await client.jetstreamManager(), place);
      assert.deepEqual(shown((await readEvents(reader, `since=${notice.seq}&${SAFE}`))), [[notice.seq, false], [seq, false]]);
    });
  }

  it('answers late, comes in its turn: nothing overtakes it', async (t) => {
    const { wire, sender, reader } = await alone(t, ['--reactors', '1']);
    const { seq: first } = assertAccepted(await send(sender, safe(session())));
    const live = await follow(t, reader, SAFE);
    for (const holdAnswers of [(each) => wire.holdAnswerTo(each), (each) => wire.hold(each)]) {
      for (const isHeld of [isAsked, isMessage]) {
        const { place } = await waiting(sender);
        const hold = holdAnswers(isHeld);
        const { notice } = await approve(sender, place);
        const { seq } = assertAccepted(await send(sender, safe(session())));
        await hold.reached();
        const past = readEvents(reader, `since=${first}&${SAFE}`);
        hold.release();
        const order = [[seqOf(place), true], [notice.seq, false], [seq, false]];
        assert.deepEqual(shown(await take(live, 3)), order);
        assert.deepEqual(shown(await past).slice(-3), order);
      }
    }
  });

  it('loses the question, is asked for again', async (t) => {
    const { wire, sender, reader } = await alone(t, ['--reactors', '1']);
    const live = await follow(t, reader, SAFE);
    const { place } = await waiting(sender);
    let count = 0;
    const hold = wire.hold((frame) => isMessage(frame) && count++ === 0); // it is never released
    const { notice } = await approve(sender, place);
    await hold.reached();
    assert.deepEqual(shown(await take(live, 2)), [[seqOf(place), true], [notice.seq, false]]);
    assert.ok(count > 1);
  });

  it('has many readers, is fetched once for all of them', async (t) => {
    const { wire, sender, reader } = await alone(t, ['--reactors', '1']);
    const { seq: first } = assertAccepted(await send(sender, safe(session())));
    let count = 0;
    wire.hold((frame) => {
      count += isAsked(frame) ? 1 : 0;
      return false;
    });
    const READERS = 40, APPROVALS = 5;
    const queries = Array.from({ length: READERS }, (_, i) => (i % 2 ? SAFE : `since=${first + 1}&${SAFE}&sender=The Observer`));
    const live = await Promise.all(queries.map((query) => follow(t, reader, query.replaceAll(' ', '%20'))));
    const places = [];
    for (let i = 0; i < APPROVALS; i++) {
      const { place } = await waiting(sender);
      await approve(sender, place);
      places.push(place);
    }
    for (const stream of live) {
      const got = [];
      while (got.length < APPROVALS) {
        const { reviewed, sequence } = await stream.event();
        if (reviewed) got.push(`VLP:${sequence}`);
      }
      assert.deepEqual(got, places);
    }
    assert.ok(count >= APPROVALS && count <= 3 * APPROVALS, `${count} questions`);
  });

  it('has more approvals than are kept, has all of them read from the past', async (t) => {
    const { sender, reader } = await alone(t);
    const { seq: first } = assertAccepted(await send(sender, safe(session())));
    const places = [];
    for (let i = 0; i < 50; i++) {
      const { seq } = assertAccepted(await send(sender, { ...review(), content: 'x'.repeat(200_000) }));
      await approve(sender, `VLP:${seq}`);
      places.push(`VLP:${seq}`);
    }
    const readers = Array.from({ length: 8 }, (_, i) => readEvents(reader, `since=${first + 1 + 2 * i}&${SAFE}`));
    for (const [i, events] of (await Promise.all(readers)).entries()) {
      assert.deepEqual(events.filter(({ reviewed }) => reviewed).map(({ sequence }) => `VLP:${sequence}`), places.slice(i));
    }
  });
});
