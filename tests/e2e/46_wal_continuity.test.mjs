// SPDX-License-Identifier: Apache-2.0
// An agent's write-ahead log: holes, steps back and repeats, over requests, gateways and encodings.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { connectNats, natsClient, startNats, storedMessages } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { IMPATIENT, parleyFor, startParley } from './lib/parley.mjs';
import { rawFor, rawPost } from './lib/http.mjs';
import { until } from './lib/poll.mjs';
import { assertProblem } from './lib/vlp.mjs';
import { log, sendWal, walMessage } from './lib/wal.mjs';

const subject = (agent, type) => `supervisor.${agent}.gerbil.${type}`;
// The sequences that are stored for an agent, in the order of the stream.
const logged = async (client, agent) =>
  (await storedMessages(client, { stream: 'SUPERVISOR' }))
    .filter((message) => message.subject.startsWith(`supervisor.${agent}.`))
    .flatMap(({ payload }) => [JSON.parse(payload).data].flat())
    .map(({ sequence }) => sequence);

// Requests to the gateways one and two, which warn, and to the one that is strict, for one agent:
// who, what, outcomes. The body is NDJSON unless a form is named.
const LOGS = {
  'begins anywhere': [['one', [7, 8], ['ok', 'ok']]],
  'has holes in a body': [
    ['one', [1, 2, 5, 6, 9], ['ok', 'ok', 'hole', 'ok', 'hole']],
    ['two', [10, 11], ['ok', 'ok']],
  ],
  'has a hole between requests': [
    ['one', [1, 2]],
    ['two', [4], ['hole']],
  ],
  'is repeated after a lost answer, at another gateway': [
    ['one', [1, 2, 3], ['ok', 'ok', 'ok']],
    ['two', [2, 3, 4], ['duplicate', 'duplicate', 'ok']],
    ['one', [2], ['duplicate'], 'json'],
    ['one', [5, 6], ['ok', 'ok'], 'json'],
  ],
  'is sent again in part': [
    ['one', [1, 2, 3, 4]],
    ['two', [2, 5], ['duplicate', 'ok']],
  ],
  'has another entry of the same sequence': [
    ['one', [1, 2, 3]],
    ['two', ['3!', 4], ['back', 'ok']],
    ['one', ['2!', 5], ['back', 'ok'], 'frames'],
  ],
  'begins anew': [
    ['one', [10, 11]],
    ['two', [1], ['back'], 'json'],
    ['one', [2, 3, 5], ['back', 'back', 'back']],
    ['two', [12, 14], ['ok', 'hole']],
  ],
  'goes on from entries to batches and back': [
    ['one', [[1, 2, 3]], ['ok']],
    ['two', [4, [5, 6]], ['ok', 'ok']],
    ['one', [7], ['ok'], 'json'],
    ['two', [[8, 9], 10], ['ok', 'ok']],
  ],
  'has batches with holes and repeats': [
    ['one', [[1, 2], [3, 5, 8], [8, 9]], ['ok', 'hole', 'back']],
    ['two', [[9, 12]], ['hole back']],
    ['two', [[9, 12], [14]], ['duplicate hole', 'hole']],
  ],
  'is in MessagePack and frames': [
    ['one', [1, [2, 3], 5, [6, 8]], ['ok', 'ok', 'hole', 'hole'], 'frames'],
    ['two', [8, 9, [11, 12]], ['back', 'ok', 'hole'], 'msgpack'],
    ['one', [9, 13], ['duplicate', 'ok'], 'frames'],
  ],
  'may have no hole where it is strict': [
    ['strict', [5, 6], ['ok', 'ok']],
    ['strict', [8, 9], ['gap 7', 'gap 7']],
    ['strict', [8], ['gap 7'], 'json'],
    ['strict', [6, 8, 7, 8], ['duplicate', 'gap 7', 'ok', 'ok']],
    ['strict', [[9, 11]], ['gap 10']],
    ['strict', [[9, 10], [10, 11]], ['ok', 'back']],
    ['strict', ['3!'], ['back'], 'msgpack'],
    ['strict', [12], ['ok'], 'json'],
    ['strict', [14], ['gap 13'], 'json'],
  ],
};

