// SPDX-License-Identifier: Apache-2.0
// A page as the blocks in its fences, and what the first line of a fence says of each:
//
//   ```sh                        run by the test; it must exit with 0
//   ```sh exit=1                 … with 1
//   ```sh terminal=NAME          runs in a terminal of its own until the page ends
//   ```json output               what the block before printed
//   ```json output=NAME          what terminal NAME printed since the page last showed it
//   ```python file=NAME          what the reader saves as NAME
//   ```sh not-run="REASON"       what a test cannot run
//   ```text                      neither a command nor an output: a drawing
//
// ADR 24 says why it is the fence that says so.

const ATTRIBUTE = /([a-z-]+)(?:=(?:"([^"]*)"|(\S+)))?/g;

function attributesOf(text) {
  const attributes = {};
  for (const [, name, quoted, bare] of text.matchAll(ATTRIBUTE)) {
    attributes[name] = quoted ?? bare ?? true;
  }
  return attributes;
}

function kindOf(language, attributes) {
  const named = ['not-run', 'output', 'file', 'terminal'].find((name) => name in attributes);
  if (named) return named;
  return { sh: 'run', text: 'text' }[language];
}

// Blocks in their order: { line (of the fence, from 1), last, language, kind, attributes, text }.
export function blocksOf(markdown) {
  const blocks = [];
  let open;
  markdown.split('\n').forEach((content, at) => {
    if (!open && content.startsWith('```')) {
      const [, language, rest] = /^```(\S*)\s*(.*)$/.exec(content);
      const attributes = attributesOf(rest);
      const kind = kindOf(language, attributes);
      open = { line: at + 1, language, kind, attributes, lines: [] };
    } else if (open && content === '```') {
      const { lines, ...block } = open;
      blocks.push({ ...block, last: at + 1, text: lines.map((line) => `${line}\n`).join('') });
      open = undefined;
    } else if (open) {
      open.lines.push(content);
    }
  });
  if (open) throw new Error(`line ${open.line}: this block has no end`);
  return blocks;
}

// Lines of JSON that are too long to read, broken between members.
function wrap(line) {
  const lines = [''];
  for (const part of line.split(/(?<=[\]}"\dle],)(?=["{])/)) {
    if (lines.at(-1) !== '' && (lines.at(-1) + part).length > 100) lines.push(' ');
    lines[lines.length - 1] += part;
  }
  return lines;
}

// The page with the text of one block replaced.
export function replaceBlock(markdown, block, text) {
  const lines = markdown.split('\n');
  const shown = text.replace(/\n$/, '').split('\n');
  const wrapped = block.language === 'json' ? shown.flatMap(wrap) : shown;
  lines.splice(block.line, block.last - block.line - 1, ...wrapped);
  return lines.join('\n');
}
