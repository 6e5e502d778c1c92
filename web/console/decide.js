// SPDX-License-Identifier: Apache-2.0
// Decide: what waits for people. Halts are released, reviews decided, refusals looked at.

import { html, useState } from './htm-preact.js';
import { getProtocols, json, list, post, query } from './api.js';
import { Chip, Failure, Json, Prose, Question, useAnswer, useMay, When } from './parts.js';

const EVERY_MS = 3000, REFUSED_MAX = 100;
const NAME = 'parley-name';

// The name under which this person decides is kept for the next decision.
const ownName = () => sessionStorage.getItem(NAME) ?? '';
const keepName = (name) => sessionStorage.setItem(NAME, name);

function Halts({ protocol, may }) {
  const path = protocol.links.halts;
  const { value, error, reload } = useAnswer((signal) => json(path, { signal }), [path], EVERY_MS);
  const [question, ask] = useState(null);
  const [done, tell] = useState(null);
  const items = value?.items ?? [];
  return html`<section aria-labelledby="halts"><h2 id="halts">Halted conversations</h2>
    <${Failure} error=${error} />
    ${done && html`<p class="success" role="status">Released ${done.of}.${done.notice && html` <a href=${`#live${query({ protocol: protocol.name, text: done.notice.id })}`}>Its notice</a>`}</p>`}
    ${items.length === 0 && !error && html`<p class="empty">${value ? 'Nothing is halted.' : 'Loading …'}</p>`}
    <ul class="cards">${items.map((halt) => html`<li key=${halt.id + halt.session}>
      <p><strong>${halt.session !== undefined ? `Session ${halt.session || '(empty)'}` : `All of ${halt.sender}`}</strong>
        ${halt.invalid && html` <${Chip} kind="error">refused as invalid<//>`}</p>
      <p>${halt.why}</p>
      <p class="quiet">Halted by ${halt.by ?? 'an unnamed sender'} at <${When} time=${halt.at} /></p>
      <div class="actions">${may('admin') && html`<button type="button" class="main" onClick=${() => ask(halt)}>Release</button>`}
        ${halt.session && html`<a href=${`#live${query({ protocol: protocol.name, thread: halt.session, since: 'all' })}`}>Its messages</a>`}</div></li>`)}</ul>
    ${question && html`<${Question} title=${`Release ${question.session ?? question.sender}`} text="Messages of this conversation are accepted again."
      fields=${[{ name: 'reason', label: 'Reason' }]} action="Release"
      onAnswer=${async ({ reason }) => {
        const which = question.session !== undefined ? { session: question.session } : { sender: question.sender };
        const { notice } = await json(`${path}?${new URLSearchParams({ ...which, reason })}`, { method: 'DELETE' });
        tell({ of: question.session ?? question.sender, notice });
        reload();
      }} onClose=${() => ask(null)} />`}
  </section>`;
}

// Who sent it and its id: the message as people know it.
const nameOf = ({ event, message }) => `${event.data?.sender ?? event.data?.from ?? 'a message'}: ${event.id ?? message}`;

function Reviews({ protocol, may }) {
  const path = protocol.links.reviews;
  const { value, error, reload } = useAnswer((signal) => json(path, { signal }), [path], EVERY_MS);
  const [question, ask] = useState(null);
  const [done, tell] = useState(null);
  const items = value?.items ?? [];
  return html`<section aria-labelledby="reviews"><h2 id="reviews">Messages that wait for a review</h2>
    <${Failure} error=${error} />
    ${done && html`<p class="success" role="status">${done}</p>`}
    ${items.length === 0 && !error && html`<p class="empty">${value ? 'Nothing waits for a review.' : 'Loading …'}</p>`}
    <ul class="cards">${items.map((item) => html`<li key=${item.message}>
      <p><strong>${nameOf(item)}</strong> <span class="quiet">${item.event.type}, <${When} time=${item.at} /></span></p>
      <${Json} value=${item.event.data ?? item.event} />
      ${may('review') && html`<div class="actions">
        <button type="button" class="main" onClick=${() => ask({ item, decision: 'approve', verb: 'Approve' })}>Approve</button>
        <button type="button" onClick=${() => ask({ item, decision: 'reject', verb: 'Reject' })}>Reject</button></div>`}</li>`)}</ul>
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

const violationsOf = ({ violations }) => {
  try {
    return JSON.parse(violations ?? '[]');
  } catch {
    return [];
  }
};

function Refused({ event, protocols }) {
  const protocol = event.subject.split('.').at(-1);
  const [again, setAgain] = useState(null);
  const links = protocols.find(({ name }) => name === protocol)?.links;
  const check = () => json(links.validate, { method: 'POST', body: JSON.stringify(event.data) }).then(
    (verdict) => setAgain({ verdict }), (error) => setAgain({ error }));
  return html`<details><summary><${When} time=${event.time} /> <${Chip}>${protocol}<//> ${event.rules} <span class="quiet">${event.principal}</span></summary>
    <ul class="violations">${violationsOf(event).map((one) => html`<li class=${one.severity}><p><a href=${`/rules/${one.rule}`} target="_blank" rel="noopener">${one.rule}</a>
      ${one.path && html` <code>${one.path}</code>`}</p><p><${Prose} text=${one.message} /></p><p class="quiet"><${Prose} text=${one.hint} /></p></li>`)}</ul>
    ${event.data !== undefined ? html`<${Json} value=${event.data} />` : html`<pre tabindex="0">${event.data_base64}</pre>`}
    ${links && event.data !== undefined && html`<div class="actions"><button type="button" onClick=${check}>Check again</button>
      ${again?.verdict && html`<span role="status" class=${again.verdict.valid ? 'valid' : 'late'}>${again.verdict.valid ? 'It is valid now' : 'It is still not valid'}</span>`}</div>
      <${Failure} error=${again?.error} />`}
  </details>`;
}

function Quarantine({ protocols }) {
  const { value = [], error } = useAnswer(
    async (signal) => (await list('/v1/rejected/stream?since=all&follow=false', { signal }))
      .filter(({ type }) => type === 'parley.rejected').slice(-REFUSED_MAX).reverse(), [], 2 * EVERY_MS);
  const isOff = error?.status === 503;
  return html`<section aria-labelledby="refused"><h2 id="refused">Refused messages</h2>
    ${isOff ? html`<p class="empty">Refused messages are kept where the server runs with <code>--quarantine</code>.</p>` : html`<${Failure} error=${error} />`}
    ${!error && value.length === 0 && html`<p class="empty">Nothing is kept. What a rule refuses is; what is refused since its conversation is halted, or for want of a scope, is told to its sender alone.</p>`}
    <div class="catalogue">${value.map((event) => html`<${Refused} key=${event.id} event=${event} protocols=${protocols} />`)}</div>
  </section>`;
}

export default function Decide() {
  const { value: protocols = [], error } = useAnswer(getProtocols, []);
  const may = useMay();
  const halting = protocols.filter(({ name, links }) => links.halts && may('read', name));
  const reviewed = protocols.filter(({ name, links }) => links.reviews && (may('read', name) || may('review')));
  return html`<h1>Decide</h1><${Failure} error=${error} />
    ${halting.map((protocol) => html`<${Halts} protocol=${protocol} may=${may} />`)}
    ${reviewed.map((protocol) => html`<${Reviews} protocol=${protocol} may=${may} />`)}
    ${may('admin') && html`<${Quarantine} protocols=${protocols} />`}`;
}
