// SPDX-License-Identifier: Apache-2.0
// What callgrind counted, of the functions of one program: those of its libraries cost what they
// cost, and are not ours to keep small.

import { readFileSync } from 'node:fs';

const ALLOCATORS = new Set([
  ...['malloc', 'calloc', 'realloc', 'reallocarray', 'aligned_alloc', 'posix_memalign'],
  ...['strdup', 'strndup'],
]);

// jansson's allocations are of what is asked of JetStream every few seconds, however many messages
// there are meanwhile: no message is read by it.
const OF_TIME = new Set(['allocate_or_end']);

// Names are written once, and are numbers from then on: "(3) main", "(3)".
class Names {
  #known = new Map();

  name(text) {
    const [, number, name] = /^\((\d+)\)(?: (.*))?$/.exec(text) ?? [null, null, text];
    if (number === null) return name;
    if (name !== undefined) this.#known.set(number, name);
    return this.#known.get(number);
  }
}

// Source: the format's description in valgrind's manual, "Callgrind Format Specification".
// Returns { instructions, allocations, functions, allocators }: of a file, what the object's own
// functions have executed, how often they have asked for memory, and each function's share of both.
export function countsOf(file, isOwn) {
  const objects = new Names();
  const functions = new Names();
  const counts = { instructions: 0, allocations: 0, functions: new Map(), allocators: new Map() };
  let isOurs = false;
  let current = '';
  let callee = '';
  let isCallCost = false;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [, key, value] = /^([a-z]+)= ?(.*)$/.exec(line) ?? [];
    if (key === 'ob') isOurs = isOwn(objects.name(value));
    else if (key === 'cob') objects.name(value);
    else if (key === 'fn') current = functions.name(value);
    else if (key === 'cfn') callee = functions.name(value).replace(/'\d+$/, '');
    else if (key === 'calls') {
      isCallCost = true; // the next line is what the callee cost, all in all
      if (isOurs && ALLOCATORS.has(callee) && !OF_TIME.has(current)) {
        const calls = Number(value.split(' ')[0]);
        counts.allocations += calls;
        counts.allocators.set(current, (counts.allocators.get(current) ?? 0) + calls);
      }
    } else if (/^[-+*\d]/.test(line)) {
      if (isOurs && !isCallCost) {
        const cost = Number(line.split(' ').at(-1));
        counts.instructions += cost;
        counts.functions.set(current, (counts.functions.get(current) ?? 0) + cost);
      }
      isCallCost = false;
    }
  }
  return counts;
}
