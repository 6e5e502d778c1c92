// SPDX-License-Identifier: Apache-2.0
// A gateway or nats-server that dies at each step of storing a large checkpoint: sent again, it is one
// object, one message and one acknowledgement, and nothing is left of the first attempt that NATS was
// there to remove.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { post } from './lib/http.mjs';
import { connectNats, startNats, storedMessages, streamInfo } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { startParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';

const BUCKET = 'parley_checkpoints';
const CHUNK = 128 * 1024;
const CHUNKS = 9;
const STEPS = CHUNKS + 3; // the chunks, the meta, the message, its acknowledgement

const checkpoint = JSON.stringify({
  type: 'checkpoint',
  timestamp: 1705392000,
  data: { agent_state: { id: 'agent-7', notes: 'x'.repeat((CHUNKS - 1) * CHUNK) } },
});
const upload = (server, agent) =>
  post(server, `/v1/supervisor/messages?agent=${agent}&ack=true`, checkpoint);
const untilStored = (server, agent) =>
  until(`the checkpoint of ${agent} is stored`, async () => {
    const answer = await upload(server, agent);
    return answer.status === 200 && answer.json.ack && answer.json;
  });

// Holds what is published from this step of an upload on.
function holdFrom(wire, step) {
  let count = 0;
  const isPart = ({ subject }) => /^\$O\.|\.checkpoint(_ack)?$/.test(subject);
  return wire.hold((frame) => frame.kind === 'publish' && isPart(frame) && count++ >= step);
}

async function assertOneEach(client, agents, { hasOrphans }) {
  const store = await client.jetstream().views.os(BUCKET);
  const infos = await store.list();
  assert.deepEqual(infos.map(({ name }) => name.split('/')[0]).sort(), [...agents].sort());
  for (const { name, size, chunks } of infos) {
    assert.equal(chunks, CHUNKS);
    assert.equal((await store.getBlob(name)).length, size, 'the client has compared its digest');
  }
  const messages = await storedMessages(client, { stream: 'SUPERVISOR' });
  const [acks, pointers] = [true, false].map((isAck) =>
    messages.filter(({ subject }) => subject.endsWith('.checkpoint_ack') === isAck));
  const names = infos.map(({ name }) => name).sort();
  assert.deepEqual(pointers.map(({ headers }) => headers['parley-object']).sort(), names);
  assert.deepEqual(acks.map(({ subject, payload }) =>
    `${subject.split('.')[1]}/${JSON.parse(payload).checkpoint_id}`).sort(), names);
  if (hasOrphans) return;
  const whole = agents.length * (CHUNKS + 1);
  await until('no chunk is left over', async () => {
    const { state } = await streamInfo(client, `OBJ_${BUCKET}`);
    return state.messages === whole;
  });
}

describe('killed at each step of an upload', () => {
  const agents = Array.from({ length: STEPS }, (_, step) => `agent-${step}`);

  it('a gateway leaves what the next one completes', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const survivor = await startParley({ nats: nats.url });
    atEnd(t, () => survivor.stop());
    for (const [step, agent] of agents.entries()) {
      const wire = await NatsWire.to(nats.url);
      const parley = await startParley({ nats: wire.url, args: ['--reactors', '1'] });
      const hold = holdFrom(wire, step);
      const answer = upload(parley, agent).catch(() => {});
      await hold.reached();
      await parley.kill();
      await wire.close();
      await answer;
      await untilStored(survivor, agent);
    }
    const client = await connectNats(nats.url);
    atEnd(t, () => client.close());
    await assertOneEach(client, agents, { hasOrphans: true }); // they expire
  });

  it('nats-server loses nothing, and keeps nothing', async (t) => {
    let nats = await startNats();
    atEnd(t, () => nats.stop());
    const wire = await NatsWire.to(nats.url);
    atEnd(t, () => wire.close());
    const parley = await startParley({ nats: wire.url, args: ['--reactors', '1'] });
    atEnd(t, () => parley.stop());
    for (const [step, agent] of agents.entries()) {
      const hold = holdFrom(wire, step);
      const answer = upload(parley, agent);
      await hold.reached();
      await nats.kill();
      hold.release();
      nats = await nats.restart();
      await answer; // 200, since parley has waited, or 503
      await untilStored(parley, agent);
    }
    const client = await connectNats(nats.url);
    atEnd(t, () => client.close());
    await assertOneEach(client, agents, { hasOrphans: false });
  });
});
