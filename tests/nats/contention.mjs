// SPDX-License-Identifier: Apache-2.0
// Three nats-servers, streams with three copies, a gateway at each, and nothing that breaks: what
// many send at one instant is decided as docs/api.md says, never with 503 or 504. Prints a table of
// counts; exits with 1 where one is not as promised. The nats-server is the first of $PATH, or
// $PARLEY_TEST_NATS_SERVER.

import { atOnce, clusterFleetFor } from '../e2e/lib/fleet.mjs';
import { send } from '../e2e/lib/http.mjs';
import { run } from '../e2e/lib/program.mjs';
import { until } from '../e2e/lib/poll.mjs';
import { sendTask, taskClaimed, taskRequest } from '../e2e/lib/roundtable.mjs';
import { assertOneHolder, auditTasks } from '../e2e/lib/task_audit.mjs';
import { claim } from '../e2e/lib/vlp.mjs';
import { nextTask } from '../e2e/lib/work.mjs';

const SHARE = Number(process.env.PARLEY_TEST_SHARE ?? 1); // of the counts
const many = (count) => Array.from({ length: Math.ceil(count * SHARE) });
const AGENTS = ['galahad', 'lancelot', 'percival', 'kay'];
const WIDTH = 12; // contentions at a time

const isBusy = ({ status }) => status === 503 || status === 504;
const holds = (act) => {
  try {
    act();
    return true;
  } catch {
    return false;
  }
};

// 750 tasks, four claims of each at one instant: one holds it, the others are told who.
async function claims({ gateways, client }) {
  const told = new Map();
  await atOnce(many(750), WIDTH, async (_, i) => {
    const request = taskRequest('contention.claim');
    await until('it is requested', async () => (await sendTask(gateways[i % 3], request)).status === 200);
    const answers = AGENTS.map(async (agent, k) => {
      const message = taskClaimed(request.id, { from: agent });
      return { agent, answer: await sendTask(gateways[(i + k) % 3], message) };
    });
    told.set(request.id, await Promise.all(answers));
  });
  const { keys } = await auditTasks(client);
  return [...told].flatMap(([id, answers]) => {
    const held = answers.filter(({ answer }) => answer.status === 200).length;
    return answers.map((each) => ({
      answer: each.answer,
      isRight: held === 1 && holds(() => assertOneHolder(keys.get(`${id}.claim`), [each])),
    }));
  });
}

// 375 tasks, 20 agents that ask for the next one: each task goes to one of them.
async function next({ gateways }) {
  const wanted = many(375).map(() => taskRequest('contention.next'));
  await atOnce(wanted, WIDTH, (request, i) =>
    until('it is requested', async () => (await sendTask(gateways[i % 3], request)).status === 200),
  );
  const missing = new Set(wanted.map(({ id }) => id));
  const answers = [];
  await atOnce(Array.from({ length: 20 }), 20, async (_, i) => {
    for (let turn = i; missing.size > 0; turn++) {
      const options = { tasks: ['contention.next'], wait: 1 };
      const answer = await nextTask(gateways[turn % 3], `agent-${i}`, options);
      const isRight = answer.status === 200 && missing.delete(answer.json.task.id);
      if (answer.status !== 204) answers.push({ answer, isRight });
    }
  });
  return answers;
}

// 1,050 pairs of one id, at two gateways at one instant: of one content they are one message; with
// one key and two contents one of them is refused.
async function pairs({ gateways }) {
  const answers = [];
  await atOnce(many(1050), WIDTH, async (_, i) => {
    const one = claim();
    const isSame = i % 3 > 0;
    const other = isSame ? one : claim();
    const options = isSame ? {} : { headers: { 'Idempotency-Key': one.id } };
    const places = [gateways[i % 3], gateways[(i + 1) % 3]];
    const both = await Promise.all([one, other].map((each, k) => send(places[k], each, options)));
    const seen = both.map(({ status, json }) =>
      status === 409 ? json.type : `${status} ${json.duplicate ?? ''}`,
    );
    const expected = isSame ? '200 false,200 true' : '/problems/id-reused,200 false';
    const isRight = seen.sort().join() === expected && both[0].json.seq === both[1].json.seq;
    for (const answer of both) answers.push({ answer, isRight });
  });
  return answers;
}

const CHECKS = [
  ['claims of 750 tasks, four at once of each', claims],
  ['tasks/next by 20 agents, 375 tasks', next],
  ['one id at two gateways at once, 1,050 pairs', pairs],
];

async function main() {
  const ends = [];
  const { stdout } = await run('nats-server', ['--version']);
  const fleet = await clusterFleetFor({ after: (end) => ends.push(end) });
  process.stdout.write(`${stdout.trim()}, three copies\n`);
  process.stdout.write(`${''.padEnd(46)} answers    right  503/504   others\n`);
  let isGood = true;
  for (const [name, check] of CHECKS) {
    const all = await check(fleet);
    const busy = all.filter(({ answer }) => isBusy(answer)).length;
    const right = all.filter(({ isRight }) => isRight).length;
    const wrong = all.filter(({ answer, isRight }) => !isRight && !isBusy(answer));
    const counts = [all.length, right, busy, wrong.length];
    process.stdout.write(`${name.padEnd(46)}${counts.map((n) => String(n).padStart(8)).join(' ')}\n`);
    for (const { answer } of all.filter(({ isRight }) => !isRight).slice(0, 5)) {
      process.stdout.write(`  ${answer.status} ${answer.text}\n`);
    }
    isGood &&= right === all.length;
  }
  while (ends.length > 0) await ends.pop()();
  process.exit(isGood ? 0 : 1);
}

await main();
