// SPDX-License-Identifier: Apache-2.0
// Stories: one conversation from its beginning, and what its protocol makes of it. Finding them by
// anything but their name needs the index.

import { html } from './htm-preact.js';
import { ArtifactText } from './artifact.js';
import { ask, getProtocols, json, list, query } from './api.js';
import { useList } from './follow.js';
import { Chip, Choice, Copy, Failure, Json, Paged, says, senderOf, Table, Text, useAnswer, useMay, useQuery, viewOf, When, Words } from './parts.js';

const LIMIT = 1000, DEPTH_MAX = 64, INDENTED_MAX = 12;

const countOf = (nodes) => nodes.reduce((sum, { below }) => sum + 1 + countOf(below), 0);

// What is below a message of a tree. What is too deep to be shown is counted.
function Below({ nodes, depth, children }) {
  if (nodes.length === 0) return null;
  if (depth >= DEPTH_MAX) return html`<p class="late">${countOf(nodes)} more below this, too deep to be shown here.</p>`;
  return html`<ul class=${depth < INDENTED_MAX ? 'thread' : 'thread deep'}>${nodes.map(children)}</ul>`;
}

// What refers to what, by the ids that messages name; what refers to none of those before it stands alone.
function treeOf(events) {
  const nodes = new Map();
  const roots = [];
  for (const event of events) {
    const node = { event, below: [] };
    const { refers_to: refers, correlationId } = event.data ?? {};
    const above = [refers, correlationId].flat().map((id) => nodes.get(id)).find(Boolean);
    (above?.below ?? roots).push(node);
    nodes.set(event.id, node);
  }
  return roots;
}

function Message({ node, depth }) {
  const { event, below } = node;
  return html`<li><details><summary><${When} time=${event.time} /> <strong>${event.type}</strong> <span>${senderOf(event)}</span> <span class="quiet">${says(event)}</span></summary>
    <${Json} value=${event.data ?? event} /></details>
    <${Below} nodes=${below} depth=${depth}>${(one) => html`<${Message} key=${one.event.resume} node=${one} depth=${depth + 1} />`}<//></li>`;
}

function Conversation({ protocol, thread }) {
  const { value: events, error } = useAnswer(
    async (signal) => (await list(protocol.links.stream + query({ since: 'all', follow: 'false', thread, limit: LIMIT }), { signal }))
      .filter(({ type }) => type !== 'parley.open'), [protocol.name, thread]);
  if (error) return html`<${Failure} error=${error} />`;
  if (!events) return html`<p class="quiet">Loading …</p>`;
  if (events.length === 0) return html`<p class="empty">No message of this conversation is stored.</p>`;
  return html`<p class="status">${events.length} messages${events.length === LIMIT ? ', the first of them' : ''} of
      ${[...new Set(events.map(senderOf))].map((name) => html` <${Chip}>${name}<//>`)}
      · <a href=${`#live${query({ protocol: protocol.name, thread, since: 'all' })}`}>Follow it live</a></p>
    <ul class="thread">${treeOf(events).map((node) => html`<${Message} key=${node.event.resume} node=${node} depth=${0} />`)}</ul>`;
}

// Of a protocol whose threads are sessions: how many messages of each type this one has, and what waits in it.
const WAITS_FOR = { answers: 'an answer', supports: 'evidence' };

function Session({ address, thread }) {
  const path = `${address}${query({ session: thread })}`;
  const { value, error } = useAnswer((signal) => json(path, { signal }), [path]);
  if (error && error.body?.type !== '/problems/no-index') return html`<${Failure} error=${error} />`;
  const session = value?.items?.[0];
  if (!session) return null;
  return html`<section aria-label="Session"><h2>What is open</h2>
    <p class="status">${Object.entries(session.types).map(([type, count]) => html` <${Chip}>${count} ${type}<//>`)}</p>
    ${session.open.length === 0 ? html`<p class="quiet">Each query has a response, and each claim a source or evidence.</p>`
      : html`<ul>${session.open.map((one) => html`<li key=${one.message}><strong>${one.type.split('.').slice(1).join('.')}</strong> <span>${one.sender}</span>
        ${' '}<a href=${`#stories${query({ id: one.id })}`}>${one.id}</a> <span class="late">waits for ${WAITS_FOR[one.waits_for] ?? one.waits_for}</span></li>`)}</ul>`}
    ${session.more && html`<p class="quiet">There is more than this shows.</p>`}
  </section>`;
}

// What a protocol puts together from a conversation, where it does.
function Artifact({ protocol, thread }) {
  const path = `/v1/${protocol.name}/threads/${encodeURIComponent(thread)}/artifact`;
  const { value } = useAnswer(
    (signal) => ask(path, { headers: { Accept: 'text/markdown' }, signal }).then((answer) => answer.text(), () => null), [path]);
  return value && html`<section aria-label="Artifact"><h2>Artifact</h2><${Copy} text=${() => value} label="Copy as Markdown" />
    <${Text} text=${value}><${ArtifactText} text=${value} /><//></section>`;
}

