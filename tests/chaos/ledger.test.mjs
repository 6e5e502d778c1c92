// SPDX-License-Identifier: Apache-2.0
// The ledger sees what must not be: otherwise a table of zeros would show nothing.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ACCEPTED, Ledger, REFUSED, UNKNOWN } from './lib/ledger.mjs';

const NOTHING = { doubled: 0, lost: 0, disordered: 0, wrong: 0 };

// One client. `told`: of each of its messages, what its attempts were answered: a place in the
// stream, `[place]` for a duplicate, or an outcome. `stored`: by place, the number of a message.
function faultsOf(told, stored, { alter = (text) => text, kind = 'vlp' } = {}) {
  const ledger = new Ledger();
  const account = ledger.open(kind);
  for (const attempts of told) {
    const number = account.take();
    for (const answer of attempts) record(account, number, answer);
  }
  stored.forEach((number, at) => {
    ledger.found(at + 1, Buffer.from(alter(account.text(number))));
  });
  ledger.close();
  return { faults: ledger.faults, ...ledger };
}

function record(account, number, answer) {
  if (typeof answer === 'string') {
    account.record(number, { refused: REFUSED, unknown: UNKNOWN }[answer]);
  } else {
    const isDuplicate = Array.isArray(answer);
    account.record(number, ACCEPTED, { place: Number(answer), isDuplicate });
  }
}

const CASES = [
  ['all are accepted and stored', [[1], [2], [3]], [0, 1, 2], {}],
  ['a message is stored by a retry', [['refused', 1], ['unknown', 2]], [0, 1], {}],
  ['a retry finds what an unknown attempt stored', [['unknown', [1]]], [0], {}],
  ['an unknown message is stored', [['unknown'], [2]], [0, 1], {}],
  ['an unknown message is not stored', [['unknown'], [1]], [1], {}],
  ['a message is accepted twice, where it was', [[1, 1], [2], [3]], [0, 1, 2], {}],
  ['an accepted message is not there', [[1], [2]], [0], { lost: 1 }],
  ['an accepted message is there twice', [[1]], [0, 0], { doubled: 1 }],
  ['an unknown message is there twice', [['unknown']], [0, 0], { doubled: 1 }],
  ['a refused message is there', [['refused']], [0], { wrong: 1 }],
  ['a refused message was known before', [['refused', [1]]], [0], { wrong: 1 }],
  ['a message is not where its answer said', [[2], ['unknown']], [0, 1], { wrong: 1 }],
  ['two answers disagree', [[1, [2]]], [0], { wrong: 2 }],
  ['a later message is stored before', [[2], [1]], [1, 0], { disordered: 1 }],
  ['a message that nobody sent', [[1]], [0, 7], { wrong: 1 }],
];

describe('the ledger, when', () => {
  for (const [name, told, stored, faults] of CASES) {
    it(name, () => assert.deepEqual(faultsOf(told, stored).faults, { ...NOTHING, ...faults }));
  }

  it('other bytes are stored', () => {
    const alter = (text) => text.replace('0.85', '0.850');
    assert.deepEqual(faultsOf([[1]], [0], { alter }).faults, { ...NOTHING, wrong: 1 });
  });

  it('an id was filled in', () => {
    const stamp = (id) => (text) => text.replace('{', `{"id":"${id}",`);
    const stampedAs = (id) => faultsOf([[1]], [0], { alter: stamp(id), kind: 'stamped' }).faults;
    assert.deepEqual(stampedAs('0b0f6b2e-0000-4000-8000-000000000001'), NOTHING);
    assert.deepEqual(stampedAs('1'), { ...NOTHING, wrong: 1 });
  });

  it('a violation is reported, says what every attempt was answered', () => {
    const { violations } = faultsOf([['refused', 'unknown', 1]], []);
    assert.equal(violations.length, 1);
    assert.match(violations[0], /^lost: client 0 \(vlp\), message 0: answered as 1; /);
    assert.match(violations[0], /its attempts: refused .*unknown .*accepted/);
  });
});
