// SPDX-License-Identifier: Apache-2.0
// The ledger sees what must not be: otherwise a table of zeros would show nothing.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ACCEPTED, Ledger, REFUSED, UNKNOWN } from './lib/ledger.mjs';
import { contradictions } from './lib/registry.mjs';

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

const granted = (agent, seq) => ({ agent, answer: { status: 200, text: '', json: { seq } } });
const refused = (agent, holder) => {
  const json = { type: '/problems/already-claimed', holder, claimed_at: '2025-12-14T10:30:00Z' };
  return { agent, answer: { status: 409, text: '', json } };
};
const CLAIM = { holder: 'kay', seq: 2 };

// What agents were told of one task, its keys, and how many contradictions that is.
const TOLD = [
  ['one holds it, as its key says', [granted('kay', 2), refused('bors', 'kay')], CLAIM, 0],
  ['nobody was told 200 though it is held', [refused('bors', 'kay')], CLAIM, 0],
  ['two were told that they hold it', [granted('kay', 2), granted('bors', 2)], CLAIM, 2],
  ['another holds it', [granted('bors', 2)], CLAIM, 1],
  ['its key is lost', [granted('kay', 2)], undefined, 1],
  ['its claim is elsewhere', [granted('kay', 3)], CLAIM, 1],
  ['another holder was named', [refused('bors', 'galahad')], CLAIM, 1],
];

describe('the registry', () => {
  for (const [name, told, claim, count] of TOLD) {
    it(`of a task: ${name}`, () => {
      const keys = new Map([['t', { seq: 1 }], ...(claim ? [['t.claim', claim]] : [])]);
      const asked = new Map([['t', granted('pilot', 1).answer]]);
      const found = contradictions(asked, new Map([['t', told]]), keys);
      assert.equal(found.length, count, found.join('\n'));
    });
  }

  it('misses the key of a request that was accepted', () => {
    const asked = new Map([['t', granted('pilot', 1).answer]]);
    assert.equal(contradictions(asked, new Map(), new Map()).length, 1);
  });
});
