// SPDX-License-Identifier: Apache-2.0
// Every case of tests/conformance against the running server. The same cases go through libparley
// in process elsewhere; here the HTTP side must give the same verdicts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { validate } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { assertViolation } from './lib/vlp.mjs';

const file = new URL('../conformance/vlp.ndjson', import.meta.url);
const cases = readFileSync(file, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line));

function bodyOf(test) {
  if (test.body_repeat) {
    const { prefix, unit, count, suffix } = test.body_repeat;
    return prefix + unit.repeat(count) + suffix;
  }
  return test.body ?? Buffer.from(test.body_base64, 'base64');
}

// The verdict; a body that is too large gets none, but a problem that bears the violation.
async function verdictOn(parley, test, body) {
  const query = test.query ? `?${test.query}` : '';
  const answer = await validate(parley, body, { query, type: test.media_type });
  if (answer.status === 413) return { valid: false, violations: answer.json.violations };
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

const idsOf = (violations, severity) =>
  [...new Set(violations.filter((v) => v.severity === severity).map((v) => v.rule))].sort();

// GW, then VLP by number: the order of the rule table.
function assertTableOrder(violations) {
  const ids = violations.map((violation) => violation.rule);
  assert.deepEqual(ids, [...ids].sort(), 'in the order of the rule table');
}

describe('conformance', () => {
  const its = useParley();

  it('has cases', () => assert.ok(cases.length > 100));

  for (const test of cases) {
    it(test.name, async () => {
      const verdict = await verdictOn(its.parley, test, bodyOf(test));
      assert.deepEqual(
        {
          valid: verdict.valid,
          errors: idsOf(verdict.violations, 'error'),
          warnings: idsOf(verdict.violations, 'warning'),
        },
        {
          valid: test.expect.valid,
          errors: [...test.expect.errors].sort(),
          warnings: [...test.expect.warnings].sort(),
        },
      );
      assertTableOrder(verdict.violations);
      verdict.violations.forEach(assertViolation);
      for (const place of test.expect.places ?? []) {
        const found = verdict.violations.some(
          (v) =>
            v.rule === place.rule &&
            v.path === place.path &&
            v.at.line === place.at.line &&
            v.at.column === place.at.column,
        );
        assert.ok(found, `${JSON.stringify(place)} in ${JSON.stringify(verdict.violations)}`);
      }
    });

    if (test.mended !== undefined) {
      it(`${test.name}, mended as the hint says`, async () => {
        const verdict = await verdictOn(its.parley, test, test.mended);
        assert.deepEqual(idsOf(verdict.violations, 'error'), []);
        assert.equal(verdict.valid, true);
        for (const { rule } of test.expect.places ?? []) {
          assert.ok(!verdict.violations.some((violation) => violation.rule === rule), rule);
        }
      });
    }
  }
});
