// SPDX-License-Identifier: Apache-2.0
// Replies that come as fast as they can, NATS that goes meanwhile, and many that wait.

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { post } from './lib/http.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { natsClient, startCluster, startNats } from './lib/nats.mjs';
import { parley, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { resultSubject, sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';
import { claim } from './lib/vlp.mjs';

const REQUESTS = 1000;
const AT_ONCE = 50;

const ask = (server, request, agent = false) =>
  post(server, '/v1/roundtable/messages', JSON.stringify(request), {
    agent,
    headers: { Prefer: 'wait=300' },
    timeout: 360_000,
  });

async function natsFor(t) {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  return nats;
}

const isConnected = async (server) => valueOf(await metricsOf(server), 'parley_nats_connections') > 0;
const waiting = async (server) => valueOf(await metricsOf(server), 'parley_awaited_replies');

// Answers each request when it sees it: straight to NATS, or at a gateway; again where that is not
// stored. Returns: promises, one for each reply that is to be stored.
function answerAll(client, server, replies) {
  const jetstream = client.jetstream();
  const stored = [];
  client.subscribe('roundtable.tasks.>', {
    callback: (error, message) => {
      if (error) return;
      const request = message.json();
      if (replies.has(request.id)) return; // a second attempt to publish it
      const reply = taskResult(request.id);
      replies.set(request.id, reply);
      const subject = resultSubject('code', request.id);
      const publish = () => jetstream.publish(subject, JSON.stringify(reply));
      const send = async () => (await sendTask(server, reply)).status === 200;
      stored.push(until('the reply is stored', replies.size % 2 ? publish : send));
    },
  });
  return stored;
}

describe('who waits for the reply', () => {
  it(`misses none of ${REQUESTS} that are sent the moment the request is`, async (t) => {
    const nats = await natsFor(t);
    const servers = [
      await parleyFor(t, { nats: nats.url }),
      await parleyFor(t, { nats: nats.url }),
    ];
    const client = await natsClient(t, nats.url);
    const replies = new Map();
    const stored = answerAll(client, servers[0], replies);
    await client.flush();
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, i) => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        while (next++ < REQUESTS) {
          const request = taskRequest('code.review');
          const answer = await ask(servers[i % 2], request, agent);
          assert.equal(answer.status, 200, answer.text);
          assert.deepEqual(answer.json.reply.data, replies.get(request.id));
        }
        agent.destroy();
      }),
    );
    assert.equal(replies.size, REQUESTS);
    await Promise.all(stored);
  });

  it('gets it in a cluster of three, wherever it was sent', async (t) => {
    const { members } = await startCluster();
    atEnd(t, () => Promise.all(members.map((member) => member.stop())));
    const args = ['--replicas', '3'];
    const servers = await Promise.all(members.map(({ url }) => parleyFor(t, { nats: url, args })));
    const client = await natsClient(t, members[2].url);
    const replies = new Map();
    const stored = answerAll(client, servers[1], replies);
    await client.flush();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, i) => {
        const request = taskRequest('code.review');
        const answer = await ask(servers[i % 3], request);
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual(answer.json.reply.data, replies.get(request.id));
      }),
    );
    await Promise.all(stored);
  });

  it('gets it though NATS went and came back meanwhile', async (t) => {
    let nats = await startNats();
    atEnd(t, () => nats.stop());
    const server = await parleyFor(t, { nats: nats.url, args: ['--bus-patience', '60s'] });
    const requests = Array.from({ length: 20 }, () => taskRequest('code.review'));
    const answers = requests.map((request) => ask(server, request));
    const allWait = () => until('all wait', async () => (await waiting(server)) === requests.length);
    await allWait();
    await nats.kill();
    await until('NATS is away', async () => !(await isConnected(server)));
    requests.push(taskRequest('code.review'));
    answers.push(ask(server, requests.at(-1)));
    await allWait();
    nats = await nats.restart();
    for (const request of requests) {
      await until('a reply is stored', async () => {
        return (await sendTask(server, taskResult(request.id))).status === 200;
      });
    }
    for (const [i, answer] of (await Promise.all(answers)).entries()) {
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.reply.data.correlationId, requests[i].id);
    }
  });

  it('beyond 256 a worker is answered at once', async (t) => {
    const server = await parleyFor(t, { args: ['--reactors', '1'] });
    const requests = Array.from({ length: 256 }, () => taskRequest('code.review'));
    const answers = requests.map((request) => ask(server, request));
    await until('256 wait', async () => (await waiting(server)) === 256);
    const oneMore = await ask(server, taskRequest('code.review'));
    assert.equal(oneMore.status, 200);
    assert.equal(oneMore.headers['preference-applied'], undefined);
    const replies = requests.map(({ id }) => taskResult(id));
    await sendTask(server, replies);
    for (const [i, answer] of (await Promise.all(answers)).entries()) {
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.json.reply.data, replies[i]);
      assert.equal(answer.json.receipt.id, requests[i].id);
    }
  });

  it('leave room for others where one sender has 192 of them', async (t) => {
    const file = join(temporaryFolder(), 'tokens');
    const as = {};
    for (const name of ['many', 'few']) {
      const args = ['token', 'create', '--tokens', file, '--name', name];
      const { stdout } = await parley([...args, '--allow', 'send:roundtable,read:roundtable,metrics']);
      as[name] = { Authorization: `Bearer ${stdout.trim()}` };
    }
    const server = await parleyFor(t, { args: ['--tokens', file, '--reactors', '1'] });
    const askAs = (name, prefer) =>
      post(server, '/v1/roundtable/messages', JSON.stringify(taskRequest('code.review')), {
        headers: { Prefer: prefer, ...as[name] },
      });
    const answers = Array.from({ length: 192 }, () => askAs('many', 'wait=300'));
    await until('192 wait', async () => {
      const metrics = await metricsOf(server, { headers: as.few });
      return valueOf(metrics, 'parley_awaited_replies') === 192;
    });
    const oneMore = await askAs('many', 'wait=1');
    assert.deepEqual([oneMore.status, oneMore.headers['preference-applied']], [200, undefined]);
    const other = await askAs('few', 'wait=1');
    assert.deepEqual([other.status, other.headers['preference-applied']], [202, 'wait=1']);
    server.signal('SIGTERM');
    for (const answer of await Promise.all(answers)) assert.equal(answer.status, 202, answer.text);
    await server.program.hasExited('parley ends after SIGTERM');
  });

  it('stops nobody else', async (t) => {
    const server = await parleyFor(t, { args: ['--reactors', '4'] });
    const agent = new Agent({ keepAlive: true });
    assert.equal((await post(server, '/v1/vlp/messages', JSON.stringify(claim()))).status, 200);
    let answered = 0;
    const answers = Array.from({ length: 1000 }, async () => {
      const answer = await ask(server, taskRequest('code.review'), agent);
      answered++;
      return answer;
    });
    const settled = async () => answered + (await waiting(server)) === answers.length;
    await until('all wait or are answered', settled);
    assert.ok(answered <= answers.length - 256, `${answered} were answered at once`);
    for (let i = 0; i < 2000; i += 50) {
      const sent = Array.from({ length: 50 }, () =>
        post(server, '/v1/vlp/messages', JSON.stringify(claim())),
      );
      for (const answer of await Promise.all(sent)) assert.equal(answer.status, 200, answer.text);
    }
    server.signal('SIGTERM');
    for (const answer of await Promise.all(answers)) assert.ok([200, 202].includes(answer.status));
    await server.program.hasExited('parley ends after SIGTERM');
    agent.destroy();
  });
});
