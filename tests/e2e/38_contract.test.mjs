// SPDX-License-Identifier: Apache-2.0
// The documents for machines, tried: what they say can be done, and their examples are accepted.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import { headers } from 'nats';
import { get, post, request } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { run } from './lib/program.mjs';
import { assertProblem } from './lib/vlp.mjs';

// The conformance cases of a protocol that are one object in JSON.
function* bodiesOf(protocol) {
  const file = new URL(`../conformance/${protocol}.ndjson`, import.meta.url);
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const { body = '', media_type: type } = JSON.parse(line);
    if (type !== 'application/json' || !body.startsWith('{')) continue;
    try {
      yield JSON.parse(body);
    } catch {
      // not valid JSON, which no schema says
    }
  }
}

const API = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');

// The agent that the documents name as an example is there.
async function beatAs(server, name) {
  const timestamp = new Date().toISOString();
  const knight = {
    id: randomUUID(),
    version: '1.0',
    type: 'heartbeat',
    from: name,
    timestamp,
    payload: { status: 'healthy' },
  };
  const agent = { type: 'heartbeat', timestamp: 1705392000 };
  const task = {
    ...knight,
    id: '650e8400-e29b-41d4-a716-446655440000', // the example of operations.c
    type: 'task.request',
    payload: { task: 'security.briefing' },
  };
  const hypothesis = { operation: 'ADD', section: 'hypothesis_slate', payload: { name: 'Lineage' } };
  const delta = {
    subject: 'DELTA[opus]: one hypothesis',
    from: name,
    thread_id: 'RS-20251230-cell-fate', // the example of operations.c
    body_md: `\`\`\`delta\n${JSON.stringify(hypothesis)}\n\`\`\`\n`,
  };
  for (const [path, message] of [
    ['/v1/roundtable/messages', knight],
    ['/v1/roundtable/messages', task],
    [`/v1/supervisor/messages?agent=${name}`, agent],
    ['/v1/brenner/messages', delta],
  ]) {
    assert.equal((await post(server, path, JSON.stringify(message))).status, 200);
  }
}

// With the id that operations.c has as the example.
async function checkpointAs(nats, name) {
  const checkpoint = { type: 'checkpoint', timestamp: 1705392000, data: { agent_state: {} } };
  const its = headers();
  its.set('ce-id', '28fd7316-e442-48d5-a6f8-79c7984a4924');
  const subject = `supervisor.${name}.gerbil.checkpoint`;
  await nats.jetstream().publish(subject, JSON.stringify(checkpoint), { headers: its });
}

