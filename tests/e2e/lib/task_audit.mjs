// SPDX-License-Identifier: Apache-2.0
// The life of tasks as NATS has it: keys of the bucket beside the stream's messages, and what must
// hold between them whatever happened.

import assert from 'node:assert/strict';
import { storedMessages, streamInfo } from './nats.mjs';
import { until } from './poll.mjs';

const BUCKET = 'parley_tasks';
const KV_SUBJECT = `$KV.${BUCKET}.`;

// The value of one key, or undefined.
export async function factOf(client, key) {
  const manager = await client.jetstreamManager();
  try {
    const stored = await manager.streams.getMessage(`KV_${BUCKET}`, {
      last_by_subj: `${KV_SUBJECT}${key}`,
    });
    return JSON.parse(Buffer.from(stored.data).toString());
  } catch (error) {
    if (error.code === '404') return undefined;
    throw error;
  }
}

export const factsOf = async (client, id) => ({
  request: await factOf(client, id),
  claim: await factOf(client, `${id}.claim`),
  end: await factOf(client, `${id}.end`),
});

export const factWritten = (client, key) =>
  until(`the key ${key} is there`, () => factOf(client, key));

// What was published straight to NATS may be anything.
function parsed(payload) {
  try {
    return JSON.parse(payload);
  } catch {
    return {};
  }
}

// All that is stored: keys as a map to their values, messages as a map from sequence.
export async function readTasks(client) {
  const keys = new Map();
  for (const { subject, payload } of await storedMessages(client, { stream: `KV_${BUCKET}` })) {
    keys.set(subject.slice(KV_SUBJECT.length), JSON.parse(payload));
  }
  const messages = new Map();
  for (const { seq, subject, payload, headers } of await storedMessages(client, {
    stream: 'ROUNDTABLE',
  })) {
    messages.set(seq, { ...parsed(payload), seq, subject, msgId: headers['nats-msg-id'] });
  }
  return { keys, messages };
}

const TYPES = {
  request: ['task.request'],
  claim: ['task.claimed'],
  end: ['task.result', 'task.failed'],
  progress: ['task.progress'],
};

// The keys that are overwritten, and decide nothing.
const isNote = (key) => key.endsWith('.progress');

const MEMBERS = {
  request: ({ payload, from, to }) => ({ task: payload.task, from, to: to ?? null }),
  claim: ({ from, id }) => ({ holder: from, claim: id }),
  end: ({ from, type, payload }) => ({
    from,
    state: type === 'task.failed' || payload.status === 'failed' ? 'failed' : 'completed',
  }),
  progress: ({ timestamp }) => ({ at: timestamp }),
};

const taskOf = (message) => (message.correlationId ?? message.id).toLowerCase();

// A key says what the message says that it names, which is of its kind and of its task.
function assertKey(key, value, messages) {
  const [id, kind = 'request'] = key.split('.');
  const message = messages.get(value.seq);
  assert.ok(message, `${key} is not ahead of the stream: ${JSON.stringify(value)}`);
  assert.equal(value.stream, 'ROUNDTABLE', key);
  assert.ok(TYPES[kind].includes(message.type), `${key} names a ${message.type}`);
  assert.equal(taskOf(message), id, `${key} names a message of its task`);
  for (const [name, expected] of Object.entries(MEMBERS[kind](message))) {
    assert.equal(value[name] ?? null, expected, `\`${name}\` of ${key}: ${JSON.stringify(value)}`);
  }
}

// What holds at every moment: no key is ahead of its message, none was changed, nothing is stored
// twice. Returns what is stored.
export async function auditTasks(client) {
  const stored = await readTasks(client);
  for (const [key, value] of stored.keys) assertKey(key, value, stored.messages);
  const { state } = await streamInfo(client, `KV_${BUCKET}`);
  const hasNotes = [...stored.keys.keys()].some(isNote);
  if (!hasNotes) assert.equal(state.last_seq, stored.keys.size, 'each key was written once, and none removed');
  const ids = [...stored.messages.values()].map(({ msgId }) => msgId).filter(Boolean);
  assert.equal(new Set(ids).size, ids.length, 'no Nats-Msg-Id is stored twice');
  return stored;
}

// An answer to a claim agrees with the key of its task: who was told 200 holds it, and everybody
// else was told who does. `answers`: [{ agent, answer }].
export function assertOneHolder(claim, answers) {
  const told = answers.map(({ agent, answer }) => `${agent}: ${answer.status} ${answer.text}`);
  assert.ok(claim, `it is held: ${told.join(', ')}`);
  for (const { agent, answer } of answers) {
    if (answer.status === 200) {
      assert.equal(agent, claim.holder, `${told.join(', ')}, and the key: ${claim.holder}`);
      assert.equal(answer.json.seq, claim.seq);
      continue;
    }
    assert.equal(answer.status, 409, answer.text);
    assert.equal(answer.json.type, '/problems/already-claimed');
    assert.equal(answer.json.holder, claim.holder, told.join(', '));
    assert.ok(!Number.isNaN(Date.parse(answer.json.claimed_at)), answer.text);
  }
}
