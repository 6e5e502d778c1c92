// SPDX-License-Identifier: Apache-2.0
// A message for review has one decision, over all gateways: a key that is created once, and a notice
// in the reviewer's name.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { useFleet } from './lib/fleet.mjs';
import { block, halts, release, review, safe, session } from './lib/halts.mjs';
import { JSON_TYPE, get, post, rawFor, readEvents, rawPost, send } from './lib/http.mjs';
import { connectNats, embeddedUrl, startNats, storedMessage, storedMessages } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { IMPATIENT, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertDecided, decide, decision, reviewsOf, waiting } from './lib/reviews.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';

const ROUNDS = Number(process.env.PARLEY_TEST_ROUNDS ?? 60);

const noticesOf = async (client, place) =>
  (await storedMessages(client)).filter(({ headers }) => headers['parley-reviewed']?.startsWith(`${place} `));

describe('a review', () => {
  const its = useFleet();

  for (const [name, title] of [['approve', 'Approved: Checked.'], ['reject', 'Rejected: Checked.']]) {
    it(`of ${name} is published as a notice in the reviewer's name, for the lane safe`, async () => {
      const { gateways, client } = its;
      const { place, message } = await waiting(gateways[0], session());
      const said = assertDecided(await decide(gateways[1], place, decision({ decision: name })));
      assert.deepEqual(
        { ...said, at: undefined, id: undefined, notice: undefined },
        { ...decision({ decision: name }), message: place, duplicate: false, at: undefined, id: undefined, notice: undefined },
      );
      const { subject, headers, payload } = await storedMessage(client, said.notice.seq);
      const notice = JSON.parse(payload);
      assert.equal(subject, 'vlp.safe.notice');
      assert.equal(headers['parley-reviewed'], `${place} ${name}`);
      assert.equal(headers['nats-msg-id'], `review:${place}`);
      assert.deepEqual(notice, {
        id: said.id,
        protocol: 'VLP/1.1',
        type: 'notice',
        timestamp: said.at,
        sender: 'Ada',
        session_id: message.session_id,
        content: title,
        confidence: 1,
        provenance: [`parley:reviews/${place}`],
        safety: { level: 'safe' },
        refers_to: [message.id],
      });
      const again = { ...notice, id: `${notice.id}-again` };
      assertAccepted(await send(gateways[0], again));
    });
  }

  it('that is sent again is a duplicate, and is announced once', async () => {
    const { gateways, client } = its;
    const { place } = await waiting(gateways[0]);
    const first = assertDecided(await decide(gateways[0], place, decision()));
    for (const gateway of gateways) {
      const again = assertDecided(await decide(gateway, place.replace(':', '%3A'), decision()));
      assert.deepEqual(again, { ...first, duplicate: true });
    }
    assert.equal((await noticesOf(client, place)).length, 1);
  });

  it('of somebody who comes second is refused with the first', async () => {
    const { gateways, client } = its;
    const { place } = await waiting(gateways[0]);
    const { at, id } = assertDecided(await decide(gateways[0], place, decision()));
    for (const changes of [{ by: 'Bob' }, { decision: 'reject' }, { reason: 'Another one.' }]) {
      const problem = assertProblem(await decide(gateways[1], place, decision(changes)), 409, 'already-reviewed');
      const { decision: decided, by, reason } = problem;
      assert.deepEqual({ decision: decided, by, reason, at: problem.at, id: problem.id }, { ...decision(), at, id });
    }
    assert.equal((await noticesOf(client, place)).length, 1);
  });

  it(`is one, of two reviewers on two gateways at one instant, ${ROUNDS} times`, async () => {
    const { gateways, client } = its;
    for (let round = 0; round < ROUNDS; round++) {
      const { place } = await waiting(gateways[0]);
      const sent = [decision({ by: 'Ada' }), decision({ by: 'Bob', decision: 'reject' })];
      const answers = await Promise.all(gateways.map((gateway, i) => decide(gateway, place, sent[i])));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
      const winner = answers.findIndex(({ status }) => status === 200);
      const problem = assertProblem(answers[1 - winner], 409, 'already-reviewed');
      assert.deepEqual([problem.by, problem.decision], [sent[winner].by, sent[winner].decision]);
      const { notice } = answers[winner].json;
      const stored = await storedMessage(client, notice.seq);
      assert.equal(JSON.parse(stored.payload).sender, sent[winner].by);
    }
  });

  it('is refused of what waits for none: 404', async () => {
    const [server] = its.gateways;
    const { seq } = assertAccepted(await send(server, claim()));
    for (const place of [`VLP:${seq}`, 'VLP:999999999', 'VLP:0', 'VLP:01', 'VLP:x', 'VLP', 'ROUNDTABLE:1', 'VLP:1:2',
                         `VLP:${'9'.repeat(40)}`, 'x'.repeat(2000)]) {
      assertProblem(await decide(server, place, decision()), 404, 'not-found');
    }
    assertProblem(await post(server, '/v1/roundtable/reviews/ROUNDTABLE:1', '{}'), 404, 'not-found');
    const { notice } = assertDecided(await decide(server, (await waiting(server)).place, decision()));
    assertProblem(await decide(server, `VLP:${notice.seq}`, decision()), 404, 'not-found');
  });

  it('is refused where its body says something else', async () => {
    const [server] = its.gateways;
    const { place } = await waiting(server);
    const bodies = [
      '', 'x', '[]', '{}', '"approve"',
      ...[
        { decision: 'block' }, { decision: undefined }, { decision: true }, { by: '' }, { by: undefined }, { by: 7 },
        { by: 'x'.repeat(257) }, { reason: '' }, { reason: undefined }, { reason: 'x'.repeat(4097) }, { lane: 'safe' },
      ].map((changes) => JSON.stringify(decision(changes))),
      '{"decision":"approve","decision":"reject","by":"Ada","reason":"r"}',
    ];
    for (const body of bodies) {
      assertProblem(await post(server, `/v1/vlp/reviews/${place}`, body), 400, 'malformed');
    }
    assertProblem(await decide(server, place, decision({ reason: 'x'.repeat(20_000) })), 413, 'too-large');
    const longest = decision({ by: 'ä'.repeat(128), reason: 'x'.repeat(4096) });
    assert.equal(assertDecided(await decide(server, place, longest)).by, longest.by);
  });

  it('that approves waits for the release of a halt, and a rejection does not', async () => {
    const { gateways } = its;
    const halted = session();
    const [one, two] = [await waiting(gateways[0], halted), await waiting(gateways[0], halted)];
    assertAccepted(await send(gateways[0], block(halted)));
    assertProblem(await decide(gateways[0], one.place, decision()), 409, 'halted');
    assertDecided(await decide(gateways[0], two.place, decision({ decision: 'reject' })));
    await until('the other gateway knows of it', async () => (await halts(gateways[1], `?session=${halted}`)).items.length === 1);
    await release(gateways[1], halted);
    assertDecided(await decide(gateways[1], one.place, decision()));
  });

  it('of a message that was published straight to NATS needs no id', async () => {
    const { gateways: [server], client } = its;
    const published = [JSON.stringify({ ...review(), id: undefined }), 'not JSON'];
    for (const text of published) {
      const { seq } = await client.jetstream().publish('vlp.review.claim', text);
      const { notice } = assertDecided(await decide(server, `VLP:${seq}`, decision()));
      assert.deepEqual(JSON.parse((await storedMessage(client, notice.seq)).payload).refers_to, []);
    }
  });
});

