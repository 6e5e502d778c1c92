// SPDX-License-Identifier: Apache-2.0
// Many agents that wait for work on three gateways, and as many tasks: each gets exactly one.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { get } from './lib/http.mjs';
import { startNats } from './lib/nats.mjs';
import { startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskRequest } from './lib/roundtable.mjs';

const COUNT = 500;
const GATEWAYS = 3;

describe(`${COUNT} agents that wait on ${GATEWAYS} gateways`, () => {
  let nats;
  let servers = [];
  before(async () => {
    nats = await startNats();
    for (let i = 0; i < GATEWAYS; i++) servers.push(await startParley({ nats: nats.url }));
  });
  after(async () => {
    for (const server of servers) await server.stop();
    await nats?.stop();
  });

  // As lib/http.mjs does, but it can be given up.
  function ask(server, agent) {
    let request;
    const answer = new Promise((resolve, reject) => {
      request = http.request(
        { port: server.port, host: '127.0.0.1', method: 'POST', path: '/v1/roundtable/tasks/next', agent: false,
          headers: { 'Content-Type': 'application/json', Prefer: 'wait=300' } },
        (response) => {
          const pieces = [];
          response.on('data', (piece) => pieces.push(piece));
          response.on('end', () => resolve({ status: response.statusCode, text: Buffer.concat(pieces).toString() }));
        },
      );
      request.on('error', reject);
      request.end(JSON.stringify({ agent }));
    });
    return { answer, giveUp: () => (answer.catch(() => {}), request.destroy()) };
  }
  const waiting = async () => {
    const pages = await Promise.all(servers.map((server) => get(server, '/metrics')));
    return pages.reduce((sum, { text }) => sum + Number(/^parley_tasks_waiting (\d+)/m.exec(text)[1]), 0);
  };

  it('get a task each, though others vanish', async () => {
    const asked = Array.from({ length: COUNT }, (_, i) => ask(servers[i % GATEWAYS], `agent-${i}`));
    const vanishing = Array.from({ length: 100 }, (_, i) => ask(servers[i % GATEWAYS], `gone-${i}`));
    await until('all wait', async () => (await waiting()) === COUNT + vanishing.length);
    vanishing.forEach(({ giveUp }) => giveUp());
    await until('they are gone', async () => (await waiting()) === COUNT);
    const tasks = Array.from({ length: COUNT }, (_, i) => taskRequest(`domain${i % 7}.x`));
    for (let i = 0; i < COUNT; i += 50) {
      const sent = await sendTask(servers[(i / 50) % GATEWAYS], tasks.slice(i, i + 50));
      assert.equal(sent.status, 200, sent.text);
    }
    const answers = await Promise.all(asked.map(({ answer }) => answer));
    const ids = answers.map(({ status, text }) => {
      assert.equal(status, 200, text);
      return JSON.parse(text).task.id;
    });
    assert.equal(new Set(ids).size, COUNT);
    assert.deepEqual(new Set(ids), new Set(tasks.map(({ id }) => id)));
    for (const [i, id] of ids.entries()) {
      if (i % 10 !== 0) continue;
      const { json } = await get(servers[(i + 1) % GATEWAYS], `/v1/roundtable/tasks/${id}`);
      assert.equal(json.holder, `agent-${i}`);
    }
  });
});