describe('openapi.json', () => {
  const its = useParley({ args: ['--quarantine', '--index', 'on'] });
  const document = async () => (await get(its.parley, '/openapi.json')).json;

  function* operationsOf({ paths }) {
    for (const [path, methods] of Object.entries(paths))
      for (const [method, operation] of Object.entries(methods)) yield { path, method, operation };
  }
  const resolved = ({ components }, value) =>
    value.$ref ? components[value.$ref.split('/')[2]][value.$ref.split('/')[3]] : value;
  // The path with a name and an id that exist.
  const concrete = (path, operation) =>
    path.replace(/{(\w+)}/g, (_, part) => operation.parameters.find(({ name }) => name === part)?.example);
  const isStream = (path) => path.endsWith('/stream');

  it('is what the start page links to, and is not sent again', async () => {
    const page = await get(its.parley, '/');
    assert.match(page.headers.link, /<\/openapi\.json>; rel="service-desc"/);
    assert.ok(page.text.includes('href="/openapi.json"'));
    const first = await get(its.parley, '/openapi.json', { headers: { 'Accept-Encoding': 'gzip' } });
    assert.equal(first.headers['content-encoding'], 'gzip');
    const again = { 'If-None-Match': first.headers.etag, 'Accept-Encoding': 'gzip' };
    assert.equal((await get(its.parley, '/openapi.json', { headers: again })).status, 304);
  });

  // So that each stream has a message.
  async function sendToEach(server, described) {
    for (const { path, operation } of operationsOf(described)) {
      if (!/^\/v1\/\w+\/messages$/.test(path) || operation.requestBody === undefined) continue;
      const [example] = Object.values(operation.requestBody.content['application/json'].examples);
      const answer = await post(server, path, JSON.stringify(resolved(described, example).value));
      assert.equal(answer.status, 200, answer.text);
    }
  }

  // Every answer is held against the document by lib/contract.mjs.
  it('has only operations that the server serves', async () => {
    await beatAs(its.parley, 'galahad');
    await checkpointAs(its.nats, 'galahad');
    await sendToEach(its.parley, await document());
    for (const { path, method, operation } of operationsOf(await document())) {
      const query = isStream(path)
        ? '?since=all&follow=false'
        : `?${operation.parameters.flatMap(({ name, required, in: where }) =>
            name === 'wait' ? ['wait=5']
              : required && where === 'query' && name === 'id' ? ['id=x']
              : path.endsWith('/inbox') && name === 'agent' ? ['agent=x'] // or the token's
              : path.endsWith('/contexts') && name === 'sender' ? ['sender=x'] // or `session`
              : []).join('&')}`;
      const url = concrete(path, operation) + query;
      const answer = await request(its.parley, 'OPTIONS', url);
      assert.ok(answer.headers.allow.toLowerCase().includes(method), url);
      const status = path.startsWith('/.well-known/') ? 404 : 200; // without JSON Web Tokens
      if (method === 'get') assert.equal((await get(its.parley, url)).status, status, url);
    }
  });

  it('has examples that the server accepts, without a warning', async () => {
    const described = await document();
    let count = 0;
    for (const { path, operation } of operationsOf(described)) {
      const examples = operation.requestBody?.content['application/json'].examples ?? {};
      for (const [name, example] of Object.entries(examples)) {
        const body = JSON.stringify(resolved(described, example).value);
        const answer = await post(its.parley, path.replace(/convert$/, 'convert?to=json'), body);
        assert.equal(answer.status, 200, `${path} ${name}: ${answer.text}`);
        assert.deepEqual(answer.json.warnings ?? [], [], `${path} ${name}`);
        count++;
      }
    }
    assert.ok(count >= 60, `${count} examples`);
  });

  it('has bodies that are objects, as clients and tools made of it need them', async () => {
    const described = await document();
    for (const { path, operation } of operationsOf(described)) {
      const body = operation.requestBody?.content['application/json'].schema;
      if (body) assert.equal(resolved(described, body).type, 'object', path);
    }
  });

  it('says what the answer to a POST holds, beside what the operation does', async () => {
    for (const { path, method, operation } of operationsOf(await document()))
      if (method === 'post') assert.notEqual(operation.responses[200].description, operation.summary, path);
  });

  const isChecked = ({ in: where, schema }) =>
    where === 'query' && (schema.enum || schema.pattern || /boolean|integer/.test(schema.type));

  it('has query options that are taken, and refused with another value', async () => {
    const described = await document();
    let count = 0;
    for (const { path, method, operation } of operationsOf(described)) {
      for (const { name } of operation.parameters.map((each) => resolved(described, each)).filter(isChecked)) {
        const url = `${path}?${name}=no%20such%20value`;
        const answer = method === 'get' ? await get(its.parley, url) : await post(its.parley, url, '{}');
        assertProblem(answer, 400, 'invalid-parameter');
        assert.ok(answer.json.detail.includes(`\`${name}\` cannot be`), answer.json.detail);
        count++;
      }
    }
    assert.ok(count > 20, `${count} options`);
  });

  // The schema of each type, beside the protocol's own with its conditions, of which
  // tests/differential shows that it says what parley does.
  it('has schemas of messages that say what the schemas of the protocols say', async () => {
    const described = await document();
    const ajv = new Ajv({ strict: false, validateFormats: false });
    ajv.addSchema(described, 'openapi');
    const counts = {};
    for (const { name } of (await get(its.parley, '/v1/protocols')).json) {
      const own = ajv.compile((await get(its.parley, `/v1/protocols/${name}/schema`)).json);
      const named = name[0].toUpperCase() + name.slice(1);
      const [message, draft] = ['Message', 'Draft'].map((part) =>
        ajv.compile({ $ref: `openapi#/components/schemas/${named}${part}` }));
      const { schemas } = described.components;
      const { required: stamps } = [`${named}Message`, ...(schemas[`${named}Message`].oneOf ?? [])
        .map(({ $ref }) => $ref.split('/').pop())].map((each) => schemas[each]).find(({ required }) => required);
      const count = (counts[name] = { true: 0, false: 0 });
      for (const body of bodiesOf(name)) {
        const isValid = own(body);
        assert.equal(message(body), isValid, JSON.stringify(body));
        count[isValid]++;
        for (const member of isValid ? stamps : []) {
          const { [member]: left, ...rest } = body;
          assert.ok(draft(rest) && !message(rest), `${member} ${JSON.stringify(rest)}`);
        }
      }
    }
    for (const [name, count] of Object.entries(counts))
      assert.ok(count.true >= 30 && count.false >= 30, `${name} ${JSON.stringify(count)}`);
  });

  it('names what docs/api.md names: addresses, options, problems', async () => {
    const described = await document();
    const missing = new Set();
    const expect = (text) => API.includes(text) || missing.add(text);
    for (const { path, operation } of operationsOf(described)) {
      if (/^\/(page\..*)?$/.test(path)) continue;
      expect(path.replace(/\b(vlp|roundtable|supervisor|brenner)\b/, '{protocol}').replace('{name}', 'NAME').replace('{id}', 'ID'));
      for (const parameter of operation.parameters.map((each) => resolved(described, each))) {
        if (parameter.in === 'query') expect(`\`${parameter.name}`);
        if (parameter.in === 'header' && parameter.name !== 'If-None-Match') expect(parameter.name);
      }
    }
    for (const response of Object.values(described.components.responses)) {
      const problem = response.content['application/problem+json'].schema.properties;
      for (const type of problem.type.enum) expect(type.replace('/problems/', ''));
    }
    assert.deepEqual([...missing], []);
  });
});

