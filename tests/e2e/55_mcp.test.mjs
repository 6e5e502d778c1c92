// SPDX-License-Identifier: Apache-2.0
// POST /mcp: the official clients of two revisions, and what is answered to messages that they would
// not send.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { get, post, request, send } from './lib/http.mjs';
import { CLIENTS, HAS_MODERN, MODERN, callTool, legacyRequest, modernRequest, rpc } from './lib/mcp.mjs';
import { assertOfRevision } from './lib/mcp_schemas.mjs';
import { lastSequence, storedMessage } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { sendTask, taskRequest, taskResult } from './lib/roundtable.mjs';
import { createToken } from './lib/tokens.mjs';
import { assertProblem, brokenClaim, claim } from './lib/vlp.mjs';

const require = createRequire(import.meta.url);
const Ajv = require('ajv/dist/2020').default;
const ajv = new Ajv({ strict: false });

const namesOf = ({ tools }) => tools.map(({ name }) => name);
const waiting = async (server) =>
  Number(/^parley_tasks_waiting (\d+)/m.exec((await get(server, '/metrics')).text)?.[1]);

// A result: its object, which is its text as well, and fits the schema of its tool.
const lengths = [];
async function resultOf(client, name, args) {
  const { tools } = await client.listTools();
  const result = await callTool(client, { name, arguments: args });
  lengths.push(Buffer.byteLength(result.content[0].text));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  const { outputSchema } = tools.find((tool) => tool.name === name);
  assert.ok(ajv.validate(outputSchema, result.structuredContent), ajv.errorsText());
  return result;
}

async function accepted(client, name, args) {
  const result = await resultOf(client, name, args);
  assert.ok(!result.isError, result.content[0].text);
  return result.structuredContent;
}

