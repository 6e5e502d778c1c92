// SPDX-License-Identifier: Apache-2.0
// A user of NATS with the permissions that docs/operations.md lists, and no others: everything works,
// and NATS refuses nothing.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect } from 'nats';
import { atEnd } from './lib/cleanup.mjs';
import { get, ndjson, post, request, send } from './lib/http.mjs';
import { startNats } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { heartbeat, sendTask, taskClaimed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertProblem, claim } from './lib/vlp.mjs';
import { hookTo, receiverFor, webhookFile } from './lib/webhooks.mjs';
import { askAndWait, boardOf, nextTask } from './lib/work.mjs';

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const permissions = /id="nats-permissions"[^]*?```text\n([^]*?)```/.exec(page)[1];

// A nats-server with an operator who may do everything, and that user.
async function natsFor(t) {
  const file = join(temporaryFolder(), 'nats.conf');
  writeFileSync(file, `authorization { users: [
    { user: operator, password: operator },
    { user: parley, password: parley, ${permissions} }
  ] }`);
  const nats = await startNats({ args: ['-c', file] });
  atEnd(t, () => nats.stop());
  const of = (user) => nats.url.replace('nats://', `nats://${user}:${user}@`);
  const operator = await connect({ servers: nats.url, user: 'operator', pass: 'operator' });
  atEnd(t, () => operator.close());
  return { nats, operator, url: of('parley') };
}

async function accepted(answering) {
  const answer = await answering;
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

describe('a user of NATS with the documented permissions', () => {
  it('can do all that parley does', async (t) => {
    const { nats, operator, url } = await natsFor(t);
    const receiver = await receiverFor(t);
    const webhooks = webhookFile({ all: hookTo(receiver, { events: ['agent.lost', 'task.ended', 'ack.overdue'] }) });
    const server = await parleyFor(t, { nats: url, args: ['--quarantine', '--webhooks', webhooks, '--index', 'on', '--remind', '5s'] });

    // Streams, readers, what was refused.
    await accepted(send(server, claim({ id: 'readable' })));
    const answer = await get(server, '/v1/vlp/stream?since=all&follow=false');
    assert.equal(answer.status, 200, answer.text);
    const events = ndjson(answer.text);
    assert.equal(events.find(({ id }) => id === 'readable')?.type, 'vlp.claim');
    assert.equal((await send(server, claim({ sender: '' }))).status, 422);
    await until('it is quarantined', async () =>
      (await get(server, '/v1/rejected/stream?since=all&follow=false')).text.includes('parley.rejected'));

    // Halts, over HTTP and straight to NATS.
    const stop = (session) => claim({ type: 'notice', session_id: session, safety: { level: 'block' } });
    await accepted(send(server, stop('one')));
    assertProblem(await send(server, claim({ session_id: 'one' })), 409, 'halted');
    await operator.jetstream().publish('vlp.block.notice', JSON.stringify(stop('two')));
    await until('it is halted', async () => (await send(server, claim({ session_id: 'two' }))).status === 409);
    const release = await request(server, 'DELETE', '/v1/vlp/halts?session=one&reason=clear');
    assert.equal(release.status, 200, release.text);

    // Tasks: decided, handed out, waited for, read from NATS.
    await accepted(sendTask(server, taskRequest('a.b')));
    const { task } = await accepted(nextTask(server, 'galahad', { key: 'one', wait: 60 }));
    await accepted(sendTask(server, taskResult(task.id, { from: 'galahad' })));
    const straight = taskRequest('c.d');
    await operator.jetstream().publish('roundtable.tasks.c.d', JSON.stringify(straight));
    await until('it is on the board', async () => (await boardOf(server)).some(({ id }) => id === straight.id));
    await accepted(sendTask(server, taskClaimed(straight.id, { from: 'kay' })));
    const asked = taskRequest('e.f');
    const waiting = accepted(askAndWait(server, asked, 60));
    await until('it is asked', async () => (await boardOf(server)).some(({ id }) => id === asked.id));
    const result = JSON.stringify(taskResult(asked.id, { from: 'kay' }));
    await operator.jetstream().publish(`roundtable.results.e.${asked.id}`, result);
    assert.equal((await waiting).reply.data.from, 'kay');

    // Agents.
    await accepted(sendTask(server, heartbeat('galahad')));
    const beat = JSON.stringify({ type: 'heartbeat', timestamp: 1 });
    await accepted(post(server, '/v1/supervisor/messages?agent=scout', beat));
    for (const protocol of ['roundtable', 'supervisor']) {
      const { items } = (await get(server, `/v1/${protocol}/agents`)).json;
      assert.equal(items.length, 1, protocol);
    }

    // Acknowledgements that are overdue.
    const asking = { subject: 'INFO: x', body_md: 'x', from: 'ann', to: ['bob'], ack_required: true };
    const { seq } = await accepted(post(server, '/v1/brenner/messages', JSON.stringify(asking)));
    await until('it is reminded', async () =>
      (await get(server, '/v1/brenner/stream?since=all&follow=false')).text.includes(`"remind:BRENNER:${seq}:bob"`));

    // Webhooks.
    for (const type of ['task.ended', 'agent.lost', 'ack.overdue']) {
      await until(`${type} came`, () => receiver.events.some(({ body }) => body.type === type));
    }

    // Repeated messages are read by their sequence.
    const kept = claim({ id: randomUUID() });
    for (let i = 0; i < 2; i++) await accepted(send(server, kept, { headers: { 'Idempotency-Key': 'k' } }));

    assert.equal((await get(server, '/readyz')).status, 200);
    assert.doesNotMatch(nats.program.stderr, /Violation/);
    assert.doesNotMatch(server.program.stderr, /does not permit/);
  });
});
