// SPDX-License-Identifier: Apache-2.0
// Whose a supervisor message is: the request names the agent, and the subject bears it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { get, post } from './lib/http.mjs';
import { FRAMES_TYPE, frames } from './lib/frames.mjs';
import { storedMessage } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { assertProblem } from './lib/vlp.mjs';

const STREAM = 'SUPERVISOR';
const heartbeat = { type: 'heartbeat', timestamp: 1705392000 };
let seconds = 1705392000; // the same payload of the same agent is the same message
const error = (code) => ({
  type: 'error',
  timestamp: ++seconds,
  error: { code, message: 'no' },
});
const sendTo = (server, query, body, more) =>
  post(server, `/v1/supervisor/messages${query}`, body, more);

async function event(its, seq) {
  const answer = await get(its.parley, `/v1/supervisor/stream?since=${seq}&limit=1&follow=false`);
  return JSON.parse(answer.text.split('\n')[0]);
}

describe('the agent of supervisor messages', () => {
  for (const [what, options, first] of [
    ['without a prefix', {}, 'supervisor'],
    ['with a subject prefix', { args: ['--subject-prefix', 'supervisor=fleet-a'] }, 'fleet-a'],
  ]) {
    describe(what, () => {
      const its = useParley(options);
      const stream = first === 'supervisor' ? STREAM : `${STREAM}_FLEET-A`;

      for (const [query, body, subject, source] of [
        ['', heartbeat, '_.gerbil.heartbeat', '/supervisor/_/gerbil'],
        ['?agent=coder-1', heartbeat, 'coder-1.gerbil.heartbeat', '/supervisor/coder-1/gerbil'],
        ['?agent=A', error('WAL_FULL'), 'A.elixir.error', '/supervisor/A/elixir'],
        ['?agent=A', error('EVAL_ERROR'), 'A.gerbil.error', '/supervisor/A/gerbil'],
        ['?agent=A&from=elixir', error('EVAL_ERROR'), 'A.elixir.error', '/supervisor/A/elixir'],
      ]) {
        it(`${query || 'nobody'}: ${subject}, and so it is read back`, async () => {
          const answer = await sendTo(its.parley, query, JSON.stringify(body));
          assert.equal(answer.status, 200, answer.text);
          assert.equal(answer.json.subject, `${first}.${subject}`);
          const stored = await storedMessage(its.nats, answer.json.seq, stream);
          assert.equal(stored.subject, `${first}.${subject}`);
          assert.equal(stored.headers['ce-source'], source);
          const read = await event(its, answer.json.seq);
          assert.deepEqual([read.subject, read.source], [`${first}.${subject}`, source]);
          assert.equal(read.type, `supervisor.${body.type}`);
        });
      }
    });
  }

  const its = useParley();

  it('holds for every message of a batch', async () => {
    const body = frames([heartbeat, heartbeat]);
    const answer = await sendTo(its.parley, '?agent=coder-2', body, { type: FRAMES_TYPE });
    const subjects = answer.lines.slice(0, -1).map((line) => line.subject);
    assert.deepEqual([...new Set(subjects)], ['supervisor.coder-2.gerbil.heartbeat']);
  });

  it('is shown by /validate', async () => {
    const answer = await post(
      its.parley,
      '/v1/supervisor/validate?agent=coder-1',
      JSON.stringify(heartbeat),
    );
    assert.equal(answer.json.subject, 'supervisor.coder-1.gerbil.heartbeat');
  });

  for (const agent of ['', '_', '-a', 'a.b', 'a%20b', '%2A', 'x'.repeat(65)]) {
    it(`cannot be '${agent.slice(0, 8)}'`, async () => {
      const answer = await sendTo(its.parley, `?agent=${agent}`, JSON.stringify(heartbeat));
      assert.match(assertProblem(answer, 400, 'invalid-parameter').detail, /1 to 64 of A-Z a-z/);
    });
  }
});
