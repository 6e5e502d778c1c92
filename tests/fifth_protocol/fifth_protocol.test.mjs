// SPDX-License-Identifier: Apache-2.0
// A protocol is one folder and one line: parley with the folder ballot/ and its line in the table has
// its options, its rules, its stream, its decision and its refusal, and nothing else was told of it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, post, readStream } from '../e2e/lib/http.mjs';
import { CLIENTS, callTool } from '../e2e/lib/mcp.mjs';
import { parley, parleyFor, useParley } from '../e2e/lib/parley.mjs';

let count = 0;
const vote = (changes) => ({
  id: `v${++count}`,
  type: 'vote',
  voter: 'bors',
  question: `q${count}`,
  choice: 'yes',
  ...changes,
});
const send = (server, message, query = '') =>
  post(server, `/v1/ballot/messages${query}`, JSON.stringify(message));
const rulesOf = (answer) => answer.json.violations?.map(({ rule }) => rule);

describe('the command line', () => {
  for (const [what, args, expected] of [
    ['lists the protocol', ['protocols'], /^ballot\b/m],
    ['lists its rules', ['rules', 'ballot'], /BAL-004/],
    ['has its examples', ['examples', 'ballot', 'vote'], /"voter"/],
    ['has the option of the server in --help', ['serve', '--help'], /--one-vote MODE/],
    ['has the option of both in --help', ['serve', '--help'], /--blank/],
    ['has the option of requests in the help of check', ['check', '--help'], /--blank/],
  ]) {
    it(what, async () => {
      const { code, stdout } = await parley(args);
      assert.equal(code, 0);
      assert.match(stdout, expected);
    });
  }
});

describe('the server', () => {
  it('stores a vote and streams it', async (t) => {
    const server = await parleyFor(t);
    const message = vote();
    const answer = await send(server, message);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.subject, `ballot.${message.question}.vote`);
    const { lines } = await readStream(server, '/v1/ballot/stream?since=all&follow=false');
    assert.deepEqual(lines.map((event) => event.data), [message]);
  });

  it('refuses what breaks a rule of the protocol', async (t) => {
    const server = await parleyFor(t);
    const answer = await send(server, vote({ voter: 'not a name' }));
    assert.equal(answer.status, 422);
    assert.deepEqual(rulesOf(answer), ['BAL-001']);
  });

  for (const [what, args, query, status] of [
    ['refuses an empty choice', [], '', 422],
    ['allows it where the request does', [], '?blank=true', 200],
    ['allows it where the operator does', ['--blank'], '', 200],
    ['refuses it where the request does not want what the operator allows', ['--blank'], '?blank=false', 422],
  ]) {
    it(what, async (t) => {
      const server = await parleyFor(t, { args });
      const answer = await send(server, vote({ choice: '' }), query);
      assert.equal(answer.status, status, answer.text);
      if (status === 422) assert.deepEqual(rulesOf(answer), ['BAL-004']);
    });
  }

  for (const [mode, status] of [['on', 409], ['strict', 409], ['off', 200]]) {
    it(`with --one-vote ${mode} answers ${status} to the second vote on a question`, async (t) => {
      const server = await parleyFor(t, { args: ['--one-vote', mode] });
      const first = vote();
      const stored = await send(server, first);
      assert.equal(stored.status, 200);
      const second = await send(server, { ...vote({ choice: 'no' }), question: first.question });
      assert.equal(second.status, status, second.text);
      if (status === 409) assert.match(second.json.type, /already-voted$/);
      const again = await send(server, first);
      assert.equal(again.status, 200);
      assert.deepEqual(again.json, { ...stored.json, duplicate: true });
    });
  }

  it('stores one of several votes of an agent that come at once', async (t) => {
    const server = await parleyFor(t);
    const questions = Array.from({ length: 20 }, () => vote().question);
    const statuses = await Promise.all(questions.map(async (question) => {
      const votes = ['yes', 'no', 'perhaps'].map((choice) => send(server, { ...vote({ choice }), question }));
      return (await Promise.all(votes)).map(({ status }) => status).sort();
    }));
    assert.deepEqual(statuses, questions.map(() => [200, 409, 409]));
    const { lines } = await readStream(server, '/v1/ballot/stream?since=all&follow=false');
    assert.deepEqual(lines.map((event) => event.data.question).sort(), [...questions].sort());
  });

  it('explains the refusal on a page of its own', async (t) => {
    const server = await parleyFor(t);
    const page = await get(server, '/problems/already-voted');
    assert.equal(page.status, 200);
    assert.match(page.text, /A vote is final/);
  });
});

