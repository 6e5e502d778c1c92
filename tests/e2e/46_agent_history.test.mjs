// SPDX-License-Identifier: Apache-2.0
// Whether an agent has what its supervisor names (IPC-203): a checkpoint, an evolution, a promotion.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { FRAMES_TYPE, frames, MSGPACK_TYPE, msgpack } from './lib/frames.mjs';
import { get, NDJSON_TYPE, post } from './lib/http.mjs';
import { connectNats, startNats } from './lib/nats.mjs';
import { NatsWire } from './lib/nats_wire.mjs';
import { parleyFor, startParley } from './lib/parley.mjs';
import { lines } from './lib/vlp.mjs';

const UNKNOWN = '550e8400-e29b-41d4-a716-446655440000';
const OBJECT_BYTES = 1_200_000; // so much of a checkpoint goes to the object store

let seconds = 1705392000;
const MESSAGES = {
  checkpoint: (size = 0) => ({ data: { agent_state: { id: 'a', padding: 'x'.repeat(size) } } }),
  checkpoint_ack: (id) => ({ checkpoint_id: id }),
  restore: (id) => ({ checkpoint_id: id, snapshot: {} }),
  hot_reload: (id) => ({ code: 'c', ...(id && { backup_checkpoint_id: id }) }),
  evolution_intent: () => ({ hypothesis: { reason: 'r', target: 't', new_code: 'c' } }),
  evolution_result: (decision) => ({ success: decision === 'promoted', decision }),
};
const make = (type, value) => ({ type, timestamp: ++seconds, ...MESSAGES[type](value) });

// "/type /decision": the places of IPC-203; that a checkpoint is large does not count.
const words = ({ warnings }) => {
  const counted = warnings.filter(({ rule }) => rule !== 'IPC-101');
  assert.ok(counted.every(({ rule }) => rule === 'IPC-203'), JSON.stringify(warnings));
  return counted.map(({ path }) => path).join(' ');
};

// What happens to an agent, and the warnings of it: { type: value } at the gateways in turn, `straight`
// to NATS, `gone`: the object of that checkpoint is removed. A value $N is the id of the checkpoint of
// the step N, from 0.
const STORIES = {
  'a checkpoint that it has, the last one or not': [
    [{ checkpoint: 0 }, ''],
    [{ checkpoint_ack: '$0' }, ''],
    [{ checkpoint: 0 }, ''],
    [{ checkpoint: OBJECT_BYTES }, ''],
    [{ checkpoint_ack: '$3' }, ''],
    [{ checkpoint_ack: '$2' }, ''],
    [{ restore: '$0' }, ''],
    [{ restore: '$3' }, ''],
    [{ restore: UNKNOWN }, '/checkpoint_id'],
    [{ checkpoint_ack: UNKNOWN }, '/checkpoint_id'],
  ],
  'no checkpoint at all': [
    [{ checkpoint_ack: UNKNOWN }, '/checkpoint_id'],
    [{ restore: UNKNOWN }, '/checkpoint_id'],
  ],
  'a checkpoint whose object is gone': [
    [{ checkpoint: OBJECT_BYTES }, ''],
    [{ checkpoint: 0 }, ''],
    [{ gone: '$0' }, null],
    [{ checkpoint_ack: '$0' }, ''],
    [{ restore: '$0' }, ''],
  ],
  'a checkpoint that was published straight to NATS': [
    [{ straight: ['checkpoint', 0] }, null],
    [{ restore: '$0' }, ''],
    [{ checkpoint: 0 }, ''],
    [{ restore: '$0' }, ''],
  ],
  'a promotion, which allows any number of reloads': [
    [{ hot_reload: null }, '/type'],
    [{ evolution_intent: null }, ''],
    [{ hot_reload: null }, '/type'],
    [{ evolution_result: 'promoted' }, ''],
    [{ hot_reload: null }, ''],
    [{ evolution_intent: null }, ''],
    [{ hot_reload: null }, ''],
    [{ evolution_result: 'rejected' }, ''],
    [{ hot_reload: null }, '/type'],
  ],
  'one result for each evolution': [
    [{ evolution_result: 'promoted' }, '/decision'],
    [{ evolution_intent: null }, ''],
    [{ evolution_result: 'rejected' }, ''],
    [{ evolution_result: 'promoted' }, '/decision'],
    [{ evolution_intent: null }, ''],
    [{ evolution_result: 'promoted' }, ''],
  ],
  'an evolution that was published straight to NATS': [
    [{ straight: ['evolution_intent'] }, null],
    [{ evolution_result: 'rejected' }, ''],
    [{ straight: ['evolution_result', 'promoted'] }, null],
    [{ hot_reload: null }, ''],
    [{ evolution_result: 'promoted' }, '/decision'],
  ],
  'a backup, and a promotion': [
    [{ hot_reload: UNKNOWN }, '/backup_checkpoint_id /type'],
    [{ checkpoint: 0 }, ''],
    [{ hot_reload: '$1' }, '/type'],
    [{ evolution_intent: null }, ''],
    [{ evolution_result: 'promoted' }, ''],
    [{ hot_reload: '$1' }, ''],
    [{ hot_reload: UNKNOWN }, '/backup_checkpoint_id'],
  ],
};

