// SPDX-License-Identifier: Apache-2.0
// A fleet of 40 workers, of which one in ten dies with each task that it takes, on two gateways, of which one is
// killed every few seconds, on one nats-server or three, of which one is killed now and then: each task ends once,
// no turn is taken twice, and no report of a lost turn counts. Some tasks kill every worker, and some are cancelled.
// What the workers were told is compared with the bucket and the stream.
//   PARLEY_FLEET_TASKS=10000 PARLEY_FLEET_KILL_SECONDS=10 PARLEY_FLEET_SKEW_SECONDS=60 node 98_task_fleet_slow.test.mjs

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atEnd } from './lib/cleanup.mjs';
import { isOlder, natsClient, natsServerVersion, startCluster, startNats, streamInfo } from './lib/nats.mjs';
import { startParley } from './lib/parley.mjs';
import { DEADLINE_MS, until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';
import { readTasks } from './lib/task_audit.mjs';
import { boardOf, changeTask, nextTask } from './lib/work.mjs';

const TASKS = Number(process.env.PARLEY_FLEET_TASKS ?? 1000);
// Each gateway lives for two of these, and looks for tasks whose attempts are used up after 5 s.
const KILL_SECONDS = Number(process.env.PARLEY_FLEET_KILL_SECONDS ?? 4);
const SKEW_SECONDS = Number(process.env.PARLEY_FLEET_SKEW_SECONDS ?? 3);
const WORKERS = 40;
const ATTEMPTS = 3;
const DEADLY = 'fleet.deadly'; // whoever takes it dies: it uses up its attempts
const ARGS = ['--task-attempts', `${ATTEMPTS}`];

const chance = (of) => Math.random() < of;
const isAnswer = ({ status }) => status < 500 && status !== 429;

// ---- the gateways ----

// ThreadSanitizer takes no library before its own.
const cannotSetClock =
  (!process.env.CHAOS_CLOCK || process.env.PARLEY_SANITIZE?.includes('thread')) &&
  'CHAOS_CLOCK does not name the library of tests/chaos/clock.c, or is of no use';

function clockAheadBy(seconds) {
  const file = join(temporaryFolder(), 'offset');
  writeFileSync(file, `${seconds}\n`);
  return {
    LD_PRELOAD: process.env.CHAOS_CLOCK,
    CHAOS_CLOCK_FILE: file,
    ASAN_OPTIONS: `verify_asan_link_order=0:${process.env.ASAN_OPTIONS ?? ''}`,
  };
}

class Gateways {
  killed = 0;
  killedMembers = 0;

  // `skew`: by how many seconds the clock of the second one is ahead.
  static async start({ nats, lease, args = [], skew = 0 }) {
    const gateways = new Gateways();
    gateways.options = { nats, args: [...ARGS, ...args, '--task-lease', `${lease}s`] };
    gateways.ahead = skew > 0 ? clockAheadBy(skew) : undefined;
    gateways.all = [await gateways.one(0), await gateways.one(1)];
    return gateways;
  }

  one(at) {
    return startParley({ ...this.options, env: at === 1 ? this.ahead : undefined });
  }

  // Repeats at either until there is an answer.
  async ask(work) {
    for (let at = Math.floor(Math.random() * 2); ; at = 1 - at) {
      const answer = await work(this.all[at]).catch(() => undefined);
      if (answer && isAnswer(answer)) return answer;
      await sleep(50);
    }
  }

  // One of three servers at a time, a minority.
  async killMembers(cluster, isOver) {
    for (let at = 0; !isOver(); at = (at + 1) % 3) {
      await sleep(2 * KILL_SECONDS * 1000);
      if (isOver()) return;
      await cluster.members[at].kill();
      this.killedMembers++;
      await sleep(1000);
      cluster.members[at] = cluster.members[at].restart();
      await cluster.members[at].becomesHealthy({ timeout: DEADLINE_MS });
    }
  }

  async killInTurn(isOver) {
    for (let at = 0; !isOver(); at = 1 - at) {
      await sleep(KILL_SECONDS * 1000);
      if (isOver()) return;
      await this.all[at].kill();
      this.killed++;
      this.all[at] = await this.one(at);
    }
  }

  stop() {
    return Promise.all(this.all.map((each) => each.stop()));
  }
}

// ---- the workers ----

class Fleet {
  told = []; // { id, attempt, agent }: claims that were answered
  reports = []; // { id, attempt, agent, message, answer }
  lates = []; // of workers that were taken for dead
  dead = 0;
  isOver = false;

  constructor(gateways, lease) {
    this.gateways = gateways;
    this.lease = lease;
  }

  async report({ id, attempt, agent }) {
    const message = taskResult(id, { from: agent, payload: { status: 'completed', result: { format: 'text', content: `${attempt}` } } });
    const answer = await this.gateways.ask((server) => sendTask(server, message));
    this.reports.push({ id, attempt, agent, message, answer });
  }

  // Comes back when its task may be another's.
  async comeBack(turn) {
    await sleep((this.lease + 1 + Math.random() * 2) * 1000);
    await this.report(turn);
  }

  // Returns: whether it lives on.
  async work(turn, isDeadly) {
    const { id, agent } = turn;
    if (isDeadly || chance(0.1)) {
      this.dead++;
      if (!isDeadly && chance(0.5)) this.lates.push(this.comeBack(turn));
      return false;
    }
    await sleep(Math.random() * 100);
    if (chance(0.2)) {
      const { status } = await this.gateways.ask((server) => changeTask(server, id, 'extend', { agent }));
      if (status !== 200) return true; // it was lost
    }
    await this.report(turn);
    return true;
  }

  async worker(number) {
    for (let life = 0; !this.isOver; life++) {
      const agent = `worker-${number}-${life}`;
      for (let lives = true; lives && !this.isOver;) {
        const key = randomUUID();
        const answer = await this.gateways.ask(async (server) => (this.isOver ? { status: 204 } : nextTask(server, agent, { key, wait: 2 })));
        if (answer.status !== 200) continue;
        const { task, attempt } = answer.json;
        const turn = { id: task.id, attempt, agent };
        this.told.push(turn);
        lives = await this.work(turn, task.payload.task === DEADLY);
      }
    }
  }
}

// Its requester ends some of the tasks meanwhile: early ones, which agents have, and the last ones, which none has.
async function cancelSome(gateways, ids) {
  for (const id of ids) {
    await sleep(Math.random() * 200);
    const answer = await gateways.ask((server) => changeTask(server, id, 'cancel', { agent: 'pilot' }));
    assert.ok([200, 409].includes(answer.status), answer.text);
  }
}

// ---- the checker ----

const storyOf = (keys, id) => {
  const turns = keys.has(`${id}.claim`) ? [keys.get(`${id}.claim`)] : [];
  for (let n = 2; keys.has(`${id}.turn.${n}`); n++) turns.push(keys.get(`${id}.turn.${n}`));
  return turns;
};

// Each turn follows from the one before it.
function assertStory(id, turns, messages, skew) {
  const claims = new Set();
  turns.forEach((turn, i) => {
    const [before, what] = [turns[i - 1], `turn ${i + 1} of ${id}: ${JSON.stringify(turn)}`];
    assert.equal(turn.n, i + 1, what);
    if (turn.kind === 'claim') {
      assert.equal(turn.attempt, (before?.attempt ?? 0) + 1, what);
      const { from, type, correlationId } = messages.get(turn.seq);
      assert.deepEqual([from, type, correlationId], [turn.holder, 'task.claimed', id], what);
      assert.ok(!claims.has(turn.claim), what);
      claims.add(turn.claim);
      const early = before ? Date.parse(before.until) - Date.parse(turn.at) : 0;
      assert.ok(early <= (1 + skew) * 1000, `${what} after ${before?.until}`);
    } else {
      assert.deepEqual([turn.kind, turn.holder, turn.attempt], ['extend', before.holder, before.attempt], what);
    }
  });
  assert.ok((turns.at(-1)?.attempt ?? 0) <= ATTEMPTS);
}

// Who ended the task held its last turn; or all attempts had lapsed.
function assertEnd(id, end, turns, messages) {
  const last = turns.at(-1);
  const { from, type, payload } = messages.get(end.seq);
  const what = `the end of ${id}: ${JSON.stringify(end)} after ${JSON.stringify(last)}`;
  if (from === 'parley') {
    assert.deepEqual([type, payload.error, last.attempt], ['task.failed', 'timeout', ATTEMPTS], what);
    return 'given up';
  }
  if (from === 'pilot') {
    assert.deepEqual([type, payload.error], ['task.failed', 'internal_error'], what);
    return 'cancelled';
  }
  assert.deepEqual([type, from, payload.result.content], ['task.result', last.holder, `${last.attempt}`], what);
  return 'completed';
}

// What the workers were told agrees with the keys: one agent an attempt, and one report that counts.
function assertTold(fleet, keys) {
  for (const { id, attempt, agent } of fleet.told) {
    const holders = storyOf(keys, id).filter((turn) => turn.kind === 'claim' && turn.attempt === attempt);
    assert.deepEqual(holders.map(({ holder }) => holder), [agent], `attempt ${attempt} of ${id}`);
  }
  for (const { id, attempt, agent, message, answer } of fleet.reports) {
    assert.equal(answer.status, 200, answer.text);
    const counts = keys.get(`${id}.end`).end === message.id;
    const warned = answer.json.warnings.length > 0;
    assert.equal(counts, !warned, `attempt ${attempt} of ${id}, by ${agent}: ${answer.text}`);
  }
}

async function audit(client, ids, fleet, skew) {
  const { keys, messages } = await readTasks(client);
  const { state } = await streamInfo(client, 'KV_parley_tasks');
  assert.equal(state.last_seq, keys.size, 'each key was written once, and none removed');
  const msgIds = [...messages.values()].map(({ msgId }) => msgId).filter(Boolean);
  assert.equal(new Set(msgIds).size, msgIds.length, 'no Nats-Msg-Id is stored twice');
  const tally = { completed: 0, 'given up': 0, cancelled: 0, turns: 0, 'taken over': 0, 'late reports': 0 };
  for (const id of ids) {
    const turns = storyOf(keys, id);
    assertStory(id, turns, messages, skew);
    tally[assertEnd(id, keys.get(`${id}.end`), turns, messages)]++;
    tally.turns += turns.length;
    tally['taken over'] += turns.filter(({ why }) => why === 'lapsed').length;
  }
  assertTold(fleet, keys);
  tally['late reports'] = fleet.reports.filter(({ answer }) => answer.json.warnings.length > 0).length;
  return tally;
}

// ---- the fleets ----

// Three copies on a server before 2.10.27 may lose the last messages with a member (docs/operations.md).
const losesWhatItAcknowledged =
  isOlder(await natsServerVersion(), '2.10.27') && 'this nats-server loses what it has acknowledged with a member';

const FLEETS = [
  { what: 'on one server', tasks: TASKS, lease: 5 },
  // By less than half a lease: a minute, with the lease of 15 minutes, is less.
  { what: 'whose clocks differ', tasks: TASKS / 4, lease: 4 * SKEW_SECONDS, skew: SKEW_SECONDS, skip: cannotSetClock },
  { what: 'on three servers', tasks: TASKS / 4, lease: 12, isCluster: true, skip: losesWhatItAcknowledged },
];

describe('a fleet whose workers and gateways die', () => {
  for (const { what, tasks, lease, skew = 0, isCluster, skip } of FLEETS) {
    it(`ends each task once, and by the agent that holds it: ${what}`, { skip }, async (t) => {
      const nats = isCluster ? await startCluster() : await startNats();
      const members = nats.members ?? [nats];
      atEnd(t, () => Promise.all(members.map((each) => each.stop())));
      const gateways = await Gateways.start({ nats: nats.url, lease, skew, args: isCluster ? ['--replicas', '3'] : [] });
      atEnd(t, () => gateways.stop());
      const requests = Array.from({ length: tasks }, (_, i) => taskRequest(i % 50 === 7 ? DEADLY : 'fleet.work', { ttl: 86_400 }));
      for (let at = 0; at < tasks; at += 500) {
        const some = requests.slice(at, at + 500);
        const { lines } = await gateways.ask((server) => sendTask(server, some));
        assert.equal(lines.at(-1).summary.accepted, some.length);
      }
      const fleet = new Fleet(gateways, lease);
      const began = Date.now();
      const workers = Array.from({ length: WORKERS }, (_, number) => fleet.worker(number));
      const killer = gateways.killInTurn(() => fleet.isOver);
      const memberKiller = isCluster && gateways.killMembers(nats, () => fleet.isOver);
      const cancelling = cancelSome(gateways, requests.filter((_, i) => i % 60 === 5 || (i >= tasks * 0.9 && i % 6 === 1)).map(({ id }) => id));
      const openOnes = () => gateways.ask((server) => boardOf(server, '?state=requested,claimed&limit=1').then((items) => ({ status: 200, items })));
      await until('all tasks have ended', async () => (await openOnes()).items.length === 0, { timeout: DEADLINE_MS + tasks * 200 + ATTEMPTS * lease * 1000 });
      fleet.isOver = true;
      await Promise.all([...workers, ...fleet.lates, killer, memberKiller, cancelling]);
      const client = await natsClient(t, nats.url);
      const tally = await audit(client, requests.map(({ id }) => id), fleet, skew);
      t.diagnostic(`${tasks} tasks in ${Math.round((Date.now() - began) / 1000)} s: ${JSON.stringify(tally)}; ` +
        `${fleet.dead} workers and ${gateways.killed} gateways and ${gateways.killedMembers} servers died, ${fleet.lates.length} workers came back`);
      assert.ok(gateways.killed > 0 && gateways.killedMembers > 0 === Boolean(isCluster));
      for (const [name, count] of Object.entries(tally)) assert.ok(count > 0, name);
    });
  }
});
