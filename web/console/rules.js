// SPDX-License-Identifier: Apache-2.0
// Rules: the catalogue of all protocols, with an example that passes and one that fails.

import { html, useState } from './htm-preact.js';
import { getProtocols, json } from './api.js';
import { Chip, Choice, Failure, Prose, useAnswer, useQuery, Words } from './parts.js';

const loadAll = async (signal) => {
  const protocols = await getProtocols();
  const lists = await Promise.all(protocols.map(({ links }) => json(links.rules, { signal })));
  const rules = new Map();
  lists.forEach((list, i) => {
    for (const rule of list) {
      const known = rules.get(rule.id) ?? { ...rule, protocols: [] };
      known.protocols.push(protocols[i].name);
      rules.set(rule.id, known);
    }
  });
  return [...rules.values()];
};

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const Example = ({ title, text }) => html`<div><h3>${title}</h3><pre tabindex="0">${pretty(text)}</pre></div>`;

function Rule({ rule }) {
  const [isOpen, setOpen] = useState(false);
  const { value: page, error } = useAnswer(
    async (signal) => (isOpen ? json(`/rules/${rule.id}`, { headers: { Accept: 'application/json' }, signal }) : null),
    [rule.id, isOpen],
  );
  return html`<details onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><${Chip} kind=${rule.severity}>${rule.severity}<//> <strong>${rule.id}</strong> <${Prose} text=${rule.summary} />
      <span class="quiet"> ${rule.protocols.length > 1 ? 'all protocols' : rule.protocols[0]}</span></summary>
    <p><${Prose} text=${rule.hint} /></p>
    <${Failure} error=${error} />
    ${page?.example && html`<div class="two"><${Example} title="Fails" text=${page.example.broken} /><${Example} title="Passes" text=${page.example.corrected} /></div>`}
    <p class="quiet">${rule.source} · <a href=${`/rules/${rule.id}`} target="_blank" rel="noopener">The rule's own page</a></p>
  </details>`;
}

export default function Rules() {
  const [{ protocol, severity, text = '' }, change] = useQuery('rules');
  const { value: rules = [], error, isLoading } = useAnswer(loadAll, []);
  const { value: protocols = [] } = useAnswer(getProtocols, []);
  const words = text.toLowerCase();
  const shown = rules.filter((rule) => (!protocol || rule.protocols.includes(protocol)) && (!severity || rule.severity === severity) &&
    `${rule.id} ${rule.summary} ${rule.hint} ${rule.paths.join(' ')}`.toLowerCase().includes(words));
  return html`<h1>Rules</h1>
    <div class="filters">
      <${Choice} label="Protocol" none="all" value=${protocol} options=${protocols.map(({ name }) => name)} onChange=${(value) => change({ protocol: value })} />
      <${Choice} label="Severity" none="all" value=${severity} options=${['error', 'warning']} onChange=${(value) => change({ severity: value })} />
      <${Words} label="Search" type="search" value=${text} onChange=${(value) => change({ text: value })} />
    </div>
    <${Failure} error=${error} />
    <p class="status" role="status">${isLoading && !rules.length ? 'Loading …' : `${shown.length} of ${rules.length} rules`}</p>
    <div class="catalogue">${shown.map((rule) => html`<${Rule} key=${rule.id} rule=${rule} />`)}</div>`;
}
