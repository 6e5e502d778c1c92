// SPDX-License-Identifier: Apache-2.0
// A list that is kept current: followed (`follow=true`) where the server has that and lets this page,
// and otherwise asked for again and again. It is asked for first, too: one with more items than a page
// shows would be sent whole, and is not followed.

import { html, useEffect, useRef, useState } from './htm-preact.js';
import { json, query } from './api.js';
import { useToken } from './parts.js';
import { Stream } from './stream.js';

class List {
  #path;
  #filters;
  #options;
  #onChange;
  #abort = new AbortController();
  #timer = null;
  #stream = null;
  #items = new Map(); // as far as it was followed
  #isCurrent = false; // #items is the list
  #isRefused = false; // it cannot be followed here

  // `max`: how many items are shown; `asked`: options of the list when it is not followed; `every`: how
  // often it is asked for then, in ms; `idOf`: how an item is known; `order`: compares two items, as they
  // are shown. `onChange` gets {items, hasMore, isFollowed} or {error}.
  constructor(path, filters, options, onChange) {
    this.#path = path;
    this.#filters = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
    this.#options = options;
    this.#onChange = onChange;
  }

  start() {
    this.ask();
    this.#timer = setInterval(() => !document.hidden && this.ask(), this.#options.every);
  }

  stop() {
    clearInterval(this.#timer);
    this.#abort.abort();
    this.#unfollow();
  }

  // Does nothing while the list is followed, and so is current.
  async ask() {
    if (this.#isCurrent) return;
    const { signal } = this.#abort;
    try {
      const { items, more, next } = await json(this.#path + query({ ...this.#filters, ...this.#options.asked }), { signal });
      if (signal.aborted || this.#isCurrent) return;
      const hasMore = Boolean(more || next);
      this.#onChange({ items: items.sort(this.#options.order), hasMore, isFollowed: false });
      if (!hasMore && items.length <= this.#options.max && !this.#stream && !this.#isRefused) this.#follow();
    } catch (error) {
      if (!signal.aborted && !this.#isCurrent) this.#onChange({ error });
    }
  }

  #follow() {
    let isKnown = false; // the server knows what it is to follow a list
    this.#items.clear();
    const stream = (this.#stream = new Stream(this.#path, { ...this.#filters, follow: 'true' }, {
      isList: true,
      onEvents: (events) => {
        isKnown ||= events[0].type === 'parley.open';
        if (!isKnown) return this.#refuse();
        for (const event of events) this.#take(event);
        if (this.#items.size > this.#options.max) this.#unfollow();
        else if (this.#isCurrent) this.#tell();
      },
      onState: (state, error) => {
        if (this.#stream !== stream) return;
        if (state !== 'open') this.#isCurrent = false;
        // It ended before its first event, or was no list of events: a server of an earlier version.
        const isOther = state === 'waiting' && !isKnown && (!error || error instanceof SyntaxError);
        if (state === 'failed' || isOther) this.#refuse();
      },
    }));
    stream.start();
  }

  #take({ type, data }) {
    if (type === 'parley.item') this.#items.set(this.#options.idOf(data), data);
    else if (type === 'parley.left') this.#items.delete(data.id);
    else if (type === 'parley.current') this.#isCurrent = true;
    else if (type === 'parley.reset') {
      this.#items.clear();
      this.#isCurrent = false;
    }
  }

  #tell() {
    const items = [...this.#items.values()].sort(this.#options.order);
    this.#onChange({ items, hasMore: false, isFollowed: true });
  }

  #unfollow() {
    const stream = this.#stream;
    this.#stream = null;
    this.#isCurrent = false;
    this.#items.clear();
    stream?.stop();
  }

  #refuse() {
    this.#isRefused = true;
    this.#unfollow();
  }
}

// The list at `path` with these filters: {items, hasMore, isFollowed, error, reload}; none without a path.
// It draws once a frame, whatever comes.
export function useList(path, filters, options) {
  const [shown, show] = useState({});
  const list = useRef();
  const key = JSON.stringify([path, filters, useToken()]);
  useEffect(() => {
    if (!path) return undefined;
    let frame = 0, next;
    list.current = new List(path, filters, options, (value) => {
      next = value.error ? { ...next, isFollowed: false, error: value.error } : value;
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        show((before) => ({ ...(next.items ? {} : before), ...next }));
      });
    });
    list.current.start();
    return () => {
      list.current.stop();
      cancelAnimationFrame(frame);
    };
  }, [key]);
  return { ...shown, reload: () => list.current?.ask() };
}

// How current a list is.
export const HowCurrent = ({ isFollowed, every }) => html`<span class="quiet"><span class=${`dot ${isFollowed ? 'open' : ''}`}></span>
  ${' '}${isFollowed ? 'Kept current' : `Asked for every ${every / 1000} s`}</span>`;
