// SPDX-License-Identifier: Apache-2.0
// The page of docs/recipes.md in a real browser: it shows what is sent while it is open.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { browse, inBrowser } from '../e2e/lib/browser.mjs';
import { Program, run, temporaryFolder } from '../e2e/lib/program.mjs';
import { blocksOf } from './lib/page.mjs';
import { freePort } from './lib/ports.mjs';

const root = resolve(new URL('../..', import.meta.url).pathname);
const binary = resolve(process.env.PARLEY_BIN || join(root, 'build/dev/gateway/parley'));

// The browser is done once a page is loaded, and this one is when its image is: the site has that
// only once the recipe's page, in a frame, shows something and that was reported. Timers stand still
// meanwhile, since the browser's time does not go on while it waits for answers.
const AROUND = `<!doctype html><iframe src="/page.html"></iframe><img src="/until-shown"><script>
  const frame = document.querySelector('iframe');
  async function report() {
    const shown = frame.contentDocument.querySelector('#messages li');
    if (!shown) return;
    frame.remove();
    await fetch('/shown', { method: 'POST', body: shown.textContent });
  }
  frame.onload = () => {
    new MutationObserver(report).observe(frame.contentDocument, { childList: true, subtree: true });
    report();
  };
</script>`;

function site(page, onShown) {
  let endLoading;
  const answers = {
    '/': (response) => response.setHeader('Content-Type', 'text/html').end(AROUND),
    '/page.html': (response) => response.setHeader('Content-Type', 'text/html').end(page),
    '/until-shown': (response) => (endLoading = () => response.writeHead(404).end()),
    '/shown': async (response, request) => {
      onShown(Buffer.concat(await request.toArray()).toString());
      response.end();
      endLoading();
    },
  };
  return http.createServer((request, response) => {
    const answer = answers[request.url] ?? (() => response.writeHead(404).end());
    answer(response, request);
  });
}

test('the page of the recipes shows messages', inBrowser, async () => {
  const blocks = blocksOf(readFileSync(join(root, 'docs/recipes.md'), 'utf8'));
  const { text } = blocks.find(({ attributes }) => attributes.file === 'page.html');
  const [own, gateway] = [await freePort(), await freePort()];
  const shown = [];
  const server = site(text.replaceAll(':8081', `:${gateway}`), (line) => shown.push(line));
  await new Promise((listening) => server.listen(own, '127.0.0.1', listening));
  const origin = `http://localhost:${own}`;
  const address = ['--listen', `127.0.0.1:${gateway}`, '--data', join(temporaryFolder(), 'data')];
  const parley = new Program(binary, ['serve', ...address, '--cors-origin', origin]);
  try {
    await parley.prints(/^listening on /m);
    const { stdout: message } = await run(binary, ['examples', 'vlp', 'claim']);
    const sent = await fetch(`http://127.0.0.1:${gateway}/v1/vlp/messages`, {
      ...{ method: 'POST', body: message },
      headers: { 'Content-Type': 'application/json' },
    });
    assert.equal(sent.status, 200, await sent.text());
    await browse(`${origin}/`);
    assert.deepEqual(shown, [`/vlp/The%20Observer: "${JSON.parse(message).content}"`]);
  } finally {
    server.close();
    server.closeAllConnections();
    parley.killFamily();
  }
});
