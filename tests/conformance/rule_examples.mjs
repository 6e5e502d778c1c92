#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The examples of the pages of rules, from the conformance cases: for each rule the shortest JSON
// message that breaks it (alone, where there is one), and what it becomes when its hint is followed.
//   tests/conformance/rule_examples.mjs >web/rule_examples.tsv
// A line each: rule, protocol, query, message, corrected message.

import { readFileSync, readdirSync } from 'node:fs';

const folder = new URL('.', import.meta.url);
const BODY_MAX = 4000;

const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.ndjson'))
  .flatMap((name) => readFileSync(new URL(name, folder), 'utf8').trim().split('\n'))
  .map((line) => JSON.parse(line));

// On one line: valid JSON has line feeds and tabs only between its tokens.
const flat = (text) => text.replaceAll(/\s*[\n\t]\s*/g, ' ');
const isPlain = (text) => !/[\0-\x1f\x7f-\x9f]/.test(text);

const found = new Map();
for (const { protocol, media_type, query, body, mended, expect } of cases) {
  const isJson = media_type.startsWith('application/json') && typeof body === 'string';
  if (!isJson || body.length > BODY_MAX || !isPlain(flat(body)) || !expect?.errors) continue;
  const rules = [...expect.errors, ...expect.warnings];
  const example = [protocol, query ?? '', flat(body), flat(mended ?? '')];
  // Alone before among others, corrected before not, short before long.
  const cost = (rules.length > 1 ? 1e6 : 0) + (mended ? 0 : 1e5) + example[2].length;
  for (const rule of new Set(rules)) {
    if (!(found.get(rule)?.cost <= cost)) found.set(rule, { cost, example });
  }
}
for (const [rule, { example }] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
  process.stdout.write(`${[rule, ...example].join('\t')}\n`);
}
