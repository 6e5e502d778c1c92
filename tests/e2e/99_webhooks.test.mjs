// SPDX-License-Identifier: Apache-2.0
// Webhooks: which events are sent, what they say, that each is delivered whatever the receiver does
// and whichever gateway dies, and who is never asked.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { authority } from './lib/certificates.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { request, send } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { connectNats, startNats } from './lib/nats.mjs';
import { parley, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { sendTask, taskFailed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { claim } from './lib/vlp.mjs';
import { hookTo, newSecret, receiverFor, signatureOf, webhookFile } from './lib/webhooks.mjs';

const block = (session, changes) =>
  claim({ type: 'notice', session_id: session, safety: { level: 'block' }, content: 'Fire.', ...changes });

async function assertTaken(answer) {
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

// A task from its request to its end.  Returns its id.
async function endTask(server, { task = 'build.web', end = taskResult } = {}) {
  const asked = taskRequest(task);
  await assertTaken(await sendTask(server, asked));
  await assertTaken(await sendTask(server, end(asked.id)));
  return asked.id;
}

async function endTasks(server, count) {
  const ids = [];
  while (ids.length < count) ids.push(await endTask(server));
  return ids.sort();
}

const CONSUMERS = {
  'task.ended': ['KV_parley_tasks', 'task-ended_roundtable'],
  halted: ['KV_parley_halts', 'halted_vlp'],
  'review.waiting': ['VLP', 'review-waiting_vlp'],
};

// Events are sent that are stored once the consumers exist.
async function consumersExist(nats, webhooks) {
  const connection = await connectNats(nats.url);
  try {
    const { consumers } = await connection.jetstreamManager();
    for (const [name, { events }] of Object.entries(webhooks)) {
      for (const event of events) {
        const [stream, end] = CONSUMERS[event];
        await until(`${name} waits for ${event}`, () => consumers.info(stream, `parley_webhook_${name}_${end}`));
      }
    }
  } finally {
    await connection.close();
  }
}

// Gateways with these webhooks, on one nats-server.
async function gatewaysFor(t, webhooks, { count = 1, env } = {}) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const args = ['--webhooks', webhookFile(webhooks)];
  const start = () => parleyFor(t, { nats: nats.url, args, env });
  const gateways = await Promise.all(Array.from({ length: count }, start));
  await consumersExist(nats, webhooks);
  return { nats, gateways, gateway: gateways[0], start };
}

const tasksOf = (events) => events.map(({ body }) => body.data.thread).sort();

const delivered = (receiver, count) =>
  until(`${count} events came`, () => receiver.ids().size >= count && [...receiver.events]);

const failures = (server) =>
  until('a failure is logged', () => server.logged('webhook.failing').length > 0 && server.logged('webhook.failing'));

describe('an event', () => {
  it('is sent once, signed with each secret, and says what happened', async (t) => {
    const receiver = await receiverFor(t);
    const older = newSecret();
    const hook = hookTo(receiver, { secret: [older, receiver.secret], events: ['task.ended'] });
    const { gateways } = await gatewaysFor(t, { ends: hook }, { count: 2 });
    const asked = taskRequest('build.web');
    await assertTaken(await sendTask(gateways[0], asked));
    const result = taskResult(asked.id);
    const { stream, seq } = await assertTaken(await sendTask(gateways[1], result));
    await assertTaken(await sendTask(gateways[0], result)); // the same again is no event
    const last = await endTask(gateways[0], { end: taskFailed });

    const [event, ...rest] = await delivered(receiver, 2);
    assert.equal(event.method, 'POST');
    assert.equal(event.url, '/hook');
    assert.equal(event.headers['content-type'], 'application/json');
    assert.match(event.headers['webhook-id'], /^msg_[0-9a-f]{32}$/);
    const signed = { id: event.id, timestamp: event.headers['webhook-timestamp'], text: event.text };
    assert.equal(
      event.headers['webhook-signature'],
      `${signatureOf(older, signed)} ${signatureOf(receiver.secret, signed)}`,
    );
    const { timestamp, ...body } = event.body;
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(body, {
      type: 'task.ended',
      data: {
        protocol: 'roundtable',
        stream,
        sequence: seq,
        subject: `roundtable.results.build.${asked.id}`,
        message_type: 'roundtable.task.result',
        id: result.id,
        sender: 'worker',
        thread: asked.id,
        domain: 'build',
        message: result,
      },
    });
    assert.deepEqual(tasksOf(rest), [last]);
    assert.equal(rest[0].body.data.message_type, 'roundtable.task.failed');
    assert.deepEqual(receiver.unsigned, []);
  });

  it('is a halt too, of a block that is refused, and a message for review', async (t) => {
    const receiver = await receiverFor(t);
    const { gateway } = await gatewaysFor(t, { all: hookTo(receiver, { events: ['halted', 'review.waiting'] }) });
    await assertTaken(await send(gateway, block('one')));
    assert.equal((await send(gateway, block('two', { protocol: 'VLP/9' }))).status, 422);
    await assertTaken(await send(gateway, claim({ session_id: 'three' })));
    const question = claim({ session_id: 'three', safety: { level: 'review' } });
    await assertTaken(await send(gateway, question));

    const events = await delivered(receiver, 3);
    const data = (type) => events.filter(({ body }) => body.type === type).map(({ body }) => body.data);
    const halts = data('halted').map(({ halt }) => halt);
    assert.deepEqual(halts.map(({ session }) => session).sort(), ['one', 'two']);
    assert.equal(halts.find(({ session }) => session === 'one').why, 'Fire.');
    assert.deepEqual(data('review.waiting').map(({ message }) => message), [question]);

    const released = `/v1/vlp/halts?${new URLSearchParams({ session: 'one', reason: 'over' })}`;
    assert.equal((await request(gateway, 'DELETE', released)).status, 200);
    await assertTaken(await send(gateway, block('four')));
    assert.deepEqual((await delivered(receiver, 4)).map(({ body }) => body.data.halt?.session).at(-1), 'four');
  });

  it('goes to those webhooks that want its protocol, domain and sender', async (t) => {
    const names = ['any', 'protocol', 'domain', 'sender'];
    const receivers = await Promise.all(names.map(() => receiverFor(t)));
    const filters = [{}, { protocols: ['vlp'] }, { domains: ['test', 'deploy'] }, { senders: ['worker-2'] }];
    const events = [['task.ended'], ['halted'], ['task.ended'], ['task.ended']];
    const webhooks = Object.fromEntries(
      names.map((name, i) => [name, hookTo(receivers[i], { events: events[i], ...filters[i] })]),
    );
    const { gateway } = await gatewaysFor(t, webhooks);
    const build = await endTask(gateway);
    const deploy = await endTask(gateway, { task: 'deploy.web' });
    const second = await endTask(gateway, { end: (id) => taskResult(id, { from: 'worker-2' }) });
    await assertTaken(await send(gateway, block('one')));
    await delivered(receivers[0], 3);
    await Promise.all(receivers.slice(1).map((receiver) => delivered(receiver, 1)));
    const got = receivers.map((receiver) => tasksOf(receiver.events));
    assert.deepEqual(got, [[build, deploy, second].sort(), [undefined], [deploy], [second]]);
  });
});

describe('each event is delivered', () => {
  it('though its receiver answers 500, redirects, hangs up or is slow', async (t) => {
    const elsewhere = await receiverFor(t);
    const seen = new Map();
    const once = [
      () => 500,
      (response) => response.writeHead(302, { location: elsewhere.url }).end(),
      (response) => response.destroy(),
      (response) => setTimeout(() => response.writeHead(200).end(), 2000),
    ];
    const answer = ({ id }, response) => {
      if (seen.has(id)) return 204;
      seen.set(id, seen.size);
      return once[seen.get(id) % once.length](response);
    };
    const receiver = await receiverFor(t, { answer });
    const { gateways } = await gatewaysFor(t, { ends: hookTo(receiver, { events: ['task.ended'] }) }, { count: 2 });
    const ids = await endTasks(gateways[0], 12);
    const expected = 12 + 9; // three of four are sent again
    await until('all were accepted', () => receiver.events.length >= expected);
    assert.deepEqual([...new Set(tasksOf(receiver.events))], ids);
    assert.deepEqual(receiver.unsigned, []);
    assert.equal(elsewhere.events.length, 0);
    await until('the gateways have counted them', async () => {
      const all = await Promise.all(gateways.map((gateway) => metricsOf(gateway)));
      const sum = (outcome) =>
        all.reduce((total, one) => total + valueOf(one, 'parley_webhook_requests_total', { outcome }), 0);
      return sum('delivered') >= 12 && sum('failed') >= 9;
    });
  });

  it('though the gateway that sends it is killed', async (t) => {
    let isHolding = true;
    const receiver = await receiverFor(t, { answer: () => (isHolding ? undefined : 204) });
    const { gateways, start } = await gatewaysFor(t, { ends: hookTo(receiver, { events: ['task.ended'] }) });
    const ids = await endTasks(gateways[0], 6);
    await until('some are being sent', () => receiver.events.length > 0);
    await gateways[0].kill();
    isHolding = false;
    receiver.events.length = 0;
    await start();
    await delivered(receiver, 6);
    assert.deepEqual([...new Set(tasksOf(receiver.events))], ids);
    assert.deepEqual(receiver.unsigned, []);
  });

  it('though no gateway that sends them ran when it happened', async (t) => {
    const receiver = await receiverFor(t);
    const { nats, gateways, start } = await gatewaysFor(t, { ends: hookTo(receiver, { events: ['task.ended'] }) });
    await gateways[0].stop();
    const plain = await parleyFor(t, { nats: nats.url });
    const ids = await endTasks(plain, 3);
    await start();
    await delivered(receiver, 3);
    assert.deepEqual(tasksOf(receiver.events), ids);
  });

  it('and at once to other webhooks, while one hangs', async (t) => {
    const [hanging, fine] = [await receiverFor(t, { answer: () => undefined }), await receiverFor(t)];
    const { gateway } = await gatewaysFor(t, {
      hanging: hookTo(hanging, { events: ['task.ended'] }),
      fine: hookTo(fine, { events: ['task.ended'] }),
    });
    const ids = await endTasks(gateway, 20);
    await delivered(fine, 20);
    assert.deepEqual([...new Set(tasksOf(fine.events))], ids);
  });
});

// ThreadSanitizer takes no library before its own.
const cannotSetClock =
  (!process.env.CHAOS_CLOCK || process.env.PARLEY_SANITIZE?.includes('thread')) &&
  'CHAOS_CLOCK does not name the library of tests/chaos/clock.c, or is of no use';

describe('an event that is a day old', { skip: cannotSetClock }, () => {
  it('is given up when a request fails, as log and metrics say', async (t) => {
    const receiver = await receiverFor(t, { answer: () => 500 });
    const clock = join(temporaryFolder(), 'offset');
    writeFileSync(clock, `${25 * 3600}\n`);
    const env = {
      LD_PRELOAD: process.env.CHAOS_CLOCK,
      CHAOS_CLOCK_FILE: clock,
      ASAN_OPTIONS: `verify_asan_link_order=0:${process.env.ASAN_OPTIONS ?? ''}`,
    };
    const { nats, gateway } = await gatewaysFor(t, { hook: hookTo(receiver, { events: ['halted'] }) }, { env });
    await assertTaken(await send(gateway, block('one')));
    const [line] = await until('it is given up', () => gateway.logged('webhook.given_up').length > 0 && gateway.logged('webhook.given_up'));
    assert.equal(line.tries, '1');
    assert.equal(line.why, 'it answered 500');
    const connection = await connectNats(nats.url);
    atEnd(t, () => connection.close());
    const { consumers } = await connection.jetstreamManager();
    await until('it is done', async () => {
      const { num_pending, num_ack_pending } = await consumers.info('KV_parley_halts', 'parley_webhook_hook_halted_vlp');
      return num_pending + num_ack_pending === 0;
    });
    await until('it is counted', async () =>
      valueOf(await metricsOf(gateway), 'parley_webhook_events_given_up_total') === 1);
    assert.equal(receiver.events.length, 1);
  });
});

describe('a receiver', () => {
  it('gets as many requests at once as its entry says', async (t) => {
    const held = [];
    let isHolding = true;
    const answer = (event, response) => (isHolding ? void held.push(response) : 204);
    const receiver = await receiverFor(t, { answer });
    const { gateway } = await gatewaysFor(t, { ends: hookTo(receiver, { events: ['task.ended'], 'at-once': 2 }) });
    const ids = await endTasks(gateway, 8);
    await until('two are held', () => held.length >= 2);
    isHolding = false;
    for (const response of held) response.writeHead(204).end();
    await delivered(receiver, 8);
    assert.deepEqual([...new Set(tasksOf(receiver.events))], ids);
    assert.equal(receiver.mostOpen, 2);
  });

  it('is verified by its certificate', async (t) => {
    const { ca, issue } = await authority();
    const tls = await issue('receiver', 'IP:127.0.0.1');
    const receiver = await receiverFor(t, { tls });
    const webhooks = { ends: hookTo(receiver, { events: ['task.ended'] }) };
    const { gateway } = await gatewaysFor(t, webhooks, { env: { SSL_CERT_FILE: ca } });
    const id = await endTask(gateway);
    assert.deepEqual(tasksOf(await delivered(receiver, 1)), [id]);
    const args = ['webhooks', 'test', '--webhooks', webhookFile(webhooks), 'ends'];
    const strange = await parley(args);
    assert.equal(strange.code, 1);
    assert.match(strange.stderr, /ends did not accept the event: .*certificate/i);
  });

  it('is not asked at a loopback or private address that its entry does not allow', async (t) => {
    const receiver = await receiverFor(t);
    const { port } = receiver;
    const hosts = ['127.0.0.1', 'localhost', '127.1', '2130706433', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0',
      '10.0.0.1', '169.254.169.254'];
    for (const host of hosts) {
      const hook = { url: `https://${host}:${port}/`, secret: receiver.secret, events: ['halted'] };
      const result = await parley(['webhooks', 'test', '--webhooks', webhookFile({ hook }), 'hook']);
      assert.equal(result.code, 1, host);
      assert.match(result.stderr, /its address is loopback, private or reserved/, host);
    }
    const hook = { url: `https://localhost:${port}/`, secret: receiver.secret, events: ['halted'] };
    const { gateway } = await gatewaysFor(t, { hook });
    await assertTaken(await send(gateway, block('one')));
    const [line] = await failures(gateway);
    assert.equal(line.webhook, 'hook');
    assert.match(line.why, /its address is loopback, private or reserved/);
    assert.equal(receiver.events.length, 0);
  });
});

describe('parley webhooks test', () => {
  it('sends one signed event and says what became of it', async (t) => {
    const receiver = await receiverFor(t);
    const file = webhookFile({ hook: hookTo(receiver, { events: ['halted'] }) });
    const args = ['webhooks', 'test', '--webhooks', file];
    const fine = await parley([...args, 'hook']);
    assert.equal(fine.code, 0, fine.stderr);
    assert.match(fine.stdout, /^hook accepted msg_[0-9a-f]{32}: it answered 204\n$/);
    const { timestamp, ...body } = receiver.events[0].body;
    assert.deepEqual(body, { type: 'webhook.test', data: { webhook: 'hook' } });
    assert.ok(timestamp);
    assert.deepEqual(receiver.unsigned, []);

    receiver.answer = () => 500;
    const refused = await parley([...args, 'hook']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /hook did not accept the event: it answered 500/);
    const unknown = await parley([...args, 'hok']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /hook/);
  });
});
