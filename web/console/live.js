// SPDX-License-Identifier: Apache-2.0
// Live: what is stored, as it is stored. The filters are the stream's own, and part of the address.

import { html, useEffect, useRef, useState } from './htm-preact.js';
import { getProtocols } from './api.js';
import { Chip, Choice, Failure, Json, says, senderOf, Text, textOf, useAnswer, useMay, useQuery, useToken, When, wholeTime, Words } from './parts.js';
import { Ring, Stream } from './stream.js';

const ROWS = 2000, ROW_HEIGHT = 32, NARROW_ROW_HEIGHT = 56;
const narrow = matchMedia('(max-width: 40rem)'); // in which a row has two lines; console.css says the same

const OWN = /^parley\./;
// When it arrived here. `time` is what its sender says; parley's own events have no other.
const arrivedAt = ({ recordedtime, time }) => recordedtime ?? time;

// Whether an event is one of those that are shown.
function isShown(event, words) {
  if (event.type === 'parley.open' || event.type === 'parley.keepalive') return false;
  return !words || `${event.id} ${event.subject} ${textOf(event)}`.toLowerCase().includes(words.toLowerCase());
}

function streamOf({ protocol, type, sender, lane, thread, since }) {
  const query = { since: since || '15m' };
  for (const [name, value] of Object.entries({ type, sender, lane, thread })) if (value) query[name] = value;
  return { path: protocol ? `/v1/${protocol}/stream` : '/v1/stream', query };
}

// The events of the stream that the filters choose. It draws once a frame, whatever comes.
function useEvents(filters, isPaused) {
  const [shown, show] = useState({ items: [], total: 0, state: 'connecting' });
  const stream = useRef();
  const key = JSON.stringify([filters, useToken()]);
  useEffect(() => {
    const ring = new Ring(ROWS);
    let state = 'connecting', error, frame = 0;
    const draw = () => {
      frame = 0;
      show({ items: ring.items.slice().reverse(), total: ring.total, state, error });
    };
    const drawSoon = () => (frame ||= requestAnimationFrame(draw));
    const { path, query } = streamOf(filters);
    stream.current = new Stream(path, query, {
      onEvents(events) {
        const wanted = events.filter((event) => isShown(event, filters.text));
        if (wanted.length) ring.add(wanted);
        drawSoon();
      },
      onState(next, failure) {
        [state, error] = [next, failure];
        drawSoon();
      },
    });
    stream.current.start();
    draw();
    return () => {
      stream.current.stop();
      cancelAnimationFrame(frame);
    };
  }, [key]);
  useEffect(() => stream.current?.setPaused(isPaused), [isPaused, key]);
  return shown;
}

const STATES = {
  connecting: 'Connecting …', queued: 'Waiting until another window with a stream is closed or hidden: a browser has few connections to one server',
  open: 'Live', waiting: 'The connection is lost; trying again …',
  hidden: 'Closed while the tab is hidden', failed: 'Not connected',
};

function Row({ event, index, height, isSelected, onSelect }) {
  const [protocol, ...type] = event.type.split('.');
  const isOwn = OWN.test(event.type);
  return html`<div class=${`row ${isSelected ? 'selected' : ''} ${isOwn ? 'own' : ''}`} role="row" id=${`row-${index}`} aria-rowindex=${index + 2}
      aria-selected=${isSelected} style=${{ top: `${index * height}px` }} onClick=${() => onSelect(event)}>
    <span role="gridcell"><${When} time=${arrivedAt(event)} /></span>
    <span role="gridcell"><${Chip} kind=${`of-${protocol}`}>${protocol}<//></span>
    <span role="gridcell" class="strong">${type.join('.')}</span>
    <span role="gridcell">${senderOf(event)}</span>
    <span role="gridcell" class="mono quiet">${says(event)}</span>
  </div>`;
}

