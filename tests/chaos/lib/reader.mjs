// SPDX-License-Identifier: Apache-2.0
// A reader of parley's event stream that hangs up now and then, or loses its connection, and comes
// back with its last resume token. It must see each message once and in order; what it missed, a
// gap event has named.

import { openStream } from '../../e2e/lib/http.mjs';
import { pause } from '../../e2e/lib/poll.mjs';
import { KINDS, isStoredAs, placeOf } from './texts.mjs';

const QUIET_MS = 120_000;

export class Reader {
  seen = 0;
  last = 0; // the sequence of the last event
  connections = 0; // made so far
  #whose = []; // by sequence: 'client-number'
  #isStopped = false;
  #isStalled = false;
  #token = 'all';
  #stream = null;

  // `every`: hangs up after as many events; 0: never by itself.
  constructor(name, ledger, gateways, { kind = 'vlp', every = 0 } = {}) {
    Object.assign(this, { name, ledger, gateways, every });
    this.path = `/v1/${KINDS[kind].protocol}/stream`;
    this.running = this.#run();
    this.running.catch((error) => this.#violation(`it failed: ${error.stack}`));
  }

  #violation(how) {
    this.ledger.violation('wrong', null, 0, `reader ${this.name}: ${how}`);
  }

  async #run() {
    for (let at = 0; !this.#isStopped; at++) {
      try {
        await this.#read(this.gateways[at % this.gateways.length]);
      } catch {
        await pause(20); // no connection
      }
    }
  }

  async #read(server) {
    const query = `since=${encodeURIComponent(this.#token)}`;
    const { headers } = server;
    const stream = await openStream(server, `${this.path}?${query}`, { headers });
    this.#stream = stream;
    this.connections++;
    if (this.#isStalled) stream.pause();
    if (stream.status !== 200) await pause(20);
    else await this.#follow(stream);
    stream.close();
  }

  async #follow(stream) {
    const end = this.every ? this.seen + 1 + Math.floor(Math.random() * this.every) : Infinity;
    while (!this.#isStopped && this.seen < end) {
      const line = await stream.line(QUIET_MS);
      if (line === null) return;
      if (line !== '') this.#event(JSON.parse(line), line);
    }
  }

  #event(event, line) {
    if (event.type === 'parley.gap') this.#gap(event.data);
    else if (!event.type.startsWith('parley.')) this.#message(event, line);
    else if (event.type === 'parley.foreign') this.#violation(`foreign: ${line}`);
    if (event.resume) this.#token = event.resume;
  }

  #gap({ first, last }) {
    const what = `a gap from ${first} to ${last} after ${this.last}`;
    if (first !== this.last + 1) this.#violation(what);
    if (!this.ledger.isExcused) this.#violation(`${what}, though nothing was removed`);
    this.last = last ?? 0; // null: another stream of the same name
    if (last === null) this.#whose = [];
  }

  #message(event, line) {
    const place = Number(event.sequence);
    this.seen++;
    if (place !== this.last + 1) this.#violation(`event ${place} came after ${this.last}`);
    this.last = place;
    const text = Buffer.from(line);
    const whose = placeOf(text);
    const account = whose && this.ledger.accounts[whose.client];
    if (!account) return this.#violation(`nobody sent this: ${line}`);
    this.#whose[place] = `${whose.client}-${whose.number}`;
    const data = line.slice(line.indexOf('"data":') + 7, -1);
    if (!isStoredAs(account.kind, data, account.text(whose.number))) {
      this.#violation(`other bytes at ${place}: ${line}`);
    }
  }

  // From now on it does not read, though it stays connected.
  stall() {
    this.#isStalled = true;
    this.#stream?.pause();
  }

  resume() {
    this.#isStalled = false;
    this.#stream?.resume();
  }

  // It must have seen at each sequence what the stream holds there: a member of the cluster that
  // serves it may hold another message than the leader.
  compare(replicas) {
    for (const [place, whose] of replicas.stored) {
      if (replicas.has(place, this.#whose[place])) continue;
      this.#violation(`at ${place} it saw ${this.#whose[place]}, and ${whose} is stored`);
    }
    this.ledger.counts.read += this.seen;
  }

  async stop() {
    this.#isStopped = true;
    this.#stream?.close();
    await this.running;
  }
}