function Threads({ protocol, onChoose }) {
  const { items, next, error, more } = useList(`/v1/${protocol.name}/threads`, {}, {});
  if (error?.body?.type === '/problems/no-index') return html`<${NoIndex} />`;
  if (!items) return error ? html`<${Failure} error=${error} />` : html`<p class="quiet">Loading …</p>`;
  if (items.length === 0 && !next) return html`<p class="empty">No conversation is stored.</p>`;
  return html`<${Failure} error=${error} /><${Paged} what="conversations" count=${items.length} hasMore=${next} onMore=${more}>
    <${Table} head=${['Thread', 'Messages', 'First', 'Last']} rows=${items.map((one) => ({ key: one.thread, cells: [
      html`<button type="button" class="link" onClick=${() => onChoose(one.thread)}>${one.thread}</button>`, one.count,
      html`<${When} time=${one.first?.time ?? one.first} />`, html`<${When} time=${one.last?.time ?? one.last} />`] }))} /><//>`;
}

const protocolOf = ({ type }) => type.split('.')[0];

// All that an id reaches, over all protocols, by the time of storage.
function Trace({ id }) {
  const path = `/v1/trace${query({ id })}`;
  const { value, error } = useAnswer((signal) => json(path, { signal }), [path]);
  if (error?.body?.type === '/problems/no-index') return html`<${NoIndex} />`;
  if (error) return html`<${Failure} error=${error} />`;
  if (!value) return html`<p class="quiet">Loading …</p>`;
  if (value.items.length === 0) return html`<p class="empty">No message has this id, or refers to it.</p>`;
  return html`<p class="status">${value.items.length} messages of ${[...new Set(value.items.map(protocolOf))].map((name) => html` <${Chip}>${name}<//>`)}</p>
    <ol class="timeline">${value.items.map((item) => html`<li key=${`${item.stream}:${item.sequence}`} class=${item.id === id ? 'selected' : ''}>
      <${When} time=${item.time} /> <${Chip}>${protocolOf(item)}<//> <strong>${item.type.split('.').slice(1).join('.')}</strong> <span>${item.sender}</span>
      ${item.thread && html` <a href=${`#stories${query({ protocol: protocolOf(item), thread: item.thread })}`}>${item.thread}</a>`}
      <span class="quiet"> ${item.id}</span></li>`)}</ol>`;
}

// ---- the ledger of a message: what supports, answers, corrects or names it ----

const placeOf = ({ stream, sequence }) => `${stream}:${sequence}`;
const BAD_STATES = { superseded: 'warning', stale: 'warning', disputed: 'error' };

// A message comes before what refers to it.
function ledgerOf(items) {
  const nodes = new Map();
  const roots = [];
  for (const item of items) {
    const node = { item, below: [] };
    nodes.set(placeOf(item), node);
    (nodes.get(item.of)?.below ?? roots).push(node);
  }
  return roots;
}

function Entry({ node, depth }) {
  const { item, below } = node;
  return html`<li><p>${item.relation && html`<span class="quiet">${item.relation}</span> `}<strong>${item.type.split('.').slice(1).join('.')}</strong> <span>${item.sender}</span>
      ${' '}<a href=${`#stories${query({ id: item.id })}`}>${item.id}</a> <${When} time=${item.time} />
      ${item.state && html` <${Chip} kind=${BAD_STATES[item.state] ?? 'is-completed'}>${item.state}<//>`}</p>
    <${Below} nodes=${below} depth=${depth}>${(one) => html`<${Entry} key=${placeOf(one.item)} node=${one} depth=${depth + 1} />`}<//></li>`;
}

