// SPDX-License-Identifier: Apache-2.0
// What a second NATS client reads: the very bytes that were sent, under the contract's subject and
// headers.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { send, sendLines, validate } from './lib/http.mjs';
import { natsClient, startNats, storedMessage, storedMessages, streamInfo } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { assertAccepted, assertProblem, claim, ruleIds, uniqueId } from './lib/vlp.mjs';

// One line of JSON with `member` in it, spelled as given.
function lineWith(member, { confidence = '0.85' } = {}) {
  return (
    `{"id":"${uniqueId()}","protocol":"VLP/1.1","type":"claim",` +
    `"timestamp":"2025-12-14T10:30:00Z","sender":"s","content":"c",` +
    `"confidence":${confidence}${member && `,${member}`}}`
  );
}

const ONE_LINE = [
  ['0.85', lineWith('')],
  ['a confidence of 0.850', lineWith('', { confidence: '0.850' })],
  ['a confidence of 85e-2', lineWith('', { confidence: '85e-2' })],
  ['0.1, which no double holds exactly', lineWith('"payload":{"n":0.1}')],
  ['12345678901234567890', lineWith('"payload":{"n":12345678901234567890}')],
  ['9223372036854775807', lineWith('"payload":{"n":9223372036854775807}')],
  ['-0 and 1E+2', lineWith('"payload":{"n":[-0,-0.0,1E+2,1.0]}')],
  [
    '3.141592653589793238462643383279',
    lineWith('"payload":{"n":3.141592653589793238462643383279}'),
  ],
  ['1e-400', lineWith('"payload":{"n":1e-400}')],
  ['an escaped NUL', lineWith('"topic":"a\\u0000b"')],
  ['an escaped letter', lineWith('"topic":"\\u00e9\\u0041"')],
  ['a letter as itself', lineWith('"topic":"é✓😀"')],
  ['an escaped pair', lineWith('"topic":"\\uD83D\\ude00"')],
  ['escaped slashes', lineWith('"topic":"a\\/b\\\\c\\"d"')],
  ['an escaped key', lineWith('"\\u006bey":1')],
  ['control characters escaped', lineWith('"topic":"\\b\\f\\n\\r\\t\\u001f\x7f"')],
  ['odd spacing', lineWith('  "topic" :\t"x"  ,"payload" : { }  ')],
  ['unknown members', lineWith('"zzz":[null,true,{"":""}],"_":1')],
];

// What is left of JSON when the blanks between its tokens go.
function withoutBlanks(text) {
  return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/gs, (_, string) => string ?? '');
}

