// SPDX-License-Identifier: Apache-2.0
// A cluster of three with three replicas, a gateway at each: five agents claim each task at once.
// PARLEY_TEST_ROUNDS=1000 is the count of the contract.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atOnce, clusterFleetFor } from './lib/fleet.mjs';
import { sendTask, taskClaimed, taskRequest } from './lib/roundtable.mjs';
import { assertOneHolder, auditTasks } from './lib/task_audit.mjs';

const TASKS = Number(process.env.PARLEY_TEST_ROUNDS ?? 200);
const AGENTS = ['galahad', 'lancelot', 'percival', 'kay', 'bors'];

describe('a cluster of three', () => {
  it(`gives each of ${TASKS} tasks that five agents claim at once to one of them`, async (t) => {
    const { gateways, client } = await clusterFleetFor(t);
    const answers = new Map();
    await atOnce(Array.from({ length: TASKS }), 12, async (_, i) => {
      const request = taskRequest('race.run');
      assert.equal((await sendTask(gateways[i % 3], request)).status, 200);
      const claims = AGENTS.map(async (agent, k) => {
        const claim = taskClaimed(request.id, { from: agent });
        return { agent, answer: await sendTask(gateways[(i + k) % 3], claim) };
      });
      answers.set(request.id, await Promise.all(claims));
    });
    const { keys, messages } = await auditTasks(client);
    for (const [id, all] of answers) {
      assert.equal(all.filter(({ answer }) => answer.status === 200).length, 1);
      assertOneHolder(keys.get(`${id}.claim`), all);
    }
    const claims = [...messages.values()].filter(({ type }) => type === 'task.claimed');
    assert.equal(claims.length, TASKS, 'of each task one claim is stored');
  });
});
