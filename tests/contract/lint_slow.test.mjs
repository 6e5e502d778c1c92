// SPDX-License-Identifier: Apache-2.0
// The documents for machines, as the linters of their field see them.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { Parser } from '@asyncapi/parser';
import openapiTypescript, { astToString } from 'openapi-typescript';

const documentAt = (name) => resolve(process.env.PARLEY_DOCUMENTS, name);
const inFolder = (name) => new URL(name, import.meta.url).pathname;
const redocly = inFolder('node_modules/.bin/redocly');

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

describe('a client that is generated from openapi.json', () => {
  it('has types for drafts, each type of message, tasks and replies', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-client-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const ast = await openapiTypescript(readFileSync(documentAt('openapi.json'), 'utf8'));
    writeFileSync(join(folder, 'openapi.d.ts'), astToString(ast));
    copyFileSync(inFolder('typed_client.ts'), join(folder, 'typed_client.ts'));
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--allowImportingTsExtensions'];
    const { status, stdout } = spawnSync(inFolder('node_modules/.bin/tsc'), [...options, 'typed_client.ts'],
      { cwd: folder, encoding: 'utf8', timeout: 60_000 });
    assert.equal(stdout, '');
    assert.equal(status, 0);
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