describe('asyncapi.json', () => {
  const its = useParley({ args: ['--subject-prefix', 'roundtable=fleet-a'] });

  it('names the streams and subjects of this server, and has examples that it accepts', async () => {
    const { channels, components } = (await get(its.parley, '/asyncapi.json')).json;
    for (const { name, subjects, stream } of (await get(its.parley, '/v1/protocols')).json) {
      assert.equal(channels[name].address, subjects);
      assert.ok(channels[name].description.includes(stream));
      assert.equal(channels[`${name}Stream`].address, `/v1/${name}/stream`);
      const [message] = Object.keys(channels[name].messages);
      const { examples } = components.messages[message];
      assert.ok(examples.length > 0);
      for (const { name: example, payload } of examples) {
        const answer = await post(its.parley, `/v1/${name}/validate`, JSON.stringify(payload));
        assert.equal(answer.json.valid, true, example);
        assert.deepEqual(answer.json.violations, [], example);
      }
    }
  });
});

describe('llms.txt', () => {
  const its = useParley();

  it('is short, and its commands do what it says, for all protocols', async () => {
    const { text, headers } = await get(its.parley, '/llms.txt');
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
    assert.ok(Buffer.byteLength(text) <= 12_288, `${Buffer.byteLength(text)} bytes`);
    const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block);
    const command = `set -e\n${blocks.join('\necho\n')}`;
    const { stdout, stderr } = await run('bash', ['-c', command], { env: { ...process.env, PARLEY: its.parley.url } });
    assert.equal(stderr, '');
    for (const { name } of (await get(its.parley, '/v1/protocols')).json) {
      assert.match(stdout, new RegExp(`"protocol":"${name}"[^\\n]*"seq":\\d+,"duplicate":false`), `a receipt of ${name}`);
      assert.match(stdout, new RegExp(`"type":"${name}\\.[^\\n]*"data":`), `an event of ${name}`);
    }
    for (const said of ['"valid":false', '"summary":{"received":2,"accepted":1', '"id":"VLP-012"',
      '"type":"/problems/invalid-message"', '"from":"galahad","to":"tim"', '"state":"completed"', '{"items":[]}']) assert.ok(stdout.includes(said), `${said} in ${stdout}`);
  });

  it('names the filters that each protocol has, and no others', async () => {
    const { text } = await get(its.parley, '/llms.txt');
    const [, ...sections] = text.split('\n### ');
    const filters = sections.map((section) => [section.split(':')[0], section.match(/^- Filters: (.*)\.$/m)[1]]);
    assert.deepEqual(Object.fromEntries(filters), {
      vlp: '`type`, `lane`, `sender`, `receiver`, `for`, `thread`',
      roundtable: '`type`, `sender`, `receiver`, `for`, `thread`, `domain`, `priority`',
      supervisor: '`type`, `sender`, `thread`, `agent`',
      brenner: '`type`, `sender`, `receiver`, `for`, `thread`',
    });
  });

  it('says of each conflict what to do', async () => {
    const { text } = await get(its.parley, '/llms.txt');
    const row = (name) => text.split('\n').find((line) => line.startsWith('| 409 ') && line.includes(`\`${name}\``));
    const conflicts = (await get(its.parley, '/problems')).json.filter(({ status }) => status === 409);
    assert.ok(conflicts.length >= 8);
    assert.deepEqual(conflicts.filter(({ type }) => !row(type.replace('/problems/', ''))), []);
  });

  it('links to what is there', async () => {
    const { text } = await get(its.parley, '/llms.txt');
    for (const [, link] of text.matchAll(/\]\((\/[^)]*)\)/g))
      assert.equal((await get(its.parley, link)).status, 200, link);
  });
});
