// SPDX-License-Identifier: Apache-2.0
// What several pages show.

import { html, useCallback, useEffect, useRef, useState } from './htm-preact.js';
import { onToken, token, whoami } from './api.js';

export { html };

// ---- the address: #page?name=value&… ----

export function readAddress() {
  const [page, query = ''] = location.hash.slice(1).split('?');
  return { page: decodeURIComponent(page), query: Object.fromEntries(new URLSearchParams(query)) };
}

export function writeAddress(page, query, { isNew = false } = {}) {
  const set = Object.entries(query).filter(([, value]) => value !== '' && value != null);
  const text = new URLSearchParams(set).toString();
  const hash = `#${page}${text && `?${text}`}`;
  if (hash === location.hash) return;
  history[isNew ? 'pushState' : 'replaceState'](null, '', hash);
  dispatchEvent(new Event('parley-address'));
}

// The filters of a page, which are part of its address.
export function useQuery(page) {
  const [query, set] = useState(() => readAddress().query);
  useEffect(() => {
    const read = () => readAddress().page === page && set(readAddress().query);
    addEventListener('hashchange', read);
    addEventListener('parley-address', read);
    return () => {
      removeEventListener('hashchange', read);
      removeEventListener('parley-address', read);
    };
  }, [page]);
  const change = useCallback((changes) => writeAddress(page, { ...readAddress().query, ...changes }), [page]);
  return [query, change];
}

// ---- what is asked of the server ----

export function useToken() {
  const [value, set] = useState(token.get());
  useEffect(() => onToken(() => set(token.get())), []);
  return value;
}

// Asks once, again when `keys` or the token change, and every `every` ms if that is given.
export function useAnswer(load, keys, every) {
  const [state, set] = useState({ isLoading: true });
  const reload = useRef(() => {});
  useEffect(() => {
    let isOver = false;
    const abort = new AbortController();
    const ask = () =>
      load(abort.signal).then(
        (value) => !isOver && set({ value }),
        (error) => !isOver && set((before) => ({ value: before.value, error })),
      );
    reload.current = ask;
    set((before) => ({ ...before, isLoading: true }));
    ask();
    const timer = every && setInterval(() => !document.hidden && ask(), every);
    const end = onToken(ask);
    return () => {
      isOver = true;
      clearInterval(timer);
      end();
      abort.abort();
    };
  }, keys);
  return { ...state, reload: () => reload.current() };
}

// Whether the credentials allow something: may('send', 'vlp'), may('read') of any protocol, may('review').
// `isKnown` is false until the server has said so; nothing is allowed then.
export function useMay() {
  const { value } = useAnswer(whoami, []);
  const scopes = value?.scopes ?? [];
  const may = (what, protocol) => scopes.some((scope) => {
    const [word, of] = scope.split(':');
    if (of) return word === what && (!protocol || of === '*' || of === protocol);
    return scope === what || (scope === 'admin' && ['metrics', 'review'].includes(what));
  });
  may.isKnown = Boolean(value);
  return may;
}

// The address of a protocol's view by this name, if its server has one.
export const viewOf = (protocol, view) => protocol.views?.find(({ name }) => name === view)?.address;

// ---- pieces ----

// A sentence of the API, in which code is between backquotes.
export const Prose = ({ text }) => (text ?? '').split('`').map((part, i) => (i % 2 ? html`<code>${part}</code>` : part));

export function Failure({ error }) {
  if (!error) return null;
  const { type, violations } = error.body ?? {};
  return html`<div class="failure" role="alert">
    <p><${Prose} text=${error.message} /> ${type && html`<a href=${type} target="_blank" rel="noopener">What this is</a>`}</p>
    ${violations?.length > 0 && html`<ul>${violations.map((one) => html`<li><${Prose} text=${one.message} /></li>`)}</ul>`}
  </div>`;
}

export const Chip = ({ kind, children }) => html`<span class=${`chip ${kind ?? ''}`}>${children}</span>`;

export function Field({ label, children, ...rest }) {
  return html`<label class="field" ...${rest}><span>${label}</span>${children}</label>`;
}

export function Choice({ label, value, options, none, onChange }) {
  return html`<${Field} label=${label}>
    <select value=${value ?? ''} onChange=${(event) => onChange(event.target.value)}>
      ${none !== undefined && html`<option value="">${none}</option>`}
      ${options.map((one) => html`<option value=${one.value ?? one} selected=${(one.value ?? one) === value}>
        ${one.label ?? one}</option>`)}
    </select>
  <//>`;
}

