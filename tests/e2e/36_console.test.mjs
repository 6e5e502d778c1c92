// SPDX-License-Identifier: Apache-2.0
// The console, short: its files, and one page with one action. 36_console_slow has the rest.

import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { describe, it } from 'node:test';
import { assertNoFaults, inBrowser, useBrowser } from './lib/console.mjs';
import { get, request } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { assertProblem } from './lib/vlp.mjs';

const FIRST_PAGE_BYTES = 60 * 1024, LIBRARY_BYTES = 30 * 1024;
const LIBRARIES = /htm-preact|uplot/;

describe('the console', () => {
  const its = useParley();
  const browser = useBrowser();

  it('is files of the program, with an ETag and compressed', async () => {
    const { text: index, headers } = await get(its.parley, '/');
    assert.match(headers['content-security-policy'], /connect-src 'self'/);
    const names = [...index.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path]) => path);
    assert.ok(names.includes('/console/main.js'));
    for (const path of [...names, '/console/uplot.js']) {
      const plain = await get(its.parley, path);
      assert.equal(plain.status, 200, path);
      const again = await get(its.parley, path, { headers: { 'If-None-Match': plain.headers.etag } });
      assert.equal(again.status, 304, path);
      const packed = await request(its.parley, 'GET', path, { headers: { 'Accept-Encoding': 'gzip' } });
      if (packed.headers['content-encoding'] === 'gzip') assert.deepEqual(gunzipSync(packed.body), plain.body);
      assert.ok(packed.headers['content-encoding'] === 'gzip' || plain.body.length < 1024, path);
    }
  });

  it('has no other files', async () => {
    for (const name of ['nonesuch.js', '..%2fllms.txt', 'LICENSE.htm', '%00', 'x'.repeat(3000)]) {
      assertProblem(await get(its.parley, `/console/${name}`), 404, 'not-found');
    }
  });

  it('weighs at most 60 KiB at first, libraries 30 of it, and asks no other server', inBrowser, async (t) => {
    const page = await browser.open(t, its.parley, '');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.locator('.u-wrap').waitFor(); // the chart's library, too
    const files = await page.evaluate(() => performance.getEntriesByType('resource')
      .filter(({ name }) => /\.(js|css|svg)$/.test(name)).concat(performance.getEntriesByType('navigation'))
      .map(({ name, encodedBodySize }) => ({ name, size: encodedBodySize })));
    const weight = (some) => some.reduce((sum, { size }) => sum + size, 0);
    assert.ok(files.every(({ name, size }) => name.startsWith(its.parley.url) && size > 0), JSON.stringify(files));
    const libraries = weight(files.filter(({ name }) => LIBRARIES.test(name)));
    t.diagnostic(`${weight(files)} bytes, libraries ${libraries} of it`);
    assert.ok(weight(files) <= FIRST_PAGE_BYTES, JSON.stringify(files));
    assert.ok(libraries <= LIBRARY_BYTES, JSON.stringify(files));
    assertNoFaults(page);
  });

  it('says from its first page how an agent connects, with the address of this server', inBrowser, async (t) => {
    const page = await browser.open(t, its.parley, '');
    await page.getByRole('button', { name: 'Connect an agent' }).click();
    const entry = page.getByRole('region', { name: 'How to begin' }).getByText('mcpServers');
    await entry.waitFor();
    assert.ok(await entry.evaluate((element) => element.getBoundingClientRect().top < innerHeight));
    const { mcpServers } = JSON.parse(await entry.textContent());
    assert.equal(mcpServers.parley.url, `${its.parley.url}/mcp`);
    assertNoFaults(page);
  });

  it('fixes a message by one click for each fault, sends it, and shows it live', inBrowser, async (t) => {
    const page = await browser.open(t, its.parley, 'try?protocol=vlp');
    const editor = page.getByRole('textbox', { name: 'Message' });
    const verdict = page.getByRole('region', { name: 'Verdict' });
    await verdict.getByText('Valid', { exact: true }).waitFor();
    await editor.fill('{"type":"claim","sendr":"Ada","content":"From the console.","confidence":"0.8"}');
    await verdict.getByText('Not valid').waitFor();
    for (let left = 2; left > 0; left--) {
      await verdict.getByRole('button', { name: 'Fix', exact: true }).nth(left - 1).waitFor();
      await verdict.getByRole('button', { name: 'Fix', exact: true }).first().click();
      await verdict.getByRole('button', { name: 'Fix', exact: true }).nth(left - 1).waitFor({ state: 'detached' });
    }
    await verdict.getByText('Valid', { exact: true }).waitFor();
    assert.deepEqual(JSON.parse(await editor.inputValue()), { type: 'claim', content: 'From the console.', sender: 'Ada', confidence: 0.8 });
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByText('Stored in VLP as number').waitFor();
    await page.getByRole('link', { name: 'See it live' }).click();
    await page.getByRole('row', { name: /claim Ada .*From the console/ }).waitFor();
    assertNoFaults(page);
  });
});
