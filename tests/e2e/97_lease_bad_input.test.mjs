// SPDX-License-Identifier: Apache-2.0
// What leases and webhooks refuse: an agent that is another's, lengths out of range on the command line, files
// that name no event.

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { post } from './lib/http.mjs';
import { parley, parleyFor } from './lib/parley.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { taskClaimed, taskRequest } from './lib/roundtable.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { assertProblem } from './lib/vlp.mjs';
import { newSecret } from './lib/webhooks.mjs';
import { changeTask } from './lib/work.mjs';

describe('where each token is bound to its agent', () => {
  it('an agent extends, gives back and takes in its own name alone', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const tokens = {};
    for (const name of ['tim', 'galahad', 'eve']) {
      tokens[name] = bearer(await createToken(file, name, 'send:roundtable,read:roundtable'));
    }
    const server = await parleyFor(t, { args: ['--tokens', file, '--bind-sender'] });
    const sent = async (message, name) => {
      const answer = await post(server, '/v1/roundtable/messages', JSON.stringify(message), tokens[name]);
      assert.equal(answer.status, 200, answer.text);
    };
    const asked = taskRequest('a.b', { from: 'tim' });
    await sent(asked, 'tim');
    const takeAs = (agent, name, more) =>
      post(server, '/v1/roundtable/tasks/next', JSON.stringify({ agent, ...more }), tokens[name]);
    for (const more of [{}, { max: 2 }]) assertProblem(await takeAs('galahad', 'eve', more), 403, 'forbidden');
    await sent(taskClaimed(asked.id, { from: 'galahad' }), 'galahad');
    for (const kind of ['extend', 'release']) {
      const [violation] = assertProblem(
        await changeTask(server, asked.id, kind, { agent: 'galahad' }, tokens.eve), 403, 'forbidden').violations;
      assert.equal(violation.rule, 'GW-102', kind);
      const own = await changeTask(server, asked.id, kind, { agent: 'eve' }, tokens.eve);
      const { holder, attempt } = assertProblem(own, 409, 'not-holder');
      assert.deepEqual([holder, attempt], ['galahad', 1], kind);
    }
    assert.equal((await changeTask(server, asked.id, 'extend', { agent: 'galahad' }, tokens.galahad)).status, 200);
    assert.equal((await changeTask(server, asked.id, 'release', { agent: 'galahad' }, tokens.galahad)).status, 200);
  });
});

describe('on the command line', () => {
  const check = (args) => parley(['serve', '--check-config', '--data', temporaryFolder(), ...args]);

  for (const [option, values, range] of [
    ['--task-lease', ['25h', '-1s', '15'], /from 0 to 1d/],
    ['--task-max', ['59m', '31d', '0'], /from 1h to 30d/],
    ['--task-attempts', ['0', '101', '1.5'], /from 1 to 100/],
  ]) {
    it(`${option} out of range is refused with the range`, async () => {
      for (const value of values) {
        const { code, stderr } = await check([`${option}=${value}`]);
        assert.notEqual(code, 0, value);
        assert.match(stderr, range, value);
      }
    });
  }

  it('a file of webhooks is checked, and an event that is none is named with its line', async () => {
    const file = join(temporaryFolder(), 'webhooks.yaml');
    for (const [event, says] of [
      ['task.lapsed', undefined],
      ['task.expired', undefined],
      ['agent.lost', undefined],
      ['ack.overdue', /: the event ack\.overdue needs the index: --index on/],
      ['acknowledgement.overdue', /:4: 'events' must be events of docs\/webhooks\.md/],
      ['lapsed', /:4: 'events' must be events/],
    ]) {
      writeFileSync(file, `a:\n  url: https://a.example\n  secret: ${newSecret()}\n  events: ${event}\n`, { mode: 0o600 });
      const { code, stderr } = await check(['--webhooks', file]);
      assert.equal(code === 0, says === undefined, `${event}: ${stderr}`);
      if (says) assert.match(stderr, says);
    }
    chmodSync(file, 0o644);
    const open = await check(['--webhooks', file]);
    assert.notEqual(open.code, 0);
    const missing = await check(['--webhooks', `${file}.not`]);
    assert.notEqual(missing.code, 0);
    assert.match(missing.stderr, /cannot open it/);
  });
});
