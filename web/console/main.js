// SPDX-License-Identifier: Apache-2.0
// The console: its pages, each loaded when it is first seen, and the token.

import { html, render, useEffect, useState } from './htm-preact.js';
import { token } from './api.js';
import { Question, readAddress, useMay, useToken } from './parts.js';

// Name, title, module, and the scopes of which one is needed.
const PAGES = [
  ['live', 'Live', () => import('./live.js'), ['read']],
  ['try', 'Try it', () => import('./try.js'), ['send']],
  ['overview', 'Overview', () => import('./overview.js')],
  ['rules', 'Rules', () => import('./rules.js')],
  ['work', 'Work', () => import('./work.js'), ['read']],
  ['decide', 'Decide', () => import('./decide.js'), ['read', 'review', 'admin']],
  ['stories', 'Stories', () => import('./stories.js'), ['read']],
];
const FIRST = 'overview';

const pageOfAddress = () => {
  const { page } = readAddress();
  return PAGES.some(([name]) => name === page) ? page : FIRST;
};

function TokenQuestion({ detail, onClose }) {
  return html`<${Question} title="A token is needed" text=${detail || 'An operator makes one with `parley token create`. It is kept for this tab until you close it.'}
    fields=${[{ name: 'token', label: 'Token', type: 'password' }]} action="Use it"
    onAnswer=${async (values) => token.set(values.token.trim())} onClose=${onClose} />`;
}

function Console() {
  const [page, setPage] = useState(pageOfAddress());
  const [shown, setShown] = useState({});
  const [asked, ask] = useState(null);
  const current = useToken();
  useEffect(() => {
    const read = () => setPage(pageOfAddress());
    const unauthenticated = (event) => ask({ detail: event.detail });
    addEventListener('hashchange', read);
    addEventListener('parley-unauthenticated', unauthenticated);
    return () => {
      removeEventListener('hashchange', read);
      removeEventListener('parley-unauthenticated', unauthenticated);
    };
  }, []);
  useEffect(() => {
    const [, title, load] = PAGES.find(([name]) => name === page);
    document.title = `${title} – parley`;
    load().then(
      (module) => setShown({ page, View: module.default }),
      () => setShown({ page, View: () => html`<p class="failure" role="alert">This page could not be loaded. Is the server running?</p>` }),
    );
  }, [page]);
  const { View } = shown;
  const may = useMay();
  const isAllowed = ([, , , needs]) => !needs || !may.isKnown || needs.some((what) => may(what));
  const row = PAGES.find(([name]) => name === page);
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.querySelector('main').focus())}>Skip to the page</a>
    <header class="top">
      <a class="brand" href="#overview"><img src="/console/icon.svg" alt="" width="24" height="24" /> parley</a>
      <nav aria-label="Pages">
        ${PAGES.filter(isAllowed).map(([name, title]) => html`<a href=${`#${name}`} aria-current=${name === page ? 'page' : undefined}>${title}</a>`)}
      </nav>
      <span class="token">${current
        ? html`<button type="button" class="small" onClick=${() => token.set(null)}>Forget the token</button>`
        : html`<button type="button" class="small" onClick=${() => ask({})}>Use a token</button>`}</span>
    </header>
    <main id="main" tabindex="-1">${!isAllowed(row)
      ? html`<p class="empty">This page needs the scope ${row[3].map((what, i) => html`${i > 0 && ' or '}<code>${what}</code>`)}, which the token does not have.</p>`
      : View && shown.page === page ? html`<${View} />` : html`<p class="quiet">Loading …</p>`}</main>
    ${asked && html`<${TokenQuestion} detail=${asked.detail} onClose=${() => ask(null)} />`}`;
}

const root = document.getElementById('console');
document.getElementById('start').hidden = true;
render(html`<${Console} />`, root);
