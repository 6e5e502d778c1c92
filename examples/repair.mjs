#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Repairs a message by what its verdict says: it takes each `fix`, and drops what cannot be
// read as what is `expected`. A model would think about suggestions, and write what is missing.
//
//   node examples/repair.mjs http://localhost:8080 vlp <message.json >repaired.json

import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

// The object that has the value at a JSON Pointer, and its key there.
function placeOf(message, pointer) {
  const keys = pointer.split('/').slice(1).map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  return [keys.slice(0, -1).reduce((value, key) => value?.[key], message), keys.at(-1)];
}

// RFC 6902, as far as fixes have it.
function apply(message, { op, from, path, value }) {
  const [target, key] = placeOf(message, path);
  const [source, old] = op === 'move' ? placeOf(message, from) : [];
  target[key] = source ? source[old] : value;
  if (source) delete source[old];
}

// Of a text within the message, in bytes.
function edit(target, key, { offset, delete: count, insert }) {
  const text = Buffer.from(target[key]);
  target[key] = text.subarray(0, offset) + insert + text.subarray(offset + count);
}

// A value that cannot be read as what is expected says nothing: it goes, if there is one.
function follow(message, { path, expected, fix }) {
  const [target, key] = placeOf(message, path);
  if (fix?.edit) edit(target, key, fix.edit);
  else if (fix) fix.patch.forEach((step) => apply(message, step));
  else if (!expected || target?.[key] === undefined) return;
  else if ([expected.type].flat().includes('null')) target[key] = null;
  else if (Array.isArray(target)) target.splice(key, 1);
  else delete target[key];
}

export async function repair(message, check, rounds = 3) {
  for (let verdict = await check(message); rounds > 0 && !verdict.valid; rounds -= 1) {
    const errors = verdict.violations.filter(({ severity }) => severity === 'error');
    const at = ({ fix }) => fix?.edit?.offset ?? Infinity;
    errors.reverse().sort((a, b) => at(b) - at(a) || 0); // the last item and the last edit first
    for (const error of errors) follow(message, error);
    verdict = await check(message);
  }
  return message;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [server, protocol] = process.argv.slice(2);
  const check = async (message) => (await fetch(`${server}/v1/${protocol}/validate`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(message),
  })).json();
  console.log(JSON.stringify(await repair(JSON.parse(await text(process.stdin)), check)));
}
