// SPDX-License-Identifier: Apache-2.0
// Readers over a longer time: the keepalive of a quiet stream, and a reader that does not read.

import assert from 'node:assert/strict';
import http from 'node:http';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { readEvents, send, sendLines, streamFor } from './lib/http.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { Program, processStatus, temporaryFolder } from './lib/program.mjs';
import { assertAccepted, claim, claims, lines, uniqueId } from './lib/vlp.mjs';

const SSE = { headers: { Accept: 'text/event-stream' } };
const EVENTS = isSanitized ? 5_000 : 20_000;

// Each with a server of its own, or what one sends would wake the others' streams.
describe('a quiet stream', { concurrency: true }, () => {
  it('says every 15 s how far it is: by an event, an id alone, or a blank line', async (t) => {
    const parley = await parleyFor(t);
    const filtered = await streamFor(t, parley, '/v1/stream?type=vlp.notice');
    const bare = await streamFor(t, parley, '/v1/vlp/stream?envelope=none');
    const sse = await streamFor(t, parley, '/v1/vlp/stream', SSE);
    const message = claim();
    const { seq } = assertAccepted(await send(parley, message));
    const reach = new RegExp(`(^|,)VLP:[^,]+:${seq}(,|$)`);
    assert.equal((await filtered.anyEvent()).type, 'parley.open');
    // Its filter matched nothing, and it moved on all the same.
    for (let i = 0; i < 2; i++) {
      const { type, resume, data } = await filtered.anyEvent();
      assert.deepEqual([type, data], ['parley.keepalive', undefined]);
      assert.match(resume, reach);
    }
    const begin = [await bare.line(), await bare.line(), await bare.line()];
    assert.deepEqual(begin, ['', JSON.stringify(message), '']);
    assert.deepEqual(Object.keys(await sse.sse()), ['retry', 'id']);
    assert.equal(JSON.parse((await sse.sse()).data).id, message.id);
    const alone = await sse.sse();
    assert.deepEqual(Object.keys(alone), ['id']);
    assert.match(alone.id, reach);
    const next = claim();
    assertAccepted(await send(parley, next));
    assert.equal((await bare.event()).id, next.id);
    assert.equal(JSON.parse((await sse.sseData()).data).id, next.id);
    const headers = { 'Last-Event-ID': alone.id };
    const rest = await readEvents(parley, '', { headers });
    assert.deepEqual(
      rest.map((event) => event.id),
      [next.id],
    );
  });

  it('is read by the obvious loop for as long as it takes (newcomer 2.6)', async (t) => {
    const parley = await parleyFor(t);
    const loop = `
import json, sys, urllib.request
response = urllib.request.urlopen(sys.argv[1])
for line in response:
    event = json.loads(line)
    print(event["type"], flush=True)`;
    const python = new Program('python3', ['-c', loop, `${parley.url}/v1/vlp/stream`]);
    atEnd(t, () => python.killFamily());
    await until('two keepalives came', () => python.stdout.split('parley.keepalive').length > 2, {
      timeout: 60_000,
    });
    assertAccepted(await send(parley, claim()));
    await until('and the event', () => python.stdout.includes('vlp.claim'));
    assert.match(python.stdout, /^parley\.open\n(parley\.keepalive\n){2,}vlp\.claim\n/);
    assert.equal(python.stderr, '');
  });

  it("moves an event source's Last-Event-ID without an event", async (t) => {
    const parley = await parleyFor(t);
    const seen = []; // what the browser asked with
    const page = `<script>
      const source = new EventSource('/events?type=notice');
      source.onmessage = (event) => fetch('/seen', { method: 'POST', body: event.data });
    </script>`;
    let message;
    const proxy = http.createServer((req, res) => {
      if (req.url === '/') return res.setHeader('Content-Type', 'text/html').end(page);
      if (req.url === '/seen') {
        req.on('data', (data) => seen.push(JSON.parse(data).id));
        return res.end();
      }
      if (!req.url.startsWith('/events')) return res.writeHead(404).end();
      const path = req.url.replace('/events', '/v1/vlp/stream');
      // Plain, since it reads along.
      const headers = { ...req.headers, 'accept-encoding': 'identity' };
      const upstream = http.get({ port: parley.port, path, headers }, (answer) => {
        res.writeHead(answer.statusCode, answer.headers);
        let text = '';
        answer.on('data', (data) => {
          text += data;
          res.write(data);
          // After the first id that stands alone the connection is lost.
          const alone = text.match(/\n\nid: (.+)\n\n/);
          if (seen.length === 0 && alone) {
            seen.push(alone[1]);
            setTimeout(() => res.destroy(), 100);
          }
        });
        answer.on('error', () => {});
      });
      res.on('close', () => upstream.destroy());
      if (seen.length > 0) {
        seen.push(req.headers['last-event-id']);
        message = claim({ type: 'notice' });
        upstream.once('response', () => send(parley, message));
      }
      upstream.on('error', () => {});
    });
    await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    atEnd(t, () => {
      proxy.close();
      proxy.closeAllConnections();
    });
    const url = `http://127.0.0.1:${proxy.address().port}/`;
    const chromium = new Program('chromium', [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
      ...['--disable-background-networking', '--disable-component-update', '--no-first-run'],
      ...[`--user-data-dir=${temporaryFolder()}`, '--remote-debugging-port=0', url],
    ]);
    atEnd(t, () => chromium.killFamily());
    // Something that it does not match, so that the id moves.
    assertAccepted(await send(parley, claim()));
    await until('it came back, and has an event', () => seen.length === 3, { timeout: 90_000 });
    assert.equal(seen[1], seen[0]);
    assert.equal(seen[2], message.id);
  });
});

describe('a reader that does not read', () => {
  const its = useParley();

  for (const [what, options] of [
    ['NDJSON', {}],
    ['server-sent events', SSE],
  ]) {
    it(`loses nothing of ${EVENTS} events (${what}), and holds up no other reader`, async (t) => {
      const sender = uniqueId();
      const slow = await streamFor(t, its.parley, `/v1/vlp/stream?sender=${sender}`, options);
      slow.pause();
      const quick = await streamFor(t, its.parley, `/v1/vlp/stream?sender=${sender}`, options);
      const read = async (stream) =>
        what === 'NDJSON'
          ? (await stream.event()).id
          : JSON.parse((await stream.sseData()).data).id;
      const messages = claims(EVENTS, { sender, content: 'x'.repeat(1000) });
      const sending = sendLines(its.parley, lines(messages), { query: '?results=summary' });
      for (const message of messages) assert.equal(await read(quick), message.id);
      assert.equal((await sending).lines[0].summary.accepted, EVENTS);
      slow.resume();
      for (const message of messages) assert.equal(await read(slow), message.id);
      const last = claim({ sender });
      assertAccepted(await send(its.parley, last));
      assert.equal(await read(slow), last.id);
    });
  }

  it('takes little memory', { skip: isSanitized && 'memory is not its own' }, async () => {
    const peak = parseInt(processStatus(its.parley.pid, 'VmHWM'), 10);
    assert.ok(peak < 100 * 1024, `the most it ever used: ${peak} kB`);
  });

  it('and leaves is forgotten', async (t) => {
    const before = its.parley.openFiles();
    for (let i = 0; i < 50; i++) {
      const stream = await streamFor(t, its.parley, '/v1/vlp/stream?since=all');
      stream.pause();
      stream.close();
    }
    await until('their connections are closed', () => its.parley.openFiles() <= before + 2);
  });
});