describe('the list of reviews', () => {
  const its = useFleet();
  const placesOf = ({ items }) => items.map(({ message }) => message);

  it('has what nobody has decided, the oldest first, as streams have it', async () => {
    const { gateways: [one, two] } = its;
    const halted = session();
    const [first, second, third] = [await waiting(one, halted), await waiting(one, halted), await waiting(two, halted)];
    assertAccepted(await send(one, safe(halted)));
    assertAccepted(await send(one, block(session())));
    const { items, next } = await reviewsOf(two, `session=${halted}`);
    assert.deepEqual(items.map(({ message }) => message), [first.place, second.place, third.place]);
    assert.equal(next, undefined);
    const events = await readEvents(one, `since=all&lane=review&thread=${halted}`);
    for (const [i, { event, at, reviewed }] of items.entries()) {
      const { resume, sequence, recordedtime, ...rest } = events[i];
      assert.deepEqual(event, rest);
      assert.equal(`VLP:${sequence}`, items[i].message);
      assert.equal(Date.parse(at), Date.parse(recordedtime));
      assert.equal(reviewed, undefined);
    }
    const { notice, duplicate, message, ...said } = assertDecided(await decide(two, second.place, decision({ decision: 'reject' })));
    assert.deepEqual(placesOf(await reviewsOf(one, `session=${halted}`)), [first.place, third.place]);
    const reviewedBy = async (open) => (await reviewsOf(one, `session=${halted}&open=${open}`)).items.map(({ reviewed }) => reviewed);
    assert.deepEqual(await reviewedBy('all'), [undefined, said, undefined]);
    assert.deepEqual(await reviewedBy('true'), [undefined, undefined]);
    assert.deepEqual(await reviewedBy('false'), [said]);
  });

  it('is chosen by session and sender, and comes in pages', async () => {
    const { gateways: [server] } = its;
    const halted = session();
    const messages = ['a', 'b', 'a', 'a', 'b'].map((sender) => ({ ...review(halted), sender }));
    const places = [];
    for (const message of messages) {
      const { stream, seq } = assertAccepted(await send(server, message));
      places.push(`${stream}:${seq}`);
    }
    assert.deepEqual(placesOf(await reviewsOf(server, `session=${halted}&sender=b`)), [places[1], places[4]]);
    assert.deepEqual(placesOf(await reviewsOf(server, `session=${session()}`)), []);
    const pages = [];
    for (let cursor = ''; cursor !== undefined; ) {
      const page = await reviewsOf(server, `session=${halted}&limit=2${cursor && `&cursor=${cursor}`}`);
      pages.push(placesOf(page));
      cursor = page.next;
    }
    assert.deepEqual(pages, [places.slice(0, 2), places.slice(2, 4), places.slice(4)]);
  });

  it('ends a page before it is larger than 4 MiB', async () => {
    const { gateways: [server] } = its;
    const halted = session();
    for (let i = 0; i < 6; i++) {
      assertAccepted(await send(server, { ...review(halted), content: 'x'.repeat(1_000_000) }));
    }
    const page = await reviewsOf(server, `session=${halted}`);
    assert.equal(page.items.length, 4);
    assert.equal((await reviewsOf(server, `session=${halted}&cursor=${page.next}`)).items.length, 2);
  });

  it('has what was published straight to NATS and is not VLP, as a foreign event', async () => {
    const { gateways: [server], client } = its;
    const { seq } = await client.jetstream().publish('vlp.review.claim', 'not JSON');
    const { items } = await reviewsOf(server, `cursor=${seq - 1}`);
    assert.deepEqual([items[0].message, items[0].event.type], [`VLP:${seq}`, 'parley.foreign']);
  });

  it('refuses what it does not know', async () => {
    const [server] = its.gateways;
    for (const query of ['x=1', 'open=yes', 'open=', 'limit=0', 'limit=1001', 'cursor=x', 'session=a&session=b', 'lane=safe']) {
      assertProblem(await get(server, `/v1/vlp/reviews?${query}`), 400, 'invalid-parameter');
    }
    assertProblem(await get(server, '/v1/brenner/reviews'), 404, 'not-found');
  });
});

