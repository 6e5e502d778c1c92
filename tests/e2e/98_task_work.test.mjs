// SPDX-License-Identifier: Apache-2.0
// Work over HTTP: which task an agent gets, and that a waiting one is woken.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fleetFor } from './lib/fleet.mjs';
import { sendTask, taskClaimed, taskRequest } from './lib/roundtable.mjs';
import { auditTasks, factOf } from './lib/task_audit.mjs';
import { until } from './lib/poll.mjs';
import { boardOf, nextTask } from './lib/work.mjs';

const request = async (gateway, task, changes) => {
  const message = taskRequest(task, changes);
  assert.equal((await sendTask(gateway, message)).status, 200);
  return message.id;
};

// Tasks are there for the next agent once the gateway's watch has them.
const isOnBoard = (gateway, count, state = 'requested') =>
  until('the gateway knows the tasks', async () => (await boardOf(gateway, `?state=${state}`)).length === count);

async function drain(gateway, agent, options) {
  const given = [];
  for (let answer; (answer = await nextTask(gateway, agent, options)).status === 200;) {
    given.push(answer.json.task.id);
  }
  return given;
}

describe('the next task', () => {
  it('is the most urgent, then the oldest, that is for this agent or for all, and open', async (t) => {
    const { gateways: [gateway], client } = await fleetFor(t, { gateways: 1 });
    const at = (seconds) => ({ timestamp: new Date(Date.now() - seconds * 1000).toISOString() });
    const low = await request(gateway, 'a.b', { priority: 'low' });
    const old = await request(gateway, 'a.b', at(60));
    const normal = await request(gateway, 'a.b', { priority: 'normal' });
    const critical = await request(gateway, 'a.b', { priority: 'critical' });
    const high = await request(gateway, 'a.b', { priority: 'high' });
    const mine = await request(gateway, 'a.b', { priority: 'high', to: 'galahad' });
    await request(gateway, 'a.b', { priority: 'critical', to: 'kay' });
    await request(gateway, 'a.b', { priority: 'critical', ...at(7200) });
    const held = await request(gateway, 'a.b', { priority: 'critical' });
    assert.equal((await sendTask(gateway, taskClaimed(held))).status, 200);
    await isOnBoard(gateway, 7);
    await isOnBoard(gateway, 1, 'claimed');
    assert.deepEqual(await drain(gateway, 'galahad'), [critical, high, mine, old, normal, low]);
    assert.equal((await factOf(client, `${low}.claim`)).holder, 'galahad');
    await auditTasks(client);
  });

  it('is of the domains or of the tasks that are named, either suffices', async (t) => {
    const { gateways: [gateway] } = await fleetFor(t, { gateways: 1 });
    const brief = await request(gateway, 'security.brief');
    const scan = await request(gateway, 'security.scan.deep');
    const weather = await request(gateway, 'intel.weather');
    await request(gateway, 'intel.weather.hourly');
    await request(gateway, 'intelligence.weather');
    await isOnBoard(gateway, 5);
    const options = { domains: ['security'], tasks: ['intel.weather'] };
    assert.deepEqual(await drain(gateway, 'galahad', options), [brief, scan, weather]);
    assert.deepEqual(await drain(gateway, 'galahad', { domains: ['other'] }), []);
  });

  it('wakes an agent that waits at another gateway, for what it takes only', async (t) => {
    const { gateways } = await fleetFor(t);
    const security = nextTask(gateways[0], 'galahad', { wait: 60, domains: ['security'] });
    const intel = nextTask(gateways[0], 'kay', { wait: 60, domains: ['intel'] });
    await request(gateways[1], 'other.thing');
    const second = await request(gateways[1], 'intel.weather');
    assert.equal((await intel).json.task.id, second);
    const first = await request(gateways[1], 'security.brief');
    assert.equal((await security).json.task.id, first);
  });

  it('is 204 when there is none, and 400 for what cannot be read', async (t) => {
    const { gateways: [gateway] } = await fleetFor(t, { gateways: 1 });
    assert.equal((await nextTask(gateway, 'galahad')).status, 204);
    assert.equal((await nextTask(gateway, 'galahad', { wait: 1 })).status, 204);
    const bad = await nextTask(gateway, 'a b');
    assert.ok([400, 422].includes(bad.status), bad.text);
    assert.ok([400, 422].includes((await nextTask(gateway, undefined)).status));
    const odd = await nextTask(gateway, 'galahad', { domains: 'x' });
    assert.ok([400, 422].includes(odd.status), odd.text);
  });
});
