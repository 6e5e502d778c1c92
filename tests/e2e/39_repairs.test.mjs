// SPDX-License-Identifier: Apache-2.0
// What agents make of a refusal: every conformance case through examples/repair.mjs, and what
// verdicts promise of `expected` and `fix`.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { repair } from '../../examples/repair.mjs';
import { post } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { run } from './lib/program.mjs';
import { claim } from './lib/vlp.mjs';

// The invalid cases of a protocol that are one object in JSON.
function casesOf(protocol) {
  const file = new URL(`../conformance/${protocol}.ndjson`, import.meta.url);
  return readFileSync(file, 'utf8').trim().split('\n').map(JSON.parse).filter((test) => {
    if (test.media_type !== 'application/json' || test.body === undefined || test.is_stored) {
      return false;
    }
    return test.expect.valid === false && !test.expect.errors.some((id) => id.startsWith('GW-'));
  });
}

const valueAt = (message, path) =>
  path.split('/').slice(1).reduce((value, token) =>
    value?.[token.replaceAll('~1', '/').replaceAll('~0', '~')], message);

// Somebody has to write a value where nothing says what it is: the row has neither a fix nor an
// expectation, or the member is missing, or would be missing without its value.
async function needsContent(message, { violations }, check) {
  const open = violations.filter(({ severity, fix }) => severity === 'error' && !fix);
  if (open.some(({ path, expected }) => !expected || valueAt(message, path) === undefined)) {
    return true;
  }
  const bare = structuredClone(message);
  for (const { path } of open.toReversed()) {
    const target = valueAt(bare, path.slice(0, path.lastIndexOf('/')));
    const key = path.slice(path.lastIndexOf('/') + 1);
    if (Array.isArray(target)) target.splice(key, 1);
    else delete target[key];
  }
  const left = (await check(bare)).violations.filter(({ severity }) => severity === 'error');
  return left.some(({ rule, path, fix }) =>
    !fix && open.some((one) => one.rule === rule && one.path === path));
}

const ajv = addFormats(new Ajv({ strict: true, allowUnionTypes: true }));

// The value that was found is not as expected. Ajv takes more texts for a time than RFC 3339 does.
function assertExpected(name, message, { path, expected }) {
  if (!expected) return;
  const isRight = ajv.validate(expected, valueAt(message, path) ?? null);
  const isTime = expected.format === 'date-time';
  const isMissing = valueAt(message, path) === undefined;
  assert.ok(!isRight || isTime || isMissing, `${name}: ${path} is ${JSON.stringify(expected)}`);
}

describe('repairs', () => {
  const its = useParley();

  it('are made by the program for the message on its standard input', async () => {
    const path = fileURLToPath(new URL('../../examples/repair.mjs', import.meta.url));
    const message = claim({ seq: '4', confidence: '0.5', keywords: [7], topic: {} });
    const args = [path, its.parley.url, 'vlp'];
    const { stdout } = await run(process.execPath, args, { input: JSON.stringify(message) });
    const repaired = { ...message, seq: 4, confidence: 0.5, keywords: ['7'], topic: null };
    assert.deepEqual(JSON.parse(stdout), repaired);
  });

  for (const protocol of ['vlp', 'roundtable', 'supervisor', 'brenner']) {
    it(`of ${protocol} succeed for most cases that need no content`, async (t) => {
      const tally = { repaired: 0, without: 0, all: 0 };
      for (const test of casesOf(protocol)) {
        const query = test.query ? `?${test.query}` : '';
        const check = async (message) =>
          (await post(its.parley, `/v1/${protocol}/validate${query}`, JSON.stringify(message))).json;
        const message = JSON.parse(test.body);
        const before = await check(message);
        if (before.valid) continue; // JSON.parse has mended it
        for (const violation of before.violations) assertExpected(test.name, message, violation);
        const isWithout = !(await needsContent(message, before, check));
        const after = await check(await repair(message, check));
        tally.all += 1;
        tally.without += isWithout;
        tally.repaired += isWithout && after.valid;
      }
      t.diagnostic(`${protocol}: ${tally.repaired} of ${tally.without}, ${tally.all} in all`);
      assert.ok(tally.without > 50 && tally.repaired >= 0.8 * tally.without, JSON.stringify(tally));
    });
  }
});