describe('a review, with tokens', () => {
  it('needs the scope review or admin, and speaks in the name of its own token alone', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const tokens = {};
    for (const [name, allow] of Object.entries({ ada: 'review', root: 'admin', writer: 'send:*,read:*,metrics', other: 'send:*,read:brenner,metrics' })) {
      tokens[name] = await createToken(file, name, allow);
    }
    const server = await parleyFor(t, { args: ['--tokens', file, '--bind-sender'] });
    const message = { ...review(), sender: 'writer' };
    const { seq } = assertAccepted(await send(server, message, bearer(tokens.writer)));
    assertProblem(await get(server, '/v1/vlp/reviews', bearer(tokens.other)), 403, 'forbidden');
    for (const reader of [tokens.ada, tokens.root, tokens.writer]) {
      assert.equal((await reviewsOf(server, '', bearer(reader))).items.length, 1);
    }
    const decideAs = (name, by) => decide(server, `VLP:${seq}`, decision({ by }), bearer(tokens[name]));
    assertProblem(await decide(server, `VLP:${seq}`, decision()), 401, 'unauthenticated');
    const { detail } = assertProblem(await decideAs('writer', 'writer'), 403, 'forbidden');
    assert.match(detail, /review/);
    const other = assertProblem(await decideAs('ada', 'root'), 403, 'forbidden');
    assert.deepEqual(other.violations.map(({ rule, path }) => [rule, path]), [['GW-102', '/by']]);
    assertDecided(await decideAs('ada', 'ada'));
    const { by } = assertProblem(await decideAs('root', 'root'), 409, 'already-reviewed');
    assert.equal(by, 'ada');
  });
});

