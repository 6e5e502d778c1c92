// SPDX-License-Identifier: Apache-2.0
// What a browser can be made to do by the pages of others: nothing, unless the operator allows their
// site. With headers as browsers send them, and with a real one.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { browse, inBrowser } from './lib/browser.mjs';
import { get, request, send } from './lib/http.mjs';
import { lastSequence } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';

const CONSOLE = 'https://console.example';
const EVIL = 'https://evil.example';
const PAGES = ['/', '/problems', '/problems/too-large', '/rules', '/rules/VLP-012'];

describe('headers of browsers', () => {
  const its = useParley({ args: ['--host', 'parley.example', '--cors-origin', CONSOLE] });
  const hosts = () => ['localhost', '127.0.0.1', '[::1]', 'parley.example']
    .flatMap((name) => [name, `${name}:${its.parley.port}`]);

  it('name a host that is the server\'s, or reach nothing', async () => {
    for (const Host of hosts()) {
      assert.equal((await get(its.parley, '/livez', { headers: { Host } })).status, 200, Host);
    }
    for (const Host of ['evil.example', `evil.example:${its.parley.port}`, 'localhost.evil.example']) {
      for (const path of ['/', '/livez', '/readyz', '/v1/protocols', '/v1/stream', '/nowhere']) {
        assertProblem(await get(its.parley, path, { headers: { Host } }), 421, 'misdirected-request');
      }
      assertProblem(await send(its.parley, claim(), { headers: { Host } }), 421, 'misdirected-request');
    }
    assert.equal(await lastSequence(its.nats), 0);
  });

  it('of a foreign page send nothing and read no stream', async () => {
    const rows = [
      { Origin: EVIL },
      { Origin: 'null' },
      { Origin: `http://localhost:${its.parley.port + 1}`, 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
    ];
    for (const headers of rows) {
      const answers = [
        await send(its.parley, claim(), { headers }),
        await request(its.parley, 'POST', '/v1/vlp/validate', { headers, body: '{}' }),
        await get(its.parley, '/v1/stream', { headers }),
        await get(its.parley, '/v1/vlp/stream?since=all&follow=false', { headers }),
      ];
      for (const answer of answers) {
        assertProblem(answer, 403, 'cross-origin');
        assert.equal(answer.headers['access-control-allow-origin'], undefined);
      }
      assert.equal((await get(its.parley, '/v1/protocols', { headers })).status, 200);
    }
    assert.equal(await lastSequence(its.nats), 0);
  });

  it('of an allowed site and of the own page send and read', async () => {
    const Host = `localhost:${its.parley.port}`;
    const allowed = await send(its.parley, claim(), { headers: { Origin: CONSOLE } });
    assertAccepted(allowed);
    assert.equal(allowed.headers['access-control-allow-origin'], CONSOLE);
    assert.match(allowed.headers['access-control-expose-headers'], /X-Request-Id/);
    assert.match(allowed.headers.vary, /Origin/);
    assert.equal(allowed.headers['access-control-allow-credentials'], undefined);
    for (const headers of [{ Host, Origin: `http://${Host}` }, { 'Sec-Fetch-Site': 'none' }]) {
      assertAccepted(await send(its.parley, claim(), { headers }));
      const read = await get(its.parley, '/v1/vlp/stream?since=all&follow=false', { headers });
      assert.equal(read.status, 200);
      assert.equal(read.headers['access-control-allow-origin'], undefined);
    }
  });

  it('ask before they send, and learn what an allowed site may', async () => {
    const ask = (Origin) => request(its.parley, 'OPTIONS', '/v1/vlp/messages', {
      headers: { Origin, 'Access-Control-Request-Method': 'POST' },
    });
    const allowed = await ask(CONSOLE);
    assert.equal(allowed.status, 204);
    assert.equal(allowed.headers['access-control-allow-origin'], CONSOLE);
    assert.match(allowed.headers['access-control-allow-methods'], /POST/);
    assert.match(allowed.headers['access-control-allow-headers'], /Authorization/);
    const foreign = await ask(EVIL);
    assert.deepEqual(Object.keys(foreign.headers).filter((name) => name.startsWith('access-')), []);
  });

  it('are told what an answer is, and pages run nothing of others', async () => {
    const answers = [
      await get(its.parley, '/nowhere'),
      await get(its.parley, '/v1/vlp/stream?since=all&follow=false'),
      await send(its.parley, claim()),
      await send(its.parley, '{'),
    ];
    for (const path of PAGES) {
      const page = await get(its.parley, path, { headers: { Accept: 'text/html' } });
      assert.match(page.headers['content-type'], /text\/html/);
      assert.match(page.headers['content-security-policy'], /^default-src 'none';/);
      assert.match(page.headers['content-security-policy'], /frame-ancestors 'none'/);
      assert.doesNotMatch(page.headers['content-security-policy'], /unsafe/);
      assert.equal(page.headers['referrer-policy'], 'no-referrer');
      assert.doesNotMatch(page.text, /<style|style=|<script>|\son\w+=/);
      answers.push(page);
    }
    for (const { headers } of answers) assert.equal(headers['x-content-type-options'], 'nosniff');
  });
});

// A page of another site, which tries what a page can: its results are its text.
const ATTACK = (targets) => `<!doctype html><title>a page</title><script>
const attempts = [];
const attempt = (name, promise) => attempts.push(
  promise.then((what) => name + ' ' + what, (error) => name + ' failed'));
const body = ${JSON.stringify(JSON.stringify(claim()))};
for (const target of ${JSON.stringify(targets)}) {
  const read = (path, options) => fetch(target + path, options)
    .then((answer) => answer.type === 'opaque' ? 'opaque' : answer.status);
  attempt('send', read('/v1/vlp/messages', { method: 'POST', body,
    headers: { 'Content-Type': 'application/json' } }));
  attempt('send-simple', read('/v1/vlp/messages', { method: 'POST', mode: 'no-cors',
    body: new Blob([body]) }));
  attempt('read', read('/v1/vlp/stream?since=all&follow=false'));
  attempt('events', new Promise((done, fail) => {
    const source = new EventSource(target + '/v1/stream?since=all');
    source.onopen = () => { source.close(); done('opened'); };
    source.onerror = () => { source.close(); fail(); };
  }));
}
Promise.all(attempts).then((all) => { document.body.textContent = 'RESULT ' + all.join(', ') + ' END'; });
</script><body>waiting`;

describe('a real browser', () => {
  const site = { targets: [] };
  let server;
  before(async () => {
    server = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' });
      response.end(ATTACK(site.targets));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    site.port = server.address().port;
  });
  after(() => server.close());
  const its = useParley();
  const resultsOf = (page) => (/<body>RESULT (.*) END/.exec(page)?.[1] ?? page).split(', ');

  it('shows the page under its policy without a complaint', inBrowser, async () => {
    for (const path of PAGES) {
      const { page, complaints } = await browse(`http://localhost:${its.parley.port}${path}`);
      assert.deepEqual(complaints.filter((line) => !line.includes('favicon')), []);
      assert.match(page, /<h1>/);
    }
  });

  it('reaches nothing by a name that was pointed here, nor from a page of another site', inBrowser, async () => {
    const names = ['evil.example'];
    const rebound = `http://evil.example:${its.parley.port}`;
    const { page } = await browse(`${rebound}/`, { names });
    assert.match(page, /misdirected-request/);
    site.targets = [rebound, `http://localhost:${its.parley.port}`, `http://127.0.0.1:${its.parley.port}`];
    const attacked = await browse(`http://evil.example:${site.port}/`, { names });
    const results = resultsOf(attacked.page);
    assert.equal(results.length, 12, attacked.page);
    for (const result of results) assert.match(result, /failed$|^send-simple opaque$/);
    assert.equal(await lastSequence(its.nats), 0);
  });

  it('sends and reads from a page of a site that is allowed', inBrowser, async (t) => {
    const origin = `http://console.example:${site.port}`;
    const server = await parleyFor(t, { args: ['--cors-origin', origin] });
    site.targets = [server.url];
    const { page } = await browse(`${origin}/`, { names: ['console.example'] });
    assert.deepEqual(resultsOf(page), ['send 200', 'send-simple opaque', 'read 200', 'events opened']);
  });
});
