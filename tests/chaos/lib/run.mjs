// SPDX-License-Identifier: Apache-2.0
// One scenario from its start to the comparison of what the clients were told with what is stored.

import { atEnd } from '../../e2e/lib/cleanup.mjs';
import { streamInfo } from '../../e2e/lib/nats.mjs';
import { isSanitized, until, within } from '../../e2e/lib/poll.mjs';
import { CLIENTS } from '../scenarios.mjs';
import { Load } from './clients.mjs';
import { FAULTS } from './faults.mjs';
import { Ledger } from './ledger.mjs';
import { Reader } from './reader.mjs';
import { Registry } from './registry.mjs';
import { Replicas } from './replicas.mjs';
import { KINDS, placeOf } from './texts.mjs';
import { Topology } from './topology.mjs';

const STEP_MS = isSanitized ? 120_000 : 60_000; // only a defect takes as long

class Run {
  #ends = [];
  readers = [];
  scope = { after: (end) => this.#ends.push(end) };

  constructor(row, messages, isShort) {
    Object.assign(this, { row, messages, isShort, ledger: new Ledger() });
    this.kind = row.kind ?? 'vlp';
    this.stream = KINDS[this.kind].stream;
  }

  until(what, probe) {
    return until(what, probe, { timeout: STEP_MS + this.messages });
  }

  get servers() {
    return this.topology.gateways;
  }

  // A NATS client for `act` alone: nats-servers come and go.
  async withClient(act) {
    const client = await this.topology.client();
    try {
      return await act(client);
    } finally {
      await client.close();
    }
  }

  async start() {
    this.topology = new Topology(this.scope, this.row);
    await this.topology.start(); // its logs are kept if it fails
    this.load = new Load(this.#clients(), this.ledger, this.servers);
    atEnd(this.scope, () => this.load.close());
    for (const every of [Math.ceil(this.messages / 10), 0]) {
      const name = every ? 'that hangs up' : 'that stays';
      this.readers.push(new Reader(name, this.ledger, this.servers, { kind: this.kind, every }));
    }
    atEnd(this.scope, () => Promise.all(this.readers.map((reader) => reader.stop())));
    if (this.row.hasTasks) this.registry = new Registry(this.servers);
    // Streams must be there before anything happens to them.
    await this.until('every client was accepted', () =>
      this.ledger.accounts.every(({ last }) => last > 0),
    );
  }

  #clients() {
    const lines = Math.min(Math.max(Math.ceil(this.messages / 20), 20), 2_000);
    return CLIENTS[this.row.clients ?? 'mixed'].map((spec) => ({ lines, ...spec }));
  }

  async step([verb, ...words], progress) {
    progress(`${verb} ${words.join(' ')}`);
    await FAULTS[verb](this, ...words);
  }

  async happen(progress) {
    const rounds = this.isShort ? 1 : (this.row.rounds ?? 1);
    const share = Math.ceil(this.messages / (rounds + 1));
    for (let round = 0; round < rounds; round++) {
      await this.step(['accept', share], progress);
      for (const step of this.row.steps) await this.step(step, progress);
    }
    await this.step(['accept', share], progress);
    progress('ends');
    await within('every client ends', this.load.stop(), STEP_MS);
    await this.registry?.stop(STEP_MS);
  }

  // Nobody was refused anything, and who could keep a connection has kept it.
  expectSmooth() {
    const { ledger } = this;
    for (const account of ledger.accounts.filter(({ troubled }) => troubled > 0)) {
      ledger.violation('wrong', account, 0, `${account.troubled} attempts were not accepted`);
    }
    const staying = [...this.load.clients, ...this.readers.filter(({ every }) => every === 0)];
    for (const { connections = 1 } of staying) {
      if (connections === 1) continue;
      ledger.violation('wrong', null, 0, `a client that stays made ${connections} connections`);
    }
  }

  async compare(progress) {
    progress('is read back');
    const visit = ({ seq, data }, isLeader) => {
      const payload = Buffer.from(data.buffer, data.byteOffset, data.length);
      const found = isLeader ? this.ledger.found(seq, payload) : placeOf(payload);
      return found && `${found.client}-${found.number}`;
    };
    const members = this.topology.nats.length || 1;
    await this.withClient(async (client) => {
      await this.until('the stream can be read', () => streamInfo(client, this.stream));
      this.replicas = await Replicas.read(client, this.stream, members, visit);
    });
    progress('is read by its readers');
    for (const reader of this.readers) {
      await this.until(`reader ${reader.name} sees all`, () => reader.last >= this.replicas.last);
      reader.compare(this.replicas);
    }
    if (this.row.isSmooth) this.expectSmooth();
    if (this.registry) await this.compareTasks();
    this.ledger.close();
  }

  async compareTasks() {
    const found = await this.withClient((client) => this.registry.contradictions(client));
    for (const how of found) this.ledger.violation('wrong', null, 0, how);
  }

  async end() {
    this.registry?.close();
    while (this.#ends.length > 0) await this.#ends.pop()();
  }
}

// { row, sent, counts, faults, violations, differences, tasks, logs, ms }. `progress` is told what happens.
export async function runScenario(row, { messages, isShort }, progress) {
  const began = Date.now();
  const run = new Run(row, Math.min(messages, row.limit ?? messages), isShort);
  const { ledger } = run;
  const attempt = async (what, act) => {
    try {
      await act();
    } catch (error) {
      ledger.violation('wrong', null, 0, `${what}: ${error.stack}`);
    }
  };
  await attempt('it came to a stop', async () => {
    await run.start();
    await run.happen(progress);
    await run.compare(progress);
  });
  const logs = run.topology?.logs() ?? [];
  await attempt('it did not end', () => run.end());
  const { sent, counts, violations, faults } = ledger;
  const differences = run.replicas?.differences ?? [];
  const tasks = run.registry?.counts;
  const ms = Date.now() - began;
  return { row, sent, counts, faults, violations, differences, tasks, logs, ms };
}
