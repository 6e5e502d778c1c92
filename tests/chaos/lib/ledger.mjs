// SPDX-License-Identifier: Apache-2.0
// What each client was told of each of its messages, and whether the stream agrees.
//
//              REFUSED ────▶ UNKNOWN ────▶ ACCEPTED
//     every attempt was      one may have   one was answered with
//     refused, or never      been stored    a place in the stream
//     reached the server
//
// What a client knows of a message only rises in this order, whatever later attempts say.

import { KINDS, isStoredAs, placeOf } from './texts.mjs';

const UNSENT = 0;
export const REFUSED = 1;
export const UNKNOWN = 2;
export const ACCEPTED = 3;
const NAMES = ['unsent', 'refused', 'unknown', 'accepted'];

const VIOLATIONS_KEPT = 8; // of each fault
const HISTORY_KEPT = 200_000; // attempts other than a first one that was accepted, for reports

// The messages of one client, in the order in which it sends them.
export class Account {
  #known = new Uint8Array(1024);
  #places = new Float64Array(1024); // in the stream, as answered
  #copies = new Uint8Array(1024); // found in the stream
  excusedUntil = 0; // those before may have gone with a deleted stream
  last = 0; // the place of the last message that was accepted
  sent = 0;
  touched = 0; // grows with everything that happens to this client
  pending = 0;
  troubled = 0; // how many attempts were not accepted

  constructor(ledger, client, kind) {
    Object.assign(this, { ledger, client, kind, make: KINDS[kind].text });
  }

  // The number of the next message.
  take() {
    if (this.sent === this.#known.length) {
      for (const name of ['known', 'places', 'copies']) this.#grow(name);
    }
    this.touched++;
    return this.sent++;
  }

  #grow(name) {
    const double = (old) => {
      const all = new old.constructor(2 * old.length);
      all.set(old);
      return all;
    };
    if (name === 'known') this.#known = double(this.#known);
    else if (name === 'places') this.#places = double(this.#places);
    else this.#copies = double(this.#copies);
  }

  text(number) {
    return this.make(this.client, number);
  }

  isAccepted(number) {
    return this.#known[number] === ACCEPTED;
  }

  // What an attempt was answered. `place` and `isDuplicate` of those that were accepted; `detail`
  // is for a report.
  record(number, outcome, { place = 0, isDuplicate = false, detail = '' } = {}) {
    const before = this.#known[number];
    this.touched++;
    if (outcome !== ACCEPTED) this.troubled++;
    if (outcome !== ACCEPTED || before !== UNSENT) {
      this.ledger.note(this, number, `${NAMES[outcome]} ${isDuplicate ? 'before ' : ''}${detail}`);
    }
    if (outcome === ACCEPTED) this.#accept(number, before, place, isDuplicate);
    if (outcome > before) this.#known[number] = outcome;
  }

  #accept(number, before, place, isDuplicate) {
    this.ledger.accepts++;
    const isExcused = number < this.excusedUntil;
    if (before === ACCEPTED && this.#places[number] !== place && !isExcused) {
      const was = this.#places[number];
      this.ledger.violation('wrong', this, number, `answered as ${was}, then as ${place}`);
    }
    if (isDuplicate && before <= REFUSED && !isExcused) {
      this.ledger.violation('wrong', this, number, `refused, yet known before as ${place}`);
    }
    // One that may have been stored before keeps that place: a message that is sent again while its
    // first attempt is still on its way may be `accepted` both times.
    if (!isDuplicate && !isExcused && before <= REFUSED) {
      if (place <= this.last) {
        const how = `stored as ${place} after its client's message at ${this.last}`;
        this.ledger.violation('disordered', this, number, how);
      }
      this.last = place;
    }
    this.#places[number] = place;
  }

  // The stream is deleted: what it held is gone, and what is on its way may be.
  excuse() {
    this.excusedUntil = this.sent;
    this.last = 0;
  }

  // One message of the stream.
  found(number, place, payload) {
    if (number >= this.sent) {
      this.ledger.violation('wrong', this, number, `stored as ${place}, and was never sent`);
      return;
    }
    const copies = ++this.#copies[number];
    if (copies > 1) this.ledger.violation('doubled', this, number, `once more as ${place}`);
    if (!isStoredAs(this.kind, payload.toString(), this.text(number))) {
      this.ledger.violation('wrong', this, number, `other bytes at ${place}: ${payload}`);
    }
    if (number < this.excusedUntil) return;
    const known = this.#known[number];
    if (known <= REFUSED) {
      this.ledger.violation('wrong', this, number, `${NAMES[known]}, yet stored as ${place}`);
    } else if (known === ACCEPTED && copies === 1 && this.#places[number] !== place) {
      const answered = this.#places[number];
      this.ledger.violation('wrong', this, number, `answered as ${answered}, stored as ${place}`);
    }
  }

  // Once the whole stream was read.
  close(counts) {
    for (let number = 0; number < this.sent; number++) {
      const known = this.#known[number];
      if (known === UNSENT) this.ledger.violation('wrong', this, number, 'has no outcome');
      else counts[NAMES[known]]++;
      counts.stored += this.#copies[number];
      if (known === ACCEPTED && this.#copies[number] === 0 && number >= this.excusedUntil) {
        this.ledger.violation('lost', this, number, `answered as ${this.#places[number]}`);
      }
    }
  }
}

export class Ledger {
  accounts = [];
  isExcused = false; // messages were removed
  accepts = 0; // answers, of duplicates too
  violations = [];
  counts = { refused: 0, unknown: 0, accepted: 0, stored: 0, read: 0 };
  faults = { doubled: 0, lost: 0, disordered: 0, wrong: 0 };
  #history = new Map();

  open(kind) {
    const account = new Account(this, this.accounts.length, kind);
    this.accounts.push(account);
    return account;
  }

  get sent() {
    return this.accounts.reduce((sum, { sent }) => sum + sent, 0);
  }

  get troubled() {
    return this.accounts.reduce((sum, { troubled }) => sum + troubled, 0);
  }

  note(account, number, text) {
    const key = `${account.client}-${number}`;
    const all = this.#history.get(key);
    if (all) all.push(text);
    else if (this.#history.size < HISTORY_KEPT) this.#history.set(key, [text]);
  }

  violation(fault, account, number, how) {
    if (++this.faults[fault] > VIOLATIONS_KEPT) return;
    const what = account ? `client ${account.client} (${account.kind}), message ${number}: ` : '';
    const history = account && this.#history.get(`${account.client}-${number}`);
    const attempts = history ? `; its attempts: ${history.join(' | ')}` : '';
    this.violations.push(`${fault}: ${what}${how}${attempts}`);
  }

  excuse() {
    this.isExcused = true;
    for (const account of this.accounts) account.excuse();
  }

  // A message of a stream, as NATS has it. Returns whose it is.
  found(place, payload) {
    const whose = placeOf(payload);
    const account = whose && this.accounts[whose.client];
    if (!account) {
      this.violation('wrong', null, 0, `nobody sent what is stored as ${place}: ${payload}`);
      return null;
    }
    account.found(whose.number, place, payload);
    return whose;
  }

  // The whole stream was read.
  close() {
    for (const account of this.accounts) account.close(this.counts);
  }
}
