// SPDX-License-Identifier: Apache-2.0
// Random histories of tasks, the same for the same seed: single messages, batches and messages
// straight to NATS, at gateways that are killed, each held against task_model.mjs.

import assert from 'node:assert/strict';
import { post } from './http.mjs';
import { connectNats, startNats } from './nats.mjs';
import { startParley } from './parley.mjs';
import { pause, until } from './poll.mjs';
import * as make from './roundtable.mjs';
import { auditTasks, factsOf, factWritten } from './task_audit.mjs';
import { TaskModel } from './task_model.mjs';

const KNIGHTS = ['galahad', 'lancelot', 'percival'];
const PILOTS = ['arthur', 'merlin'];
const LIVE = 8; // tasks that a history is about at a time

// Mulberry32: small, and good enough to choose with.
export class Dice {
  constructor(seed) {
    this.seed = seed >>> 0;
  }

  next() {
    this.seed = (this.seed + 0x6d2b79f5) >>> 0;
    let t = this.seed;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below = (count) => Math.floor(this.next() * count);
  of = (list) => list[this.below(list.length)];
  chance = (share) => this.next() < share;

  uuid() {
    const hex = Array.from({ length: 32 }, () => this.below(16).toString(16)).join('');
    const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
    return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20)].join('-');
  }
}

// Messages of a history. Of a task that nobody requested only claims come: what ends it would stand
// for a request that comes later.
class Author {
  tasks = [];
  sent = [];

  constructor(dice) {
    this.dice = dice;
  }

  message() {
    const roll = this.dice.next();
    if (roll < 0.1 && this.sent.length > 0) return this.dice.of(this.sent.slice(-20));
    const message = this.#new(roll);
    this.sent.push(message);
    return message;
  }

  #new(roll) {
    const { dice } = this;
    const known = this.tasks.filter(({ request }) => request).slice(-LIVE);
    if (roll < 0.35 || known.length === 0) return this.#request();
    if (roll < 0.38) return this.#claimOfNone();
    const task = dice.of(known);
    const id = dice.uuid();
    if (roll < 0.41) return { ...task.request, payload: { task: 'other.thing', params: {} } };
    if (roll < 0.65) return make.taskClaimed(task.id, { id, from: dice.of(KNIGHTS) });
    const from = dice.of(dice.chance(0.8) ? KNIGHTS : PILOTS);
    if (roll < 0.75 || task.isExpired) return make.taskProgress(task.id, { id, from });
    if (roll < 0.87) return make.taskResult(task.id, { id, from });
    if (roll < 0.95) return make.taskFailed(task.id, { id, from });
    return make.heartbeat(from, { id });
  }

  #request() {
    const { dice } = this;
    const early = this.tasks.find(({ request }) => !request);
    const task = early && dice.chance(0.5) ? early : { id: dice.uuid() };
    if (task !== early) this.tasks.push(task);
    task.isExpired = dice.chance(0.1);
    const ago = task.isExpired ? 7200_000 : 0;
    task.request = make.taskRequest(`d${dice.below(4)}.do`, {
      id: dice.chance(0.1) ? task.id.toUpperCase() : task.id,
      from: dice.of(PILOTS),
      timestamp: new Date(Date.now() - ago).toISOString(),
      ...(dice.chance(0.2) && { to: dice.of(KNIGHTS) }),
    });
    return task.request;
  }

  #claimOfNone() {
    const task = { id: this.dice.uuid() };
    this.tasks.push(task);
    return make.taskClaimed(task.id, { id: this.dice.uuid(), from: this.dice.of(KNIGHTS) });
  }
}

const SUBJECTS = {
  'task.request': ({ payload }) => `tasks.${payload.task}`,
  'task.claimed': () => 'events.task.claimed',
  'task.progress': () => 'events.task.progress',
  'task.result': ({ correlationId }) => `results.any.${correlationId}`,
  'task.failed': ({ correlationId }) => `results.any.${correlationId}`,
  heartbeat: ({ from }) => `heartbeat.${from}`,
};

// Publishes straight to NATS; the sequence once JetStream has it.
export async function publishStraight(client, message, options) {
  const subject = `roundtable.${SUBJECTS[message.type](message)}`;
  return (await client.jetstream().publish(subject, JSON.stringify(message), options)).seq;
}

// An answer, or a line of a batch, in the model's words.
function outcomeOf(value) {
  const problem = value.problem ?? (value.type?.startsWith('/problems/') ? value : undefined);
  if (problem) return { outcome: 'refused', problem: problem.type.split('/').pop(), ...problem };
  const isRepeated = value.duplicate ?? value.status === 'duplicate';
  return { ...value, outcome: isRepeated ? 'repeated' : 'stored' };
}

const acrossMessages = (warnings) =>
  warnings.map(({ rule }) => rule).filter((rule) => rule.startsWith('RT-2'));

// What differs between an answer and the model's; undefined if nothing does.
function difference(expected, value) {
  const got = outcomeOf(value);
  if (got.outcome !== expected.outcome) return `${got.outcome}, not ${expected.outcome}`;
  if (expected.problem && !got.type.endsWith(`/${expected.problem}`)) {
    return `${got.type}, not ${expected.problem}`;
  }
  for (const [name, wanted] of Object.entries(expected.members ?? {})) {
    if (got[name] !== wanted) return `\`${name}\` ${got[name]}, not ${wanted}`;
  }
  if (expected.outcome === 'repeated' && expected.first.seq && got.seq !== expected.first.seq) {
    return `sequence ${got.seq}, not the first one's ${expected.first.seq}`;
  }
  if (!expected.warnings || got.outcome === 'refused') return undefined;
  const given = acrossMessages(got.warnings);
  return `${given}` === `${expected.warnings}` ? undefined : `warnings [${given}], not [${expected.warnings}]`;
}

