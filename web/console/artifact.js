// SPDX-License-Identifier: Apache-2.0
// The Markdown that parley writes of an artifact, as elements. Each of its lines is a heading, an item of
// a list, or a text; what a text begins with may be bold, and `<` is escaped. All else is a text as it is.

import { html } from './htm-preact.js';

const unescaped = (text) => text.replaceAll('\\<', '<');

function Line({ text }) {
  const [, bold, rest] = /^\*\*(.+?)\*\*(.*)$/.exec(text) ?? [null, null, text];
  return html`${bold && html`<strong>${unescaped(bold)}</strong>`}${unescaped(rest)}`;
}

function Heading({ level, text }) {
  const [, killed, rest] = /^~~(.*)~~(.*)$/.exec(text) ?? [null, null, text];
  const Level = `h${level}`;
  return html`<${Level}>${killed && html`<s>${unescaped(killed)}</s>`}${unescaped(rest)}<//>`;
}

// Lines of a list that follow each other are one list.
function blocksOf(text) {
  const blocks = [];
  for (const line of text.split('\n').filter(Boolean)) {
    const [, marks, heading] = /^(#{1,4}) (.*)$/.exec(line) ?? [];
    if (marks) blocks.push({ level: marks.length, text: heading });
    else if (!line.startsWith('- ')) blocks.push({ text: line });
    else if (blocks.at(-1)?.items) blocks.at(-1).items.push(line.slice(2));
    else blocks.push({ items: [line.slice(2)] });
  }
  return blocks;
}

// Its headings are below one of level 2.
export const ArtifactText = ({ text }) => html`<div class="artifact">${blocksOf(text).map(({ level, items, text: line }) => {
  if (level) return html`<${Heading} level=${level + 2} text=${line} />`;
  if (items) return html`<ul>${items.map((item) => html`<li><${Line} text=${item} /></li>`)}</ul>`;
  return html`<p><${Line} text=${line} /></p>`;
})}</div>`;
