// SPDX-License-Identifier: Apache-2.0
// The documents for machines, as the linters of their field see them.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';

const redocly = new URL('node_modules/.bin/redocly', import.meta.url).pathname;

describe('openapi.json', () => {
  it('has nothing that redocly objects to', () => {
    const args = ['lint', '--config', 'redocly.yaml', '--format', 'json', process.env.PARLEY_OPENAPI];
    const env = { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', REDOCLY_TELEMETRY: 'off' };
    const { stdout, stderr } = spawnSync(redocly, args, { encoding: 'utf8', timeout: 60_000, env });
    const at = stdout.indexOf('{');
    assert.ok(at >= 0, stderr);
    const { totals, problems } = JSON.parse(stdout.slice(at));
    const texts = problems.map(({ ruleId, message, location }) =>
      `${ruleId}: ${message} (${location[0]?.pointer})`);
    assert.deepEqual(texts, []);
    assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 });
  });
});