describe('a write-ahead log', () => {
  const its = {};
  before(async () => {
    its.nats = await startNats();
    const start = (args) => startParley({ nats: its.nats.url, args });
    const gateways = [start([]), start([]), start(['--wal', 'strict'])];
    [its.one, its.two, its.strict] = await Promise.all(gateways);
    its.client = await connectNats(its.nats.url);
  });
  after(async () => {
    await its.client?.close();
    await Promise.all([its.one, its.two, its.strict].map((gateway) => gateway?.stop()));
    await its.nats?.stop();
  });

  Object.entries(LOGS).forEach(([what, requests], number) => {
    it(what, async () => {
      for (const [gateway, words, outcomes, form] of requests) {
        const got = await log(its[gateway], `agent-${number}`, words, form);
        assert.deepEqual(got, outcomes ?? words.map(() => 'ok'), `${gateway}: ${words}`);
      }
    });
  });

  it('is read right after an answer that was lost', async (t) => {
    const body = JSON.stringify(walMessage(1));
    const path = '/v1/supervisor/messages?agent=lost';
    const connection = await rawFor(t, its.one, rawPost(path, body));
    connection.close();
    await until('it is stored', async () => (await logged(its.client, 'lost')).length === 1);
    assert.deepEqual(await log(its.two, 'lost', [1, 2]), ['duplicate', 'ok']);
    assert.deepEqual(await log(its.strict, 'lost', [4], 'json'), ['gap 3']);
  });

  it('that is refused says what comes next, and stores nothing', async () => {
    await log(its.strict, 'told', [1]);
    const body = JSON.stringify(walMessage(4));
    const answer = await sendWal(its.strict, 'told', body, { type: 'application/json' });
    const problem = assertProblem(answer, 409, 'wal-gap');
    assert.equal(problem.expected, 2);
    assert.match(problem.detail, /^Sequence 4 does not follow 1, .* 2 to 3 are missing\./);
    assert.deepEqual(await logged(its.client, 'told'), [1]);
  });

  it('of nobody is not looked at', async () => {
    assert.deepEqual(await log(its.strict, '', [1, 5, 3]), ['ok', 'ok', 'ok']);
  });

  it('of each agent is its own, and other messages are not of it', async () => {
    await log(its.one, 'first', [1, 2, 3]);
    await its.client.jetstream().publish(subject('second', 'wal_entry'), 'not JSON');
    assert.deepEqual(await log(its.one, 'second', [9], 'json'), ['ok']);
    assert.deepEqual(await log(its.one, 'first', [4], 'json'), ['ok']);
  });

  it('that was published straight to NATS counts', async () => {
    const batch = JSON.stringify(walMessage([1, 2, 3]));
    await its.client.jetstream().publish(subject('straight', 'wal_batch'), batch);
    assert.deepEqual(await log(its.two, 'straight', [4, 6]), ['ok', 'hole']);
  });
});

describe('a log that cannot be read', () => {
  it('because NATS is away is not continued: 503', async (t) => {
    const nats = { running: await startNats() };
    atEnd(t, () => nats.running.stop());
    const server = await parleyFor(t, { nats: nats.running.url, args: IMPATIENT });
    await log(server, 'away', [1]);
    await nats.running.kill();
    // 504 from who has not seen the connection's end yet: it may have been stored.
    const isRefused = (sequences, ...format) =>
      until('it is refused', async () =>
        (await log(server, 'away', sequences, ...format)).every((result) => result === '503'));
    await isRefused([2], 'json');
    await isRefused([2, 3]);
    nats.running = await nats.running.restart();
    await until('it goes on', async () => (await log(server, 'away', [2], 'json'))[0] === 'ok');
    assert.deepEqual(await logged(await natsClient(t, nats.running.url), 'away'), [1, 2]);
  });

  it('because NATS goes while it is read is not continued: 503', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const server = await parleyFor(t, { nats: wire.url, args: IMPATIENT });
    await log(server, 'gone', [1]);
    const held = wire.holdAnswerTo(({ subject: to, body }) =>
      /^\$JS\.API\.(DIRECT|STREAM\.MSG)\.GET/.test(to) && `${to} ${body}`.includes(subject('gone', 'wal_entry')));
    const answers = log(server, 'gone', [2, 3]);
    await held.reached();
    await nats.kill();
    assert.deepEqual(await answers, ['503', '503']);
  });
});
