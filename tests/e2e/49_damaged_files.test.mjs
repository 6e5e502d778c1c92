// SPDX-License-Identifier: Apache-2.0
// A bit of a stored message that flips on the disk: what nats-server does about it, and what parley
// says of that.

import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readEvents, send } from './lib/http.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertAccepted, claim, claims } from './lib/vlp.mjs';

const SUBJECT = 'vlp.safe.claim';
const HEAD_SIZE = 22; // length, sequence, time, length of the subject

// Where the bit is, of the record whose message contains `text`.
const PLACES = {
  'its content': (bytes, text) => bytes.indexOf(text),
  'the length of its record': (bytes, text) => bytes.lastIndexOf(SUBJECT, bytes.indexOf(text)) - HEAD_SIZE + 3,
};

const blockOf = (data) => {
  const streams = join(data, 'store', 'jetstream', '$G', 'streams', 'VLP', 'msgs');
  return join(streams, readdirSync(streams).find((name) => name.endsWith('.blk')));
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
