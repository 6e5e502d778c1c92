// SPDX-License-Identifier: Apache-2.0
// The pages of problems and rules: every one, in both forms; what they link to is there, and what
// they show as examples is so.

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, describe, it } from 'node:test';
import { get, post } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { run } from './lib/program.mjs';
import { assertProblem } from './lib/vlp.mjs';

const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'; // of browsers

describe('the pages of problems and rules', () => {
  const its = useParley();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  after(() => agent.destroy());
  const json = async (path) => (await get(its.parley, path, { agent })).json;
  const html = async (path) => {
    const answer = await get(its.parley, path, { agent, headers: { Accept: HTML } });
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8', path);
    assert.match(answer.headers['content-security-policy'], /default-src 'none'/);
    assert.ok(answer.text.endsWith('</html>\n'), path);
    assert.ok(!/<script>|style=| on\w+=/.test(answer.text), `${path}: nothing inline`);
    return answer.text;
  };
  const pages = async () => [
    ...(await json('/problems')).map(({ type }) => type),
    ...(await json('/rules')).map(({ id }) => `/rules/${id}`),
  ];

  it('are there for each problem and rule, for browsers and programs', async () => {
    const paths = await pages();
    assert.ok(paths.length > 150, `${paths.length} pages`);
    for (const path of paths) {
      const about = await json(path);
      const page = await html(path);
      for (const heading of ['What to do', 'Example']) assert.ok(page.includes(`<h2>${heading}`), path);
      assert.ok(page.includes(path.split('/').pop()), path);
      assert.ok((about.advice ?? about.hint).length > 10, path);
    }
  });

  it('link to what is there', async () => {
    const links = new Set(['/problems', '/rules']);
    for (const path of ['/', '/problems', '/rules', '/problems/draining', '/rules/VLP-001', '/rules/GW-001'])
      for (const [, link] of (await html(path)).matchAll(/href="([^"]+)"/g)) links.add(link);
    assert.ok(links.size > 150, `${links.size} links`);
    for (const link of links) assert.equal((await get(its.parley, link, { agent })).status, 200, link);
  });

  it('show commands that provoke the problem', async () => {
    let count = 0;
    for (const { type, status } of await json('/problems')) {
      const { example } = await json(type);
      assert.equal(example.answer.type, type);
      if (!example.request) continue;
      const command = example.request.replaceAll('http://localhost:8080', its.parley.url);
      const { stdout } = await run('bash', ['-c', command]);
      const last = [...stdout.matchAll(/HTTP\/1\.1 (\d+) /g)].filter(([, code]) => code !== '100').pop();
      assert.equal(Number(last?.[1]), status, `${command}\n${stdout.slice(0, 500)}`);
      assert.ok(stdout.includes(`"type":"${type}"`), stdout.slice(-500));
      count++;
    }
    assert.ok(count >= 14, `${count} commands`);
  });

  it('show messages that break the rule, and others that keep it', async () => {
    const groups = new Map();
    for (const { id } of await json('/rules')) {
      const { example } = await json(`/rules/${id}`);
      if (!example) continue;
      const key = `/v1/${example.protocol}/validate?${example.query}`;
      groups.set(key, [...(groups.get(key) ?? []), { id, ...example }]);
    }
    let count = 0;
    for (const [path, examples] of groups) {
      const verdicts = async (which) => {
        const body = examples.map((example) => `${example[which]}\n`).join('');
        return (await post(its.parley, path, body, { type: 'application/x-ndjson' })).lines.slice(0, -1);
      };
      const [broken, corrected] = [await verdicts('broken'), await verdicts('corrected')];
      examples.forEach(({ id }, i) => {
        assert.ok(broken[i].violations.some(({ rule }) => rule === id), `${id}: ${JSON.stringify(broken[i])}`);
        assert.deepEqual(corrected[i].violations, [], id);
        count++;
      });
    }
    assert.ok(count > 120, `${count} rules have an example`);
  });

  it('are refused where there is none, and in other forms', async () => {
    for (const path of ['/problems/nonesuch', '/rules/VLP-999', '/rules/vlp-001', '/rules/'])
      assertProblem(await get(its.parley, path), 404, 'not-found');
    for (const path of ['/problems', '/rules', '/rules/VLP-001']) {
      const png = { headers: { Accept: 'image/png' } };
      assertProblem(await get(its.parley, path, png), 406, 'not-acceptable');
      const { etag } = (await get(its.parley, path)).headers;
      assert.equal((await get(its.parley, path, { headers: { 'If-None-Match': etag } })).status, 304);
    }
  });
});