async function refused(client, name, args) {
  const result = await resultOf(client, name, args);
  assert.equal(result.isError, true, result.content[0].text);
  assert.match(result.structuredContent.type, /^\/problems\//);
  assert.match(result.structuredContent.advice, /^[A-Z].*\.$/);
  return result.structuredContent;
}

for (const { revision, isThere, connect, cancel } of CLIENTS) {
  describe(`the official client of ${revision}`, { skip: !isThere && 'it needs Node 20' }, () => {
    const its = useParley();

    it('is told who answers and what there is', async (t) => {
      const client = await connect(t, its.parley);
      assert.equal(client.getServerVersion().name, 'parley');
      assert.deepEqual(client.getServerCapabilities(), { tools: {}, resources: {}, prompts: {} });
      assert.match(client.getInstructions(), /explain/);
      assert.deepEqual(await client.listPrompts(), await client.listPrompts());
      assert.deepEqual((await client.listPrompts()).prompts, []);
    });

    it('lists tools whose schemas are schemas, in one order always', async (t) => {
      const client = await connect(t, its.parley);
      const list = await client.listTools();
      assert.deepEqual(namesOf(list), ['send', 'check', 'read', 'next_task', 'report', 'inbox', 'explain']);
      for (const { inputSchema, outputSchema } of list.tools) {
        ajv.compile(inputSchema);
        ajv.compile(outputSchema);
      }
      const again = await connect(t, its.parley);
      assert.deepEqual((await again.listTools()).tools, list.tools);
    });

    it('sends a message, which is stored as it was written', async (t) => {
      const client = await connect(t, its.parley);
      const message = claim();
      const receipt = await accepted(client, 'send', { protocol: 'vlp', message });
      assert.equal(receipt.seq, await lastSequence(its.nats));
      assert.deepEqual(JSON.parse((await storedMessage(its.nats, receipt.seq)).payload), message);
    });

    it('has ids and times filled in', async (t) => {
      const client = await connect(t, its.parley);
      const { id, timestamp, ...message } = claim();
      const receipt = await accepted(client, 'send', { protocol: 'vlp', message });
      assert.match(receipt.id, /^[0-9a-f-]{36}$/);
    });

    it('sends once what it sends twice with one key', async (t) => {
      const client = await connect(t, its.parley);
      const args = { protocol: 'vlp', message: claim(), key: `k-${revision}` };
      const first = await accepted(client, 'send', args);
      const second = await accepted(client, 'send', args);
      assert.deepEqual([second.seq, second.duplicate], [first.seq, true]);
    });

    it('is told the id that a message without one got, also when it sends it again', async (t) => {
      const client = await connect(t, its.parley);
      const message = { type: 'metrics', timestamp: 1700000000, data: {} };
      const args = { protocol: 'supervisor', message, key: `m-${revision}` };
      const receipt = await accepted(client, 'send', args);
      const stored = await storedMessage(its.nats, receipt.seq, 'SUPERVISOR');
      assert.equal(receipt.id, stored.headers['ce-id']);
      assert.deepEqual(await accepted(client, 'send', args), { ...receipt, duplicate: true });
    });

    it('is told what breaks a rule, and what to do', async (t) => {
      const client = await connect(t, its.parley);
      const problem = await refused(client, 'send', { protocol: 'vlp', message: brokenClaim() });
      assert.equal(problem.type, '/problems/invalid-message');
      for (const { rule, hint } of problem.violations) assert.ok(rule && hint);
    });

    it('has a message checked: faults are no error', async (t) => {
      const client = await connect(t, its.parley);
      const good = await accepted(client, 'check', { protocol: 'vlp', message: claim() });
      assert.equal(good.valid, true);
      const bad = await accepted(client, 'check', { protocol: 'vlp', message: brokenClaim() });
      assert.equal(bad.valid, false);
      assert.ok(bad.violations.length > 0);
    });

    it('is told which argument does not fit', async (t) => {
      const client = await connect(t, its.parley);
      const { detail } = await refused(client, 'check', { protocol: 'vlp', message: 7 });
      assert.match(detail, /`message` of check does not fit/);
    });

    it('takes a task that waits for it, and none that is not there', async (t) => {
      const client = await connect(t, its.parley);
      const agent = `a-${revision}`;
      assert.deepEqual(await accepted(client, 'next_task', { agent }), { task: null });
      const sent = taskRequest('security.scan', { to: agent });
      await sendTask(its.parley, sent);
      const { task, claim: receipt } = await accepted(client, 'next_task', { agent });
      assert.deepEqual(task, sent);
      assert.equal(receipt.type, 'task.claimed');
    });

    it('waits for a task, and gets it when it comes', async (t) => {
      const client = await connect(t, its.parley);
      const agent = `w-${revision}`;
      const call = accepted(client, 'next_task', { agent, wait: 300 });
      await until('it waits', async () => (await waiting(its.parley)) === 1);
      const sent = taskRequest('security.scan', { to: agent });
      await sendTask(its.parley, sent);
      assert.deepEqual((await call).task, sent);
    });

    it('closes what it waits for, and no task is claimed for it', async (t) => {
      const client = await connect(t, its.parley);
      const agent = `c-${revision}`;
      const controller = new AbortController();
      const params = { name: 'next_task', arguments: { agent, wait: 300 } };
      const made = callTool(client, params, { signal: controller.signal });
      await until('it waits', async () => (await waiting(its.parley)) === 1);
      cancel(client, controller);
      await assert.rejects(made);
      await until('it waits no more', async () => (await waiting(its.parley)) === 0);
      await sendTask(its.parley, taskRequest('security.scan', { to: agent }));
      const another = await connect(t, its.parley);
      assert.notEqual((await accepted(another, 'next_task', { agent })).task, null);
    });

    it('reads what is stored, and goes on from there', async (t) => {
      const client = await connect(t, its.parley);
      const sender = `reader ${revision}`;
      const filters = { sender };
      const sent = [claim({ sender }), claim({ sender }), claim({ sender })];
      for (const message of sent) await accepted(client, 'send', { protocol: 'vlp', message });
      const first = await accepted(client, 'read', { protocol: 'vlp', filters, limit: 2 });
      assert.deepEqual(first.items.map(({ data }) => data), sent.slice(0, 2));
      const args = { protocol: 'vlp', filters, since: first.resume };
      const second = await accepted(client, 'read', args);
      assert.deepEqual(second.items.map(({ data }) => data), sent.slice(2));
      const none = { protocol: 'vlp', filters, since: second.resume };
      assert.deepEqual(await accepted(client, 'read', none), { items: [], resume: second.resume });
      const { detail } = await refused(client, 'read', { protocol: 'vlp', since: 'yesterday' });
      assert.match(detail, /since/);
    });

    it('waits for a message, with and without a place to go on from', async (t) => {
      const client = await connect(t, its.parley);
      const sender = `waiter ${revision}`;
      const filters = { sender };
      // Sent until one comes: what is sent before the reader is there is none of those to come.
      const next = async (args) => {
        let result;
        const call = accepted(client, 'read', { protocol: 'vlp', filters, wait: 300, ...args });
        call.then((value) => (result = value));
        await until('one has come', async () => {
          if (!result) await send(its.parley, claim({ sender }));
          return result;
        });
        assert.equal(result.items[0].data.sender, sender);
        return result.resume;
      };
      const resume = await next({});
      let since = resume;
      for (let items = [1]; items.length > 0;) {
        ({ items, resume: since } = await accepted(client, 'read', { protocol: 'vlp', filters, since }));
      }
      assert.notEqual(await next({ since }), since);
    });

    it('waits no longer than it said, and is told where it is', async (t) => {
      const client = await connect(t, its.parley);
      const args = { protocol: 'vlp', filters: { sender: 'nobody' }, wait: 1 };
      const { items, resume } = await accepted(client, 'read', args);
      assert.deepEqual(items, []);
      assert.match(resume, /^VLP:/);
      assert.deepEqual((await accepted(client, 'read', { ...args, since: resume })).items, []);
    });

    it('is shown the beginning of a large message, and where the whole is', async (t) => {
      const client = await connect(t, its.parley);
      const sender = `large ${revision}`;
      const message = claim({ sender, content: 'x'.repeat(5000) });
      await accepted(client, 'send', { protocol: 'vlp', message });
      const { items } = await accepted(client, 'read', { protocol: 'vlp', filters: { sender } });
      assert.equal(items[0].data.length, 1024);
      const path = /GET (\S+)/.exec(items[0].shortened)[1];
      assert.deepEqual((await get(its.parley, path)).lines[0].data, message);
    });

    it('reports on its task, and not on that of another', async (t) => {
      const client = await connect(t, its.parley);
      const agent = `h-${revision}`;
      await sendTask(its.parley, taskRequest('security.scan', { to: agent }));
      const { task: { id } } = await accepted(client, 'next_task', { agent, wait: 300 });
      const report = { task: id, kind: 'progress', payload: { percent: 50 } };
      const problem = await refused(client, 'report', { agent: 'another', ...report });
      assert.deepEqual([problem.type, problem.holder], ['/problems/not-holder', agent]);
      const { type, warnings } = await accepted(client, 'report', { agent, ...report });
      assert.deepEqual([type, warnings], ['task.progress', []]);
      const wrong = { agent, task: id, kind: 'result', payload: { status: 'done' } };
      const { violations } = await refused(client, 'report', wrong);
      assert.ok(violations.length > 0);
      const { payload } = taskResult(id);
      const end = await accepted(client, 'report', { agent, task: id, kind: 'result', payload });
      assert.deepEqual([end.type, end.warnings], ['task.result', []]);
      assert.equal((await get(its.parley, `/v1/roundtable/tasks/${id}`)).json.state, 'completed');
    });

    it('holds its task for longer, and gives it back for another to take', async (t) => {
      const client = await connect(t, its.parley);
      const agent = `e-${revision}`;
      await sendTask(its.parley, taskRequest('security.scan', { to: agent }));
      const { task: { id }, attempt, lease } = await accepted(client, 'next_task', { agent, wait: 300 });
      assert.deepEqual([attempt, Date.parse(lease.until) > Date.now()], [1, true]);
      const report = { task: id, kind: 'extend' };
      const stranger = await refused(client, 'report', { agent: 'another', ...report });
      assert.deepEqual([stranger.type, stranger.holder], ['/problems/not-holder', agent]);
      const kept = await accepted(client, 'report', { agent, ...report, payload: {} });
      assert.deepEqual([kept.attempt, kept.until >= lease.until], [1, true]);
      const extended = await accepted(client, 'report', { agent, ...report, payload: { lease: 3600 } });
      assert.ok(Date.parse(extended.until) > Date.now(), extended.until);
      const release = { agent, task: id, kind: 'release' };
      const wrong = await refused(client, 'report', { ...release, payload: { agent: 'another' } });
      assert.equal(wrong.type, '/problems/malformed');
      const payload = { why: 'no tools', after: 0 };
      const released = await accepted(client, 'report', { ...release, payload });
      assert.equal(released.attempt, 1);
      const again = await accepted(client, 'next_task', { agent, wait: 300 });
      assert.deepEqual([again.task.id, again.attempt], [id, 2]);
      const { detail } = await refused(client, 'report', { agent, task: id, kind: 'result' });
      assert.match(detail, /`payload` of report is missing/);
    });

    it('finds in its inbox what waits for it, until that is done', async (t) => {
      const client = await connect(t, its.parley);
      const agent = `i-${revision}`;
      const session = `s-${revision}`;
      const inbox = () => accepted(client, 'inbox', { agent, sessions: [session] });
      const empty = { tasks: [], messages: null, halts: [], more: false, left_out: [] }; // it has no index
      assert.deepEqual(await inbox(), empty);
      const task = taskRequest('security.scan', { to: agent });
      await sendTask(its.parley, task);
      await sendTask(its.parley, taskRequest('security.scan', { to: 'another' }));
      const block = claim({ session_id: session, safety: { level: 'block', notes: 'Stop.' } });
      await accepted(client, 'send', { protocol: 'vlp', message: block });
      const { tasks, halts } = await inbox();
      assert.deepEqual(tasks.map(({ id, state }) => [id, state]), [[task.id, 'requested']]);
      assert.deepEqual(halts.map((halt) => halt.session), [session]);
      await accepted(client, 'next_task', { agent, wait: 300 });
      assert.deepEqual((await inbox()).tasks.map(({ id, holder }) => [id, holder]), [[task.id, agent]]);
      const { payload } = taskResult(task.id);
      await accepted(client, 'report', { agent, task: task.id, kind: 'result', payload });
      assert.deepEqual((await inbox()).tasks, []);
    });

    it('finds in its inbox what it has to acknowledge, where there is an index', async (t) => {
      const server = await parleyFor(t, { args: ['--index', 'on'] });
      const client = await connect(t, server);
      const messages = async () => (await accepted(client, 'inbox', { agent: 'Bob' })).messages;
      const subjectOf = ({ members }) => members.subject;
      const said = (from, to, subject, body_md, more) =>
        accepted(client, 'send', { protocol: 'brenner', message: { from, to, subject, body_md, thread_id: 'RS-20260101-heat', ...more } });
      await until('the index is made', async () => (await messages())?.length === 0);
      const { id } = await said('Ann', ['Bob'], 'INFO: It is warm', 'Since noon.', { ack_required: true });
      await said('Ann', ['Cleo'], 'INFO: It is cold', 'Since noon.', { ack_required: true });
      const [found] = await until('it is indexed', async () => ((await messages()).length > 0 ? messages() : undefined));
      assert.deepEqual([found.id, subjectOf(found), found.acknowledged], [id, 'INFO: It is warm', null]);
      await said('Bob', ['Ann'], 'ACK: It is warm', `# A\n\n## Message ID\n${id}\n\n## Status\nUnderstood\n`);
      await until('it is acknowledged', async () => (await messages()).length === 0);
    });

    it('reads a thread, where there is an index', async (t) => {
      const server = await parleyFor(t, { args: ['--index', 'on'] });
      const client = await connect(t, server);
      const read = async (thread) => {
        const { contents, ttlMs, cacheScope } = await client.readResource({ uri: `parley://vlp/threads/${thread}` });
        if (revision === MODERN) assert.deepEqual([ttlMs, cacheScope], [0, 'private']);
        return JSON.parse(contents[0].text).items.map(({ id }) => id);
      };
      const strange = 'a&thread=b %+c'; // as it is, where a client encodes nothing
      const ids = {};
      for (const session_id of ['S-1', strange]) {
        const sent = await accepted(client, 'send', { protocol: 'vlp', message: claim({ session_id }) });
        ids[session_id] = sent.id;
      }
      for (const uri of ['S-1', strange, encodeURIComponent(strange)]) {
        const thread = decodeURIComponent(uri === strange ? encodeURIComponent(strange) : uri);
        assert.deepEqual(await until('it is indexed', async () => {
          const found = await read(uri).catch(() => []); // it is being made
          return found.length > 0 ? found : undefined;
        }), [ids[thread]]);
      }
      const code = revision === MODERN ? -32602 : -32002;
      await assert.rejects(connect(t, its.parley).then((other) => other.readResource({ uri: 'parley://vlp/threads/S-1' })), { code });
    });

    it('reads every resource that is listed, and those that a template names', async (t) => {
      const client = await connect(t, its.parley);
      const { resources } = await client.listResources();
      const uris = resources.map(({ uri }) => uri);
      assert.deepEqual(uris.slice(0, 2), ['parley://llms.txt', 'parley://vlp/rules']);
      assert.equal(new Set(uris).size, 1 + 3 * 4);
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), ['parley://{protocol}/schema/{type}', 'parley://{protocol}/threads/{thread}']);
      const textOf = async (uri) => {
        const { contents } = await client.readResource({ uri });
        assert.equal(contents[0].uri, uri);
        return contents[0].text;
      };
      for (const { uri, mimeType } of resources) {
        const text = await textOf(uri);
        if (/json/.test(mimeType)) assert.ok(JSON.parse(text), uri);
      }
      assert.equal(await textOf('parley://llms.txt'), (await get(its.parley, '/llms.txt')).text);
      const { schema, example } = JSON.parse(await textOf('parley://roundtable/schema/task.request'));
      assert.ok(ajv.validate(schema, example), ajv.errorsText());
    });

    it('is told of a resource that there is not', async (t) => {
      const client = await connect(t, its.parley);
      const wrong = ['parley://vlp/schema/nonesuch', 'parley://vlp/rules/', 'parley://nonesuch/rules', 'file:///etc/passwd', ''];
      const code = revision === MODERN ? -32602 : -32002;
      for (const uri of wrong) {
        await assert.rejects(client.readResource({ uri }), (error) => error.code === code && error.data.uri === uri);
      }
    });

    it('gets the reply to a task that it sends', async (t) => {
      const client = await connect(t, its.parley);
      const message = taskRequest('security.scan');
      const sent = accepted(client, 'send', { protocol: 'roundtable', message, wait: 300 });
      const agent = `r-${revision}`;
      await accepted(client, 'next_task', { agent, wait: 300 });
      const result = taskResult(message.id, { from: agent });
      await accepted(client, 'send', { protocol: 'roundtable', message: result });
      const { receipt, reply } = await sent;
      assert.equal(receipt.id, message.id);
      assert.deepEqual(reply.data, result);
    });
  });
}

