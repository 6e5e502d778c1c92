// SPDX-License-Identifier: Apache-2.0
// One stream of events, followed without losing any: it goes on from the last resume token after the
// connection was lost, while the tab is hidden it is closed, and while it is paused nothing is read,
// so that the server waits.

import { ask, Problem, readLines, SIZE } from './api.js';

const RETRY_MS = 500, RETRY_MS_MAX = 10_000, QUEUED_MS = 300;

// ---- places: how many streams the windows of a browser have at once ----

// A browser opens six connections to one server by HTTP/1.1, for all of its windows. Streams take five at
// most, so that a request always has one; lists take three of these, and give them back when another
// stream waits, since a list can be asked for instead.
const PLACES = 5, LIST_PLACES = 3;
// Connections of HTTP/2 and later carry many requests.
const isShared = !/^http\/1/.test(performance.getEntriesByType('navigation')[0]?.nextHopProtocol || 'http/1.1');

// Resolves to what gives the place back. Rejects when the signal is aborted before there is one.
function takePlace(isList, signal) {
  const those = Array.from({ length: isList ? LIST_PLACES : PLACES }, (_, i) => `parley-stream-${i}`);
  return new Promise((resolve, reject) => {
    const others = new AbortController();
    let isTaken = false;
    signal.addEventListener('abort', () => others.abort());
    // From the last one, so that what is no list leaves the places of lists free while it can.
    for (const name of those.reverse()) {
      navigator.locks.request(name, { signal: others.signal }, () => {
        if (isTaken || signal.aborted) return undefined; // given meanwhile: it is given back
        isTaken = true;
        others.abort();
        return new Promise((giveBack) => resolve(giveBack));
      }).catch((error) => !isTaken && reject(error));
    }
  });
}

let lastList = Promise.resolve();
// Without Web Locks (http to another host than localhost has none) a window follows one list, and counts alone.
function takeOwnPlace(isList, signal) {
  if (!isList) return Promise.resolve(() => {});
  const before = lastList;
  return new Promise((resolve) => {
    const isOver = new Promise((giveBack) => {
      signal.addEventListener('abort', giveBack);
      before.then(() => resolve(giveBack));
    });
    lastList = before.then(() => isOver);
  });
}

const WANTED = 'parley-stream-wanted';
function wantPlace() {
  const channel = new BroadcastChannel(WANTED);
  channel.postMessage(null);
  channel.close();
}

const placeFor = (isList, signal) => {
  if (isShared) return Promise.resolve(() => {});
  return (navigator.locks ? takePlace : takeOwnPlace)(isList, signal);
};

// ---- one stream ----

export class Stream {
  #path;
  #query;
  #onEvents;
  #onState;
  #isList;
  #resume = null;
  #abort = null;
  #timer = null;
  #failures = 0;
  #isStopped = true;
  #wanted = null; // of a list: tells that another stream waits
  #pause = null; // { promise, end } while it is paused

  // `onEvents` gets arrays of events; `onState` 'connecting', 'queued' (until another window has one
  // less), 'open', 'waiting' (until it connects again), 'hidden', or 'failed' with the error. `isList`:
  // its page can do without it.
  constructor(path, query, { onEvents, onState, isList = false }) {
    this.#path = path;
    this.#query = query;
    this.#isList = isList;
    this.#onEvents = onEvents;
    this.#onState = onState;
  }

  start() {
    this.#isStopped = false;
    document.addEventListener('visibilitychange', this.#onVisibility);
    if (this.#isList) {
      this.#wanted = new BroadcastChannel(WANTED);
      this.#wanted.onmessage = () => this.#abort && this.#queueAgain();
    }
    this.#onVisibility();
  }

  stop() {
    this.#isStopped = true;
    document.removeEventListener('visibilitychange', this.#onVisibility);
    this.#wanted?.close();
    this.setPaused(false);
    this.#close();
  }

  // Behind those that wait already, also if it waits itself: it may be before them.
  #queueAgain() {
    this.#close();
    this.#connect();
  }

  setPaused(isPaused) {
    if (isPaused === Boolean(this.#pause)) return;
    if (isPaused) {
      let end;
      const promise = new Promise((resolve) => (end = resolve));
      this.#pause = { promise, end };
    } else {
      this.#pause.end();
      this.#pause = null;
    }
  }

  // Ends with the pause or the connection: one that is closed while it is paused gives its place back.
  #pauseUntil(signal) {
    if (!this.#pause || signal.aborted) return undefined;
    return Promise.race([this.#pause.promise, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = null;
  }

  #onVisibility = () => {
    if (document.hidden) {
      this.#close();
      this.#onState('hidden');
    } else if (!this.#abort && !this.#isStopped) {
      this.#connect();
    }
  };

  #take(events, abort) {
    if (abort.signal.aborted) return;
    this.#failures = 0;
    const last = events.findLast((event) => event.resume);
    if (last) this.#resume = last.resume;
    this.#onEvents(events);
  }

  #queued() {
    this.#onState('queued');
    if (!this.#isList) wantPlace();
  }

  async #connect() {
    const abort = (this.#abort = new AbortController());
    this.#onState('connecting');
    const timer = setTimeout(() => this.#abort === abort && this.#queued(), QUEUED_MS);
    let giveBack;
    try {
      giveBack = await placeFor(this.#isList, abort.signal);
      clearTimeout(timer);
      if (abort.signal.aborted) return;
      const query = new URLSearchParams(this.#query);
      if (this.#resume) query.set('since', this.#resume);
      const response = await ask(`${this.#path}?${query}`, {
        headers: { Accept: 'application/x-ndjson' },
        signal: abort.signal,
      });
      this.#onState('open');
      await readLines(response, (events) => this.#take(events, abort), () => this.#pauseUntil(abort.signal));
      this.#retry(abort);
    } catch (error) {
      this.#retry(abort, error);
    } finally {
      clearTimeout(timer);
      giveBack?.();
    }
  }

  #retry(abort, error) {
    if (abort.signal.aborted || this.#isStopped) return;
    this.#abort = null;
    const isFinal = error instanceof Problem && error.status < 500 && error.status !== 429;
    if (isFinal) {
      this.#onState('failed', error);
      return;
    }
    this.#onState('waiting', error);
    this.#timer = setTimeout(() => this.#onVisibility(), Math.min(RETRY_MS * 2 ** this.#failures++, RETRY_MS_MAX));
  }
}

// The newest events, at most `max` of them and at most CHARS_MAX characters of the stream, and how many
// there were.
const CHARS_MAX = 16 * 1024 * 1024;

export class Ring {
  #chars = 0;

  constructor(max) {
    this.max = max;
    this.items = [];
    this.total = 0;
  }

  add(events) {
    this.total += events.length;
    for (const event of events) this.#chars += event[SIZE];
    this.items.push(...events);
    let gone = Math.max(0, this.items.length - this.max);
    for (let i = 0; i < gone; i++) this.#chars -= this.items[i][SIZE];
    while (this.#chars > CHARS_MAX && gone < this.items.length - 1) this.#chars -= this.items[gone++][SIZE];
    this.items.splice(0, gone);
  }
}
