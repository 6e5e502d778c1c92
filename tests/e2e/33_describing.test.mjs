// SPDX-License-Identifier: Apache-2.0
// What the server says of itself: protocols, schemas, rules, examples.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, post, request } from './lib/http.mjs';
import { parley, parleyFor, useParley } from './lib/parley.mjs';
import { assertProblem } from './lib/vlp.mjs';

const SCHEMA_TYPE = 'application/schema+json';

describe('the protocols', () => {
  const its = useParley();
  const list = async () => (await get(its.parley, '/v1/protocols')).json;

  it('are the ones that the command line lists', async () => {
    const answer = await get(its.parley, '/v1/protocols');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'application/json');
    const listed = JSON.parse((await parley(['protocols', '--format', 'json'])).stdout);
    assert.ok(listed.length > 0);
    const withoutLinks = answer.json.map(({ links, views, ...rest }) => {
      assert.ok(links.self);
      assert.ok(views.length > 0);
      return rest;
    });
    assert.deepEqual(withoutLinks, listed);
  });

  it('are described one by one as in the list', async () => {
    for (const protocol of await list()) {
      assert.deepEqual((await get(its.parley, protocol.links.self)).json, protocol);
    }
  });

  it('have links that lead somewhere', async () => {
    for (const { links } of await list()) {
      for (const path of Object.values(links)) {
        const answer = await request(its.parley, 'OPTIONS', path);
        assert.equal(answer.status, 204, path);
      }
    }
  });

  it('have schema, rules and examples as the command line prints them', async () => {
    for (const { name, links, rules } of await list()) {
      const schema = await get(its.parley, links.schema);
      assert.equal(schema.headers['content-type'], SCHEMA_TYPE);
      assert.equal(schema.text, (await parley(['schema', name])).stdout);
      const printed = await parley(['rules', name, '--format', 'json']);
      const served = await get(its.parley, links.rules);
      assert.equal(served.text, printed.stdout);
      assert.equal(served.json.filter(({ id }) => !id.startsWith('GW-')).length, rules);
      const page = await get(its.parley, links.rules, { headers: { Accept: 'text/markdown' } });
      assert.equal(page.headers['content-type'], 'text/markdown; charset=utf-8');
      assert.equal(page.text, (await parley(['rules', name, '--format', 'markdown'])).stdout);
      const examples = await parley(['examples', name, '--format', 'json']);
      assert.equal((await get(its.parley, links.examples)).text, examples.stdout);
    }
  });

  it('accept their own examples, to send them as they are', async () => {
    let count = 0;
    for (const { name, links } of await list()) {
      for (const { name: example, message } of (await get(its.parley, links.examples)).json) {
        const answer = await post(its.parley, links.messages, JSON.stringify(message));
        assert.equal(answer.status, 200, `${name} ${example}: ${answer.text}`);
        assert.deepEqual(answer.json.warnings, [], `${name} ${example}`);
        count++;
      }
    }
    assert.ok(count > 0);
  });

  it('are not sent again to a client that has them', async () => {
    const { links } = (await list())[0];
    for (const path of ['/v1/protocols', links.schema, '/']) {
      const first = await get(its.parley, path);
      const again = await get(its.parley, path, { headers: { 'If-None-Match': first.headers.etag } });
      assert.equal(again.status, 304, path);
      assert.equal(again.text, '');
      for (const name of ['etag', 'content-length']) assert.equal(again.headers[name], first.headers[name]);
      const lines = ['"other"', first.headers.etag]; // a header a line
      assert.equal((await get(its.parley, path, { headers: { 'If-None-Match': lines } })).status, 304);
      const other = await get(its.parley, path, { headers: { 'If-None-Match': '"other"' } });
      assert.equal(other.status, 200);
    }
  });

  it('answer HEAD with the headers of GET, and other methods with 405', async () => {
    const { links } = (await list())[0];
    for (const path of ['/v1/protocols', links.self, links.schema, links.rules, links.examples]) {
      const whole = await get(its.parley, path);
      const head = await request(its.parley, 'HEAD', path);
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      for (const name of ['etag', 'content-type', 'content-length']) {
        assert.equal(head.headers[name], whole.headers[name], `${name} of ${path}`);
      }
      assertProblem(await request(its.parley, 'PUT', path), 405, 'method-not-allowed');
    }
  });

  it('are not served as what nobody writes, nor where they are not', async () => {
    const { links } = (await list())[0];
    const png = { headers: { Accept: 'image/png' } };
    assertProblem(await get(its.parley, links.rules, png), 406, 'not-acceptable');
    for (const path of ['/v1/protocols/nonesuch', '/v1/protocols/nonesuch/rules', `${links.self}/x`]) {
      assertProblem(await get(its.parley, path), 404, 'not-found');
    }
  });

  it('stand on the page at /', async () => {
    const { text } = await get(its.parley, '/');
    for (const { links } of await list()) assert.ok(text.includes(`href="${links.self}"`));
  });
});

describe('with --subject-prefix', () => {
  it('a protocol is described with its stream and subjects', async (t) => {
    const [{ name, stream }] = JSON.parse((await parley(['protocols', '--format', 'json'])).stdout);
    const server = await parleyFor(t, { args: ['--subject-prefix', `${name}=fleet-a`] });
    const { json } = await get(server, `/v1/protocols/${name}`);
    assert.equal(json.stream, `${stream}_FLEET-A`);
    assert.equal(json.subjects, 'fleet-a.>');
  });
});