describe('a message to /mcp', () => {
  const its = useParley();
  const named = { protocol: 'vlp' };
  const ping = legacyRequest('ping');
  const list = modernRequest('tools/list');
  const call = (name, args) => modernRequest('tools/call', { name, arguments: args });

  for (const [what, message, options, status, code] of [
    ['that is no JSON', '{"jsonrpc":', {}, 400, -32700],
    ['in a batch', JSON.stringify([ping]), {}, 400, -32600],
    ['without a method', { jsonrpc: '2.0', id: 1 }, {}, 400, -32600],
    ['of a version to come', modernRequest('tools/list', {}, '2999-01-01'), { headers: { 'MCP-Protocol-Version': '2999-01-01' } }, 400, -32022],
    ['of an old version', ping, { headers: { 'MCP-Protocol-Version': '2024-11-05' } }, 400, -32022],
    ['with a modern header and no _meta', ping, { headers: { 'MCP-Protocol-Version': MODERN } }, 400, -32602],
    ['without its version in the header', list, { headers: { 'MCP-Protocol-Version': null } }, 400, -32020],
    ['with another version in the header', list, { headers: { 'MCP-Protocol-Version': '2025-11-25' } }, 400, -32020],
    ['without its method in the header', list, { headers: { 'Mcp-Method': null } }, 400, -32020],
    ['with another method in the header', list, { headers: { 'Mcp-Method': 'ping' } }, 400, -32020],
    ['without its name in the header', call('explain', named), { headers: { 'Mcp-Name': null } }, 400, -32020],
    ['with another name in the header', call('explain', named), { headers: { 'Mcp-Name': 'send' } }, 400, -32020],
    ['for a method that there is not', modernRequest('tools/lists'), {}, 404, -32601],
    ['for ping, which is gone', modernRequest('ping'), {}, 404, -32601],
    ['for initialize, which is gone', modernRequest('initialize'), {}, 404, -32601],
    ['for a method that an earlier revision has not', legacyRequest('server/discover'), {}, 200, -32601],
    ['for a tool that there is not', call('sned', named), {}, 200, -32602],
  ]) {
    it(`${what} is refused with ${code}`, async () => {
      const answer = await rpc(its.parley, message, options);
      assert.deepEqual([answer.status, answer.json.error?.code], [status, code], answer.text);
      assert.equal(answer.json.id, message.id);
    });
  }

  for (const [what, method, name, args] of [
    ['send', 'tools/call', 'send', '{"protocol":"vlp","message":{"a":tru}}'],
    ['send with brackets that do not match', 'tools/call', 'send', '{"protocol":"vlp","message":{"a":[1}}'],
    ['send with another fault before', 'tools/call', 'send', '{"protocol":"none","message":{"a":tru}}'],
    ['send with options', 'tools/call', 'send', `{"protocol":"vlp","message":${JSON.stringify(claim())},"options":{"a" 1}}`],
    ['check', 'tools/call', 'check', '{"protocol":"vlp","message":{"a":"\\x"}}'],
    ['report', 'tools/call', 'report', '{"agent":"a","task":"b","kind":"extend","payload":{"a":01}}'],
    ['read', 'tools/call', 'read', '{"protocol":"vlp","filters":{"a":,}}'],
    ['next_task', 'tools/call', 'next_task', '{"agent":"a","domains":[tru]}'],
    ['an argument that a tool has not', 'tools/call', 'inbox', '{"agent":"a","other":{"a":tru}}'],
    ['a tool that there is not', 'tools/call', 'sned', '{"message":{"a":tru}}'],
    ['a method that takes no arguments', 'ping', 'x', '{"message":{"a":tru}}'],
    ['a resource', 'resources/read', 'x', '{"message":{"a":tru}}'],
  ]) {
    it(`that is no JSON in an argument is refused as such: ${what}`, async () => {
      for (const id of ['"id":7,', '']) { // a notification has none
        const params = `{"name":"${name}","uri":"parley://llms.txt","arguments":${args}}`;
        const answer = await rpc(its.parley, `{"jsonrpc":"2.0",${id}"method":"${method}","params":${params}}`);
        assert.deepEqual([answer.status, answer.json?.error?.code], [400, -32700], answer.text);
        assert.equal(answer.json.id, undefined);
      }
    });
  }

  it('is JSON or is refused, whatever byte of it is another one', async () => {
    const others = '"\\{}[]:,x0';
    const message = { ...claim(), content: 'with "quotes" and a \\ in it', provenance: ['a', { ref: 'b' }] };
    const body = JSON.stringify(legacyRequest('tools/call', { name: 'send', arguments: { protocol: 'vlp', message } }));
    const isJson = (text) => {
      try {
        return Boolean(JSON.parse(text));
      } catch {
        return false;
      }
    };
    const counts = [0, 0];
    for (let i = 0; i < body.length; i++) {
      const other = others[i % others.length];
      const text = body.slice(0, i) + other + body.slice(i + 1);
      const answer = await rpc(its.parley, text); // 202 and no text, if it has no id now
      const isRefused = answer.status === 400 && answer.json.error.code === -32700;
      assert.equal(isRefused, !isJson(text), text);
      counts[Number(isJson(text))]++;
    }
    assert.ok(counts[0] > 50 && counts[1] > 50, counts.join());
  });

  it('may hold a message that is nested as deep as its address takes', async () => {
    const nested = (depth) => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
    const answerTo = async (depth) => {
      const message = { ...claim(), payload: nested(depth - 1) }; // the message is the first
      return (await rpc(its.parley, call('send', { ...named, message }))).json;
    };
    assert.equal((await answerTo(64)).result.isError, undefined);
    assert.equal((await answerTo(65)).error.code, -32700);
  });

  it('of an unknown version is told which there are', async () => {
    const headers = { 'MCP-Protocol-Version': '1999-01-01' };
    const refusal = await rpc(its.parley, modernRequest('tools/list', {}, '1999-01-01'), { headers });
    const { supported, requested } = refusal.json.error.data;
    const found = await rpc(its.parley, modernRequest('server/discover'));
    assert.deepEqual(supported, found.json.result.supportedVersions);
    assert.equal(requested, '1999-01-01');
  });

  it('that is a notification is taken, without an answer', async () => {
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/x']) {
      const { status, text } = await rpc(its.parley, { jsonrpc: '2.0', method });
      assert.deepEqual([status, text], [202, '']);
    }
  });

  it('begins a session of the version that it asks for, without a session id', async () => {
    for (const [asked, given] of [
      ['2025-06-18', '2025-06-18'],
      ['2025-11-25', '2025-11-25'],
      ['2024-11-05', '2025-11-25'],
      [MODERN, '2025-11-25'],
    ]) {
      const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'x', version: '1' } };
      const answer = await rpc(its.parley, legacyRequest('initialize', params));
      assert.equal(answer.json.result.protocolVersion, given);
      assert.equal(answer.headers['mcp-session-id'], undefined);
    }
  });

  it('that is a ping is answered with nothing', async () => {
    const { json } = await rpc(its.parley, ping);
    assert.deepEqual(json, { jsonrpc: '2.0', id: ping.id, result: {} });
  });

  it('has in the newest revision what its results must have', async () => {
    for (const method of ['server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      const { result } = (await rpc(its.parley, modernRequest(method))).json;
      assert.equal(result.resultType, 'complete');
      assert.equal(result._meta['io.modelcontextprotocol/serverInfo'].name, 'parley');
      assert.ok(result.ttlMs >= 0);
      assert.equal(result.cacheScope, 'public');
    }
    const { result } = (await rpc(its.parley, call('explain', named))).json;
    assert.equal(result.resultType, 'complete');
    assert.equal(result.ttlMs, undefined);
  });

  it('is the only thing that is taken there', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await request(its.parley, method, '/mcp');
      assertProblem(answer, 405, 'method-not-allowed');
      assert.equal(answer.headers.allow, 'POST, OPTIONS');
    }
    assertProblem(await post(its.parley, '/mcp', '{}', { type: 'text/plain' }), 415, 'unsupported-media-type');
    const headers = { Accept: 'text/html' };
    assertProblem(await rpc(its.parley, ping, { headers }), 406, 'not-acceptable');
    const large = `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(9 << 20)}"}`;
    assertProblem(await rpc(its.parley, large), 413, 'too-large');
  });

  it('of a page of another site, or for another host, is refused', async () => {
    const headers = { Origin: 'https://evil.example' };
    assertProblem(await rpc(its.parley, ping, { headers }), 403, 'cross-origin');
    const host = { Host: 'evil.example' };
    assertProblem(await rpc(its.parley, ping, { headers: host }), 421, 'misdirected-request');
  });

  it('is answered by an event to who reads nothing else', async () => {
    const answer = await rpc(its.parley, ping, { headers: { Accept: 'text/event-stream' } });
    assert.match(answer.headers['content-type'], /^text\/event-stream/);
    const data = /^data: (.*)$/m.exec(answer.text)[1];
    assert.equal(JSON.parse(data).id, ping.id);
  });

  it('that waits is answered in JSON to who reads no events', async () => {
    const agent = 'json-only';
    const headers = { Accept: 'application/json' };
    const waits = rpc(its.parley, call('next_task', { agent, wait: 300 }), { headers });
    await until('it waits', async () => (await waiting(its.parley)) === 1);
    await sendTask(its.parley, taskRequest('security.scan', { to: agent }));
    const { json } = await waits;
    assert.equal(json.result.structuredContent.task.to, agent);
  });

  it('that waits is told so every 15 s: by comments, or as progress if it has a token', { timeout: 120_000 }, async () => {
    const wait = (agent, _meta) => rpc(its.parley, legacyRequest('tools/call', { name: 'next_task', arguments: { agent, wait: 20 }, _meta }));
    const [silent, told] = await Promise.all([wait('silent'), wait('told', { progressToken: 'p"1' })]);
    const dataOf = ({ text }) => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
    for (const answer of [silent, told]) {
      assert.match(answer.headers['content-type'], /^text\/event-stream/);
      assert.deepEqual(dataOf(answer).at(-1).result.structuredContent, { task: null });
    }
    assert.equal([...silent.text.matchAll(/^: waiting$/gm)].length, 2, silent.text); // at first, and after 15 s
    assert.equal(dataOf(silent).length, 1);
    const [progress, ...rest] = dataOf(told);
    assert.deepEqual(progress, {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p"1', progress: 15, message: 'waiting' },
    });
    assert.equal(rest.length, 1);
  });

  it('belongs to the trace that its _meta names', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const message = call('send', { protocol: 'vlp', message: claim() });
    message.params._meta.traceparent = traceparent;
    const { structuredContent } = (await rpc(its.parley, message)).json.result;
    assert.equal(structuredContent.traceparent, traceparent);
  });
});

