// SPDX-License-Identifier: Apache-2.0
// An agent that lives many times: it logs, makes checkpoints and dies, often in the middle of a
// request, while gateways and nats-server are killed. After each death it is restored, and must be
// what the model says; and nothing that it was told is logged may be missing.

import assert from 'node:assert/strict';
import { decode, FRAMES_TYPE, frames, framesOf, msgpack, MSGPACK_TYPE } from './frames.mjs';
import { connectRaw, get, JSON_TYPE, NDJSON_TYPE, rawPost } from './http.mjs';
import { connectNats, eachStored, startNats } from './nats.mjs';
import { metricsOf, valueOf } from './metrics.mjs';
import { startParley } from './parley.mjs';
import { pause, until } from './poll.mjs';
import { openAtServer } from './sockets.mjs';
import { apply, restoredBy, snapshotOf, StoredLog } from './agent_model.mjs';
import { Dice } from './task_histories.mjs';
import { sendWal } from './wal.mjs';
import { lines } from './vlp.mjs';

const STREAM = 'SUPERVISOR';
const AGENT = 'phoenix';
const GATEWAYS = 2;
const MID_REQUEST_MS = 12; // within so long after a request was sent its agent dies
const OBJECT_BYTES = 1_200_000; // so much of a checkpoint goes to the object store

// How a message or several of them go into one request.
const FORMS = [
  { type: JSON_TYPE, encode: ([message]) => JSON.stringify(message), isSingle: true },
  { type: MSGPACK_TYPE, encode: ([message]) => msgpack(message), isSingle: true },
  { type: NDJSON_TYPE, encode: lines },
  { type: FRAMES_TYPE, encode: frames },
];
const SINGLE = FORMS.filter(({ isSingle }) => isSingle);

// How a restore is read.
const RESTORES = [
  [JSON_TYPE, ({ json }) => json],
  [MSGPACK_TYPE, ({ body }) => decode(body)],
  [FRAMES_TYPE, ({ body }) => framesOf(body)[0]],
];

// { faults }: a death of a gateway or of NATS every so many lives.
export class AgentLives {
  stored = new StoredLog();
  told = new Map(); // what an agent was told is logged: text by sequence
  orphans = new Set(); // texts that were under way when an agent died: they may come late
  checkpoints = []; // the ids of the last ones that it was told are stored
  isCut = false; // the last agent died in the middle of a request
  counts = { lives: 0, logged: 0, checkpoints: 0, restores: 0, cut: 0, gateways: 0, nats: 0, late: 0 };

  constructor(seed, { faults = 5 } = {}) {
    Object.assign(this, { dice: new Dice(seed), faults });
  }

  async start() {
    this.nats = await startNats();
    this.servers = [];
    for (let i = 0; i < GATEWAYS; i++) this.servers.push(await this.#gateway());
    this.client = await connectNats(this.nats.url);
  }

  // Few workers, so that many lives cost little; strict, since an agent that restores leaves no hole.
  #gateway = () =>
    startParley({ nats: this.nats.url, args: ['--wal', 'strict', '--reactors', '1'] });

  async stop() {
    await this.client?.close();
    for (const server of this.servers ?? []) await server.stop();
    await this.nats?.stop();
  }

  // ---- what breaks ----

  async #killGateway() {
    const at = this.dice.below(GATEWAYS);
    await this.servers[at].kill();
    this.servers[at] = await this.#gateway();
    this.counts.gateways++;
  }

