// SPDX-License-Identifier: Apache-2.0
// Decide: what waits for people. Halts are released, reviews decided, refusals looked at.

import { html, useEffect, useState } from './htm-preact.js';
import { ask, getProtocols, json, post, query, verdictOn } from './api.js';
import { HowCurrent, useList } from './follow.js';
import { Chip, Failure, goTo, Json, Paged, PagedHere, Prose, Question, Table, Text, useAnswer, useMay, useQuery, useToken, When, Words } from './parts.js';
import { Ring, Stream } from './stream.js';

const REFUSED = '/v1/rejected/stream', EVERY_MS = 3000, REFUSED_MAX = 1000, SHOWN_MAX = 100;
const WORDS_MAX = 1000, HALTS_MAX = 1000, REVIEW_PAGES_MAX = 5;
// The newest first.
const HALTS = { max: HALTS_MAX, every: EVERY_MS, idOf: ({ key }) => key, order: (a, b) => (b.at ?? '').localeCompare(a.at ?? '') || a.key.localeCompare(b.key) };
const REVIEWS = { every: EVERY_MS };
const NAME = 'parley-name';

// The name under which this person decides is kept for the next decision.
const ownName = () => sessionStorage.getItem(NAME) ?? '';
const keepName = (name) => sessionStorage.setItem(NAME, name);

