// SPDX-License-Identifier: Apache-2.0
// What a reader is told when the stream is not as parley alone would have left it: messages that
// are gone, a stream made anew, and what others have published straight to NATS.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { headers as natsHeaders } from 'nats';
import { get, post, readEvents, send, sendLines, streamFor } from './lib/http.mjs';
import { embeddedUrl, natsClient } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertAccepted, claim, claims, lines } from './lib/vlp.mjs';

const typesOf = (events) => events.map((event) => event.type);
const idsOf = (events) => events.map((event) => event.id);

// A server of the test's own with `count` messages in it, and a client beside it.
async function filled(t, count) {
  const parley = await parleyFor(t);
  const client = await natsClient(t, embeddedUrl(parley));
  const streams = (await client.jetstreamManager()).streams;
  const messages = claims(count);
  if (count > 0) await sendLines(parley, lines(messages));
  return { parley, streams, messages };
}

function assertGap(event, first, last) {
  assert.equal(event.specversion, '1.0');
  assert.equal(event.type, 'parley.gap');
  assert.deepEqual(event.data, { stream: 'VLP', first, last });
}

describe('a gap', () => {
  it('is said before what is still there', async (t) => {
    const { parley, streams, messages } = await filled(t, 5);
    await streams.purge('VLP', { seq: 4 });
    const [gap, ...rest] = await readEvents(parley, 'since=1');
    assertGap(gap, 1, 3);
    assert.deepEqual(idsOf(rest), idsOf(messages.slice(3)));
  });

  it('begins where the reader asked to', async (t) => {
    const { parley, streams } = await filled(t, 5);
    await streams.purge('VLP', { seq: 4 });
    assertGap((await readEvents(parley, 'since=3'))[0], 3, 3);
    assert.deepEqual(typesOf(await readEvents(parley, 'since=4')), ['vlp.claim', 'vlp.claim']);
  });

  it('is said after a resume token', async (t) => {
    const { parley, streams, messages } = await filled(t, 5);
    const [, second] = await readEvents(parley);
    await streams.purge('VLP', { seq: 5 });
    const since = `since=${encodeURIComponent(second.resume)}`;
    const [gap, ...rest] = await readEvents(parley, since);
    assertGap(gap, 3, 4);
    assert.deepEqual(idsOf(rest), [messages[4].id]);
  });

  it('is said when nothing at all is left', async (t) => {
    const { parley, streams } = await filled(t, 3);
    await streams.purge('VLP');
    const events = await readEvents(parley, 'since=1');
    assert.equal(events.length, 1);
    assertGap(events[0], 1, 3);
  });

  it('is not said for since=all', async (t) => {
    const { parley, streams } = await filled(t, 5);
    await streams.purge('VLP', { seq: 4 });
    assert.deepEqual(typesOf(await readEvents(parley, 'since=all')), ['vlp.claim', 'vlp.claim']);
  });

  it('is not counted by limit', async (t) => {
    const { parley, streams } = await filled(t, 5);
    await streams.purge('VLP', { seq: 4 });
    const answer = await get(parley, '/v1/vlp/stream?since=1&limit=1');
    assert.deepEqual(typesOf(answer.lines), ['parley.open', 'parley.gap', 'vlp.claim']);
  });

  it('is whole even under envelope=none', async (t) => {
    const { parley, streams, messages } = await filled(t, 5);
    await streams.purge('VLP', { seq: 5 });
    const [gap, message] = await readEvents(parley, 'since=1&envelope=none');
    assertGap(gap, 1, 4);
    assert.deepEqual(message, messages[4]);
  });

  it('is said as a server-sent event too', async (t) => {
    const { parley, streams } = await filled(t, 5);
    await streams.purge('VLP', { seq: 5 });
    const headers = { Accept: 'text/event-stream' };
    const stream = await streamFor(t, parley, '/v1/vlp/stream?since=1', { headers });
    const event = await stream.sseData();
    assert.ok(!('event' in event));
    assertGap(JSON.parse(event.data), 1, 4);
  });

  it('is what a stream that was made anew is to a resume token of the old one', async (t) => {
    const { parley, streams } = await filled(t, 3);
    const since = `since=${encodeURIComponent((await readEvents(parley)).at(-1).resume)}`;
    const { config } = await streams.info('VLP');
    await streams.delete('VLP');
    await streams.add(config);
    const message = claim();
    await until(
      'messages are taken again',
      async () => (await send(parley, message)).status === 200,
    );
    const [gap, ...rest] = await readEvents(parley, since);
    assert.equal(gap.type, 'parley.gap');
    assert.equal(gap.data.stream, 'VLP');
    assert.deepEqual(idsOf(rest), [message.id]);
  });
});

describe('a stream that is made anew', () => {
  // Long before the first keepalive of 15 s, at which readers look at their stream anyway.
  it('is told to who reads it, before a keepalive', async (t) => {
    const { parley, streams } = await filled(t, 3);
    const stream = await streamFor(t, parley, '/v1/vlp/stream');
    assert.equal(JSON.parse(await stream.line()).type, 'parley.open');
    await streams.delete('VLP');
    const message = claim();
    await until('it is taken', async () => (await send(parley, message)).status === 200);
    const seen = [await stream.line(), await stream.line()].map((line) => JSON.parse(line));
    assert.equal(seen[0].type, 'parley.gap', JSON.stringify(seen));
    assert.equal(seen[1].id, message.id);
  });
});