describe('a server with rates', () => {
  const its = useParley({ args: ['--rate-messages', '1'] });

  it('refuses by a result, with the seconds to wait and what to do', async () => {
    const message = () => modernRequest('tools/call', { name: 'send', arguments: { protocol: 'vlp', message: claim() } });
    const refused = await until('it is refused', async () => {
      const { status, json } = await rpc(its.parley, message());
      assert.equal(status, 200);
      return json.result.isError ? json.result.structuredContent : undefined;
    });
    assert.equal(refused.type, '/problems/rate-limited');
    assert.ok(refused.retry_after >= 1 && refused.retry_after <= 2, JSON.stringify(refused));
    assert.match(refused.advice, /^[A-Z].*\.$/);
  });
});

describe('a server with tokens', () => {
  it('lists what a token may call, and refuses the rest with the scope that is missing', async (t) => {
    const file = join(temporaryFolder(), 'tokens');
    const tokenOf = (name, allow) => createToken(file, name, allow);
    const none = await tokenOf('metrics', 'metrics');
    const sender = await tokenOf('sender', 'send:vlp');
    const worker = await tokenOf('worker', 'send:roundtable,read:roundtable');
    const server = await parleyFor(t, { args: ['--tokens', file] });
    const ask = async (token, message) => {
      const headers = { Authorization: `Bearer ${token}` };
      return (await rpc(server, message, { headers })).json.result;
    };
    for (const [token, names] of [
      [none, ['explain']],
      [sender, ['send', 'check', 'explain']],
      [worker, ['send', 'check', 'read', 'next_task', 'report', 'inbox', 'explain']],
    ]) {
      const list = await ask(token, modernRequest('tools/list'));
      assert.deepEqual(namesOf(list), names);
      assert.equal(list.cacheScope, 'private');
    }
    const agent = { agent: 'x' };
    for (const [token, name, args] of [
      [none, 'send', { protocol: 'vlp', message: claim() }],
      [sender, 'send', { protocol: 'roundtable', message: taskRequest('a.b') }],
      [sender, 'next_task', agent],
      [none, 'inbox', agent],
      [sender, 'inbox', agent],
    ]) {
      const result = await ask(token, modernRequest('tools/call', { name, arguments: args }));
      assert.equal(result.isError, true);
      assert.equal(result.structuredContent.type, '/problems/forbidden');
    }
    const bad = await rpc(server, modernRequest('tools/list'));
    assertProblem(bad, 401, 'unauthenticated');
    assert.match(bad.headers['www-authenticate'], /^Bearer /);
  });

  for (const { revision, isThere, connect } of CLIENTS) {
    it(`serves the client of ${revision} that shows one`, { skip: !isThere }, async (t) => {
      const file = join(temporaryFolder(), 'tokens');
      const token = await createToken(file, 'sender', 'send:vlp');
      const server = await parleyFor(t, { args: ['--tokens', file] });
      const client = await connect(t, server, { token });
      assert.deepEqual(namesOf(await client.listTools()), ['send', 'check', 'explain']);
      await accepted(client, 'send', { protocol: 'vlp', message: claim() });
      await assert.rejects(connect(t, server));
    });
  }
});

