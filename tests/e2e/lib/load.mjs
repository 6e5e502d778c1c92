// SPDX-License-Identifier: Apache-2.0
// Senders that go on whatever happens and keep account of every answer, so that a test can compare
// what was acknowledged with what is stored.

import assert from 'node:assert/strict';
import http from 'node:http';
import { atEnd } from './cleanup.mjs';
import { send } from './http.mjs';
import { pause, until } from './poll.mjs';
import { claim } from './vlp.mjs';

export class Load {
  accepted = new Map(); // id -> sequence number
  refused = new Map(); // id -> the message that was answered 503 or 504
  statuses = {};
  surprises = []; // anything that the contract does not know
  #isStopped = false;

  // `parley` may be a list: the senders are dealt out to them.
  constructor(parley, { senders = 16, make = claim } = {}) {
    this.make = make;
    const servers = [parley].flat();
    this.agent = new http.Agent({ keepAlive: true, maxSockets: senders });
    this.senders = Array.from({ length: senders }, (_, i) => this.#go(servers[i % servers.length]));
  }

  async #go(server) {
    while (!this.#isStopped) {
      await this.#deliver(server, this.make());
    }
  }

  async #deliver(server, message) {
    try {
      const answer = await send(server, message, { agent: this.agent, timeout: 60_000 });
      this.statuses[answer.status] = (this.statuses[answer.status] ?? 0) + 1;
      if (answer.status === 200) {
        this.accepted.set(message.id, answer.json.seq);
        this.refused.delete(message.id);
      } else if (answer.status === 503 || answer.status === 504) {
        this.refused.set(message.id, message);
        const retryAfter = answer.headers['retry-after'];
        if (answer.status === 503 && !/^\d+$/.test(retryAfter)) {
          this.surprises.push(`503 with Retry-After: ${retryAfter}`);
        }
        await pause(10); // 503s are quick; that is no reason to drown in them
      } else {
        this.surprises.push(`${answer.status} ${answer.text}`);
      }
    } catch (error) {
      this.surprises.push(String(error));
    }
  }

  // Waits until `count` more messages have been accepted.
  async accepts(count, timeout) {
    const enough = this.accepted.size + count;
    await until(
      `${count} more messages are accepted (${JSON.stringify(this.statuses)})`,
      () => this.accepted.size >= enough,
      { timeout },
    );
  }

  async refuses(count) {
    const enough = this.refused.size + count;
    await until(`${count} more are refused`, () => this.refused.size >= enough);
  }

  async stop() {
    this.#isStopped = true;
    await Promise.all(this.senders);
  }

  // Sends again what was refused, as the contract says one may, until everything is accepted.
  async retryAll(server) {
    await until('all that was refused is accepted', async () => {
      for (const message of [...this.refused.values()]) await this.#deliver(server, message);
      return this.refused.size === 0;
    });
  }

  close() {
    this.#isStopped = true;
    this.agent.destroy();
  }

  // Every message that was acknowledged is stored exactly once, where its answer said.
  assertAccountedFor(stored) {
    assert.deepEqual(this.surprises, [], 'every answer was 200, 503 or 504');
    const places = new Map();
    for (const { seq, payload } of stored) {
      const { id } = JSON.parse(payload);
      assert.ok(!places.has(id), `${id} is stored once`);
      places.set(id, seq);
    }
    for (const [id, seq] of this.accepted) {
      assert.equal(places.get(id), seq, `${id}, answered as ${seq}, is there`);
    }
  }
}

export function loadFor(t, parley, options) {
  const load = new Load(parley, options);
  atEnd(t, () => load.close());
  return load;
}