describe('what others publish straight to NATS', () => {
  const its = useParley();
  const publish = async (subject, payload, options) =>
    (await its.nats.jetstream().publish(subject, Buffer.from(payload), options)).seq;

  for (const [what, payload, reason] of [
    ['is no JSON', 'hello\n"world"', /^GW-001: ./],
    ['is no text', Buffer.from([0xff, 0x00, 0x0a, 0x0d, 0xfe]), /^GW-00[15]: ./],
    ['is empty', '', /^GW-001: ./],
    ['is JSON but no object', '[1,2]', /^GW-006: ./],
    ['breaks a rule', JSON.stringify(claim({ sender: '' })), /^VLP-005 \/sender: .+$/],
    [
      'breaks rules over several lines',
      JSON.stringify(claim({ confidence: 7, sender: 1 }), null, 2),
      /^VLP-005 \/sender: .+; VLP-007 \/confidence: /,
    ],
  ]) {
    it(`and ${what} comes as parley.foreign, which says why (contract 19)`, async (t) => {
      const live = await streamFor(t, its.parley, '/v1/vlp/stream');
      const seq = await publish('vlp.safe.claim', payload);
      const event = await live.event();
      assert.equal(event.specversion, '1.0');
      assert.equal(event.type, 'parley.foreign');
      assert.deepEqual(Buffer.from(event.data_base64, 'base64'), Buffer.from(payload));
      assert.match(event.reason, reason);
      assert.ok(!('data' in event));
      assert.equal(event.subject, 'vlp.safe.claim');
      assert.equal(event.sequence, String(seq));
      assert.match(event.resume, new RegExp(`^VLP:.+:${seq}$`));
      assert.deepEqual(await readEvents(its.parley, `since=${seq}`), [event]);
    });
  }

  it('never breaks a line, not even under envelope=none', async (t) => {
    const live = await streamFor(t, its.parley, '/v1/vlp/stream?envelope=none');
    await publish('vlp.safe.claim', 'no\njson\n{');
    const message = claim();
    assertAccepted(await send(its.parley, message));
    for (let line; ;) {
      line = await live.event(); // which parses it
      if (line.id === message.id) break;
    }
  });

  it('and has no id of its own has that of its header ce-id, else STREAM:seq', async () => {
    const beat = JSON.stringify({ type: 'heartbeat', timestamp: 1765708200 });
    const publishWith = (id) => {
      const header = natsHeaders();
      if (id !== undefined) header.set('ce-id', id);
      return publish('supervisor._.gerbil.heartbeat', beat, { headers: header });
    };
    const seq = await publishWith('6f1ab0b2-9c1d-4b3e-8d1e-3c1f0c9a7d11');
    await publishWith(undefined);
    await publishWith('not"plain text');
    await publishWith('a%20b');
    const path = `/v1/supervisor/stream?follow=false&since=${seq}`;
    assert.deepEqual(idsOf((await get(its.parley, path)).lines), [
      '6f1ab0b2-9c1d-4b3e-8d1e-3c1f0c9a7d11',
      ...[1, 2, 3].map((more) => `SUPERVISOR:${seq + more}`),
    ]);
  });

  it('is an event under the ce-id that parley itself gave it', async () => {
    const beat = { type: 'heartbeat', timestamp: 1765708200 };
    const sent = await post(its.parley, '/v1/supervisor/messages', JSON.stringify(beat));
    assert.equal(sent.status, 200, sent.text);
    const path = `/v1/supervisor/stream?follow=false&since=${sent.json.seq}`;
    const [event] = (await get(its.parley, path)).lines;
    const manager = await its.nats.jetstreamManager();
    const stored = await manager.streams.getMessage('SUPERVISOR', { seq: sent.json.seq });
    assert.equal(event.id, stored.header.get('ce-id'));
    assert.match(event.id, /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
  });

  it('and is valid is an event like any other', async (t) => {
    const live = await streamFor(t, its.parley, '/v1/vlp/stream');
    const message = claim();
    const seq = await publish('vlp.safe.claim', JSON.stringify(message));
    const { resume, recordedtime, ...event } = await live.event();
    assert.ok(resume);
    assert.match(recordedtime, /^20\d\d-\d\d-\d\dT/);
    assert.deepEqual(event, {
      specversion: '1.0',
      id: message.id,
      source: '/vlp/The%20Observer',
      type: 'vlp.claim',
      subject: 'vlp.safe.claim',
      time: '2025-12-14T10:30:00Z',
      datacontenttype: 'application/json',
      sequence: String(seq),
      data: message,
    });
  });

  it('and spans lines arrives on one, its numbers as they were', async (t) => {
    const live = await streamFor(t, its.parley, '/v1/vlp/stream');
    await live.anyEvent(); // parley.open
    const message = claim({ content: { text: 'two  blanks' } });
    const spread = JSON.stringify(message, null, 2).replace('0.85', '0.850');
    await publish('vlp.safe.claim', spread);
    const line = await live.line();
    const bare = JSON.stringify(message).replace('0.85', '0.850');
    assert.ok(line.includes(`"data":${bare}`), line);
  });

  it('holds up nobody: the next message comes after it', async (t) => {
    const live = await streamFor(t, its.parley, '/v1/stream');
    await publish('vlp.anything.at.all', 'garbage');
    const message = claim();
    assertAccepted(await send(its.parley, message));
    const [foreign, event] = await live.events(2);
    assert.deepEqual([foreign.type, event.id], ['parley.foreign', message.id]);
  });
});
