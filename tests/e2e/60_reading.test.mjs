// SPDX-License-Identifier: Apache-2.0
// Messages back out: as NDJSON and as server-sent events, live and from the past, filtered.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, post, rawFor, readEvents, readStream, request, send, sendLines, streamFor } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { sendTask, taskFailed, taskRequest, taskResult } from './lib/roundtable.mjs';
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

  it('is a CloudEvent with the message, its sequence number, when it was stored, and a resume token', async () => {
    const message = claim();
    const before = Date.now();
    const { seq } = assertAccepted(await send(its.parley, message));
    const [event, ...more] = await readEvents(its.parley, `since=${seq}`);
    const { resume, recordedtime, ...rest } = event;
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
    assert.match(recordedtime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    const stored = Date.parse(recordedtime);
    assert.ok(before <= stored && stored <= Date.now(), recordedtime);
    assert.deepEqual(more, []);
  });

  it('has as its data the very bytes of the message', async () => {
    const text = JSON.stringify(claim({ payload: {} }))
      .replace('0.85', '0.850')
      .replace('{}', '{ "n" : 12345678901234567890, "s":"\\u00e9\\u0000" }');
    const { seq } = assertAccepted(await send(its.parley, text));
    const answer = await readStream(its.parley, `/v1/vlp/stream?follow=false&since=${seq}`);
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
    const answer = await readStream(its.parley, `/v1/vlp/stream?follow=false&since=${seq}&envelope=none`);
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

  for (const path of ['/v1/vlp/stream', '/v1/stream']) {
    it(`at ${path} survives a reader that leaves before the body it announced`, async (t) => {
      const staying = await streamFor(t, its.parley, path);
      const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n`;
      for (const leave of ['end', 'resetAndDestroy']) {
        const connection = await rawFor(t, its.parley, head);
        connection.socket[leave]();
      }
      const message = claim();
      assertAccepted(await send(its.parley, message));
      assert.equal((await staying.event()).id, message.id);
    });
  }

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

describe('a stream that follows (newcomer 2.6)', () => {
  const its = useParley();

  for (const path of ['/v1/vlp/stream', '/v1/stream']) {
    it(`at ${path} begins with parley.open, which says where it is`, async (t) => {
      const stream = await streamFor(t, its.parley, path);
      const { specversion, id, source, type, time, resume, data, ...more } =
        await stream.anyEvent();
      assert.deepEqual(
        [specversion, source, type, data],
        ['1.0', path, 'parley.open', {}],
      );
      assert.ok(id.startsWith(`${stream.headers['x-request-id']}:`), id);
      assert.ok(Math.abs(Date.parse(time) - Date.now()) < 3_600_000, time);
      assert.match(resume, /(^|,)VLP:[^,]+:\d+(,|$)/);
      assert.deepEqual(more, { datacontenttype: 'application/json' });
    });
  }

  it('says where it was to one that has seen nothing else, and misses nothing', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/stream');
    const { resume } = await stream.anyEvent();
    stream.close();
    const messages = claims(3);
    await sendAll(its.parley, messages);
    const path = `/v1/stream?follow=false&since=${encodeURIComponent(resume)}`;
    assert.deepEqual(idsOf((await get(its.parley, path)).lines), idsOf(messages));
  });

  it('is opened by a blank line with envelope=none', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream?envelope=none');
    assert.equal(await stream.line(), '');
    const message = claim();
    assertAccepted(await send(its.parley, message));
    assert.equal(await stream.line(), JSON.stringify(message));
  });

  it('as server-sent events begins with an id and no event', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream', SSE);
    const first = await stream.sse();
    assert.deepEqual(Object.keys(first), ['retry', 'id']);
    const messages = claims(2);
    await sendAll(its.parley, messages);
    const headers = { 'Last-Event-ID': first.id };
    assert.deepEqual(idsOf(await readEvents(its.parley, '', { headers })), idsOf(messages));
  });

  it('says for which sequence it waits, and begins with that (newcomer 2.8)', async (t) => {
    const message = claim();
    const { seq } = assertAccepted(await send(its.parley, message));
    const stream = await streamFor(t, its.parley, `/v1/vlp/stream?since=${seq + 3}`);
    const open = await stream.anyEvent();
    assert.deepEqual(open.data, { waiting_for: seq + 3, last: seq });
    const messages = claims(4);
    await sendAll(its.parley, messages);
    assert.deepEqual(idsOf(await stream.events(2)), idsOf(messages.slice(2)));
    const past = await streamFor(t, its.parley, `/v1/vlp/stream?since=${seq}`);
    assert.deepEqual((await past.anyEvent()).data, {});
    assert.deepEqual(await readEvents(its.parley, 'since=999999999'), []);
  });

  for (const [how, comeBack] of [
    ['since', (token) => [`?since=${encodeURIComponent(token)}`]],
    ['Last-Event-ID', (token) => ['?since=now', { headers: { 'Last-Event-ID': token } }]],
  ]) {
    it(`of one that waits for a sequence leads back to waiting, as ${how} (D7)`, async (t) => {
      const { seq } = assertAccepted(await send(its.parley, claim()));
      const stream = await streamFor(t, its.parley, `/v1/vlp/stream?since=${seq + 7}`);
      const { resume } = await stream.anyEvent();
      assert.match(resume, new RegExp(`^VLP:[^,]+:${seq + 6}$`));
      const [query, options] = comeBack(resume);
      const back = await streamFor(t, its.parley, `/v1/vlp/stream${query}`, options);
      const open = await back.anyEvent();
      assert.deepEqual(open.data, { waiting_for: seq + 7, last: seq });
      assert.equal(open.resume, resume);
      const messages = claims(9);
      await sendAll(its.parley, messages);
      assert.deepEqual(idsOf(await back.events(3)), idsOf(messages.slice(6)));
    });
  }

  it('stands before a gap that has yet to be said', async (t) => {
    await sendAll(its.parley, claims(2));
    const manager = await its.nats.jetstreamManager();
    await manager.streams.purge('VLP');
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream?since=1');
    const { resume } = await stream.anyEvent();
    assert.equal((await stream.anyEvent()).type, 'parley.gap');
    const again = await readEvents(its.parley, `since=${encodeURIComponent(resume)}`);
    assert.deepEqual(
      again.map((event) => event.type),
      ['parley.gap'],
    );
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

  it('of all protocols comes in the order of storage, and joins the present (contract 19)', async (t) => {
    const { parley } = its;
    const { resume } = (await get(parley, '/v1/stream?since=all&follow=false')).lines.at(-1);
    const sent = [];
    for (let i = 0; i < 20; i++) {
      const one = claim();
      const two = taskRequest(`order.n${i}`);
      const three = { type: 'heartbeat', timestamp: 1705392000 + i };
      assertAccepted(await send(parley, one));
      assert.equal((await sendTask(parley, two)).status, 200);
      const beat = await post(parley, '/v1/supervisor/messages', JSON.stringify(three));
      assert.equal(beat.status, 200);
      sent.push(one.id, two.id, three.timestamp);
    }
    const nameOf = ({ data }) => data.id ?? data.timestamp;
    const since = `since=${encodeURIComponent(resume)}`;
    const past = await readStream(parley, `/v1/stream?follow=false&${since}`);
    assert.deepEqual(past.lines.map(nameOf), sent);
    const stream = await streamFor(t, parley, `/v1/stream?${since}`);
    assert.deepEqual((await stream.events(60)).map(nameOf), sent);
    const last = claim();
    assertAccepted(await send(parley, last));
    assert.equal((await stream.event()).id, last.id);
    // Wherever one comes back, it goes on in that order.
    const rest = await get(
      parley,
      `/v1/stream?follow=false&since=${encodeURIComponent(past.lines[29].resume)}`,
    );
    assert.deepEqual(rest.lines.map(nameOf), [...sent.slice(30), last.id]);
  });

  it('begins with a time of storage, or so long ago', async () => {
    const [old, young] = claims(2);
    assertAccepted(await send(its.parley, old));
    const { seq } = assertAccepted(await send(its.parley, claim()));
    const stored = (await clockAt(its.nats, seq)) + 1;
    while (Date.now() <= stored) await new Promise(setImmediate);
    const last = assertAccepted(await send(its.parley, young));
    const time = new Date(stored).toISOString();
    assert.deepEqual(idsOf(await readEvents(its.parley, `since=${time}`)), [young.id]);
    const local = encodeURIComponent(time.replace('Z', '+00:00'));
    assert.deepEqual(idsOf(await readEvents(its.parley, `since=${local}`)), [young.id]);
    const ids = idsOf(await readEvents(its.parley, 'since=1h'));
    assert.ok(ids.includes(old.id) && ids.includes(young.id));
    const end = (await clockAt(its.nats, last.seq)) + 51;
    while (Date.now() <= end) await new Promise(setImmediate);
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
    assert.equal(past.lines[0].type, 'parley.open');
    assert.deepEqual(idsOf(past.lines.slice(1)), idsOf(messages.slice(0, 2)));
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
    ['type=evidence', []],
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
      const passed = past.filter(({ type }) => type !== 'parley.halted'); // that is told to others, too
      assert.deepEqual(passed.map(name), expected);
    });
  }

  // (newcomer 2.8)
  for (const [path, expected] of [
    ['vlp/stream?type=evidnce', /`evidnce`; did you mean `evidence`\?/],
    ['vlp/stream?type=claim,Notice', /`Notice`; did you mean `notice`\?/],
    ['vlp/stream?type=vlp.clam', /`vlp.clam`; did you mean `vlp.claim`\?/],
    ['brenner/stream?type=DELTA', /`DELTA`; did you mean `delta`\?/],
    ['vlp/stream?type=delta', /`delta`\. vlp's types are claim, /],
    ['vlp/stream?lane=high_risk', /`high_risk`\. vlp's lanes are safe, review, block\.$/],
    ['roundtable/stream?lane=review', /^roundtable has no lanes; leave `lane` out\.$/],
    ['stream?type=roundtable.task.reqest', /; did you mean `roundtable.task.request`\?/],
    ['stream?type=opinion', /`opinion`\. GET \/v1\/protocols/],
    ['stream?lane=reveiw', /; did you mean `review`\? The lanes are safe, review, block\.$/],
    ['vlp/stream?sinse=all', /`sinse`; did you mean `since`\? Known here: since, .* and envelope\.$/],
  ]) {
    it(`/v1/${path} is 400: ${expected}`, async () => {
      const { title, detail } = assertProblem(
        await get(its.parley, `/v1/${path}&follow=false`),
        400,
        'invalid-parameter',
      );
      assert.match(detail, expected);
      assert.equal(title, 'Invalid query parameter or header');
    });
  }

  it('may name any type of any protocol over all of them, bare or full', async () => {
    for (const type of ['task.request', 'roundtable.heartbeat', 'delta', 'foreign,parley.foreign']) {
      assert.equal((await readStream(its.parley, `/v1/stream?follow=false&type=${type}`)).status, 200);
    }
  });

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
    for (const read of [() => ndjson.event(), async () => JSON.parse((await sse.sseData()).data)]) {
      const told = await read();
      assert.deepEqual([told.type, told.data.id], ['parley.halted', wanted.id]);
      assert.equal((await read()).id, wanted.id);
    }
  });

  it('counts for limit only what it lets through', async () => {
    const sender = uniqueId();
    const batch = [claim({ sender }), ...claims(5), claim({ sender }), claim({ sender })];
    await sendAll(its.parley, batch);
    const answer = await get(its.parley, `/v1/vlp/stream?since=all&limit=2&${only(sender)}`);
    const passed = answer.lines.slice(1).filter(({ type }) => type !== 'parley.halted');
    assert.deepEqual(idsOf(passed), [batch[0].id, batch[6].id]);
  });
});

describe('a filter of some protocols', () => {
  const its = useParley();
  const tasks = {
    forB: taskRequest('research.one', { to: 'b' }),
    forC: taskRequest('math.add', { to: 'c', priority: 'high' }),
    forAll: taskRequest('math.sub', { priority: 'critical' }),
  };
  tasks.reply = taskResult(tasks.forB.id.toUpperCase(), { to: 'pilot' });
  let isSent = false;

  async function readTasks(query) {
    if (!isSent) {
      isSent = true;
      for (const task of Object.values(tasks)) {
        const answer = await sendTask(its.parley, task);
        assert.equal(answer.status, 200, answer.text);
      }
    }
    const answer = await readStream(its.parley, `/v1/roundtable/stream?since=all&follow=false&${query}`);
    assert.equal(answer.status, 200, answer.text);
    const nameOf = (event) => Object.keys(tasks).find((key) => tasks[key].id === event.data.id);
    return answer.lines.map(nameOf);
  }

  for (const [query, expected] of [
    ['for=b', ['forB', 'forAll']],
    ['for=b,c', ['forB', 'forC', 'forAll']],
    ['for=nobody', ['forAll']],
    ['domain=research', ['forB', 'reply']],
    ['domain=math', ['forC', 'forAll']],
    ['domain=math&for=c&priority=high', ['forC']],
    ['priority=normal', ['forB', 'reply']],
    ['priority=high,critical', ['forC', 'forAll']],
    // A UUID may be written in either case (D9).
    [`thread=${tasks.forB.id}`, ['forB', 'reply']],
    [`thread=${tasks.forB.id.toUpperCase()}`, ['forB', 'reply']],
    ['agent=b', []], // which Round Table lacks
  ]) {
    it(`?${query} lets through ${expected.join(', ') || 'nothing'}`, async () => {
      assert.deepEqual(await readTasks(query), expected);
    });
  }

  it('domain= is that of requests and replies; thread= finds all of a task (D8)', async () => {
    const task = taskRequest('audit.one');
    const progress = { phase: 'reading', percentage: 50, message: 'half' };
    const about = [
      taskResult(task.id, { type: 'task.claimed', payload: {} }),
      taskResult(task.id, { type: 'task.progress', payload: progress }),
      taskFailed(task.id),
      taskResult(task.id),
    ];
    for (const each of [task, ...about]) {
      const answer = await sendTask(its.parley, each);
      assert.equal(answer.status, 200, answer.text);
    }
    const typesOf = async (query) => {
      const path = `/v1/roundtable/stream?since=all&follow=false&${query}`;
      return (await get(its.parley, path)).lines.map((event) => event.data.type);
    };
    const ofDomain = ['task.request', 'task.failed', 'task.result'];
    assert.deepEqual(await typesOf('domain=audit'), ofDomain);
    const all = ['task.request', ...about.map((each) => each.type)];
    assert.deepEqual(await typesOf(`thread=${task.id}`), all);
  });

  it('for= holds for what is live, whoever else waits', async (t) => {
    const forB = await streamFor(t, its.parley, '/v1/roundtable/stream?for=b');
    const forC = await streamFor(t, its.parley, '/v1/stream?for=c');
    const sent = [
      taskRequest('live.one', { to: 'b' }),
      taskRequest('live.two', { to: 'c' }),
      taskRequest('live.three'),
    ];
    for (const task of sent) assert.equal((await sendTask(its.parley, task)).status, 200);
    const seen = async (stream) => idsOf(await stream.events(2));
    assert.deepEqual(await seen(forB), [sent[0].id, sent[2].id]);
    assert.deepEqual(await seen(forC), [sent[1].id, sent[2].id]);
  });

  it('for= knows the receivers of VLP too', async () => {
    const messages = [claim({ receiver: 'b' }), claim({ receiver: 'c' }), claim()];
    await sendAll(its.parley, messages);
    const ids = idsOf(await readEvents(its.parley, 'since=all&for=b'));
    assert.deepEqual(ids, [messages[0].id, messages[2].id]);
  });

  it('agent= is that of a supervisor message, and for= matches none of those', async () => {
    const beat = (n) => JSON.stringify({ type: 'heartbeat', timestamp: 1705392000 + n });
    const send = (query, n) => post(its.parley, `/v1/supervisor/messages${query}`, beat(n));
    const { seq } = (await send('?agent=coder-1', 1)).json;
    await send('?agent=coder-2', 2);
    await send('', 3);
    const read = async (query) => {
      const path = `/v1/supervisor/stream?since=${seq}&follow=false&${query}`;
      return (await get(its.parley, path)).lines.map((event) => Number(event.sequence) - seq);
    };
    assert.deepEqual(await read('agent=coder-1'), [0]);
    assert.deepEqual(await read('agent=coder-1,coder-2'), [0, 1]);
    assert.deepEqual(await read('for=coder-1'), []);
  });

  it('that names no priority there is is 400, where there are priorities', async () => {
    const { detail } = assertProblem(
      await get(its.parley, '/v1/roundtable/stream?priority=hihg'),
      400,
      'invalid-parameter',
    );
    assert.match(detail, /did you mean `high`\? roundtable's priorities are low, normal, high, critical\.$/);
    assert.deepEqual(await readEvents(its.parley, 'since=all&priority=hihg'), []);
  });
});