  async #killNats() {
    await this.client.close();
    await this.nats.kill();
    this.nats = await this.nats.restart();
    this.client = await connectNats(this.nats.url);
    this.counts.nats++;
  }

  // ---- sending ----

  // Sends until a gateway has answered for all of it; whichever takes it, it is stored once.
  // Returns the results, as of a body of many.
  async #deliver(messages, form) {
    let results;
    const isTaken = ({ status }) => status === 'accepted' || status === 'duplicate';
    const attempt = async () => {
      results = await this.#attempt(this.dice.of(this.servers), messages, form);
      return results?.every(isTaken);
    };
    await until('a gateway takes it', attempt).catch((error) => {
      error.message += `: ${JSON.stringify(messages)} was answered ${this.last}`;
      throw error;
    });
    return results;
  }

  // null: no whole answer.
  async #attempt(server, messages, { type, encode, isSingle }) {
    const answer = await sendWal(server, AGENT, encode(messages), { type }).catch(() => null);
    this.last = answer?.text;
    if (!answer) return null;
    if (answer.status !== 200) {
      assert.ok([503, 504].includes(answer.status), `an agent sends no holes: ${answer.text}`);
      return null;
    }
    if (isSingle) return [{ status: 'accepted', ...answer.json }];
    const results = answer.lines.slice(0, -1);
    const statuses = results.map(({ problem }) => problem?.status).filter(Boolean);
    assert.ok(statuses[0] !== 409, `what fails first is no hole: ${answer.text}`);
    return results;
  }

  // Sends, and dies before the answer or with it.
  async #die(messages, { type, encode }) {
    const path = `/v1/supervisor/messages?agent=${AGENT}`;
    const connection = await connectRaw(this.dice.of(this.servers)).catch(() => null);
    await connection?.write(rawPost(path, encode(messages), { type }));
    await pause(this.dice.below(MID_REQUEST_MS));
    connection?.close();
    this.isCut = true;
    this.counts.cut++;
  }

  // ---- a life ----

  #operation(sequence) {
    const text = `${this.counts.lives}/${sequence}`;
    return this.dice.of([
      { operation: 'memory_add', params: { content: text }, sequence },
      { operation: 'tool_register', params: { name: this.dice.of('abc'), doc: text }, sequence },
      { operation: 'state_update', params: { status: this.dice.of(['idle', 'acting']), text }, sequence },
    ]);
  }

  #log(state) {
    const form = this.dice.of(FORMS);
    const entries = Array.from({ length: form.isSingle ? 1 : 1 + this.dice.below(4) }, (_, i) =>
      this.#operation(state.applied + 1 + i),
    );
    const wal = (type, data) => ({ type, timestamp: 1705392000, data });
    const messages = this.dice.chance(0.3)
      ? [wal('wal_batch', entries)]
      : entries.map((entry) => wal('wal_entry', entry));
    return { form, entries, messages };
  }

  // Returns: whether the agent goes on. It does not where somebody else has logged in its place.
  async #logSome(state, dies) {
    const { form, entries, messages } = this.#log(state);
    if (dies) {
      for (const entry of entries) this.orphans.add(JSON.stringify(entry));
      await this.#die(messages, form);
      return false;
    }
    const results = await this.#deliver(messages, form);
    if (results.some(({ warnings }) => warnings.length > 0)) {
      assert.ok(results.every((each) => each.warnings.every(({ rule }) => rule === 'IPC-202')));
      for (const entry of entries) this.orphans.add(JSON.stringify(entry));
      return false;
    }
    for (const entry of entries) {
      apply(state, entry);
      this.told.set(entry.sequence, JSON.stringify(entry));
      this.counts.logged++;
    }
    return true;
  }

  async #makeCheckpoint(state, dies) {
    const isLarge = this.dice.chance(0.3);
    const message = {
      type: 'checkpoint',
      timestamp: 1705392000,
      data: snapshotOf(state, 'x'.repeat(isLarge ? OBJECT_BYTES : this.dice.of([0, 100_000]))),
      ...(this.dice.chance(0.5) ? { metadata: { wal_sequence: state.applied } } : {}),
    };
    const form = this.dice.of(isLarge ? SINGLE : FORMS);
    if (dies) return this.#die([message], form);
    const [{ id }] = await this.#deliver([message], form);
    this.checkpoints = [...this.checkpoints, id].slice(-3); // of which no object is gone
    this.counts.checkpoints++;
  }

  async #live(state) {
    for (let left = 1 + this.dice.below(6); left > 0; left--) {
      const dies = left === 1 && this.dice.chance(0.5);
      if (this.dice.chance(0.15)) await this.#makeCheckpoint(state, dies);
      else if (!(await this.#logSome(state, dies))) return;
    }
  }

  // ---- after its death ----

  // Nothing of it is under way any more, as far as anybody can tell: a gateway has read what it sent,
  // and NATS has acknowledged what was published of that.
  async #settled() {
    if (!this.isCut) return;
    this.isCut = false;
    await Promise.all(this.servers.map((server) => this.#isIdle(server)));
  }

  async #isIdle(server) {
    await until('it has closed all connections', () => openAtServer(server) === 0);
    await this.#figuresAreCopied(server);
    await this.#figuresAreCopied(server); // and what it had read then is published
    await until('nothing is in flight', async () => {
      return valueOf(await metricsOf(server), 'parley_in_flight_messages') === 0;
    });
  }

  // Each half a second: then they have what was sent of them before.
  async #figuresAreCopied(server) {
    const sent = async () => valueOf(await metricsOf(server), 'parley_http_sent_bytes_total');
    const before = await sent();
    await until('figures are copied', async () => (await sent()) > before);
  }

  async #readStored() {
    const visit = ({ seq, subject, data }) => this.stored.add({ seq, subject, payload: Buffer.from(data) });
    await eachStored(this.client, visit, { stream: STREAM, from: this.stored.last + 1 });
    return this.stored.last;
  }

  // By any gateway, in any encoding, from the last checkpoint or one before it; null: the agent has
  // made no checkpoint.
  async #askRestore() {
    const [Accept, read] = this.dice.of(RESTORES);
    const query = this.dice.of(['', ...this.checkpoints.map((id) => `?checkpoint=${id}`)]);
    let answer;
    const isAnswered = async () => {
      const server = this.dice.of(this.servers);
      answer = await get(server, `/v1/supervisor/agents/${AGENT}/restore${query}`, { headers: { Accept } });
      assert.ok([200, 404, 503].includes(answer.status), answer.text);
      return answer.status !== 503;
    };
    await until('a gateway restores the agent', isAnswered);
    assert.equal(answer.status === 200, this.stored.hasCheckpoint, answer.text.slice(0, 300));
    return answer.status === 200 ? read(answer) : null;
  }

  async #restore() {
    await this.#settled();
    let message, before;
    do {
      before = await this.#readStored();
      message = await this.#askRestore();
    } while ((await this.#readStored()) !== before);
    const state = message ? restoredBy(message) : this.stored.whole();
    if (message) this.counts.restores++;
    assert.deepEqual(state, this.stored.whole(), 'the checkpoint and what follows are the whole log');
    for (const [sequence, text] of this.told) this.#assertLogged(sequence, text);
    this.told.clear();
    return state;
  }

  // An entry of an agent that died may have taken the place, in spite of all waiting: that is why an
  // agent has one writer.
  #assertLogged(sequence, text) {
    const { at, ...winner } = this.stored.winner(sequence) ?? {};
    const isLate = this.orphans.has(JSON.stringify(winner));
    if (JSON.stringify(winner) !== text && isLate) this.counts.late++;
    else assert.equal(JSON.stringify(winner), text, `what was logged as ${sequence} is there (${at})`);
  }

  async play(lives) {
    for (let i = 0; i < lives; i++) {
      const state = await this.#restore();
      this.counts.lives++;
      const isBroken = (i + 1) % this.faults === 0;
      const broken = isBroken ? (this.dice.chance(0.3) ? this.#killNats() : this.#killGateway()) : null;
      await Promise.all([broken, this.#live(state)]);
    }
    await this.#restore();
    assert.ok(this.counts.late <= lives / 100, `late entries: ${this.counts.late}`);
    return this.counts;
  }
}