describe('what an agent has', () => {
  const its = {};
  const start = (args = []) => startParley({ nats: its.nats.url, args });
  before(async () => {
    its.nats = await startNats();
    [its.one, its.two, its.off] = await Promise.all([start(), start(), start(['--wal', 'off'])]);
    its.client = await connectNats(its.nats.url);
  });
  after(async () => {
    await its.client?.close();
    await Promise.all([its.one, its.two, its.off].map((gateway) => gateway?.stop()));
    await its.nats?.stop();
  });

  async function send(server, agent, message, { type, encode = JSON.stringify, more = '' } = {}) {
    const path = `/v1/supervisor/messages?${agent ? `agent=${agent}` : ''}${more}`;
    const answer = await post(server, path, encode(message), { type });
    assert.equal(answer.status, 200, answer.text);
    return answer;
  }

  async function straight(agent, type, value) {
    const side = type === 'evolution_result' ? 'elixir' : 'gerbil';
    const text = JSON.stringify(make(type, value));
    const { seq } = await its.client.jetstream().publish(`supervisor.${agent}.${side}.${type}`, text);
    return `00000000-0000-8000-8000-${seq.toString(16).padStart(12, '0')}`;
  }

  Object.entries(STORIES).forEach(([what, steps], number) => {
    it(what, async () => {
      const agent = `agent-${number}`;
      const ids = [];
      for (const [i, [step, warned]] of steps.entries()) {
        const [[type, given]] = Object.entries(step);
        const value = String(given).startsWith('$') ? ids[given.slice(1)] : given;
        if (type === 'straight') {
          ids[i] = await straight(agent, ...given);
        } else if (type === 'gone') {
          const store = await its.client.jetstream().views.os('parley_checkpoints');
          await store.delete(`${agent}/${value}`);
        } else {
          const server = [its.one, its.two][i % 2];
          const isBinary = i % 3 === 0;
          const form = isBinary ? { type: MSGPACK_TYPE, encode: msgpack } : {};
          const { json } = await send(server, agent, make(type, value), form);
          assert.equal(words(json), warned, `${i}: ${JSON.stringify(step)}`);
          ids[i] = json.id;
        }
      }
    });
  });

  it('is not what another agent has', async () => {
    const { json } = await send(its.one, 'owner', make('checkpoint'));
    await send(its.one, 'owner', make('evolution_intent'));
    await send(its.one, 'owner', make('evolution_result', 'promoted'));
    for (const [message, places] of [
      [make('restore', json.id), '/checkpoint_id'],
      [make('hot_reload', json.id), '/backup_checkpoint_id /type'],
      [make('evolution_result', 'promoted'), '/decision'],
    ]) {
      assert.equal(words((await send(its.two, 'stranger', message)).json), places);
    }
  });

  for (const [what, form] of [
    ['NDJSON', { type: NDJSON_TYPE, encode: lines }],
    ['frames', { type: FRAMES_TYPE, encode: frames }],
  ]) {
    it(`is also what came before in the same body: ${what}`, async () => {
      const body = ['promoted', 'rejected', 'promoted'].flatMap((decision) => [
        make('evolution_intent'),
        make('evolution_result', decision),
        make('hot_reload'),
        make('hot_reload'),
      ]);
      const answer = await send(its.one, `body-${what}`, [...body, make('evolution_result', 'promoted')], form);
      const said = answer.lines.slice(0, -1).map(words);
      const none = ['', '', '', ''];
      assert.deepEqual(said, [...none, '', '', '/type', '/type', ...none, '/decision']);
    });
  }

  it('is also what is being stored meanwhile, of the same body', async (t) => {
    const wire = await NatsWire.to(its.nats.url);
    atEnd(t, () => wire.close());
    const server = await parleyFor(t, { nats: wire.url, args: ['--ack-timeout', '60s', '--reactors', '1'] });
    const subject = 'supervisor.held.elixir.evolution_result';
    const held = wire.hold((frame) => frame.kind === 'publish' && frame.subject === subject);
    const body = [make('evolution_intent'), make('evolution_result', 'promoted'), make('hot_reload')];
    const answer = send(server, 'held', body, { type: NDJSON_TYPE, encode: lines });
    await held.reached();
    // By then a reload that does not wait would have read that there is no promotion.
    for (let i = 0; i < 3; i++) await send(server, 'other', make('evolution_intent'));
    held.release();
    assert.deepEqual((await answer).lines.slice(0, -1).map(words), ['', '', '']);
  });

  it('is told of the first time alone: what is sent again is a duplicate, without warnings', async () => {
    await send(its.one, 'again', make('evolution_intent'));
    for (const [message, places] of [
      [make('evolution_result', 'promoted'), ''],
      [make('evolution_result', 'promoted'), '/decision'],
      [make('restore', UNKNOWN), '/checkpoint_id'],
    ]) {
      const [first, second] = [await send(its.one, 'again', message), await send(its.two, 'again', message)];
      assert.deepEqual([words(first.json), first.json.duplicate], [places, false]);
      assert.deepEqual(second.json, { ...first.json, duplicate: true, warnings: [] });
    }
  });

  it('is nothing that a message without an agent names, nor with --wal off, nor in a verdict', async () => {
    for (const message of [make('restore', UNKNOWN), make('hot_reload'), make('evolution_result', 'promoted')]) {
      assert.equal(words((await send(its.one, '', message)).json), '');
      assert.equal(words((await send(its.off, 'off', message)).json), '');
      const verdict = await post(its.one, '/v1/supervisor/validate?agent=off', JSON.stringify(message));
      assert.deepEqual(verdict.json.violations, []);
    }
  });

  it('has the acknowledgement of the gateway, which needs no looking', async () => {
    const { json } = await send(its.one, 'acked', make('checkpoint'), { more: '&ack=true' });
    assert.equal(json.ack.checkpoint_id, json.id);
    const about = await get(its.two, '/v1/supervisor/agents/acked');
    assert.equal(about.json.checkpoint_ack.checkpoint_id, json.id);
  });
});
