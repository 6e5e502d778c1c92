// SPDX-License-Identifier: Apache-2.0
// What each member of a cluster holds of a stream. They should agree; in nats-server 2.9 one that was
// cut off or stopped may catch up late, or never.

import { openOnMember, streamInfo } from '../../e2e/lib/nats.mjs';
import { pause } from '../../e2e/lib/poll.mjs';

const ATTEMPTS = 200;
const ALONE = 'the only one';
const QUIET_MS = 20_000; // of a member that does not catch up

export class Replicas {
  #held = new Map(); // by member: by sequence, what it holds

  // `visit` gets each message of `members` members, with whether it is the leader's, and says what
  // it is. Consumers are opened until there was one on each.
  static async read(client, stream, members, visit) {
    const replicas = new Replicas();
    const { state, cluster } = await streamInfo(client, stream);
    replicas.leader = members > 1 ? cluster.leader : ALONE;
    replicas.last = state.last_seq;
    for (let i = 0; replicas.#held.size < members && state.messages > 0; i++) {
      if (i === ATTEMPTS) throw new Error(`consumers are only on ${[...replicas.#held.keys()]}`);
      const { subscription, ...where } = await openOnMember(client, stream);
      const member = members > 1 ? where.member : ALONE;
      if (!replicas.#held.has(member)) await replicas.#readOne(member, subscription, visit);
      await subscription.destroy();
    }
    const missing = state.messages - replicas.stored.size;
    if (missing > 0) throw new Error(`${missing} of ${state.messages} messages cannot be read`);
    return replicas;
  }

  async #readOne(member, subscription, visit) {
    const held = new Map();
    const isLeader = member === this.leader;
    const readAll = async () => {
      for await (const message of subscription) {
        held.set(message.seq, visit(message, isLeader));
        if (message.seq >= this.last) return true;
      }
    };
    const reading = readAll();
    for (let before = -1; before !== held.size; ) {
      before = held.size;
      if (await Promise.race([reading, pause(QUIET_MS)])) break;
    }
    this.#held.set(member, held);
  }

  // What the leader holds, by sequence.
  get stored() {
    return this.#held.get(this.leader) ?? new Map();
  }

  // Whether some member holds this at this sequence.
  has(sequence, what) {
    return [...this.#held.values()].some((held) => held.get(sequence) === what);
  }

  // Of each member that does not agree with the leader, where.
  get differences() {
    return [...this.#held].flatMap(([member, held]) => {
      const others = [...this.stored].filter(([sequence, what]) => held.get(sequence) !== what);
      if (others.length === 0) return [];
      const lacking = others.filter(([sequence]) => !held.has(sequence)).length;
      const counts = `${lacking} missing, ${others.length - lacking} others`;
      return `${member}: ${counts}, of ${this.stored.size}, from ${others[0][0]} on`;
    });
  }
}
