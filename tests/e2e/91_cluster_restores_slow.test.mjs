// SPDX-License-Identifier: Apache-2.0
// An agent that logs, makes large checkpoints and is restored, over a cluster of three whose leaders
// are killed meanwhile: a restore is complete, or it is not one.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { apply, newState, restoredBy, snapshotOf } from './lib/agent_model.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { FRAMES_TYPE, MSGPACK_TYPE, decode, framesOf } from './lib/frames.mjs';
import { JSON_TYPE, get, post } from './lib/http.mjs';
import { natsClient, startCluster, streamInfo } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { isSanitized, pause, until, within } from './lib/poll.mjs';

const RECOVERY_MS = isSanitized ? 120_000 : 60_000;
const BUCKET = 'parley_checkpoints';
const STREAMS = [`OBJ_${BUCKET}`, 'SUPERVISOR'];
const PADDING = 'x'.repeat(8_000_000); // 62 chunks
const RESTORES = [
  [JSON_TYPE, ({ json }) => json],
  [MSGPACK_TYPE, ({ body }) => decode(body)],
  [FRAMES_TYPE, ({ body }) => framesOf(body)[0]],
];

const isBrokenOff = ({ code, message }) =>
  code === 'ECONNRESET' || (code !== 'ERR_ASSERTION' && /aborted|hang up/.test(message));

class Agent {
  state = newState(); // with all that it was told is logged
  isSilent = false; // it logs nothing new
  isLogging = false;
  seconds = 1705392000;
  checkpoints = []; // the ids of those that it was told are stored
  counts = { restored: 0, refused: 0, broken: 0 };

  constructor(gateways) {
    this.gateways = gateways;
  }

  // Until it is taken: whatever came of the attempts before, it is stored once.
  async #deliver(what, message) {
    const body = JSON.stringify(message);
    const attempt = async () => {
      const answer = await post(this.gateways[0], '/v1/supervisor/messages?agent=ada', body);
      assert.ok([200, 503, 504].includes(answer.status), answer.text);
      return answer.status === 200 && answer.json;
    };
    return until(what, attempt, { timeout: RECOVERY_MS });
  }

  async log() {
    if (this.isSilent) return;
    this.isLogging = true;
    const sequence = this.state.applied + 1;
    const entry = { operation: 'memory_add', params: { content: `${sequence}` }, sequence };
    const message = { type: 'wal_entry', timestamp: 1705392000, data: entry };
    await this.#deliver('an entry is taken', message);
    apply(this.state, entry);
    this.isLogging = false;
  }

  // One that says how far it goes is sent while the agent logs, and again as it is. For one that does
  // not the agent falls silent: what is logged between its snapshot and the last attempt would count as
  // held by it.
  async makeCheckpoint({ isPlaced }) {
    this.isSilent = !isPlaced;
    await until('no entry is under way', () => isPlaced || !this.isLogging);
    const message = {
      type: 'checkpoint',
      timestamp: ++this.seconds, // no two are the same
      data: snapshotOf(this.state, PADDING),
      metadata: isPlaced ? { wal_sequence: this.state.applied } : {},
    };
    const { id } = await this.#deliver('a checkpoint is taken', message);
    this.isSilent = false;
    this.checkpoints.push(id);
  }

  // Restores it, in one of the encodings: it has all that was logged before. null: it cannot be now.
  async restore([Accept, read]) {
    const least = this.state.applied;
    const path = '/v1/supervisor/agents/ada/restore';
    const answer = await get(this.gateways[1], path, { headers: { Accept } }).catch((error) => {
      if (!isBrokenOff(error)) throw error;
      this.counts.broken++;
    });
    if (!answer) return null;
    if (answer.status !== 200) {
      assert.ok([503, 504].includes(answer.status), answer.text);
      this.counts.refused++;
      return null;
    }
    const state = restoredBy(read(answer));
    const whole = Array.from({ length: state.applied }, (_, i) => `${i + 1}`);
    assert.deepEqual(state.memory, whole, 'without a hole');
    assert.ok(state.applied >= least, `${least} entries were logged, and ${state.applied} restored`);
    this.counts.restored++;
    return state;
  }
}

// As soon as an upload is under way.
async function killAtChunk(chunks, member) {
  let count = 0;
  for await (const _ of chunks) if (++count === 10) break;
  await member.kill();
}

// Does it again and again until `isOver` says so.
async function keepDoing(work, isOver) {
  while (!isOver()) if (!(await work())) await pause(20);
}

describe('a cluster of three', () => {
  it('restores an agent as it was, or not at all, while leaders are killed', async (t) => {
    const cluster = await startCluster();
    atEnd(t, () => Promise.all(cluster.members.map((member) => member.stop())));
    const args = ['--replicas', '3', '--reactors', '1', '--wal', 'strict'];
    const gateways = [];
    for (let i = 0; i < 2; i++) gateways.push(await parleyFor(t, { nats: cluster.url, args }));
    const client = await natsClient(t, cluster.url);
    const agent = new Agent(gateways);
    const leaderOf = async (stream) => {
      const info = () => streamInfo(client, stream);
      const name = await until(`${stream} has a leader`, async () => (await info()).cluster.leader);
      return cluster.members.findIndex((member) => member.name === name);
    };
    await agent.log();
    await agent.makeCheckpoint({ isPlaced: false });

    const killLeaders = async () => {
      for (const stream of STREAMS) {
        const at = await leaderOf(stream);
        const { name } = cluster.members[at];
        const chunks = client.subscribe(`$O.${BUCKET}.C.>`);
        await client.flush();
        const killed = killAtChunk(chunks, cluster.members[at]);
        let isStored = false;
        const storing = agent
          .makeCheckpoint({ isPlaced: stream !== STREAMS[0] })
          .finally(() => (isStored = true));
        await within('a chunk is stored', killed, RECOVERY_MS);
        t.diagnostic(`${name} of ${stream} was killed ${isStored ? 'after' : 'during'} an upload`);
        await storing;
        const { restored } = agent.counts;
        const isRestored = () => agent.counts.restored > restored + 3;
        await until('it is restored again', isRestored, { timeout: RECOVERY_MS });
        cluster.members[at] = await cluster.members[at].restart();
        await cluster.members[at].becomesHealthy();
      }
    };
    let isOver = false;
    const works = [...RESTORES.map((encoding) => () => agent.restore(encoding)), () => agent.log()];
    await Promise.all([
      killLeaders().finally(() => (isOver = true)),
      ...works.map((work) => keepDoing(work, () => isOver)),
    ]);
    t.diagnostic(JSON.stringify({ logged: agent.state.applied, ...agent.counts }));

    for (const encoding of RESTORES) {
      const restored = () => agent.restore(encoding);
      assert.deepEqual(await until('it is restored', restored), agent.state);
    }
    const { items } = (await get(gateways[1], '/v1/supervisor/agents/ada/checkpoints')).json;
    assert.deepEqual(items.filter(({ gone }) => gone), []);
    assert.equal(new Set(items.map(({ id }) => id)).size, items.length, 'each is stored once');
    for (const id of agent.checkpoints) {
      assert.ok(items.some((item) => item.id === id));
      const path = `/v1/supervisor/agents/ada/checkpoints/${id}`;
      const isWhole = async () => (await get(gateways[1], path)).status === 200;
      await until('it is read whole', isWhole);
    }
  });
});