// A text that counts once it has not changed for a moment.
export function Words({ label, value, onChange, placeholder, type = 'text' }) {
  const timer = useRef(0);
  const [text, setText] = useState(value ?? '');
  useEffect(() => setText(value ?? ''), [value]);
  const change = (event) => {
    const next = event.target.value;
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next), 300);
  };
  return html`<${Field} label=${label}><input type=${type} value=${text} placeholder=${placeholder} onInput=${change} /><//>`;
}

const FULL = { dateStyle: 'full', timeStyle: 'long' };

// A moment by the clock here, in words: with its day and zone, to the second.
export const wholeTime = (time) => new Date(time).toLocaleString(undefined, FULL);

// The same as short as it can be read: without the day if it is today, without the year if it is this one.
function shortTime(date) {
  const now = new Date();
  const clock = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  if (date.toDateString() === now.toDateString()) return clock;
  const year = date.getFullYear() === now.getFullYear() ? undefined : 'numeric';
  return `${date.toLocaleDateString(undefined, { day: 'numeric', month: 'short', year })} ${clock}`;
}

export function When({ time }) {
  if (!time) return html`<span class="quiet">–</span>`;
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  return html`<time datetime=${time} title=${wholeTime(date)}>${shortTime(date)}</time>`;
}

export function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${unit === 0 ? count : count.toFixed(1)} ${units[unit]}`;
}

export function Copy({ text, label = 'Copy' }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class="small" onClick=${copy}>${isDone ? 'Copied' : label}</button>`;
}

