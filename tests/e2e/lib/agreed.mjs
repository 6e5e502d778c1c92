// SPDX-License-Identifier: Apache-2.0
// What gateways of different versions on one NATS have to agree on: streams, consumers, subjects,
// headers and keys. `agreed` sends some messages and reads what they leave there.
//
// PARLEY_BIN=… node lib/agreed.mjs >recorded.json writes it down as the version of that binary does
// it; tests/e2e/91_versions.test.mjs compares.

import { fileURLToPath } from 'node:url';
import { get, post } from './http.mjs';
import { connectNats, startNats } from './nats.mjs';
import { startParley } from './parley.mjs';
import { until } from './poll.mjs';

export const TASK = '550e8400-e29b-41d4-a716-446655440000';
const at = '2099-02-08T15:00:00Z'; // its task does not expire;
const task = (type, n, from, payload, more) =>
  JSON.stringify({
    id: `550e8400-e29b-41d4-a716-44665544000${n}`,
    version: '1.0.0',
    type,
    from,
    timestamp: at,
    ...more,
    payload,
  });
const vlp = (type, n, more) =>
  JSON.stringify({
    id: `MSG00${n}`,
    protocol: 'VLP/1.1',
    type,
    timestamp: '2025-12-14T10:30:00Z',
    sender: 'The Observer',
    content: 'Found 5 gas stations',
    confidence: 0.85,
    ...more,
  });
const info = JSON.stringify({
  subject: 'INFO: The mail server restarts at 02:00 UTC',
  body_md: '# Information\n\nIt is back in five minutes.\n',
  from: 'Operator',
  to: ['GreenDog', 'BlueMountain'],
  thread_id: 'COORD-daily-sync',
});

export const SENT = [
  { to: 'vlp', body: vlp('claim', 1) },
  { to: 'vlp', body: vlp('response', 2, { refers_to: 'MSG001', session: 'S-7' }) },
  { to: 'vlp', body: vlp('claim', 3), headers: { 'Idempotency-Key': '"a-key"' } },
  { to: 'vlp', body: vlp('claim', 4, { safety: { level: 'review' } }) },
  {
    to: 'roundtable',
    body: task('task.request', 0, 'tim', { task: 'security.briefing', params: {} }),
  },
  { to: 'roundtable', body: task('heartbeat', 1, 'galahad', { status: 'idle' }) },
  {
    to: 'roundtable',
    body: task('task.claimed', 2, 'galahad', {}, { correlationId: TASK }),
  },
  {
    to: 'roundtable',
    body: task('task.progress', 3, 'galahad', { percent: 50 }, { correlationId: TASK }),
  },
  {
    to: 'roundtable',
    body: task(
      'task.result',
      4,
      'galahad',
      { status: 'completed', result: { format: 'text', content: 'done' } },
      { correlationId: TASK },
    ),
  },
  {
    to: 'supervisor',
    query: '?agent=a1',
    body: JSON.stringify({ type: 'heartbeat', timestamp: 1705392000 }),
  },
  { to: 'brenner', body: info },
];

// A value that the gateway chose, and another one each time, is '*'.
const FRESH = ['ce-id', 'ce-time'];
function stable(headers, body) {
  const isChosen = ([name, value]) =>
    FRESH.includes(name) && /^[0-9a-f-]{36}$|^20..-.*Z$/.test(value) && !body.includes(value);
  return Object.fromEntries(
    headers.map(([name, value]) => [name, isChosen([name, value]) ? '*' : value]),
  );
}

// Without what is unset, and what a version of nats-server adds.
const meaningOf = ({ name, subjects, retention, storage, discard, description, ...more }) => ({
  name,
  subjects,
  retention,
  storage,
  discard,
  description,
  max_age: more.max_age,
  max_msgs_per_subject: more.max_msgs_per_subject,
  duplicate_window: more.duplicate_window,
});

async function streamsOf(manager) {
  const streams = {};
  for await (const { config } of manager.streams.list()) streams[config.name] = meaningOf(config);
  return streams;
}

async function consumersOf(manager, streams) {
  const consumers = {};
  for (const stream of Object.keys(streams)) {
    for await (const { config } of manager.consumers.list(stream)) {
      const { durable_name, filter_subject, deliver_policy, ack_policy, ack_wait } = config;
      if (durable_name === undefined) continue; // a reader's own
      consumers[`${stream}/${durable_name}`] = {
        filter_subject,
        deliver_policy,
        ack_policy,
        ack_wait,
      };
    }
  }
  return consumers;
}

async function exchange(server, manager, { to, body, query = '', headers }) {
  const answer = await post(server, `/v1/${to}/messages${query}`, body, { headers });
  if (answer.status !== 200) throw new Error(answer.text);
  const { stream, seq } = answer.json;
  const { subject, header } = await manager.streams.getMessage(stream, { seq });
  const stored = header.keys().map((name) => [name, header.get(name)]);
  return { to, stream, subject, headers: stable(stored, body) };
}

// The resume token after a stream's first event, with the time of each stream as {NAME}.
async function tokenOf(server, path) {
  const { lines } = await get(server, `${path}?since=all&follow=false&limit=1`);
  const { resume } = lines.find(({ type }) => !type.startsWith('parley.'));
  return resume.replace(/([A-Z]+):(20[0-9T:.-]+Z)/g, '$1:{$1}');
}

async function tokensOf(server) {
  const tokens = {};
  for (const path of ['/v1/vlp/stream', '/v1/roundtable/stream', '/v1/stream']) {
    tokens[path] = await tokenOf(server, path);
  }
  return tokens;
}

export async function agreed(server, client) {
  const manager = await client.jetstreamManager();
  const streams = await streamsOf(manager);
  const messages = [];
  for (const each of SENT) messages.push(await exchange(server, manager, each));
  const bucket = await client.jetstream().views.kv('parley_tasks', { bindOnly: true });
  const value = (await bucket.get(TASK)).string();
  const consumers = await until('the consumers are there', async () => {
    const found = await consumersOf(manager, streams);
    return 'ROUNDTABLE/parley_tasks' in found && found;
  });
  return { streams, consumers, messages, value, tokens: await tokensOf(server) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const nats = await startNats();
  const server = await startParley({ nats: nats.url });
  const client = await connectNats(nats.url);
  await until('it is ready', async () => (await get(server, '/readyz')).status === 200);
  console.log(JSON.stringify(await agreed(server, client), null, 1));
  await client.close();
  await server.stop();
  await nats.stop();
}