for (const { revision, isThere, connect } of CLIENTS) {
  describe(`the official MCP client of ${revision}`, { skip: !isThere && 'it needs Node 20' }, () => {
    const its = useParley();

    async function call(t, name, args) {
      const params = { name, arguments: { protocol: 'ballot', ...args } };
      const { isError = false, structuredContent } = await callTool(await connect(t, its.parley), params);
      return { isError, ...structuredContent };
    }

    it('finds the protocol in each tool that takes one, and nothing that its row has not', async (t) => {
      const { tools } = await (await connect(t, its.parley)).listTools();
      const takes = tools.filter(({ inputSchema }) => inputSchema.properties.protocol?.enum.includes('ballot'));
      assert.deepEqual(takes.map(({ name }) => name), ['send', 'check', 'read', 'explain']);
    });

    it('sends a vote, which the protocol decides on, and reads it', async (t) => {
      const message = vote();
      const receipt = await call(t, 'send', { message });
      assert.deepEqual([receipt.isError, receipt.subject], [false, `ballot.${message.question}.vote`]);
      const second = await call(t, 'send', { message: { ...vote(), question: message.question } });
      assert.deepEqual([second.isError, second.type], [true, '/problems/already-voted']);
      assert.equal(second.advice, 'Nothing was stored. A vote is final.');
      const filters = { thread: message.question };
      const { items } = await call(t, 'read', { filters });
      assert.deepEqual(items.map(({ data }) => data), [message]);
    });

    for (const [what, changes, rules, patches] of [
      ['keeps every rule', {}, [], []],
      ['has a name that is none', { voter: 'not a name' }, ['BAL-001'], [undefined]],
      ['is of a type in capitals', { type: 'VOTE' }, ['BAL-002'], [[{ op: 'replace', path: '/type', value: 'vote' }]]],
      ['chooses nothing', { choice: '' }, ['BAL-004'], [undefined]],
    ]) {
      it(`checks a vote that ${what}, and hears the same when it sends it`, async (t) => {
        const message = vote(changes);
        const isValid = rules.length === 0;
        const checked = await call(t, 'check', { message });
        assert.deepEqual([checked.isError, checked.valid], [false, isValid]);
        assert.deepEqual(checked.violations.map(({ rule }) => rule), rules);
        assert.deepEqual(checked.violations.map(({ fix }) => fix?.patch), patches);
        const sent = await call(t, 'send', { message });
        assert.deepEqual([sent.isError, sent.violations], [!isValid, isValid ? undefined : checked.violations]);
      });
    }

    it('is told what its types and rules are, by the tool and by resources', async (t) => {
      const { schema, example } = await call(t, 'explain', { type: 'vote' });
      assert.equal(example.voter, 'bors');
      for (const said of ['"const":"vote"', '"choice":{', '"voter":{']) assert.ok(JSON.stringify(schema).includes(said), said);
      const { id } = await call(t, 'explain', { rule: 'BAL-004' });
      assert.equal(id, 'BAL-004');
      const client = await connect(t, its.parley);
      const uris = (await client.listResources()).resources.map(({ uri }) => uri);
      const own = uris.filter((uri) => uri.startsWith('parley://ballot/'));
      assert.equal(own.length, 3, uris.join());
      for (const uri of [...own, 'parley://ballot/schema/remark']) {
        const { contents } = await client.readResource({ uri });
        assert.match(contents[0].text, /remark|BAL-|vote/, uri);
      }
    });
  });
}
