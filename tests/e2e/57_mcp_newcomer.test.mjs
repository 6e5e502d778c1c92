// SPDX-License-Identifier: Apache-2.0
// Who has Node alone, and README.md: its lines connect the official client.

import assert from 'node:assert/strict';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CLIENTS } from './lib/mcp.mjs';
import { useParley } from './lib/parley.mjs';
import { run, temporaryFolder } from './lib/program.mjs';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const modules = fileURLToPath(new URL('node_modules', import.meta.url));
const AT = 'http://localhost:8080';

// The first block of README.md with these words, and the one after it.
function blocksWith(words) {
  const blocks = [...readme.matchAll(/^```[^\n]*\n(.*?)^```$/gms)].map(([, text]) => text);
  const first = blocks.findIndex((text) => text.includes(words));
  assert.notEqual(first, -1, `README.md has a block with ${words}`);
  return blocks.slice(first, first + 2);
}

describe('a newcomer', () => {
  const its = useParley();

  it('runs the lines of README.md in an empty folder, and sees the tools', async () => {
    const [lines, wanted] = blocksWith('npm install @modelcontextprotocol/sdk');
    const [install, ...script] = lines.split('\n');
    assert.equal(install, 'npm install @modelcontextprotocol/sdk');
    const folder = temporaryFolder();
    symlinkSync(modules, join(folder, 'node_modules')); // has it: a test downloads nothing
    const text = script.join('\n');
    assert.ok(text.includes(`"${AT}/mcp"`));
    const { stdout } = await run('bash', ['-euc', text.replaceAll(AT, its.parley.url)], { cwd: folder });
    assert.equal(stdout, wanted);
  });

  it('gives a client its entry, which is where that connects', async (t) => {
    const { mcpServers } = JSON.parse(blocksWith('"mcpServers"')[0]);
    const { type, url } = mcpServers.parley;
    assert.deepEqual([type, url], ['http', `${AT}/mcp`]);
    for (const { connect } of CLIENTS.filter(({ isThere }) => isThere)) {
      const client = await connect(t, { url: url.replace(AT, its.parley.url).replace(/\/mcp$/, '') });
      assert.equal((await client.listTools()).tools.length, 7);
    }
  });
});