function Ledger({ protocol, address, id }) {
  const path = `${address}${query({ id })}`;
  const { value, error } = useAnswer((signal) => json(path, { signal }), [path]);
  if (error?.body?.type === '/problems/no-index') return null; // the trace says so
  if (error) return html`<${Failure} error=${error} />`;
  if (!value?.items?.length) return null;
  const { items, unresolved = [], mismatched = [], ambiguous, candidates = [], more } = value;
  return html`<section aria-label="Ledger"><h2>What refers to it in ${protocol.title}</h2>
    ${ambiguous && html`<p class="late">Several messages have this id (${candidates.join(', ')}); this is the newest.</p>`}
    <ul class="thread">${ledgerOf(items).map((node) => html`<${Entry} key=${placeOf(node.item)} node=${node} depth=${0} />`)}</ul>
    ${more && html`<p class="quiet">There is more than this shows.</p>`}
    ${unresolved.length > 0 && html`<p class="late">No message has ${unresolved.map((one, i) => html`${i > 0 && ', '}<code>${one.id}</code>`)}, which is referred to.</p>`}
    ${mismatched.length > 0 && html`<p class="late">Of the wrong type for what refers to it: ${mismatched.map((one, i) => html`${i > 0 && ', '}<code>${one.id}</code> (${one.type}, ${one.relation})`)}.</p>`}
  </section>`;
}

function NoIndex() {
  return html`<div class="empty"><p>This server keeps no index, so conversations are found by their name alone.</p>
    <p>Start it with <code>--index on</code> to list them, and to follow an id over all protocols.</p></div>`;
}

export default function Stories() {
  const [{ protocol: chosen, thread = '', id = '' }, change] = useQuery('stories');
  const { value: all = [], error } = useAnswer(getProtocols, []);
  const may = useMay();
  const protocols = all.filter(({ name }) => may('read', name));
  const protocol = protocols.find(({ name }) => name === chosen) ?? protocols[0];
  return html`<h1>Stories</h1><${Failure} error=${error} />
    <div class="filters">
      <${Choice} label="Protocol" value=${protocol?.name} options=${protocols.map(({ name, title }) => ({ value: name, label: title }))} onChange=${(name) => change({ protocol: name, thread: '' })} />
      <${Words} label="Session, task or thread" value=${thread} onChange=${(value) => change({ thread: value.trim(), id: '' })} />
      <${Words} label="Or any id" value=${id} onChange=${(value) => change({ id: value.trim(), thread: '' })} />
    </div>
    ${id ? html`${protocols.map((one) => {
      const address = viewOf(one, 'chain');
      return address && html`<${Ledger} key=${one.name} protocol=${one} address=${address} id=${id} />`;
    })}<h2>All that it reaches</h2><${Trace} id=${id} />` : protocol && (thread
      ? html`${viewOf(protocol, 'sessions') && html`<${Session} address=${viewOf(protocol, 'sessions')} thread=${thread} />`}
        <${Conversation} protocol=${protocol} thread=${thread} /><${Artifact} protocol=${protocol} thread=${thread} />`
      : html`<${Threads} key=${protocol.name} protocol=${protocol} onChoose=${(value) => change({ thread: value })} />`)}`;
}
