// SPDX-License-Identifier: Apache-2.0
// What /agents says of the holes in an agent's write-ahead log, which is what a restore says.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { get, JSON_TYPE, NDJSON_TYPE } from './lib/http.mjs';
import { connectNats, startNats } from './lib/nats.mjs';
import { startParley } from './lib/parley.mjs';
import { lines } from './lib/vlp.mjs';
import { log, sendWal, walMessage } from './lib/wal.mjs';

let seconds = 1705392000;
const checkpoint = (metadata) => ({
  type: 'checkpoint',
  timestamp: ++seconds,
  version: 2,
  ...(metadata && { metadata }),
  data: { agent_state: { id: 'a', name: 'a', version: '1', status: 'idle' } },
});

// "3-4 7": the holes; a plus where there may be more.
const words = ({ missing = [], more } = {}) =>
  missing.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(' ') +
  (more ? '+' : '');

// What happens to an agent's log, and then its holes: at the gateways one and two a number or a list
// is logged; `straight` to NATS; `checkpoint` up to that sequence, null: it does not say; `restart` of one.
const LOGS = {
  'that is whole has none': [['one', 1, ''], ['two', 2, ''], ['one', [3, 4], '']],
  'has a hole, until it is filled in': [
    ['one', 1, ''],
    ['one', 4, '2-3'],
    ['one', 5, '2-3'],
    ['one', 3, '2'],
    ['one', 2, ''],
  ],
  'has two holes, and a third one where one is filled in the middle': [
    ['one', 1, ''],
    ['one', 5, '2-4'],
    ['one', 8, '2-4 6-7'],
    ['one', 3, '2 4 6-7'],
  ],
  'has holes between batches, and in one': [
    ['one', [1, 2], ''],
    ['one', [5, 6, 9], '3-4 7-8'],
    ['one', [3, 4], '7-8'],
  ],
  'begins after its checkpoint': [
    ['checkpoint', 0, ''],
    ['one', 1, ''],
    ['one', 2, ''],
    ['one', 5, '3-4'],
    ['one', [8, 9], '3-4 6-7'],
    ['checkpoint', 3, '4 6-7'],
    ['checkpoint', 5, '6-7'],
    ['checkpoint', 9, ''],
    ['one', 12, '10-11'],
  ],
  'lacks what its checkpoint ends with': [['checkpoint', 7, ''], ['one', 9, '8'], ['one', 8, '']],
  'after a checkpoint that does not say how far it goes is what is stored after it': [
    ['one', 1, ''],
    ['one', 3, '2'],
    ['checkpoint', null, ''],
    ['one', 6, ''],
    ['one', 9, '7-8'],
  ],
  'is of both gateways, and outlives one': [
    ['one', 1, ''],
    ['two', 3, '2'],
    ['one', 6, '2 4-5'],
    ['restart', null, '2 4-5'],
    ['one', 2, '4-5'],
    ['two', [4, 5], ''],
  ],
  'is also what was published straight to NATS': [
    ['one', 1, ''],
    ['straight', 4, '2-3'],
    ['one', 5, '2-3'],
    ['straight', [2, 3], ''],
  ],
  'may have what is not valid among it': [
    ['one', 1, ''],
    ['straight', 'x', ''],
    ['one', 2, ''],
  ],
};

async function read(server, path) {
  const answer = await get(server, path);
  assert.ok([200, 404].includes(answer.status), answer.text);
  return answer.json;
}
const about = (server, agent) => read(server, `/v1/supervisor/agents/${agent}`);

describe('a write-ahead log', () => {
  const its = {};
  const start = (args = []) => startParley({ nats: its.nats.url, args });
  before(async () => {
    its.nats = await startNats();
    const off = ['--wal', 'off'];
    [its.one, its.two, its.off] = await Promise.all([start(), start(), start(off)]);
    its.client = await connectNats(its.nats.url);
  });
  after(async () => {
    await its.client?.close();
    await Promise.all([its.one, its.two, its.off].map((gateway) => gateway?.stop()));
    await its.nats?.stop();
  });

  const STEPS = {
    one: (agent, word) => log(its.one, agent, [word], 'json'),
    two: (agent, word) => log(its.two, agent, [word]),
    straight: (agent, word) =>
      its.client
        .jetstream()
        .publish(
          `supervisor.${agent}.gerbil.${Array.isArray(word) ? 'wal_batch' : 'wal_entry'}`,
          word === 'x' ? word : JSON.stringify(walMessage(word)),
        ),
    async checkpoint(agent, sequence) {
      const message = checkpoint(sequence === null ? undefined : { wal_sequence: sequence });
      const answer = await sendWal(its.one, agent, JSON.stringify(message), { type: JSON_TYPE });
      assert.equal(answer.status, 200, answer.text);
    },
    async restart() {
      await its.one.stop();
      its.one = await start();
    },
  };

  Object.entries(LOGS).forEach(([what, steps], number) => {
    it(what, async () => {
      const agent = `agent-${number}`;
      for (const [step, word, holes] of steps) {
        await STEPS[step](agent, word);
        for (const server of [its.one, its.two]) {
          assert.equal(words((await about(server, agent)).wal), holes, `${step} ${word}`);
        }
        const restore = await read(its.two, `/v1/supervisor/agents/${agent}/restore`);
        if (restore.type === 'restore') assert.equal(words(restore.metadata), holes, `${step} ${word}`);
        assert.equal((await about(its.off, agent)).wal?.missing, undefined);
      }
    });
  });

  it('that is whole is not mentioned, nor is any in the list of agents', async () => {
    await log(its.one, 'silent', [1, 2]);
    assert.deepEqual(Object.keys((await about(its.one, 'silent')).wal), ['at', 'seq', 'sequence']);
    await log(its.one, 'silent', [4]);
    const { items } = await read(its.one, '/v1/supervisor/agents?limit=1000');
    for (const { wal } of items) assert.equal(wal?.missing, undefined);
    assert.deepEqual((await about(its.one, 'silent')).wal.missing, [{ first: 3, last: 3 }]);
  });

  it('that is too long to be read for this may have more holes than are said', async () => {
    // 9 kB each: 4 MiB are read.
    const entries = (first, count) =>
      lines(
        Array.from({ length: count }, (_, i) => {
          const message = walMessage(first + i);
          message.data.params.text = 'x'.repeat(9000);
          return message;
        }),
      );
    const send = async (first, count) => {
      const body = entries(first, count);
      const answer = await sendWal(its.one, 'long', body, { type: NDJSON_TYPE });
      assert.equal(answer.lines.at(-1).summary.accepted, count, answer.text);
    };
    await send(1, 1);
    await send(3, 398);
    await send(402, 1);
    assert.equal(words((await about(its.one, 'long')).wal), '2 401');
    await send(403, 100);
    await send(504, 1);
    const { wal } = await about(its.one, 'long');
    assert.deepEqual([wal.sequence, words(wal)], [504, '2 401+']);
    assert.equal(words((await about(its.off, 'long')).wal), '');
  });
});
