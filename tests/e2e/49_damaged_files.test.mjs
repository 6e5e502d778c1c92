// SPDX-License-Identifier: Apache-2.0
// What is stored is damaged on the disk, a bit of a message that flips, or the end of a file that the
// power cut left behind: what nats-server does about it, what parley says of that, and that what is
// stored from then on can be read. (nats-server 2.9 loses it, unless parley starts it twice.)

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, readFileSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { get, post, readEvents, send } from './lib/http.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { sendTask, taskRequest } from './lib/roundtable.mjs';
import { assertAccepted, claim, claims } from './lib/vlp.mjs';
import { nextTask } from './lib/work.mjs';

const SUBJECT = 'vlp.safe.claim';
const HEAD_SIZE = 22; // length, sequence, time, length of the subject

// Where the bit is, of the record whose message contains `text`.
const PLACES = {
  'its content': (bytes, text) => bytes.indexOf(text),
  'the length of its record': (bytes, text) => bytes.lastIndexOf(SUBJECT, bytes.indexOf(text)) - HEAD_SIZE + 3,
};

const blockOf = (data, stream = 'VLP') => {
  const folder = join(data, 'store', 'jetstream', '$G', 'streams', stream, 'msgs');
  const numbers = readdirSync(folder).filter((name) => name.endsWith('.blk')).map(parseFloat);
  return join(folder, `${Math.max(...numbers)}.blk`);
};

function flipBit(data, place, text) {
  const file = openSync(blockOf(data), 'r+');
  const bytes = readFileSync(file);
  const at = PLACES[place](bytes, text);
  writeSync(file, Buffer.from([bytes[at] ^ 1]), 0, 1, at);
  closeSync(file);
}

const end = {
  'was killed': async (server) => {
    server.program.killFamily();
    await server.program.hasExited();
  },
  'was stopped': (server) => server.stop(),
};

// Five messages, and one bit of the third. `isSaid`: nats-server notices when it starts.
const ROWS = [
  { place: 'its content', how: 'was killed', isSaid: true },
  { place: 'the length of its record', how: 'was killed', isSaid: true },
  { place: 'its content', how: 'was stopped', kept: [0, 1, 3, 4], isSaid: false },
];

describe('a bit flips in a stored message', () => {
  for (const { place, how, kept, isSaid } of ROWS) {
    const result = isSaid ? 'the log says how much nats-server has dropped' : 'that one is not given to readers';
    it(`in ${place}, while a server that ${how} is away: ${result}`, async (t) => {
      const data = temporaryFolder();
      const first = await parleyFor(t, { data });
      const messages = claims(5).map((message, i) => ({ ...message, content: `content ${i}` }));
      for (const message of messages) assertAccepted(await send(first, message));
      await end[how](first);
      flipBit(data, place, 'content 2');
      const server = await parleyFor(t, { data });
      if (isSaid) {
        const said = await until('it is said', () => server.logged('stream.damaged')[0]);
        assert.equal(said.stream, 'VLP');
        assert.ok(said.bytes > 0);
        assert.equal(said.level, 'error');
      }
      assertAccepted(await send(server, claim({ content: 'later' })));
      if (kept) {
        const contents = (await readEvents(server)).map((event) => event.data.content);
        assert.deepEqual(contents, [...kept.map((i) => `content ${i}`), 'later']);
      }
      assert.equal(server.logged('stream.damaged').length, isSaid ? 1 : 0);
    });
  }

  it('nowhere: nothing is said of files that are whole', async (t) => {
    const data = temporaryFolder();
    const first = await parleyFor(t, { data });
    assertAccepted(await send(first, claim()));
    await end['was killed'](first);
    const server = await parleyFor(t, { data });
    assertAccepted(await send(server, claim()));
    assert.deepEqual(server.logged('stream.damaged'), []);
  });
});

// The end of a block, of which the power let come less than was written.
const ENDS = {
  'a bit of its last message flipped': (file, bytes) =>
    writeSync(file, Buffer.from([bytes.at(-12) ^ 1]), 0, 1, bytes.length - 12),
  'zeros for its last bytes': (file, { length }) => writeSync(file, Buffer.alloc(60), 0, 60, length - 60),
  'half of its last message': (file, { length }) => ftruncateSync(file, length - 20),
};

function damageEnd(data, stream, how) {
  const path = blockOf(data, stream);
  const file = openSync(path, 'r+');
  ENDS[how](file, readFileSync(path));
  closeSync(file);
}

async function saveCheckpoint(server) {
  const agent = randomUUID();
  const data = { agent_state: { id: agent, notes: agent.repeat(50_000) } };
  const body = JSON.stringify({ type: 'checkpoint', timestamp: 1705392000, data });
  const answer = await post(server, `/v1/supervisor/messages?agent=${agent}&ack=true`, body);
  assert.equal(answer.status, 200, answer.text);
  return { path: `/v1/supervisor/agents/${agent}/checkpoints/${answer.json.id}`, data };
}

const canBeRead = async (server, { path, data }) =>
  isDeepStrictEqual((await get(server, path)).json?.data, data);

// Three of each kind; the damage takes the last one.
async function fill(server) {
  const filled = { contents: [], checkpoints: [] };
  for (let i = 0; i < 3; i++) {
    filled.contents.push(`content ${i}`);
    assertAccepted(await send(server, claim({ content: `content ${i}` })));
    assert.equal((await sendTask(server, taskRequest(`task.${i}`))).status, 200);
    filled.checkpoints.push(await saveCheckpoint(server));
  }
  return filled;
}

describe('the files of messages, tasks and checkpoints end with damage', () => {
  for (const how of Object.keys(ENDS)) {
    it(`${how}: what is before it, and what is stored from then on, can be read, also after a restart`, async (t) => {
      const data = temporaryFolder();
      const first = await parleyFor(t, { data });
      const { contents, checkpoints } = await fill(first);
      await end['was killed'](first);
      for (const stream of ['VLP', 'ROUNDTABLE', 'KV_parley_tasks', 'OBJ_parley_checkpoints']) {
        damageEnd(data, stream, how);
      }
      let server = await parleyFor(t, { data });
      await until('it is ready', async () => (await get(server, '/readyz')).status === 200);
      assertAccepted(await send(server, claim({ content: 'later' })));
      const later = await saveCheckpoint(server);
      const task = taskRequest('later.task');
      assert.equal((await sendTask(server, task)).status, 200);
      const given = await nextTask(server, 'bors', { domains: ['later'], wait: 60 });
      assert.equal(given.json?.task?.id, task.id, given.text);
      for (const isAgain of [false, true]) {
        const events = await readEvents(server);
        assert.deepEqual(events.map((event) => event.data.content), [...contents.slice(0, -1), 'later']);
        assert.ok(await canBeRead(server, checkpoints[0]));
        assert.ok(await canBeRead(server, later));
        const { json } = await get(server, `/v1/roundtable/tasks/${task.id}`);
        assert.equal(json.state, 'claimed');
        if (!isAgain) {
          await server.stop();
          server = await parleyFor(t, { data });
        }
      }
    });
  }
});
