// SPDX-License-Identifier: Apache-2.0
// A cluster of three, of which the member is killed that leads the stream of the messages, or the bucket of the
// tasks. What ends a task in time is stored late then, when another agent may have taken the task over: one of
// the two counts.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { natsClient, startCluster, streamInfo } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { sendTask, taskClaimed, taskRequest, taskResult } from './lib/roundtable.mjs';

const [STREAM, BUCKET] = ['ROUNDTABLE', 'KV_parley_tasks'];
const TASKS = isSanitized ? 15 : 40;
const TIMEOUT = isSanitized ? 240_000 : 120_000;
const ARGS = ['--replicas', '3', '--task-lease', '2s', '--bus-patience', '10m', '--ack-timeout', '10m'];

const leaderOf = async (client, stream) => (await streamInfo(client, stream)).cluster.leader;

// Lets stream and bucket have leaders of their own.
async function areApart(client) {
  await until('stream and bucket are led by two members', async () => {
    const [stream, bucket] = [await leaderOf(client, STREAM), await leaderOf(client, BUCKET)];
    if (stream && bucket && stream !== bucket) return true;
    await client.request(`$JS.API.STREAM.LEADER.STEPDOWN.${STREAM}`, '', { timeout: 5000 });
    return false;
  }, { timeout: TIMEOUT, every: 1000 });
}

async function fleetFor(t) {
  const cluster = await startCluster();
  atEnd(t, () => Promise.all(cluster.members.map((member) => member.stop())));
  const gateways = [];
  for (let i = 0; i < 2; i++) gateways.push(await parleyFor(t, { nats: cluster.url, args: ARGS }));
  for (const gateway of gateways) {
    await until('a request is taken', async () => (await sendTask(gateway, taskRequest('warm.up'))).status === 200,
      { timeout: TIMEOUT });
  }
  return { cluster, gateways, client: await natsClient(t, cluster.url) };
}

// Sends it until it is answered by 200 or a conflict that is final.
async function settled(server, message, isFinal = ({ status }) => status === 200 || status === 409) {
  return until('there is an answer', async () => {
    const answer = await sendTask(server, message);
    return isFinal(answer) && answer;
  }, { timeout: TIMEOUT, every: 200 });
}

// A worker that takes the task over as soon as it may, and ends it.
async function takeOver(server, id, isOver) {
  while (!isOver()) {
    const answer = await sendTask(server, taskClaimed(id, { from: 'percival' }));
    if (answer.status === 200) return void (await settled(server, taskResult(id, { from: 'percival' })));
    if (/task-over/.test(answer.text)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function historyOf(bucket, id) {
  const values = [];
  for (const key of ['claim', ...Array.from({ length: 20 }, (_, i) => `turn.${i + 2}`)]) {
    const entry = await bucket.get(`${id}.${key}`);
    if (entry) values.push(entry.json());
  }
  const end = await bucket.get(`${id}.end`);
  return { turns: values, end: end?.json() };
}

describe('an end that is stored late, since a member was killed', () => {
  for (const killed of [STREAM, BUCKET]) {
    it(`never counts beside a take-over: the one that leads ${killed}`, { timeout: 2 * TIMEOUT }, async (t) => {
      const { cluster, gateways, client } = await fleetFor(t);
      await areApart(client);
      const ids = [];
      for (let i = 0; i < TASKS; i++) {
        const message = taskRequest('security.scan');
        assert.equal((await sendTask(gateways[0], message)).status, 200);
        ids.push(message.id);
      }
      const held = ids.map(async (id, i) =>
        assert.equal((await settled(gateways[i % 2], taskClaimed(id, { from: 'galahad' }))).status, 200));
      await Promise.all(held);
      const leader = await leaderOf(client, killed);
      await cluster.members.find(({ name }) => name === leader).kill();
      let isOver = false;
      const ends = ids.map((id, i) => settled(gateways[i % 2], taskResult(id, { from: 'galahad' })));
      const takers = ids.map((id, i) => takeOver(gateways[(i + 1) % 2], id, () => isOver));
      await Promise.all([...ends, ...takers]);
      isOver = true;

      const bucket = await client.jetstream().views.kv('parley_tasks', { bindOnly: true });
      const counts = { galahad: 0, percival: 0 };
      for (const id of ids) {
        const { turns, end } = await until('it has ended', async () => {
          const history = await historyOf(bucket, id);
          return history.end && history;
        }, { timeout: TIMEOUT });
        const text = JSON.stringify({ turns, end });
        assert.equal(end.from, turns.at(-1).holder, text);
        counts[end.from]++;
      }
      t.diagnostic(`ended by ${JSON.stringify(counts)}`);
    });
  }
});