export class History {
  #log = [];

  constructor(seed, { gateways = 2, lifecycle = 'on' } = {}) {
    this.seed = seed;
    this.dice = new Dice(seed);
    this.author = new Author(this.dice);
    this.model = new TaskModel(lifecycle);
    this.lifecycle = lifecycle;
    this.count = gateways;
  }

  async start() {
    this.nats = await startNats();
    this.gateways = await Promise.all(Array.from({ length: this.count }, () => this.#gateway()));
    this.client = await connectNats(this.nats.url);
  }

  #gateway(data) {
    const args = this.lifecycle === 'on' ? [] : ['--lifecycle', this.lifecycle];
    return startParley({ nats: this.nats.url, data, args });
  }

  async stop() {
    await this.client?.close();
    await Promise.all((this.gateways ?? []).map((gateway) => gateway.stop()));
    await this.nats?.stop();
  }

  // `kills`: how many gateways are killed meanwhile.
  async play(steps, { kills = 0 } = {}) {
    const killAt = new Set(Array.from({ length: kills }, (_, i) => Math.floor(((i + 0.5) * steps) / kills)));
    for (let i = 0; i < steps; i++) {
      const roll = this.dice.next();
      if (killAt.has(i)) await this.#killed(this.author.message());
      else if (roll < 0.6) await this.#single(this.author.message());
      else if (roll < 0.8) await this.#batch(2 + this.dice.below(5));
      else await this.#straight(this.author.message());
    }
    await this.#compare();
  }

  #gatewayOf() {
    return this.dice.of(this.gateways);
  }

  #fail(what) {
    const last = this.#log.slice(-60).join('\n');
    assert.fail(`history ${this.seed}: ${what}\nThe last of it:\n${last}`);
  }

  #judge(message, expected, value) {
    const { id, type, from, correlationId } = message;
    this.#log.push(`${type} ${id} of ${from} for ${correlationId ?? id}: ${JSON.stringify(value)}`);
    const all = [expected].flat();
    const differences = all.map((each) => difference(each, value));
    if (!differences.includes(undefined)) this.#fail(`${this.#log.at(-1)}\nis ${differences.join('; or ')}`);
    for (const each of all) if (each.outcome === 'stored') each.seq ??= value.seq;
  }

  async #single(message) {
    const answer = await make.sendTask(this.#gatewayOf(), message);
    this.#judge(message, this.model.post(message), answer.json);
  }

  async #batch(count) {
    const messages = Array.from({ length: count }, () => this.author.message());
    const answer = await make.sendTask(this.#gatewayOf(), messages);
    assert.equal(answer.status, 200, answer.text);
    this.#log.push(`a batch of ${count}:`);
    for (const [i, message] of messages.entries()) {
      this.#judge(message, this.model.post(message), answer.lines[i]);
    }
  }

  async #straight(message) {
    const seq = await publishStraight(this.client, message);
    this.#log.push(`straight to NATS at ${seq}: ${JSON.stringify(message)}`);
    this.model.straight(message, seq);
    if (message.type === 'heartbeat') return;
    const id = (message.type === 'task.request' ? message.id : message.correlationId).toLowerCase();
    const { request, claim, end } = this.model.task(id);
    try {
      if (request === message) await factWritten(this.client, id);
      if (claim === message) await factWritten(this.client, `${id}.claim`);
      if (end === message) await factWritten(this.client, `${id}.end`);
    } catch (error) {
      this.#fail(`${error.message}; the model: ${JSON.stringify({ request, claim, end })}`);
    }
  }

  // A gateway is killed while it has the message, which is then sent again to any of them.
  async #killed(message) {
    const index = this.dice.below(this.gateways.length);
    const gateway = this.gateways[index];
    const first = post(gateway, '/v1/roundtable/messages', JSON.stringify(message)).catch(() => null);
    await pause(this.dice.below(4));
    await gateway.kill();
    const answer = await first;
    this.#log.push(`a gateway is killed; it had answered ${answer?.text}`);
    const wanted = this.model.post(message);
    if (answer) this.#judge(message, wanted, answer.json);
    const again = this.model.post(message);
    this.gateways[index] = await this.#gateway(gateway.data);
    const second = await until('the message is taken', async () => {
      const value = await make.sendTask(this.#gatewayOf(), message);
      return value.status < 500 && value;
    });
    this.#judge(message, answer ? again : [wanted, again], second.json);
  }

  // Keys and stream, once all has been read.
  async #compare() {
    for (const [id, { request, claim, end }] of this.model.tasks) {
      const wanted = { request: request?.from, claim: claim?.from, end: end?.from };
      const is = (facts) => ({
        request: facts.request?.from,
        claim: facts.claim?.holder,
        end: facts.end?.from,
      });
      let facts;
      try {
        await until('the keys are written', async () => {
          facts = is(await factsOf(this.client, id));
          return JSON.stringify(facts) === JSON.stringify(wanted);
        });
      } catch {
        this.#fail(`the keys of ${id} are ${JSON.stringify(facts)}, not ${JSON.stringify(wanted)}`);
      }
    }
    await auditTasks(this.client);
  }
}

export async function playHistory(seed, steps, options) {
  const history = new History(seed, options);
  try {
    await history.start();
    await history.play(steps, options);
  } finally {
    await history.stop();
  }
}
