// SPDX-License-Identifier: Apache-2.0
// What makes readers of Markdown, YAML, JSON and patterns take quadratic time costs parley no more
// than in proportion to its length: a megabyte of each, and the processor time that the server took
// for it, which does not depend on how busy the machine is. Plain text takes some 20 ms here, the
// worst 350; what is quadratic would take minutes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { JSON_TYPE, get, post } from '../e2e/lib/http.mjs';
import { useParley } from '../e2e/lib/parley.mjs';
import { isSanitized } from '../e2e/lib/poll.mjs';

const BYTES = 1_000_000;
const CPU_MS_MAX = isSanitized ? 5_000 : 1_000;
const MS_A_TICK = 10;

const fill = (unit, bytes = BYTES) => unit.repeat(Math.floor(bytes / unit.length));
const series = (count, unitOf) => Array.from({ length: count }, (_, i) => unitOf(i)).join('').slice(0, BYTES);

const MARKDOWN = {
  'brackets that open': fill('['),
  'brackets that close': fill(']'),
  'images that open': fill('!['),
  'images of images': fill('![[]()'),
  'images of a reference': `[a]: u\n\n${fill('![[a]')}`,
  'links that do not end': fill('[a](<b'),
  'links of links': fill('[a](b', BYTES / 2) + fill(')', BYTES / 3),
  'a destination of brackets': `[a](${fill('(')}`,
  'emphasis that opens': fill('*a **a '),
  'emphasis that closes': fill('a** '),
  'emphasis of two kinds': fill('*a_ '),
  'emphasis that may be both': fill('**a *a'),
  'emphasis in quotes': fill('>>>>>>>>>>>>>>>> *a_ b** c_\n'),
  'backticks, ever more': series(1400, (i) => `${'`'.repeat(i + 1)} `),
  'quotes in each other': fill('> '),
  'lists in each other': fill('* '),
  'numbered lists in each other': fill('1. '),
  'lists, ever deeper': series(4000, (i) => `${' '.repeat(i % 900)}* a\n`),
  'lists in each other, and blank lines': fill('* * * * * * * * a\n\n\n\n\n\n\n'),
  'definitions': series(80_000, (i) => `[${i}]: u\n`),
  'definitions of the same': fill('[a]: u\n\n'),
  'references': `[a]: u\n\n${fill('[a] ')}`,
  'references to nothing': fill('[a][b]'),
  'references that expand': `[a]: /${fill('u', BYTES / 2)}\n\n${fill('[a]', BYTES / 2)}`,
  'comments that do not end': fill('<!--'),
  'instructions that do not end': fill('<?'),
  'declarations that do not end': fill('<!A '),
  'CDATA that does not end': fill('<![CDATA['),
  'tags that do not end': fill('<a '),
  'attributes that do not end': `<a ${fill('b=" ')}`,
  'addresses that do not end': fill('<a@'),
  'entities that do not end': fill('&'),
  'headings that are none': fill('a\n=\n'),
  'fences': fill('```\n'),
  'fences of two kinds': fill('~~~\n```\n'),
  'fences of deltas': fill('```delta\n'),
  'deltas': fill('```delta\n{}\n```\n'),
  'objects that do not end': fill('{"operation":'),
  'texts that do not end': fill('{"'),
  'NULs': fill('\0'),
  'blank lines': fill('\n'),
};

// A member of a message that has a pattern, a time or a set of keys.
const PATTERNS = ['a', 'a-', '-', '0', '1.', 'é', 'a b', '.', '2025-12-14T10:30:00Z', '\\u0061', '😀'];

describe('the work that a message of a megabyte makes', () => {
  const its = useParley();
  let brenner;
  before(async () => {
    const examples = (await get(its.parley, '/v1/protocols/brenner/examples')).json;
    const { message } = examples.find(({ name }) => name === 'delta');
    const { text } = await post(its.parley, '/v1/brenner/convert?to=markdown', JSON.stringify(message));
    brenner = text.slice(0, text.indexOf('\n---\n') + '\n---\n'.length);
  });

  const usedMs = () => {
    const stat = readFileSync(`/proc/${its.parley.pid}/stat`, 'latin1');
    const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
    return (user + system) * MS_A_TICK;
  };

  async function assertCheap(protocol, type, body) {
    const used = usedMs();
    const answer = await post(its.parley, `/v1/${protocol}/validate`, Buffer.from(body), { type });
    assert.equal(answer.status, 200, answer.text);
    assert.ok(usedMs() - used < CPU_MS_MAX, `${usedMs() - used} ms of processor time`);
  }

  for (const [what, text] of Object.entries(MARKDOWN)) {
    it(`Markdown: ${what}`, () => assertCheap('brenner', 'text/markdown', brenner + text));
  }

  for (const [what, text] of Object.entries({
    'keys': series(60_000, (i) => `k${i}: 1\n`),
    'keys in brackets': `a: {${series(60_000, (i) => `k${i}: 1, `).slice(0, -2)}}`,
    'anchors': series(40_000, (i) => `k${i}: &a${i} 1\n`),
    'brackets that open': `a: ${fill('[')}`,
    'quotes that do not end': `a: ${fill('"')}`,
    'comments': fill('#\n'),
    'blanks': `a: ${fill(' ')}`,
    'blocks': fill('a: |\n'),
  })) {
    it(`YAML: ${what}`, () => assertCheap('brenner', 'text/markdown', `---\n${text}\n---\nbody\n`));
  }

  it('JSON: keys of one object', async () => {
    const keys = series(80_000, (i) => `"k${i}":1,`);
    await assertCheap('vlp', JSON_TYPE, `{${keys.slice(0, keys.lastIndexOf(','))}}`);
  });

  it('JSON: objects in each other, with their keys', async () => {
    const inner = `{${Array.from({ length: 500 }, (_, i) => `"k${i}":1`).join(',')},"o":`;
    await assertCheap('vlp', JSON_TYPE, `${inner.repeat(60)}{}${'}'.repeat(60)}`);
  });

  for (const protocol of ['vlp', 'roundtable', 'supervisor', 'brenner']) {
    it(`${protocol}: texts that almost match its patterns`, async () => {
      const examples = (await get(its.parley, `/v1/protocols/${protocol}/examples`)).json;
      const message = examples[0].message;
      for (const key of Object.keys(message).filter((name) => typeof message[name] === 'string')) {
        for (const unit of PATTERNS) {
          const text = `${fill(unit, BYTES / 10)}!`;
          await assertCheap(protocol, JSON_TYPE, JSON.stringify({ ...message, [key]: text }));
        }
      }
    });
  }
});
