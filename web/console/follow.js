// SPDX-License-Identifier: Apache-2.0
// A list that is kept current: followed (`follow=true`) where the server has that and lets this page,
// and otherwise asked for again and again. It is asked for first, too: one with more items than a page
// shows would be sent whole, and is not followed. Of one that the API pages (`next`), the pages that were
// asked for are shown.

import { html, useEffect, useRef, useState } from './htm-preact.js';
import { json, query } from './api.js';
import { useToken } from './parts.js';
import { Stream } from './stream.js';

// A page without items need not be the last. After so many of them one is shown as it is.
const EMPTY_MAX = 20;

class List {
  #path;
  #filters;
  #options;
  #onChange;
  #abort = new AbortController();
  #timer = null;
  #stream = null;
  #pages = []; // as they were asked for: [{items, next, hasMore}]
  #turn = Promise.resolve(); // of the requests, which are made one after the other
  #waiting = 0; // requests whose turn has not ended
  #items = new Map(); // as far as it was followed
  #isCurrent = false; // #items is the list
  #isRefused = false; // it cannot be followed here

  // `max`: how many items are followed, none without it; `asked`: options of the list when it is not
  // followed; `every`: how often it is asked for then, in ms, once without it; `idOf`: how an item is known;
  // `order`: compares two items of a page, as they are shown. `onChange` gets {items, hasMore, next,
  // isFollowed, every} or {error}: `hasMore` that the list has others, `next` where those begin, if they
  // can be asked for, `every` how often all these pages are asked for.
  constructor(path, filters, options, onChange) {
    this.#path = path;
    this.#filters = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
    this.#options = options;
    this.#onChange = onChange;
  }

  start() {
    const { every } = this.#options;
    let ticks = 0;
    this.ask();
    // One page each time, however many there are.
    if (every) this.#timer = setInterval(() => !document.hidden && !this.#waiting && ++ticks % (this.#pages.length || 1) === 0 && this.ask(), every);
  }

  stop() {
    clearInterval(this.#timer);
    this.#abort.abort();
    this.#unfollow();
  }

  // All pages that are shown, from the first on. Does nothing while the list is followed, and so is current.
  ask() {
    return this.#inTurn(async () => {
      const pages = [await this.#page()];
      while (pages.length < this.#pages.length && pages.at(-1).next) pages.push(await this.#page(pages.at(-1).next));
      if (!this.#show(pages)) return;
      const { items, hasMore } = this.#shown();
      if (!hasMore && items.length <= this.#options.max && !this.#stream && !this.#isRefused) this.#follow();
    });
  }

  // The page after those that are shown. Returns how many items are before it, unless it has none.
  more() {
    return this.#inTurn(async () => {
      const before = this.#shown().items.length;
      const { next } = this.#pages.at(-1) ?? {};
      const page = next && (await this.#page(next));
      return page && this.#show([...this.#pages, page]) && page.items.length > 0 ? before : undefined;
    });
  }

  #inTurn(work) {
    const turn = async () => {
      try {
        return this.#isCurrent ? undefined : await work();
      } catch (error) {
        if (!this.#abort.signal.aborted && !this.#isCurrent) this.#onChange({ error });
        return undefined;
      } finally {
        this.#waiting--;
      }
    };
    this.#waiting++;
    return (this.#turn = this.#turn.then(turn));
  }

  async #page(cursor) {
    const { asked, order } = this.#options;
    let page = { next: cursor };
    for (let i = 0; i < EMPTY_MAX && (i === 0 || page.next); i++) {
      page = await json(this.#path + query({ ...this.#filters, ...asked, cursor: page.next }), { signal: this.#abort.signal });
      if (page.items.length > 0) break;
    }
    const { items, more, next } = page;
    return { items: order ? items.sort(order) : items, next, hasMore: Boolean(more || next) };
  }

  // What is followed meanwhile is newer.
  #show(pages) {
    if (this.#abort.signal.aborted || this.#isCurrent) return false;
    this.#pages = pages;
    this.#onChange(this.#shown());
    return true;
  }

  #shown() {
    const { next, hasMore = false } = this.#pages.at(-1) ?? {};
    return { items: this.#pages.flatMap(({ items }) => items), hasMore, next, isFollowed: false, every: this.#options.every * this.#pages.length };
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
    this.#onChange({ items, hasMore: false, isFollowed: true, every: this.#options.every });
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

// The list at `path` with these filters: {items, hasMore, next, isFollowed, every, error, reload, more};
// none without a path. It draws once a frame, whatever comes.
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
  return { ...shown, reload: () => list.current?.ask(), more: () => list.current?.more() };
}

// How current a list is.
export const HowCurrent = ({ isFollowed, every }) => html`<span class="quiet"><span class=${`dot ${isFollowed ? 'open' : ''}`}></span>
  ${' '}${isFollowed ? 'Kept current' : `Asked for every ${every / 1000} s`}</span>`;
