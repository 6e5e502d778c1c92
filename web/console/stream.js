// SPDX-License-Identifier: Apache-2.0
// One stream of events, followed without losing any: it goes on from the last resume token after the
// connection was lost, while the tab is hidden it is closed, and while it is paused nothing is read,
// so that the server waits.

import { ask, Problem, readLines } from './api.js';

const RETRY_MS = 500, RETRY_MS_MAX = 10_000;

export class Stream {
  #path;
  #query;
  #onEvents;
  #onState;
  #resume = null;
  #abort = null;
  #timer = null;
  #failures = 0;
  #isStopped = true;
  #pause = null; // { promise, end } while it is paused

  // `onEvents` gets arrays of events; `onState` 'connecting', 'open', 'waiting' (until it connects
  // again), 'hidden', or 'failed' with the error.
  constructor(path, query, { onEvents, onState }) {
    this.#path = path;
    this.#query = query;
    this.#onEvents = onEvents;
    this.#onState = onState;
  }

  start() {
    this.#isStopped = false;
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#onVisibility();
  }

  stop() {
    this.#isStopped = true;
    document.removeEventListener('visibilitychange', this.#onVisibility);
    this.setPaused(false);
    this.#close();
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

  async #connect() {
    const abort = (this.#abort = new AbortController());
    this.#onState('connecting');
    const query = new URLSearchParams(this.#query);
    if (this.#resume) query.set('since', this.#resume);
    try {
      const response = await ask(`${this.#path}?${query}`, {
        headers: { Accept: 'application/x-ndjson' },
        signal: abort.signal,
      });
      this.#onState('open');
      await readLines(response, (events) => this.#take(events, abort), () => this.#pause?.promise);
      this.#retry(abort);
    } catch (error) {
      this.#retry(abort, error);
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

// The newest events, at most `max`, and how many there were.
export class Ring {
  constructor(max) {
    this.max = max;
    this.items = [];
    this.total = 0;
  }

  add(events) {
    this.total += events.length;
    this.items.push(...(events.length > this.max ? events.slice(-this.max) : events));
    if (this.items.length > this.max) this.items.splice(0, this.items.length - this.max);
  }
}