// A question before something is done: what it will do, and the fields that it needs.
// `fields`: [{name, label, value}]; `onAnswer` does it, and throws what went wrong. It is closed before it
// is removed, so that the focus returns to where it was.
export function Question({ title, text, fields = [], action, onAnswer, onClose }) {
  const dialog = useRef();
  const [values, setValues] = useState(Object.fromEntries(fields.map(({ name, value }) => [name, value ?? ''])));
  const [error, setError] = useState();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await onAnswer(values);
      dialog.current?.close();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="question">
    <form onSubmit=${submit}>
      <h2 id="question">${title}</h2>
      ${text && html`<p>${text}</p>`}
      ${fields.map(({ name, label, type = 'text', isOptional }, i) => html`<${Field} label=${isOptional ? `${label} (optional)` : label}>
        <input type=${type} value=${values[name]} required=${!isOptional} autofocus=${i === 0}
          autocomplete=${type === 'password' ? 'off' : undefined}
          onInput=${(event) => setValues({ ...values, [name]: event.target.value })} /><//>`)}
      <${Failure} error=${error} />
      <div class="actions">
        <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <button type="submit" class="main" disabled=${isBusy}>${action}</button>
      </div>
    </form>
  </dialog>`;
}

// ---- JSON ----

const LONG = 64 * 1024;

function JsonValue({ value, path, onPath }) {
  const at = { 'data-path': path, onMouseOver: (event) => (event.stopPropagation(), onPath(path)) };
  if (value === null || typeof value !== 'object') {
    const kind = value === null ? 'null' : typeof value;
    return html`<span class=${`json ${kind}`} ...${at}>${JSON.stringify(value)}</span>`;
  }
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, close] = isList ? '[]' : '{}';
  if (entries.length === 0) return html`<span ...${at}>${open + close}</span>`;
  return html`<span ...${at}>${open}<span class="nest">${entries.map(([key, one], i) => {
    const below = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return html`<span class="line" data-path=${below} onMouseOver=${(event) => (event.stopPropagation(), onPath(below))}>
      ${!isList && html`<span class="json key">${JSON.stringify(key)}</span>: `}
      <${JsonValue} value=${one} path=${below} onPath=${onPath} />${i < entries.length - 1 && ','}
    </span>`;
  })}</span>${close}</span>`;
}

// A text, shortened until asked if it is long. `children` is how the whole one is shown, if not as it is.
export function Text({ text, children }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= LONG || isWhole) return children ?? html`<pre tabindex="0">${text}</pre>`;
  return html`<pre tabindex="0">${text.slice(0, LONG)}…</pre>
    <button type="button" onClick=${() => setWhole(true)}>Show all ${bytes(text.length)}</button>`;
}

// A value with the JSON Pointer of what is under the pointer.
export function Json({ value }) {
  const [path, setPath] = useState('');
  const text = JSON.stringify(value, null, 2) ?? 'undefined';
  return html`<div class="tree">
    <div class="path"><code>${path || '/'}</code> <${Copy} text=${() => text} /></div>
    <${Text} text=${text}><pre tabindex="0" onMouseLeave=${() => setPath('')}><${JsonValue} value=${value} path="" onPath=${setPath} /></pre><//>
  </div>`;
}

// ---- events ----

export const senderOf = ({ source }) => decodeURIComponent(source?.split('/').slice(2).join('/') ?? '');

// What a message says, without the members that its row has already. It is found once for each, since a
// row may be drawn at every frame.
const SAID_MAX = 200;
const said = new WeakMap();
export function says(event) {
  if (!said.has(event)) said.set(event, saidBy(event));
  return said.get(event);
}

function saidBy(event) {
  if (!event.data || typeof event.data !== 'object') return textOf(event).slice(0, SAID_MAX);
  const { id, protocol, version, type, sender, from, timestamp, lane, content, body_md: body, ...rest } = event.data;
  const words = typeof (content ?? body) === 'string' ? content ?? body : JSON.stringify(content ? { content, ...rest } : rest);
  return `${words.slice(0, SAID_MAX)} ${event.id}`;
}

export const textOf = (event) => event.data_base64 ?? JSON.stringify(event.data ?? event.reason ?? event);

// ---- tables ----

// `rows`: [{key, isSelected, cells}]; the cells of the column `wraps` are long. On a phone each row is a card, in which a cell follows the name of its
// column, and one without contents is left out. The roles are said, since a card is no table to some readers.
export function Table({ head, rows, wraps }) {
  return html`<div class="scroll" tabindex="0"><table role="table">
    <thead role="rowgroup"><tr role="row">${head.map((name) => html`<th role="columnheader">${name}</th>`)}</tr></thead>
    <tbody role="rowgroup">${rows.map(({ key, isSelected, cells }) => html`<tr role="row" key=${key} class=${isSelected ? 'selected' : ''}>
      ${cells.map((cell, i) => html`<td role="cell" data-name=${head[i]} class=${head[i] === wraps ? 'wraps' : ''}>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

// ---- lists with more than is shown ----

const NONE = -1;

// A list (its items are those of the first tbody, ul or .catalogue), and a button for more of it. `count`:
// how many `what` are shown; `hasMore`: whether there are others; `onMore`: shows them, and returns how many
// were shown before, or nothing if there are no more. The focus goes to the first that is new.
export function Paged({ what, count, hasMore, onMore, children }) {
  const box = useRef(), button = useRef(), status = useRef(), begin = useRef(null);
  const [state, setState] = useState('');
  const focus = (place) => {
    // The button may have gone with the last page; a person who has gone elsewhere stays there.
    if (![document.body, button.current].includes(document.activeElement)) return;
    place.tabIndex = -1;
    place.focus();
  };
  useEffect(() => {
    if (begin.current === null) return;
    const item = box.current.querySelector('tbody, ul, .catalogue')?.children[begin.current];
    if (!item && (hasMore || begin.current !== NONE)) return;
    begin.current = null;
    focus(item ?? status.current);
  });
  const more = async () => {
    if (state === 'busy') return;
    setState('busy');
    begin.current = (await onMore()) ?? NONE;
    setState('done');
  };
  const said = { busy: 'Loading …', done: `${hasMore ? '' : 'All '}${count} ${what} are shown` }[state];
  return html`<div class="paged" ref=${box}>${children}
    ${(hasMore || state) && html`<p class="actions">${hasMore && html`<button type="button" ref=${button} aria-disabled=${state === 'busy'} onClick=${more}>Show more (${count} ${what} shown)</button>`}
      <span class="quiet" role="status" ref=${status}>${said}</span></p>`}</div>`;
}

// The first `step` of items that are here already, and as many more each time.
export function PagedHere({ what, items, step, children }) {
  const [count, show] = useState(step);
  const shown = items.slice(0, count);
  const more = async () => {
    show(count + step);
    return count;
  };
  return html`<${Paged} what=${what} count=${shown.length} hasMore=${items.length > count} onMore=${more}>${children(shown)}<//>`;
}

// The address names the page, so that a place on it is no link.
export function goTo(id) {
  const heading = document.getElementById(id);
  heading.tabIndex = -1;
  heading.focus();
  heading.scrollIntoView();
}
