// SPDX-License-Identifier: Apache-2.0
// A day in the life of a fleet: knights with NATS's own client, which knows nothing of parley, beside
// agents that speak HTTP, at two gateways. Each task is held and ended by one of them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JSONCodec } from 'nats';
import { atEnd } from './lib/cleanup.mjs';
import { fleetFor } from './lib/fleet.mjs';
import { get, post } from './lib/http.mjs';
import { natsClient } from './lib/nats.mjs';
import { until } from './lib/poll.mjs';
import { heartbeat, taskClaimed, taskProgress, taskRequest, taskResult } from './lib/roundtable.mjs';
import { auditTasks } from './lib/task_audit.mjs';
import { publishStraight } from './lib/task_histories.mjs';
import { askAndWait, boardOf, nextTask } from './lib/work.mjs';

const json = JSONCodec();
const accepted = async (server, message) => {
  const answer = await post(server, '/v1/roundtable/messages', JSON.stringify(message));
  assert.equal(answer.status, 200, answer.text);
};

// A knight on NATS: hears requests, claims, asks the bucket who holds the task, works, replies.
class Knight {
  done = [];
  seen = new Set();

  constructor(name, connection) {
    Object.assign(this, { name, connection, work: Promise.resolve() });
  }

  async start() {
    await publishStraight(this.connection, heartbeat(this.name));
    this.bucket = await this.connection.jetstream().views.kv('parley_tasks', { bindOnly: true });
    this.subscription = this.connection.subscribe('roundtable.tasks.>', {
      callback: (error, message) => {
        this.work = this.work.then(() => this.take(json.decode(message.data)));
        this.work.catch(() => {});
      },
    });
    await this.connection.flush();
  }

  // What a gateway had no ack of it publishes again: the stream has it once, subscribers twice.
  async take(request) {
    if (this.seen.has(request.id)) return;
    this.seen.add(request.id);
    const from = this.name;
    await publishStraight(this.connection, taskClaimed(request.id, { from }));
    const entry = await until('it is known who holds the task', () => this.bucket.get(`${request.id}.claim`));
    if (entry.json().holder !== from) return;
    await publishStraight(this.connection, taskProgress(request.id, { from }));
    await publishStraight(this.connection, taskResult(request.id, { from }));
    this.done.push(request.id);
  }

  async stop() {
    this.subscription.unsubscribe();
    await this.work;
  }
}

// An agent on HTTP: asks for the next task until it is told to stop.
class Agent {
  done = [];
  isStopped = false;

  constructor(name, gateway) {
    Object.assign(this, { name, gateway });
    this.work = this.go();
    this.work.catch(() => {});
  }

  async go() {
    const from = this.name;
    await accepted(this.gateway, heartbeat(from));
    while (!this.isStopped) {
      const answer = await nextTask(this.gateway, from, { wait: 1 });
      if (answer.status === 204) continue;
      assert.equal(answer.status, 200, answer.text);
      const { id } = answer.json.task;
      await accepted(this.gateway, taskProgress(id, { from }));
      await accepted(this.gateway, taskResult(id, { from }));
      this.done.push(id);
    }
  }

  async stop() {
    this.isStopped = true;
    await this.work;
  }
}

describe('a fleet', () => {
  it('of knights on NATS and agents on HTTP gives each task to one, who ends it', async (t) => {
    const { nats, gateways, client } = await fleetFor(t);
    const agents = gateways.flatMap((gateway, i) => [0, 1].map((k) => new Agent(`http-${i}-${k}`, gateway)));
    const knights = [];
    for (const name of ['galahad', 'lancelot']) {
      const knight = new Knight(name, await natsClient(t, nats.url));
      await knight.start();
      knights.push(knight);
    }
    const all = [...agents, ...knights];
    atEnd(t, () => Promise.allSettled(all.map((each) => each.stop())));

    // Orchestrators: over HTTP, waiting for the answer; and with NATS's client, following the results.
    const requests = Array.from({ length: 30 }, (_, i) =>
      taskRequest(i % 2 ? 'security.brief' : 'intel.weather', { from: i % 3 ? 'arthur' : 'merlin' }),
    );
    const heard = new Map();
    client.subscribe('roundtable.results.>', {
      callback: (error, message) => {
        const reply = json.decode(message.data);
        heard.set(reply.correlationId, reply.from);
      },
    });
    await client.flush();
    const repliesTo = async (request, i) => {
      if (i % 3 === 0) {
        await publishStraight(client, request);
        return until('the reply is heard', () => heard.get(request.id));
      }
      const answer = await askAndWait(gateways[i % 2], request, 300);
      assert.equal(answer.status, 200, answer.text);
      return answer.json.reply.data.from;
    };
    const replies = await Promise.all(requests.map(repliesTo));
    await until('all has been done', () => all.flatMap(({ done }) => done).length === requests.length);
    for (const each of all) await each.stop();

    const byName = new Map(all.map((each) => [each.name, each]));
    for (const [i, { id }] of requests.entries()) {
      assert.ok(byName.get(replies[i]).done.includes(id), `${replies[i]} did ${id}`);
    }
    const { keys, messages } = await auditTasks(client);
    const threads = (id) => [...messages.values()].filter((each) => each.correlationId === id);
    for (const { id } of requests) {
      const holder = keys.get(`${id}.claim`).holder;
      assert.equal(keys.get(`${id}.end`).from, holder);
      const results = threads(id).filter(({ type }) => type === 'task.result');
      assert.deepEqual(results.map(({ from }) => from), [holder], 'one result, of the holder');
    }
    for (const gateway of gateways) {
      const board = await until('the board has all', async () => {
        const items = await boardOf(gateway, '?state=completed');
        return items.length === requests.length && items;
      });
      for (const item of board) assert.equal(item.holder, keys.get(`${item.id}.claim`).holder);
      assert.deepEqual(await boardOf(gateway, '?state=requested'), []);
      const { items } = (await get(gateway, '/v1/roundtable/agents?state=alive')).json;
      assert.deepEqual(items.map(({ agent }) => agent).sort(), [...byName.keys()].sort());
    }
    t.diagnostic(all.map(({ name, done }) => `${name} ${done.length}`).join(', '));
  });
});