function Halts({ protocol, may }) {
  const path = protocol.links.halts;
  const { items: known, hasMore, isFollowed, error, reload } = useList(path, {}, HALTS);
  const [question, ask] = useState(null);
  const [done, tell] = useState(null);
  const items = known ?? [];
  return html`<section aria-labelledby="halts"><h2 id="halts">Halted conversations</h2>
    <${Failure} error=${error} />
    ${done && html`<p class="success" role="status">Released ${done.of}.${done.notice && html` <a href=${`#live${query({ protocol: protocol.name, text: done.notice.id })}`}>Its notice</a>`}</p>`}
    ${known && html`<p class="status"><${HowCurrent} isFollowed=${isFollowed} every=${EVERY_MS} /> · ${items.length}${hasMore ? ' and more' : ''} halted</p>`}
    ${items.length === 0 && !error && html`<p class="empty">${known ? 'Nothing is halted.' : 'Loading …'}</p>`}
    <ul class="cards">${items.map((halt) => html`<li key=${halt.key}>
      <p><strong>${halt.session !== undefined ? `Session ${halt.session || '(empty)'}` : `All of ${halt.sender}`}</strong>
        ${halt.invalid && html` <${Chip} kind="error">refused as invalid<//>`}</p>
      <p>${halt.why}</p>
      <p class="quiet">Halted by ${halt.by ?? 'an unnamed sender'} at <${When} time=${halt.at} /></p>
      <div class="actions">${may('admin') && html`<button type="button" class="main" onClick=${() => ask(halt)}>Release</button>`}
        ${halt.session && html`<a href=${`#live${query({ protocol: protocol.name, thread: halt.session, since: 'all' })}`}>Its messages</a>`}</div></li>`)}</ul>
    ${question && html`<${Question} title=${`Release ${question.session ?? question.sender}`} text="Messages of this conversation are accepted again."
      fields=${[{ name: 'reason', label: 'Reason' }, { name: 'by', label: 'Your name', value: ownName() }]} action="Release"
      onAnswer=${async ({ reason, by }) => {
        const which = question.session !== undefined ? { session: question.session } : { sender: question.sender };
        const { notice } = await json(`${path}?${new URLSearchParams({ ...which, reason, released_by: by })}`, { method: 'DELETE' });
        keepName(by);
        tell({ of: question.session ?? question.sender, notice });
        reload();
      }} onClose=${() => ask(null)} />`}
  </section>`;
}

// What it says, if that is text.
const wordsOf = (data) => [data?.content, data?.content?.text, data?.body_md].find((text) => typeof text === 'string')?.slice(0, WORDS_MAX);

// Who sent it and its id: the message as people know it.
const senderOf = (data) => [data?.sender, data?.from].find((name) => typeof name === 'string');
const nameOf = ({ event, message }) => `${senderOf(event.data) ?? 'a message'}: ${event.id ?? message}`;

function Reviews({ protocol, may }) {
  const path = protocol.links.reviews;
  const { items: known, next, error, reload, more } = useList(path, {}, REVIEWS);
  const [question, ask] = useState(null);
  const [done, tell] = useState(null);
  const items = known ?? [];
  return html`<section aria-labelledby="reviews"><h2 id="reviews">Messages that wait for a review</h2>
    <${Failure} error=${error} />
    ${done && html`<p class="success" role="status">${done}</p>`}
    ${items.length === 0 && !next && !error && html`<p class="empty">${known ? 'Nothing waits for a review.' : 'Loading …'}</p>`}
    <${Paged} what="reviews" count=${items.length} hasMore=${next} onMore=${more}><ul class="cards">${items.map((item) => html`<li key=${item.message}>
      <p><strong>${nameOf(item)}</strong> <span class="quiet">${item.event.type}, <${When} time=${item.at} /></span></p>
      <p>${wordsOf(item.event.data)}</p>
      <details><summary>The whole message</summary><${Json} value=${item.event.data ?? item.event} /></details>
      ${may('review') && html`<div class="actions">
        <button type="button" class="main" onClick=${() => ask({ item, decision: 'approve', verb: 'Approve' })}>Approve</button>
        <button type="button" onClick=${() => ask({ item, decision: 'reject', verb: 'Reject' })}>Reject</button></div>`}</li>`)}</ul><//>
    ${question && html`<${Question} title=${`${question.verb}: ${nameOf(question.item)}`} text="The first decision counts, and is told in your name."
      fields=${[{ name: 'by', label: 'Your name', value: ownName() }, { name: 'reason', label: 'Reason' }]} action=${question.verb}
      onAnswer=${async ({ by, reason }) => {
        await post(`${path}/${question.item.message}`, { decision: question.decision, by, reason });
        keepName(by);
        tell(`${question.decision === 'approve' ? 'Approved' : 'Rejected'}: ${nameOf(question.item)}`);
        reload();
      }} onClose=${() => ask(null)} />`}
  </section>`;
}

// The decisions of the protocol that were made last, the newest first. Reviews are listed by the age of
// their messages, so that all pages are read, up to REVIEW_PAGES_MAX; `isCut` says that there are others.
async function decidedLately({ halts, reviews }, may, signal) {
  const all = [];
  let cursor = '0';
  if (halts && may.halts) {
    for (const halt of (await json(`${halts}?released=true`, { signal })).items) {
      all.push({ what: 'Released', of: halt.session !== undefined ? `Session ${halt.session || '(empty)'}` : halt.sender && `All of ${halt.sender}`,
        by: halt.released_by, principal: halt.released_principal, at: halt.released_at, reason: halt.reason, thread: halt.session });
    }
  }
  for (let page = 0; reviews && cursor && page < REVIEW_PAGES_MAX; page++) {
    const { items, next } = await json(`${reviews}${query({ open: 'false', limit: 1000, cursor })}`, { signal });
    for (const item of items) {
      const { decision, by, at, reason } = item.reviewed ?? {};
      if (decision) all.push({ what: decision === 'approve' ? 'Approved' : 'Rejected', of: nameOf(item), by, at, reason, thread: item.event.data?.session_id });
    }
    cursor = next;
  }
  return { items: all.filter(({ at }) => at).sort((a, b) => Date.parse(b.at) - Date.parse(a.at)), isCut: Boolean(reviews && cursor) };
}

function Lately({ protocol, mayHalts }) {
  const [isOpen, setOpen] = useState(false);
  const { value, error } = useAnswer(
    async (signal) => (isOpen ? decidedLately(protocol.links, { halts: mayHalts }, signal) : null), [protocol.name, mayHalts, isOpen], isOpen && 10 * EVERY_MS);
  return html`<details onToggle=${({ target }) => setOpen(target.open)}><summary><strong>Decided lately</strong>: who released, approved and rejected what</summary>
    <${Failure} error=${error} />
    ${value?.isCut && html`<p class="late">There are more reviewed messages than were read: only the decisions on the oldest are here.</p>`}
    ${value?.items.length === 0 && html`<p class="empty">Nothing was decided in the last days.</p>`}
    ${value?.items.length > 0 && html`<${PagedHere} what="decisions" items=${value.items} step=${SHOWN_MAX}>${(shown) => html`<${Table} head=${['When', 'Decision', 'What', 'By', 'Reason']} wraps="Reason" rows=${shown.map((one) => ({ cells: [
      html`<${When} time=${one.at} />`, one.what,
      typeof one.thread === 'string' && one.thread ? html`<a href=${`#live${query({ protocol: protocol.name, thread: one.thread, since: 'all' })}`}>${one.of}</a>` : one.of,
      html`${one.by}${one.principal && html` <span class="quiet">(token ${one.principal})</span>`}`, one.reason] }))} />`}<//>`}
  </details>`;
}

const violationsOf = ({ violations }) => {
  try {
    return JSON.parse(violations ?? '[]');
  } catch {
    return [];
  }
};

// Why it was refused: the rules that it breaks, or, of a valid message, the problem.
function Reasons({ event }) {
  if (event.problem) {
    return html`<p><a href=${`/problems/${event.problem}`} target="_blank" rel="noopener">${event.problem}</a></p><p><${Prose} text=${event.detail} /></p>`;
  }
  return html`<ul class="violations">${violationsOf(event).map((one) => html`<li class=${one.severity}><p><a href=${`/rules/${one.rule}`} target="_blank" rel="noopener">${one.rule}</a>
    ${one.path && html` <code>${one.path}</code>`}</p><p><${Prose} text=${one.message} /></p><p class="quiet"><${Prose} text=${one.hint} /></p></li>`)}</ul>`;
}

// What was sent: of a message that is not shown as JSON its bytes.
const bodyOf = ({ data, data_base64: base64 }) => (data !== undefined ? JSON.stringify(data) : Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));

function Refused({ event, protocols }) {
  const protocol = event.subject.split('.').at(-1);
  const [isOpen, setOpen] = useState(false);
  const [again, setAgain] = useState(null);
  const isKnown = protocols.some(({ name }) => name === protocol);
  const check = () => verdictOn(protocol, bodyOf(event), event.datacontenttype).then((verdict) => setAgain({ verdict }), (error) => setAgain({ error }));
  const body = isOpen && html`<${Reasons} event=${event} />
    ${event.data !== undefined ? html`<${Json} value=${event.data} />` : html`<${Text} text=${event.data_base64} />`}
    ${isKnown && !event.problem && html`<div class="actions"><button type="button" onClick=${check}>Check again</button>
      ${again?.verdict && html`<span role="status" class=${again.verdict.valid ? 'valid' : 'late'}>${again.verdict.valid ? 'It is valid now' : 'It is still not valid'}</span>`}</div>
      <${Failure} error=${again?.error} />`}`;
  return html`<details onToggle=${({ target }) => setOpen(target.open)}><summary><${When} time=${event.time} /> <${Chip}>${protocol}<//> ${event.rules ?? event.problem}
    ${' '}${senderOf(event.data)} <span class="quiet">${event.principal}</span></summary>${body}</details>`;
}

// Where to begin, so that the last REFUSED_MAX of the stream are read, and not all of a day.
async function refusedFrom(signal) {
  const response = await ask(`${REFUSED}?since=now`, { headers: { Accept: 'application/x-ndjson' }, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let isDone = false; !isDone && !text.includes('\n');) {
    const { value = '', done } = await reader.read();
    text += value;
    isDone = done;
  }
  reader.cancel();
  const last = Number(JSON.parse(text.split('\n')[0]).resume.split(':').at(-1));
  return Math.max(1, last - REFUSED_MAX + 1);
}

// The refused messages that were kept last, the newest first, and those that follow.
function useRefused() {
  const [shown, show] = useState({ items: [], isLoading: true });
  const key = useToken();
  useEffect(() => {
    const ring = new Ring(REFUSED_MAX), abort = new AbortController();
    let stream, frame = 0;
    const draw = (error) => (frame ||= requestAnimationFrame(() => {
      frame = 0;
      if (!abort.signal.aborted) show({ items: ring.items.slice().reverse(), error });
    }));
    refusedFrom(abort.signal).then((since) => {
      if (abort.signal.aborted) return;
      stream = new Stream(REFUSED, { since }, {
        onEvents(events) {
          ring.add(events.filter(({ type }) => type === 'parley.rejected'));
          draw();
        },
        onState: (state, error) => draw(error),
      });
      stream.start();
    }, draw);
    return () => {
      abort.abort();
      stream?.stop();
    };
  }, [key]);
  return shown;
}

const hasWords = (event, words) => [event.rules, event.problem, event.request, event.principal, JSON.stringify(event.data)]
  .some((text) => text?.toLowerCase().includes(words));

function Quarantine({ protocols }) {
  const [{ refused = '' }, change] = useQuery('decide');
  const { items, error, isLoading } = useRefused();
  const found = refused ? items.filter((event) => hasWords(event, refused.toLowerCase())) : items;
  const counts = new Map();
  for (const { rules, problem } of items) for (const one of (rules ?? problem ?? '').split(',')) if (one) counts.set(one, (counts.get(one) ?? 0) + 1);
  const isOff = error?.status === 503;
  if (isOff) {
    return html`<section aria-labelledby="refused"><h2 id="refused">Refused messages</h2>
      <p class="empty">Refused messages are kept where the server runs with <code>--quarantine</code>. <a href="#overview">Overview</a> counts them by rule.</p></section>`;
  }
  return html`<section aria-labelledby="refused"><h2 id="refused">Refused messages</h2>
    <${Failure} error=${error} />
    ${items.length === 0
      ? !error && html`<p class="empty">${isLoading ? 'Loading …' : 'Nothing is kept. What breaks a rule is, and what is refused because its conversation is halted. What is refused for want of a scope, for its size or for a rate is told to its sender alone.'}</p>`
      : html`<div class="filters"><${Words} label="Rule, sender or text" type="search" value=${refused} onChange=${(words) => change({ refused: words })} /></div>
        <p role="group" aria-label="By rule">${[...counts].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([name, count]) => html`
          <button type="button" class="small" aria-pressed=${name === refused} onClick=${() => change({ refused: name === refused ? '' : name })}>${name}: ${count}</button> `)}</p>
        <p class="status" role="status">${found.length.toLocaleString()} of the last ${items.length.toLocaleString()}</p>
        <${PagedHere} key=${refused} what="messages" items=${found} step=${SHOWN_MAX}>${(shown) => html`<div class="catalogue">${shown.map((event) => html`
          <${Refused} key=${event.id} event=${event} protocols=${protocols} />`)}</div>`}<//>`}
  </section>`;
}

export default function Decide() {
  const { value: protocols = [], error } = useAnswer(getProtocols, []);
  const may = useMay();
  const halting = protocols.filter(({ name, links }) => links.halts && may('read', name));
  const reviewed = protocols.filter(({ name, links }) => links.reviews && (may('read', name) || may('review')));
  const parts = [[halting.length, 'halts', 'Halts'], [reviewed.length, 'reviews', 'Reviews'], [may('admin'), 'refused', 'Refused messages']];
  return html`<h1>Decide</h1><${Failure} error=${error} />
    <p class="actions" role="group" aria-label="On this page">${parts.filter(([isThere]) => isThere).map(([, id, title]) => html`
      <button type="button" class="small" onClick=${() => goTo(id)}>${title}</button>`)}</p>
    ${halting.map((protocol) => html`<${Halts} protocol=${protocol} may=${may} />`)}
    ${reviewed.map((protocol) => html`<${Reviews} protocol=${protocol} may=${may} />`)}
    ${reviewed.map((protocol) => html`<${Lately} protocol=${protocol} mayHalts=${may('read', protocol.name)} />`)}
    ${may('admin') && html`<${Quarantine} protocols=${protocols} />`}`;
}