// Each answer above was held against them, by the official clients or by rpc().
describe('the schemas of a revision refuse', () => {
  const tool = { name: 'x', inputSchema: { type: 'object' } };
  const whole = { resultType: 'complete', ttlMs: 0, cacheScope: 'public', tools: [tool] };
  for (const [what, isModern, changes] of [
    ['a list without its tools', false, { tools: undefined }],
    ['a tool without a schema', false, { tools: [{ name: 'x' }] }],
    ['a tool without a schema, in the newest', true, { tools: [{ name: 'x' }] }],
    ['a result that is of no type', true, { resultType: undefined }],
    ['a list that does not say how long it holds', true, { ttlMs: undefined }],
    ['a list that does not say for whom it is', true, { cacheScope: 'all' }],
  ]) {
    it(what, { skip: isModern && !HAS_MODERN && 'it needs Node 20' }, async () => {
      const request = (isModern ? modernRequest : legacyRequest)('tools/list');
      const answer = (result) => ({ jsonrpc: '2.0', id: request.id, result });
      await assertOfRevision(request, answer(whole));
      await assert.rejects(assertOfRevision(request, answer({ ...whole, ...changes })));
      await assert.rejects(assertOfRevision(request, { ...answer(whole), id: 'another' }));
    });
  }
});

it('the texts of all results above take at most 1,500 tokens at the median', () => {
  const BYTES_A_TOKEN = 3; // of JSON
  assert.ok(lengths.length > 50, String(lengths.length));
  const median = lengths.sort((a, b) => a - b)[lengths.length >> 1];
  assert.ok(median / BYTES_A_TOKEN <= 1500, String(median));
});
