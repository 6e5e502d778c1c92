// SPDX-License-Identifier: Apache-2.0
// Beside a gateway of the version before, on one NATS. That one is too much to build here: what it
// wrote is recorded (lib/agreed.mjs, with the binary of commit 7c1468b).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { headers as natsHeaders } from 'nats';
import { SENT, TASK, agreed } from './lib/agreed.mjs';
import { get, post } from './lib/http.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { connectNats, startNats, streamInfo } from './lib/nats.mjs';
import { startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { resultSubject, sendTask, taskClaimed, taskRequest, taskResult } from './lib/roundtable.mjs';

const EARLIER = JSON.parse(readFileSync(new URL('lib/earlier.json', import.meta.url), 'utf8'));

// Of the claim and of what has an agent: another one now.
const IDS = {
  [`claim:${TASK}`]: 'task.claimed:550e8400-e29b-41d4-a716-446655440002',
  '46c0f496121a0f2582625b278448f728': 'ac0ea16e1d2780eee329681485b34a3b',
};

// What differs since then: docs/operations.md says what it means for an upgrade.
function inItsTerms(now) {
  const { max_age } = EARLIER.streams.KV_parley_tasks;
  const streams = { ...now.streams };
  streams.KV_parley_tasks = { ...streams.KV_parley_tasks, max_age }; // 7 days, now 8
  const messages = now.messages.map((message) => {
    const own = message.headers['Nats-Msg-Id'];
    const id = IDS[own] ?? own;
    return { ...message, headers: { ...message.headers, ...(id && { 'Nats-Msg-Id': id }) } };
  });
  return { streams, consumers: now.consumers, messages, tokens: now.tokens };
}

// Those of the record; a version may add others.
const only = (some, all) => Object.fromEntries(Object.keys(some).map((key) => [key, all[key]]));

const bucketOf = (client) => client.jetstream().views.kv('parley_tasks', { bindOnly: true });

// What the earlier version would have left in this NATS.
async function leaveEarlier(client) {
  const manager = await client.jetstreamManager();
  for (const config of Object.values(EARLIER.streams)) await manager.streams.add(config);
  for (const [i, { subject, headers }] of EARLIER.messages.entries()) {
    const all = natsHeaders();
    for (const [name, value] of Object.entries(headers)) all.set(name, value);
    await client.jetstream().publish(subject, SENT[i].body, { headers: all });
  }
  const [name, { filter_subject }] = Object.entries(EARLIER.consumers)[0];
  const [stream, durable_name] = name.split('/');
  await manager.consumers.add(stream, { durable_name, filter_subject, ack_policy: 'explicit' });
  await client.publish(`$KV.parley_tasks.${TASK}`, EARLIER.value);
  await client.flush();
}

async function tokenNow(client, token) {
  for (const [, name] of [...token.matchAll(/\{([A-Z]+)\}/g)]) {
    const { created } = await streamInfo(client, name);
    token = token.replace(`{${name}}`, created);
  }
  return token;
}

// A server on a NATS of its own, in which `prepare` has left something.
function useNats(prepare) {
  const its = {};
  before(async () => {
    its.nats = await startNats();
    its.client = await connectNats(its.nats.url);
    await prepare(its);
    its.wire = await NatsWire.to(its.nats.url);
    its.parley = await startParley({ nats: its.wire.url });
    await until('it is ready', async () => (await get(its.parley, '/readyz')).status === 200);
  });
  after(async () => {
    await its.parley?.stop();
    await its.wire?.close();
    await its.client?.close();
    await its.nats?.stop();
  });
  return its;
}

describe('a gateway writes what the version before wrote', () => {
  const its = useNats(() => {});

  it('streams, consumers, subjects, headers and tokens', async () => {
    const now = inItsTerms(await agreed(its.parley, its.client));
    const { streams, consumers, messages, tokens } = EARLIER;
    assert.deepEqual(only(streams, now.streams), streams);
    assert.deepEqual(only(consumers, now.consumers), consumers);
    assert.deepEqual(now.messages, messages);
    assert.deepEqual(now.tokens, tokens);
  });
});

describe('where the version before was', () => {
  const configurations = {};
  const its = useNats(async ({ client }) => {
    await leaveEarlier(client);
    for (const name of Object.keys(EARLIER.streams)) {
      configurations[name] = (await streamInfo(client, name)).config;
    }
  });

  it('what that one stored is known, and its tokens are good', async () => {
    const { parley, client } = its;
    assert.equal((await get(parley, '/readyz')).text, 'ready\n');
    for (const [i, { to, body, query = '', headers }] of SENT.entries()) {
      const id = EARLIER.messages[i].headers['Nats-Msg-Id'];
      if (Object.values(IDS).includes(id)) continue; // another one now
      const answer = await post(parley, `/v1/${to}/messages${query}`, body, { headers });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.duplicate, id !== undefined, answer.text);
    }
    for (const [path, token] of Object.entries(EARLIER.tokens)) {
      const since = encodeURIComponent(await tokenNow(client, token));
      const all = (await get(parley, `${path}?since=all&follow=false`)).lines;
      const rest = (await get(parley, `${path}?since=${since}&follow=false`)).lines;
      assert.equal(rest.length, all.length - 1, path);
      assert.deepEqual(rest.at(-1), all.at(-1));
    }
  });

  it('its streams are as they were', async () => {
    for (const [name, config] of Object.entries(configurations)) {
      assert.deepEqual((await streamInfo(its.client, name)).config, config);
    }
  });

  it('how tasks ended there is read from the stream', async () => {
    const { parley } = its;
    const task = await until('the task has ended', async () => {
      const answer = await get(parley, `/v1/roundtable/tasks/${TASK}`);
      return answer.json.state === 'completed' && answer.json;
    });
    assert.equal(task.domain, 'security'); // who held it may be read too late to count
  });

  it('a task that was requested there is claimed and ended here', async () => {
    const { parley, client } = its;
    const { id } = taskRequest('security.scan');
    await (await bucketOf(client)).put(id, 'security');
    const first = await sendTask(parley, taskClaimed(id, { from: 'galahad' }));
    assert.deepEqual([first.status, first.json.warnings], [200, []]);
    assert.equal((await sendTask(parley, taskClaimed(id, { from: 'kay' }))).status, 409);
    const result = await sendTask(parley, taskResult(id, { from: 'galahad' }));
    assert.equal(result.json.subject, resultSubject('security', id));
    const task = (await get(parley, `/v1/roundtable/tasks/${id}`)).json;
    assert.deepEqual([task.domain, task.state, task.holder], ['security', 'completed', 'galahad']);
  });

  // That one reads all requests from the consumer that both share, and writes the key at once.
  it('a request whose key that one writes first is accepted, once', async () => {
    const { parley, client, wire } = its;
    const request = taskRequest('security.scan');
    const key = `$KV.parley_tasks.${request.id}`;
    const held = wire.hold(({ kind, subject }) => kind === 'publish' && subject === key);
    const sending = sendTask(parley, request);
    await held.reached();
    await (await bucketOf(client)).put(request.id, 'security');
    held.release();
    const first = await sending;
    assert.deepEqual([first.status, first.json.duplicate], [200, false], first.text);
    const again = await sendTask(parley, request);
    assert.deepEqual([again.status, again.json.duplicate], [200, true], again.text);
    assert.equal(again.json.seq, first.json.seq);
    const other = await sendTask(parley, { ...request, payload: { task: 'security.other' } });
    assert.equal(other.status, 409, other.text);
  });
});