describe('the payload in NATS', () => {
  const its = useParley();

  for (const [what, text] of ONE_LINE) {
    it(`is byte for byte what was sent: ${what}`, async () => {
      const { seq } = assertAccepted(await send(its.parley, text));
      assert.equal((await storedMessage(its.nats, seq)).payload.toString(), text);
    });
  }

  it('is byte for byte each line of NDJSON', async () => {
    const { last_seq: before } = (await streamInfo(its.nats)).state;
    const texts = ONE_LINE.map(([, text]) => text.replace('MSG-', 'LINE-'));
    const answer = await sendLines(its.parley, texts.join('\r\n'));
    assert.equal(answer.lines.at(-1).summary.accepted, texts.length, answer.text);
    const stored = await storedMessages(its.nats, { from: before + 1 });
    assert.deepEqual(
      stored.map((message) => message.payload.toString()),
      texts,
    );
  });

  it('is byte for byte each element of an array that is on one line', async () => {
    const { last_seq: before } = (await streamInfo(its.nats)).state;
    const texts = ONE_LINE.map(([, text]) => text.replace('MSG-', 'ELEMENT-'));
    const answer = await send(its.parley, `[ ${texts.join(' ,\n ')} ]`);
    assert.equal(answer.lines.at(-1).summary.accepted, texts.length, answer.text);
    const stored = await storedMessages(its.nats, { from: before + 1 });
    assert.deepEqual(
      stored.map((message) => message.payload.toString()),
      texts,
    );
  });

  it('has no newline at its end though the body had one', async () => {
    const text = lineWith(' "topic" : "x" ');
    const { seq } = assertAccepted(await send(its.parley, `${text}\n`));
    assert.equal((await storedMessage(its.nats, seq)).payload.toString(), text);
  });

  it('of JSON that spans lines has lost only the blanks between its tokens', async () => {
    for (const [, text] of ONE_LINE) {
      const spread = text
        .replace('MSG-', 'SPREAD-')
        .replace(/^\{/, '\r\n{\n\t')
        .replace('"sender":', '"sender"\n : \r\n')
        .replace(/\}$/, '\n } \n\n');
      const { seq } = assertAccepted(await send(its.parley, spread));
      assert.equal((await storedMessage(its.nats, seq)).payload.toString(), withoutBlanks(spread));
    }
  });

  it('of JSON that spans lines is one line', async () => {
    const message = claim({ content: { a: [1, { b: 'two words' }] } });
    const { seq } = assertAccepted(await send(its.parley, JSON.stringify(message, null, 4)));
    assert.equal((await storedMessage(its.nats, seq)).payload.toString(), JSON.stringify(message));
  });

  for (const number of ['1e400', '-1e400', `1${'0'.repeat(400)}`]) {
    it(`never bears ${number.slice(0, 6)}…: it is refused with GW-001`, async () => {
      const answer = await send(its.parley, lineWith(`"payload":{"n":${number}}`));
      assert.deepEqual(ruleIds(assertProblem(answer, 400, 'malformed').violations), ['GW-001']);
    });
  }
});

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('the headers in NATS', () => {
  const its = useParley();
  const headersOf = async (message, options) => {
    const { seq } = assertAccepted(await send(its.parley, message, options));
    return storedMessage(its.nats, seq);
  };

  it('are a digest of the payload and CloudEvents in binary mode', async () => {
    const message = claim();
    const { payload, headers } = await headersOf(message);
    const digest = spawnSync('b2sum', ['-l', '128'], { input: payload }).stdout.toString();
    assert.deepEqual(headers, {
      'nats-msg-id': digest.slice(0, 32),
      'ce-specversion': '1.0',
      'ce-id': message.id,
      // /vlp/The%20Observer, its % encoded as the binding says
      'ce-source': '/vlp/The%2520Observer',
      'ce-type': 'vlp.claim',
      'ce-time': '2025-12-14T10:30:00Z',
    });
  });

  it('bear the traceparent of the request', async () => {
    const { headers } = await headersOf(claim(), { headers: { traceparent: TRACEPARENT } });
    assert.equal(headers.traceparent, TRACEPARENT);
  });

  for (const [what, id] of [
    ['blanks and quotes', 'a "b" c'],
    ['letters that are not ASCII', 'schlüssel-✓-😀'],
    ['a percent sign', '100%25'],
    ['a newline', 'two\r\nlines: x'],
    ['a NUL', 'a\0b'],
  ]) {
    it(`are percent-encoded: an id with ${what}`, async () => {
      const { headers } = await headersOf(claim({ id }));
      assert.match(headers['ce-id'], /^[!#$&-~%]+$/);
      assert.equal(decodeURIComponent(headers['ce-id']), id);
    });
  }

  it('lack one that would pass 256 bytes', async () => {
    const { headers, payload } = await headersOf(claim({ id: 'x'.repeat(257) }));
    assert.ok(!('ce-id' in headers));
    assert.equal(headers['ce-type'], 'vlp.claim');
    assert.equal(JSON.parse(payload).id.length, 257);
  });

  it('have one of 256 bytes', async () => {
    const { headers } = await headersOf(claim({ id: 'y'.repeat(256) }));
    assert.equal(headers['ce-id'], 'y'.repeat(256));
  });

  it('are on each message of a batch', async () => {
    const one = claim();
    const two = claim({ type: 'notice' });
    const body = `${JSON.stringify(one)}\n${JSON.stringify(two)}\n`;
    const answer = await sendLines(its.parley, body, { headers: { traceparent: TRACEPARENT } });
    for (const [i, message] of [one, two].entries()) {
      const { headers } = await storedMessage(its.nats, answer.lines[i].seq);
      assert.equal(headers['ce-id'], message.id);
      assert.equal(headers['ce-type'], `vlp.${message.type}`);
      assert.equal(headers.traceparent, TRACEPARENT);
    }
  });
});

describe('the stream in NATS', () => {
  const DAY_NS = 24 * 3600 * 1e9;
  const external = async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    return { nats, client: await natsClient(t, nats.url) };
  };

  it('is made on start: 7 days, a duplicate window of 2 minutes, in files', async (t) => {
    const { nats, client } = await external(t);
    await parleyFor(t, { nats: nats.url });
    const { config } = await streamInfo(client);
    assert.deepEqual(config.subjects, ['vlp.>']);
    assert.equal(config.max_age, 7 * DAY_NS);
    assert.equal(config.duplicate_window, 120e9);
    assert.equal(config.storage, 'file');
    assert.equal(config.retention, 'limits');
    assert.equal(config.num_replicas, 1);
    assert.equal(config.description, 'parley, layout 1');
  });

  it('has the duplicate window that --dedupe-window asks for', async (t) => {
    const { nats, client } = await external(t);
    await parleyFor(t, { nats: nats.url, args: ['--dedupe-window', '30s'] });
    assert.equal((await streamInfo(client)).config.duplicate_window, 30e9);
  });

  it('is used as it is when it exists', async (t) => {
    const { nats, client } = await external(t);
    const manager = await client.jetstreamManager();
    await manager.streams.add({
      name: 'VLP',
      subjects: ['vlp.>'],
      storage: 'memory',
      max_age: DAY_NS,
    });
    const server = await parleyFor(t, { nats: nats.url });
    assertAccepted(await send(server, claim()));
    const { config } = await streamInfo(client);
    assert.deepEqual([config.max_age, config.storage], [DAY_NS, 'memory']);
  });

  it('takes no message over the max_payload of its server: that is 413', async (t) => {
    const { nats } = await external(t);
    const server = await parleyFor(t, { nats: nats.url });
    const message = claim({ content: '' });
    message.content = 'x'.repeat(1024 * 1024 - JSON.stringify(message).length);
    const problem = assertProblem(await send(server, message), 413, 'too-large');
    assert.match(problem.detail, /\d/, 'the limit is named');
    const seen = new Set();
    for (let less = 0; less < 1000; less += 50) {
      // the headers are somewhere in between (contract 7)
      const message = claim({ content: '' });
      message.content = 'x'.repeat(1024 * 1024 - JSON.stringify(message).length - less);
      const { violations } = (await validate(server, message)).json;
      const { status } = await send(server, message);
      assert.deepEqual(ruleIds(violations), status === 413 ? ['GW-101'] : []);
      seen.add(status);
    }
    assert.deepEqual([...seen], [413, 200]);
    assertAccepted(await send(server, claim()));
  });
});
