// SPDX-License-Identifier: Apache-2.0
// That the budget can be broken: what is read of callgrind's files, and what is said of it.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../e2e/lib/program.mjs';
import { countsOf } from './callgrind.mjs';
import { complaint } from './complaint.mjs';

const profile = `version: 1
events: Ir

ob=(1) /bin/ours
fl=(1) a.c
fn=(1) check
10 100
+2 20
cob=(2) /lib/libc.so
cfn=(2) malloc
calls=3 0
* 900
cob=(1)
cfn=(3) walk
calls=1 40
12 50

fn=(3)
40 50

ob=(2)
fn=(2)
0 900
cfn=(4) calloc
calls=7 0
0 70
`;

const counts = () => {
  const file = join(temporaryFolder(), 'callgrind');
  writeFileSync(file, profile);
  return countsOf(file, (object) => object === '/bin/ours');
};

test('instructions are those of our own functions, without what they call', () =>
  assert.equal(counts().instructions, 170));

test('allocations are those that our own functions ask for', () =>
  assert.equal(counts().allocations, 3));

test('each of our functions has its own instructions', () =>
  assert.deepEqual([...counts().functions], [['check', 120], ['walk', 50]]));

const allowed = { instructions: 1000, allocations: 0 };
for (const [name, counted, expected] of [
  ['as budgeted', { instructions: 1000, allocations: 0 }, /^$/],
  ['less', { instructions: 10, allocations: 0 }, /^$/],
  ['a tenth more instructions', { instructions: 1100, allocations: 0 }, /^$/],
  ['more than a tenth more instructions', { instructions: 1101, allocations: 0 }, /1101 instr/],
  ['a tenth of an allocation', { instructions: 1000, allocations: 0.1 }, /^$/],
  ['a fifth of an allocation where none is budgeted', { instructions: 1000, allocations: 0.2 }, /0.2 allocations/],
  ['an allocation where none is budgeted', { instructions: 1000, allocations: 1 }, /1 allocations/],
]) {
  test(`${name}: ${expected.source === '^$' ? 'is fine' : 'is too much'}`, () =>
    assert.match(complaint(counted, allowed), expected));
}

test('a path without a budget is told', () =>
  assert.match(complaint({ instructions: 1, allocations: 0 }, undefined), /is not in/));

test('a call of MCP is budgeted at most 1.5 times a POST of the same claim', () => {
  const { paths } = JSON.parse(readFileSync(new URL('../../bench/budget.json', import.meta.url), 'utf8'));
  const of = (name) => paths[`${name}, one claim`].instructions;
  assert.ok(of('MCP send') <= 1.5 * of('POST messages'), `${of('MCP send')}, ${of('POST messages')}`);
});
