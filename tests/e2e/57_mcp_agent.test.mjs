// SPDX-License-Identifier: Apache-2.0
// An agent that knows the tools of /mcp and nothing of HTTP: it works off what waits for it, repairs
// what is refused by the fixes in the refusal, and makes no call that is not needed.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get } from './lib/http.mjs';
import { CLIENTS, callTool } from './lib/mcp.mjs';
import { useParley } from './lib/parley.mjs';
import { sendTask, taskRequest } from './lib/roundtable.mjs';

const TASKS = 50;

// RFC 6902, as far as fixes have it.
function patched(message, patch) {
  const changed = structuredClone(message);
  for (const { op, path, value } of patch) {
    const keys = path.slice(1).split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = keys.pop();
    const parent = keys.reduce((at, key) => at[key], changed);
    if (op === 'remove') delete parent[last];
    else parent[last] = value;
  }
  return changed;
}

class Agent {
  calls = [];

  constructor(client, name) {
    Object.assign(this, { client, name });
  }

  async call(tool, args = {}) {
    this.calls.push(tool);
    const params = { name: tool, arguments: { agent: this.name, ...args } };
    const { isError = false, structuredContent } = await callTool(this.client, params);
    return { isError, ...structuredContent };
  }

  // A report in the words of another protocol, which the refusal corrects.
  async report(task) {
    let payload = { status: 'complete', result: { format: 'text', content: `Done: ${task.payload.task}` } };
    for (let attempt = 1; attempt <= 2; attempt++) {
      const answer = await this.call('report', { task: task.id, kind: 'result', payload });
      if (!answer.isError) return answer;
      const fixes = answer.violations.map(({ fix }) => fix);
      assert.ok(fixes.every(Boolean), JSON.stringify(answer));
      ({ payload } = fixes.reduce((message, { patch }) => patched(message, patch), { payload }));
    }
    throw new Error('it could not be repaired');
  }

  async workOff() {
    for (let task; (({ task } = await this.call('next_task')), task);) await this.report(task);
    return this.call('inbox');
  }
}

for (const { revision, isThere, connect } of CLIENTS) {
  describe(`an agent with the client of ${revision}`, { skip: !isThere && 'it needs Node 20' }, () => {
    const its = useParley();

    it(`does ${TASKS} tasks in the fewest calls, and leaves nothing`, async (t) => {
      const name = `worker-${revision}`;
      const requests = Array.from({ length: TASKS }, () => taskRequest('docs.review', { to: name }));
      const { status, text } = await sendTask(its.parley, requests);
      assert.equal(status, 200, text);
      const agent = new Agent(await connect(t, its.parley), name);
      const inbox = await agent.workOff();
      assert.deepEqual(inbox, { isError: false, tasks: [], messages: null, halts: [], more: false, left_out: [] });
      const counts = (tool) => agent.calls.filter((each) => each === tool).length;
      assert.deepEqual(
        ['next_task', 'report', 'inbox'].map(counts),
        [TASKS + 1, 2 * TASKS, 1],
      );
      const { items } = (await get(its.parley, '/v1/roundtable/tasks?state=completed')).json;
      assert.deepEqual(new Set(items.map(({ id }) => id)), new Set(requests.map(({ id }) => id)));
    });
  });
}
