// SPDX-License-Identifier: Apache-2.0
// The test of the pages finds what is wrong with a page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAsShown } from './lib/compare.mjs';
import { blocksOf, replaceBlock } from './lib/page.mjs';

test('what differs each time is not compared, and everything else is', () => {
  const rows = [
    [true, 'text', 'at 2025-12-14T10:30:00Z', 'at 2026-11-22T09:04:55.610241775Z'],
    [true, 'text', 'http://127.0.0.1:8080', 'http://127.0.0.1:41234'],
    [true, 'json', '{"timestamp":1705392000}', '{"timestamp":1795372738}'],
    [true, 'text', 'took 3 ms', 'took 12.5 ms'],
    [true, 'text', 'parley 0.1.0', 'parley 0.12.3'],
    [false, 'text', '"seq":1', '"seq":2'],
    [false, 'text', 'a b', 'a  b'],
    [true, 'json', '{"a":1,\n "b":2}', '{"a":1,"b":2}\n'],
    [true, 'json', '{"a":…}', '{"a":{"b":[1,2]}}'],
    [false, 'json', '{"a":…}', '{"b":1}'],
    [false, 'json', '{"a":1}', '{"a":1}{"b":2}'],
    [false, 'text', '', 'something'],
  ];
  for (const [expected, language, shown, printed] of rows) {
    assert.equal(isAsShown(shown, printed, language), expected, `${shown} | ${printed}`);
  }
});

test('a fence says what its block is', () => {
  const kinds = ['sh', 'sh exit=1', 'sh terminal=a', 'json output', 'text output=a', 'c file=a.c'];
  const page = [...kinds, 'sh not-run="it needs root"', 'text', '', 'json']
    .map((info) => `\`\`\`${info}\nx\n\`\`\`\n`)
    .join('\n');
  const blocks = blocksOf(page);
  assert.deepEqual(
    blocks.map((block) => block.kind),
    ['run', 'run', 'terminal', 'output', 'output', 'file', 'not-run', 'text', undefined, undefined],
  );
  assert.equal(blocks[6].attributes['not-run'], 'it needs root');
  assert.throws(() => blocksOf('```sh\nx\n'), /has no end/);
});

test('an update replaces one block', () => {
  const page = 'a\n```sh\nx\n```\n```text output\nold\nlines\n```\nb\n';
  const updated = replaceBlock(page, blocksOf(page)[1], 'new\n');
  assert.equal(updated, 'a\n```sh\nx\n```\n```text output\nnew\n```\nb\n');
  const long = JSON.stringify({ a: 'x'.repeat(60), b: [1, 2], c: 'y'.repeat(40) });
  const json = '```json output\nold\n```';
  const wrapped = replaceBlock(json, blocksOf(json)[0], `${long}\n`).split('\n');
  assert.equal(wrapped.length, 4);
  assert.ok(isAsShown(wrapped.slice(1, 3).join('\n'), long, 'json'));
});
