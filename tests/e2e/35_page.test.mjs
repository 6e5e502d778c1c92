// SPDX-License-Identifier: Apache-2.0
// The page at /, as a real browser shows it, and the commands on it, as a shell runs them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { browse, inBrowser } from './lib/browser.mjs';
import { useParley } from './lib/parley.mjs';
import { run } from './lib/program.mjs';

function blocksOf(page) {
  const text = (html) => html.replace(/<[^>]+>/g, '').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  return [...page.matchAll(/<pre><code>(.*?)<\/code><\/pre>/gs)].map(([, html]) => text(html));
}

const commandsOf = (page) => blocksOf(page).filter((text) => text.startsWith('curl'));

describe('the page at /', () => {
  const its = useParley();

  it('names the address that it was loaded from (contract 5)', inBrowser, async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const origin = `http://${host}:${its.parley.port}`;
      const { page } = await browse(`${origin}/`);
      const [entry] = blocksOf(page);
      const commands = commandsOf(page);
      assert.equal(JSON.parse(entry).mcpServers.parley.url, `${origin}/mcp`);
      assert.ok(commands.length >= 2);
      for (const command of commands) assert.ok(command.includes(`${origin}/v1/`), command);
    }
  });

  it('quotes what a shell would expand (newcomer 2.10)', inBrowser, async () => {
    const [send] = commandsOf((await browse(`${its.parley.url}/`)).page);
    // failglob: what zsh does of itself, an unquoted `?` is an error.
    const sent = await run('bash', ['-O', 'failglob', '-c', send]);
    assert.equal(JSON.parse(sent.stdout).subject, 'vlp.safe.claim', sent.stderr);
  });
});
