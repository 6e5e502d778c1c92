// SPDX-License-Identifier: Apache-2.0
// `parley mcp`: the same server for clients that only start programs.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { get } from './lib/http.mjs';
import { CLIENTS, callTool, legacyRequest, modernRequest } from './lib/mcp.mjs';
import { assertOfRevision } from './lib/mcp_schemas.mjs';
import { BINARY, parley, parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { Program, temporaryFolder } from './lib/program.mjs';
import { sendTask, taskRequest } from './lib/roundtable.mjs';
import { createToken } from './lib/tokens.mjs';
import { brokenClaim, claim } from './lib/vlp.mjs';

const waiting = async (server) =>
  Number(/^parley_tasks_waiting (\d+)/m.exec((await get(server, '/metrics')).text)?.[1]);

const lines = (...messages) => messages.map((each) => `${JSON.stringify(each)}\n`).join('');

// The lines that it writes on these requests, each of which is held against its revision's schemas.
async function answersIn(stdout, ...requests) {
  const answers = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  for (const answer of answers) await assertOfRevision(requests.find(({ id }) => id === answer.id), answer);
  return answers;
}

const call = (name, args) => legacyRequest('tools/call', { name, arguments: args });

for (const { revision, isThere, startProgram } of CLIENTS) {
  describe(`the official client of ${revision}, by a program`, { skip: !isThere && 'it needs Node 20' }, () => {
    const its = useParley();
    const connect = (t, options) => startProgram(t, [BINARY, 'mcp', its.parley.url], options);

    it('lists tools, and calls them', async (t) => {
      const client = await connect(t);
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === 'send'));
      const send = (message) => callTool(client, { name: 'send', arguments: { protocol: 'vlp', message } });
      assert.equal((await send(claim())).structuredContent.stream, 'VLP');
      const refusal = await send(brokenClaim());
      assert.equal(refusal.isError, true);
      assert.ok(refusal.structuredContent.violations.length > 0);
      await assert.rejects(callTool(client, { name: 'sned', arguments: {} }), { code: -32602 });
      const { contents } = await client.readResource({ uri: 'parley://vlp/schema/claim' });
      assert.ok(JSON.parse(contents[0].text).schema);
    });

    it('waits for a task beside other calls, and cancels', async (t) => {
      const client = await connect(t);
      const agent = `p-${revision}`;
      const controller = new AbortController();
      const params = { name: 'next_task', arguments: { agent, wait: 300 } };
      const made = callTool(client, params, { signal: controller.signal });
      await until('it waits', async () => (await waiting(its.parley)) === 1);
      const checked = await callTool(client, { name: 'check', arguments: { protocol: 'vlp', message: claim() } });
      assert.equal(checked.structuredContent.valid, true);
      controller.abort();
      await assert.rejects(made);
      await until('it waits no more', async () => (await waiting(its.parley)) === 0);
      await sendTask(its.parley, taskRequest('security.scan', { to: agent }));
      const { structuredContent } = await callTool(client, params);
      assert.equal(structuredContent.task.to, agent);
    });
  });
}

describe('parley mcp', () => {
  const its = useParley();

  it('answers the lines of a file, each with its id, and ends', async () => {
    const requests = [
      legacyRequest('ping'),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      call('explain', { protocol: 'vlp' }),
      modernRequest('tools/call', { name: 'explain', arguments: { protocol: 'brenner' } }),
    ];
    const stdin = `\n${lines(...requests)}{"jsonrpc":"2.0","id":"last","method":"nonesuch"}`;
    const { code, stdout, stderr } = await parley(['mcp', its.parley.url], { input: stdin });
    assert.deepEqual([code, stderr], [0, '']);
    const answers = await answersIn(stdout, ...requests);
    assert.equal(answers.length, 4);
    assert.equal(answers.find(({ id }) => id === 'last').error.code, -32601);
    assert.equal(answers.filter(({ result }) => result?.structuredContent).length, 2);
  });

  it('says of a line that is no JSON what the server says', async () => {
    const { stdout } = await parley(['mcp', its.parley.url], { input: 'hello\n' });
    assert.equal((await answersIn(stdout))[0].error.code, -32700);
  });

  it('answers with an error where there is no server, or no token', async (t) => {
    const away = await parley(['mcp', 'http://127.0.0.1:9'], { input: lines(legacyRequest('ping')) });
    assert.deepEqual([away.code, (await answersIn(away.stdout))[0].error.code], [0, -32603]);
    const file = join(temporaryFolder(), 'tokens');
    const token = await createToken(file, 'sender', 'send:vlp');
    const server = await parleyFor(t, { args: ['--tokens', file] });
    const ask = async (env) => {
      const list = legacyRequest('tools/list');
      const { stdout } = await parley(['mcp', server.url], { input: lines(list), env });
      return (await answersIn(stdout, list))[0];
    };
    assert.match((await ask({})).error.message, /answers 401: /);
    const { result } = await ask({ PARLEY_TOKEN: token });
    assert.deepEqual(result.tools.map(({ name }) => name), ['send', 'check', 'explain']);
  });

  it('ends with its reader, and takes what it waits for with it', async () => {
    const program = new Program(BINARY, ['mcp', its.parley.url], { isOpen: true });
    program.child.stdin.write(lines(call('next_task', { agent: 'gone', wait: 300 })));
    await until('it waits', async () => (await waiting(its.parley)) === 1);
    program.child.stdout.destroy();
    assert.equal((await program.hasExited()).code, 0);
    await until('it waits no more', async () => (await waiting(its.parley)) === 0);
  });

  it('takes no other arguments', async () => {
    for (const args of [['http://a', 'http://b'], ['--token', 'x'], ['ftp://a'], ['--ca', 'x', 'http://a']]) {
      assert.equal((await parley(['mcp', ...args])).code, 2);
    }
  });
});
