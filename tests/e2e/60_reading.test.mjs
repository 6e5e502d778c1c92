// SPDX-License-Identifier: Apache-2.0
// Messages back out: as NDJSON and as server-sent events, live and from the past, filtered.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, readEvents, request, send, sendLines, streamFor } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { assertAccepted, assertProblem, claim, claims, lines, uniqueId } from './lib/vlp.mjs';

const SSE = { headers: { Accept: 'text/event-stream' } };

// Each test reads only what it sent itself, though all share a server.
const only = (sender) => `sender=${encodeURIComponent(sender)}`;

const idsOf = (events) => events.map((event) => event.id);

async function sendAll(parley, messages) {
  const answer = await sendLines(parley, lines(messages));
  assert.equal(answer.lines.at(-1).summary.accepted, messages.length, answer.text);
  return answer.lines.slice(0, -1);
}

describe('an event', () => {
  const its = useParley();

  it('is a CloudEvent with the message, its sequence number and a resume token', async () => {
    const message = claim();
    const { seq } = assertAccepted(await send(its.parley, message));
    const [event, ...more] = await readEvents(its.parley, `since=${seq}`);
    const { resume, ...rest } = event;
    assert.deepEqual(rest, {
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
    assert.match(resume, new RegExp(`^VLP:.+:${seq}$`));
    assert.deepEqual(more, []);
  });

  it('has as its data the very bytes of the message', async () => {
    const text = JSON.stringify(claim({ payload: {} }))
      .replace('0.85', '0.850')
      .replace('{}', '{ "n" : 12345678901234567890, "s":"\\u00e9\\u0000" }');
    const { seq } = assertAccepted(await send(its.parley, text));
    const answer = await get(its.parley, `/v1/vlp/stream?follow=false&since=${seq}`);
    assert.ok(answer.text.includes(`"data":${text}`), answer.text);
  });

  it('has a source whose every odd character is percent-encoded', async () => {
    const sender = 'a/b?c#d é"\u0000';
    const { seq } = assertAccepted(await send(its.parley, claim({ sender })));
    const [event] = await readEvents(its.parley, `since=${seq}`);
    assert.match(event.source, /^\/vlp\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+$/);
    assert.equal(decodeURIComponent(event.source.slice('/vlp/'.length)), sender);
  });

  it('with envelope=none is the bare message', async () => {
    const text = JSON.stringify(claim()).replace('0.85', '0.850');
    const { seq } = assertAccepted(await send(its.parley, text));
    const answer = await get(its.parley, `/v1/vlp/stream?follow=false&since=${seq}&envelope=none`);
    assert.equal(answer.text, `${text}\n`);
  });
});

describe('a stream', () => {
  const its = useParley();

  for (const path of ['/v1/vlp/stream', '/v1/stream']) {
    it(`at ${path} is NDJSON that no cache and no proxy holds back`, async (t) => {
      const stream = await streamFor(t, its.parley, path);
      assert.equal(stream.status, 200);
      assert.match(stream.headers['content-type'], /^application\/x-ndjson\b/);
      assert.equal(stream.headers['cache-control'], 'no-cache, no-store');
      assert.equal(stream.headers['x-accel-buffering'], 'no');
      assert.equal(stream.headers['transfer-encoding'], 'chunked');
    });

    it(`at ${path} has everything that is sent once its headers are here`, async (t) => {
      const stream = await streamFor(t, its.parley, path);
      const messages = claims(20);
      for (const message of messages) assertAccepted(await send(its.parley, message));
      assert.deepEqual(idsOf(await stream.events(20)), idsOf(messages));
    });
  }

  it('has nothing that was sent before, unless it asks', async (t) => {
    assertAccepted(await send(its.parley, claim()));
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream');
    const message = claim();
    assertAccepted(await send(its.parley, message));
    assert.equal((await stream.event()).id, message.id);
  });

  it('is the same for every reader', async (t) => {
    const streams = await Promise.all(
      Array.from({ length: 10 }, () => streamFor(t, its.parley, '/v1/vlp/stream')),
    );
    const messages = claims(50);
    await sendAll(its.parley, messages);
    for (const stream of streams) {
      assert.deepEqual(idsOf(await stream.events(50)), idsOf(messages));
    }
  });

  it('goes on for the others when a reader disconnects', async (t) => {
    const staying = await streamFor(t, its.parley, '/v1/vlp/stream');
    for (let i = 0; i < 20; i++) {
      const leaving = await streamFor(t, its.parley, '/v1/vlp/stream');
      leaving.response.socket.resetAndDestroy();
    }
    const messages = claims(20);
    await sendAll(its.parley, messages);
    assert.deepEqual(idsOf(await staying.events(20)), idsOf(messages));
  });

  it('may be asked about with HEAD', async () => {
    const head = await request(its.parley, 'HEAD', '/v1/vlp/stream');
    assert.equal(head.status, 200);
    assert.match(head.headers['content-type'], /^application\/x-ndjson\b/);
    assert.equal(head.body.length, 0);
  });

  it('is not there for a protocol that is not there', async () => {
    assertProblem(await get(its.parley, '/v1/smoke-signals/stream'), 404, 'not-found');
  });
});

describe('server-sent events', () => {
  const its = useParley();

  it('are the same events: retry first, then id and data, and no event field', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream', SSE);
    assert.match(stream.headers['content-type'], /^text\/event-stream\b/);
    assert.equal(stream.headers['cache-control'], 'no-cache, no-store');
    assert.equal(stream.headers['x-accel-buffering'], 'no');
    const first = await stream.sse();
    assert.match(first.retry, /^\d+$/);
    const message = claim();
    const { seq } = assertAccepted(await send(its.parley, message));
    const event = 'data' in first ? first : await stream.sse();
    const { id, data, ...more } = event;
    delete more.retry;
    assert.deepEqual(more, {});
    const parsed = JSON.parse(data);
    assert.equal(id, parsed.resume);
    assert.deepEqual([parsed.id, parsed.sequence], [message.id, String(seq)]);
    const [line] = await readEvents(its.parley, `since=${seq}`);
    assert.deepEqual(parsed, line);
  });

  it('with envelope=none bear the bare message under the same id', async () => {
    const text = JSON.stringify(claim());
    const { seq } = assertAccepted(await send(its.parley, text));
    const path = `/v1/vlp/stream?follow=false&since=${seq}`;
    const [event] = (await get(its.parley, path)).lines;
    const answer = await get(its.parley, `${path}&envelope=none`, SSE);
    assert.ok(
      answer.text.includes(`id: ${event.resume}\n`) || answer.text.includes(`id:${event.resume}\n`),
    );
    assert.match(
      answer.text,
      new RegExp('^data: ?' + text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$', 'm'),
    );
  });

  it('are what a client gets that prefers them', async (t) => {
    const headers = { Accept: 'application/x-ndjson;q=0.5, text/event-stream' };
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream', { headers });
    assert.match(stream.headers['content-type'], /^text\/event-stream\b/);
  });

  it('are not what a client gets that takes anything', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream', { headers: { Accept: '*/*' } });
    assert.match(stream.headers['content-type'], /^application\/x-ndjson\b/);
  });

  it('go on after the Last-Event-ID of a client that comes back', async (t) => {
    const messages = claims(5);
    const [first] = await sendAll(its.parley, messages);
    const path = `/v1/vlp/stream?since=${first.seq}`;
    const before = await streamFor(t, its.parley, path, SSE);
    const seen = [];
    while (seen.length < 2) seen.push(await before.sseData());
    before.close();
    const headers = { ...SSE.headers, 'Last-Event-ID': seen[1].id };
    const after = await streamFor(t, its.parley, path, { headers });
    const rest = [];
    while (rest.length < 3) rest.push(JSON.parse((await after.sseData()).data).id);
    assert.deepEqual(rest, idsOf(messages.slice(2)));
  });
});

describe('the past', () => {
  const its = useParley();

  it('is whole with since=all', async () => {
    const messages = claims(30);
    await sendAll(its.parley, messages);
    const events = await readEvents(its.parley, 'since=all');
    assert.equal(events[0].sequence, '1');
    assert.deepEqual(idsOf(events).slice(-30), idsOf(messages));
  });

  it('begins with a sequence number, inclusive', async () => {
    const messages = claims(5);
    const results = await sendAll(its.parley, messages);
    const events = await readEvents(its.parley, `since=${results[2].seq}`);
    assert.deepEqual(idsOf(events), idsOf(messages.slice(2)));
  });

  it('begins after a resume token, exclusive, wherever one stopped', async () => {
    const messages = claims(5);
    const [first] = await sendAll(its.parley, messages);
    const all = await readEvents(its.parley, `since=${first.seq}`);
    for (let i = 0; i < 5; i++) {
      const token = encodeURIComponent(all[i].resume);
      const rest = await readEvents(its.parley, `since=${token}`);
      assert.deepEqual(rest, all.slice(i + 1));
    }
  });

  it('begins after a resume token over all protocols too', async () => {
    await sendAll(its.parley, claims(3));
    const path = '/v1/stream?follow=false&since=';
    const all = (await get(its.parley, `${path}all`)).lines;
    const rest = await get(its.parley, path + encodeURIComponent(all.at(-3).resume));
    assert.deepEqual(idsOf(rest.lines), idsOf(all.slice(-2)));
  });

  it('begins with a time of storage, or so long ago', async () => {
    const [old, young] = claims(2);
    assertAccepted(await send(its.parley, old));
    const { seq } = assertAccepted(await send(its.parley, claim()));
    const stored = (await clockAt(its.nats, seq)) + 1;
    while (Date.now() <= stored) await new Promise(setImmediate);
    assertAccepted(await send(its.parley, young));
    const time = new Date(stored).toISOString();
    assert.deepEqual(idsOf(await readEvents(its.parley, `since=${time}`)), [young.id]);
    const local = encodeURIComponent(time.replace('Z', '+00:00'));
    assert.deepEqual(idsOf(await readEvents(its.parley, `since=${local}`)), [young.id]);
    const ids = idsOf(await readEvents(its.parley, 'since=1h'));
    assert.ok(ids.includes(old.id) && ids.includes(young.id));
    while (Date.now() <= stored + 200) await new Promise(setImmediate);
    assert.deepEqual(idsOf(await readEvents(its.parley, 'since=50ms')), []);
  });

  for (const duration of ['60000ms', '60s', '5m', '2h', '1d']) {
    it(`may begin ${duration} ago`, async () => {
      const message = claim({ sender: uniqueId() });
      assertAccepted(await send(its.parley, message));
      const events = await readEvents(its.parley, `since=${duration}&${only(message.sender)}`);
      assert.deepEqual(idsOf(events), [message.id]);
    });
  }

  it('is nothing with since=now and follow=false', async () => {
    assertAccepted(await send(its.parley, claim()));
    assert.deepEqual(await readEvents(its.parley, 'since=now'), []);
    assert.deepEqual(await readEvents(its.parley, ''), []);
  });

  it('flows into the present without a gap and without a repetition', async (t) => {
    const sender = uniqueId();
    const messages = claims(300, { sender });
    await sendAll(its.parley, messages.slice(0, 100));
    const path = `/v1/vlp/stream?since=all&${only(sender)}`;
    const opening = streamFor(t, its.parley, path);
    await sendAll(its.parley, messages.slice(100, 200));
    const stream = await opening;
    await sendAll(its.parley, messages.slice(200));
    assert.deepEqual(idsOf(await stream.events(300)), idsOf(messages));
  });

  it('ends after limit events, past or present', async (t) => {
    const sender = uniqueId();
    const messages = claims(5, { sender });
    await sendAll(its.parley, messages.slice(0, 3));
    const past = await get(its.parley, `/v1/vlp/stream?since=all&limit=2&${only(sender)}`);
    assert.deepEqual(idsOf(past.lines), idsOf(messages.slice(0, 2)));
    const live = await streamFor(t, its.parley, `/v1/vlp/stream?limit=1&${only(sender)}`);
    await sendAll(its.parley, messages.slice(3));
    assert.deepEqual(idsOf(await live.toEnd()), [messages[3].id]);
    assert.ok(live.ended);
  });

  it('wins by Last-Event-ID over since', async () => {
    const messages = claims(3);
    const [first] = await sendAll(its.parley, messages);
    const all = await readEvents(its.parley, `since=${first.seq}`);
    const headers = { 'Last-Event-ID': all[1].resume };
    const rest = await readEvents(its.parley, 'since=all', { headers });
    assert.deepEqual(idsOf(rest), [messages[2].id]);
  });
});

async function clockAt(nats, seq) {
  const manager = await nats.jetstreamManager();
  return (await manager.streams.getMessage('VLP', { seq })).time.getTime();
}

describe('a filter', () => {
  const its = useParley();
  const run = uniqueId();
  const messages = {
    claim: claim({ sender: `${run} a`, receiver: `${run} x`, session_id: `${run}-1` }),
    review: claim({ sender: `${run} a`, safety: { level: 'review' } }),
    notice: claim({ sender: `${run} b, c`, type: 'notice', receiver: `${run} y` }),
    block: claim({
      sender: `${run} b, c`,
      type: 'notice',
      safety: { level: 'block' },
      session_id: `${run}-2`,
    }),
    query: claim({ sender: `${run} d`, type: 'query', receiver: null, session_id: null }),
  };
  const name = (event) => Object.keys(messages).find((key) => messages[key].id === event.id);
  const everything = Object.keys(messages);
  let isSent = false;

  for (const [query, expected] of [
    ['', everything],
    ['type=claim', ['claim', 'review']],
    ['type=vlp.claim', ['claim', 'review']],
    ['type=claim,vlp.query', ['claim', 'review', 'query']],
    ['type=opinion', []],
    ['lane=safe', ['claim', 'notice', 'query']],
    ['lane=review,block', ['review', 'block']],
    [`sender=${run}%20a`, ['claim', 'review']],
    [`sender=${run}%20a,${run}%20d`, ['claim', 'review', 'query']],
    [`sender=${run}+d`, ['query']],
    ['sender=nobody', []],
    [`receiver=${run}%20x`, ['claim']],
    [`receiver=${run}%20x,${run}%20y`, ['claim', 'notice']],
    [`thread=${run}-1`, ['claim']],
    [`thread=${run}-1,${run}-2`, ['claim', 'block']],
    [`type=notice&lane=block&thread=${run}-2`, ['block']],
    ['type=claim&lane=block', []],
  ]) {
    it(`?${query || '(none)'} lets through ${expected.join(', ') || 'nothing'}`, async () => {
      if (!isSent) await sendAll(its.parley, Object.values(messages));
      isSent = true;
      const past = await readEvents(its.parley, `since=all&${query}`);
      assert.deepEqual(past.map(name), expected);
    });
  }

  it('holds for what is live, over all protocols, and as server-sent events', async (t) => {
    const sender = uniqueId();
    const query = `type=vlp.notice&lane=block&${only(sender)}`;
    const ndjson = await streamFor(t, its.parley, `/v1/stream?${query}`);
    const sse = await streamFor(t, its.parley, `/v1/vlp/stream?${query}`, SSE);
    const wanted = claim({ sender, type: 'notice', safety: { level: 'block' } });
    await sendAll(its.parley, [
      claim({ sender }),
      claim({ ...wanted, id: uniqueId(), sender: 'x' }),
      wanted,
    ]);
    assert.equal((await ndjson.event()).id, wanted.id);
    assert.equal(JSON.parse((await sse.sseData()).data).id, wanted.id);
  });

  it('counts for limit only what it lets through', async () => {
    const sender = uniqueId();
    const batch = [claim({ sender }), ...claims(5), claim({ sender }), claim({ sender })];
    await sendAll(its.parley, batch);
    const answer = await get(its.parley, `/v1/vlp/stream?since=all&limit=2&${only(sender)}`);
    assert.deepEqual(idsOf(answer.lines), [batch[0].id, batch[6].id]);
  });
});