const isNotice = ({ kind, subject }) => kind === 'publish' && subject === 'vlp.safe.notice';
const isKey = ({ kind, subject }) => kind === 'publish' && /^\$KV\.parley_reviews\.VLP\.\d+$/.test(subject);

describe('a decision that is cut off', () => {
  it('is announced once, though its notice was held, its client went, and it is sent again', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const client = await connectNats(nats.url);
    atEnd(t, () => client.close());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const server = await parleyFor(t, { nats: wire.url });
    for (const isHeld of [isKey, isNotice]) {
      const { place } = await waiting(server);
      const hold = wire.hold(isHeld);
      const body = JSON.stringify(decision());
      const raw = await rawFor(t, server, rawPost(`/v1/vlp/reviews/${place}`, body, { type: JSON_TYPE }));
      await hold.reached();
      raw.socket.resetAndDestroy();
      hold.release();
      await until('it is announced', async () => (await noticesOf(client, place)).length === 1);
      const said = assertDecided(await decide(server, place, decision()));
      assert.equal(said.duplicate, true);
      const notices = await noticesOf(client, place);
      assert.deepEqual(notices.map(({ seq }) => seq), [said.notice.seq]);
    }
  });

  it('says that it is made where its notice is not stored, and is announced by the next', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const client = await connectNats(nats.url);
    atEnd(t, () => client.close());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const impatient = await parleyFor(t, { nats: wire.url, args: [...IMPATIENT, '--ack-timeout', '1s'] });
    const other = await parleyFor(t, { nats: nats.url });
    const { place } = await waiting(other);
    const hold = wire.hold(isNotice);
    const { detail } = assertProblem(await decide(impatient, place, decision()), 504, 'bus-timeout');
    assert.match(detail, /The decision is made, but perhaps it is not announced/);
    assertProblem(await decide(other, place, decision({ by: 'Bob' })), 409, 'already-reviewed');
    assert.equal((await noticesOf(client, place)).length, 0);
    const said = assertDecided(await decide(other, place, decision()));
    hold.release();
    assert.equal(said.duplicate, true);
    assertAccepted(await send(impatient, safe(session())));
    assert.deepEqual((await noticesOf(client, place)).map(({ seq }) => seq), [said.notice.seq]);
  });
});
