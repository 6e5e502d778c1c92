// SPDX-License-Identifier: Apache-2.0
// Lists that are followed, and what a client makes of their events.

import assert from 'node:assert/strict';
import { streamFor } from './http.mjs';
import { within } from './poll.mjs';

// One that follows. `words`: of an item; the first is the one by which it is known.
class Follower {
  items = new Map();
  log = []; // "item WORDS", "left ID", "current", "reset REASON", "end REASON"

  constructor(stream, words) {
    this.stream = stream;
    this.words = words;
  }

  async next() {
    const event = await within('an event comes', this.stream.event());
    if (event === null) return null;
    const { type, data } = event;
    this.resume = event.resume;
    const id = this.words(data)[0];
    if (type === 'parley.item') this.items.set(id, data);
    else if (type === 'parley.left') this.items.delete(data.id);
    else if (type === 'parley.reset') this.items.clear();
    const words = { 'parley.item': this.words(data), 'parley.left': [data.id] }[type] ?? [data.reason];
    this.log.push([type.split('.')[1], ...words].join(' ').trim());
    return event;
  }

  // Up to what `isLast` says of the log's last entry.
  async until(isLast) {
    const from = this.log.length;
    do assert.notEqual(await this.next(), null, this.log.slice(from).join());
    while (!isLast(this.log.at(-1)));
    return this.log.slice(from);
  }

  upTo(words) {
    return this.until((last) => last === words);
  }

  close() {
    this.stream.close();
  }
}

// Of the list at this address.
export function followingOf(path, words) {
  const open = async (t, server, query = '', { since, ...options } = {}) => {
    const parts = ['follow=true', query, since && `since=${encodeURIComponent(since)}`].filter(Boolean);
    const stream = await streamFor(t, server, `${path}?${parts.join('&')}`, options);
    assert.equal(stream.status, 200);
    const follower = new Follower(stream, words);
    const first = await stream.anyEvent();
    assert.equal(first.type, 'parley.open');
    follower.resume = first.resume;
    return follower;
  };
  // Up to the end of the list.
  const followed = async (...of) => {
    const follower = await open(...of);
    await follower.upTo('current');
    return follower;
  };
  return { open, followed };
}
