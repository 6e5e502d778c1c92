// SPDX-License-Identifier: Apache-2.0
// The documents for machines, as the linters of their field see them.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { Parser } from '@asyncapi/parser';

const documentAt = (name) => resolve(process.env.PARLEY_DOCUMENTS, name);
const redocly = new URL('node_modules/.bin/redocly', import.meta.url).pathname;

describe('openapi.json', () => {
  it('has nothing that redocly objects to', () => {
    const args = ['lint', '--config', 'redocly.yaml', '--format', 'json', documentAt('openapi.json')];
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

describe('asyncapi.json', () => {
  it('has nothing that the parser of AsyncAPI objects to', async () => {
    const text = readFileSync(documentAt('asyncapi.json'), 'utf8');
    const { document, diagnostics } = await new Parser().parse(text);
    // It wants 3.1 wherever there is 3.0.
    const others = diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version');
    assert.deepEqual(others.map(({ code, message, path }) => `${code}: ${message} (${path.join('.')})`), []);
    assert.equal(document.version(), '3.0.0');
    assert.equal(document.channels().all().length, 10);
  });
});