// Draws the rows that can be seen.
function Rows({ items, selected, onSelect }) {
  const box = useRef();
  const [view, setView] = useState({ top: 0, height: 600 });
  const row = narrow.matches ? NARROW_ROW_HEIGHT : ROW_HEIGHT; // a change of it is a resize
  const look = () => box.current && setView({ top: box.current.scrollTop, height: box.current.clientHeight });
  useEffect(() => {
    look();
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, []);
  const first = Math.max(0, Math.floor(view.top / row) - 5);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / row) + 5);
  const at = items.indexOf(selected);
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (event.key === 'Escape') onSelect(null);
    if (!step) return;
    event.preventDefault();
    const next = Math.min(items.length - 1, Math.max(0, at + step));
    if (!items[next]) return;
    onSelect(items[next]);
    const top = next * row;
    if (top < box.current.scrollTop) box.current.scrollTop = top;
    if (top + row > box.current.scrollTop + box.current.clientHeight - row) {
      box.current.scrollTop = top - box.current.clientHeight + 2 * row;
    }
  };
  return html`<div class="rows" role="grid" aria-label="Messages" aria-rowcount=${items.length + 1} tabindex="0" ref=${box}
      aria-activedescendant=${at >= first && at < last ? `row-${at}` : undefined} onScroll=${look} onKeyDown=${move}>
    <div class="row head" role="row" aria-rowindex="1">
      ${['Arrived', 'Protocol', 'Type', 'Sender', 'Message'].map((one) => html`<span role="columnheader">${one}</span>`)}
    </div>
    <div class="all" role="rowgroup" style=${{ height: `${items.length * row}px` }}>
      ${items.slice(first, last).map((event, i) => html`<${Row} key=${event.resume + event.id} event=${event} index=${first + i} height=${row}
        isSelected=${event === selected} onSelect=${onSelect} />`)}
    </div>
  </div>`;
}

function Details({ event, onClose }) {
  const { data, data_base64, resume, recordedtime, ...attributes } = event;
  const arrived = arrivedAt(event);
  return html`<section class="details" aria-label="Details">
    <header><h2>${event.type}</h2><button type="button" class="small" onClick=${onClose}>Close</button></header>
    <dl><dt>arrived</dt><dd><time datetime=${arrived}>${wholeTime(arrived)}</time> <span class="quiet">${arrived}</span></dd>
      ${Object.entries(attributes).map(([name, value]) => html`<dt>${name}</dt><dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>`)}</dl>
    <h3>Message</h3>
    ${data_base64 !== undefined ? html`<${Text} key=${event.id} text=${data_base64} />` : html`<${Json} key=${event.id} value=${data} />`}
  </section>`;
}

export default function Live() {
  const [filters, change] = useQuery('live');
  const [isPaused, setPaused] = useState(false);
  const [selected, select] = useState(null);
  const { value: all = [] } = useAnswer(getProtocols, []);
  const may = useMay();
  const protocols = all.filter(({ name }) => may('read', name));
  const { items, total, state, error } = useEvents(filters, isPaused);
  const protocol = protocols.find(({ name }) => name === filters.protocol);
  const types = protocol ? protocol.types : [];
  return html`<div class="live">
    <h1>Live</h1>
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <${Choice} label="Protocol" none="all" value=${filters.protocol} options=${protocols.map(({ name }) => name)}
        onChange=${(value) => change({ protocol: value, type: '', lane: '' })} />
      ${types.length > 0 && html`<${Choice} label="Type" none="all" value=${filters.type} options=${types} onChange=${(type) => change({ type })} />`}
      ${protocol?.lanes && html`<${Choice} label="Lane" none="all" value=${filters.lane} options=${protocol.lanes} onChange=${(lane) => change({ lane })} />`}
      <${Words} label="Sender" value=${filters.sender} onChange=${(sender) => change({ sender })} />
      <${Words} label="Thread" value=${filters.thread} onChange=${(thread) => change({ thread })} />
      <${Words} label="Text" type="search" value=${filters.text} onChange=${(words) => change({ text: words })} />
      <${Choice} label="From" value=${filters.since || '15m'} onChange=${(since) => change({ since })}
        options=${[{ value: 'now', label: 'now on' }, { value: '15m', label: 'the last 15 minutes' }, { value: '1d', label: 'the last day' }, { value: 'all', label: 'the beginning' }]} />
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? 'Go on' : 'Pause'}</button>
    </form>
    <p class="status" role="status">
      <span class=${`dot ${state}`}></span> ${isPaused ? 'Paused: nothing is lost, the server waits' : STATES[state]} ·
      ${total > items.length ? ` the newest ${items.length.toLocaleString()} of ${total.toLocaleString()} messages` : ` ${total.toLocaleString()} ${total === 1 ? 'message' : 'messages'}`}
    </p>
    <${Failure} error=${state === 'failed' ? error : null} />
    <div class="split">
      ${items.length > 0
        ? html`<${Rows} items=${items} selected=${selected} onSelect=${select} />`
        : html`<p class="empty">No message matches${filters.since === 'now' ? ' yet' : ''}. <a href="#try">Send one</a>, or choose an earlier time.</p>`}
      ${selected && html`<${Details} event=${selected} onClose=${() => select(null)} />`}
    </div>
  </div>`;
}
