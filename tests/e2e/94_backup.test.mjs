// SPDX-License-Identifier: Apache-2.0
// docs/operations.md, "Backing up": what was copied can be put back, and senders and readers go on.

import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createInbox } from 'nats';
import { atEnd } from './lib/cleanup.mjs';
import { readEvents, send, streamFor } from './lib/http.mjs';
import { natsClient, startNats } from './lib/nats.mjs';
import { parley, parleyFor } from './lib/parley.mjs';
import { pause } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertAccepted, claims } from './lib/vlp.mjs';

// What members of a cluster may differ in, of when a stream was created (stream_start.c).
const SKEW_MS = 600;

const idsOf = (events) => events.map((event) => event.id);
const stored = (server, since = 'all') => readEvents(server, `since=${since}`);

// Three messages are backed up; the fourth comes too late for that. `isNew`: NATS makes the stream anew,
// with the messages, but without the ids that it has seen.
async function assertRestored(server, messages, events, isNew = false) {
  const [first, second, third] = messages;
  const ids = [first.id, second.id, third.id];
  assert.deepEqual(idsOf(await stored(server)), ids);
  const onward = await stored(server, events[1].resume);
  if (isNew) {
    assert.deepEqual([onward[0].type, onward[0].data.last], ['parley.gap', null], 'a reader is told');
    assert.deepEqual(idsOf(onward.slice(1)), ids, 'and reads it all again');
  } else {
    assert.deepEqual(idsOf(onward), [third.id], 'a reader goes on');
    const again = await send(server, third);
    assert.equal(again.json.duplicate, true, 'what was stored is recognised');
  }
  const late = await send(server, messages[3]);
  assertAccepted(late);
  assert.equal(late.json.seq, 4);
}

// What nats-server 2.12 and later do with a snapshot (docs/operations.md#backup).
const makesAnew = ({ info: { version } }) => {
  const [major, minor] = version.split('.').map(Number);
  return major > 2 || minor >= 12;
};

async function sendAll(server, messages) {
  for (const message of messages) assertAccepted(await send(server, message));
}

describe('a backup', () => {
  it('is a copy of the data folder of a server that was stopped', async (t) => {
    const messages = claims(4);
    const original = await parleyFor(t);
    await sendAll(original, messages.slice(0, 3));
    const events = await stored(original);
    await original.stop();
    const token = ['token', 'create', '--name', 'ci', '--allow', 'send:vlp', '--data', original.data];
    assert.equal((await parley(token)).code, 0);

    const copy = join(temporaryFolder(), 'copy');
    cpSync(original.data, copy, { recursive: true, preserveTimestamps: true });
    const tokens = await parley(['token', 'list', '--data', copy]);
    assert.match(tokens.stdout, /^ci +active/m);
    rmSync(join(copy, 'tokens.json')); // so that the requests below need none

    const restored = await parleyFor(t, { data: copy });
    await assertRestored(restored, messages, events);
  });

  it('is a snapshot of each stream, which NATS makes while messages arrive', async (t) => {
    const messages = claims(4);
    const first = await startNats();
    atEnd(t, () => first.stop());
    const original = await parleyFor(t, { nats: first.url });
    await sendAll(original, messages.slice(0, 3));
    const events = await stored(original);
    const snapshot = await takeSnapshot(await natsClient(t, first.url), 'VLP');
    await pause(SKEW_MS); // a stream that is made later than that is another one
    await sendAll(original, messages.slice(3));

    const second = await startNats();
    atEnd(t, () => second.stop());
    const client = await natsClient(t, second.url);
    const isNew = makesAnew(client);
    await restore(client, 'VLP', snapshot);
    const restored = await parleyFor(t, { nats: second.url });
    // A reader that was further goes on after what was restored.
    const [, , , { resume }] = await stored(original);
    const ahead = await streamFor(t, restored, `/v1/vlp/stream?since=${resume}`);
    assert.equal((await ahead.anyEvent()).type, 'parley.open');
    await assertRestored(restored, messages, events, isNew);
    const seen = isNew ? (await ahead.events(5)).slice(1) : await ahead.events(1);
    assert.deepEqual(idsOf(seen), idsOf(isNew ? messages : messages.slice(3)));
  });
});

async function ask(client, subject, question) {
  const answer = (await client.request(subject, JSON.stringify(question), { timeout: 20_000 })).json();
  assert.equal(answer.error, undefined, JSON.stringify(answer.error));
  return answer;
}

// As `nats stream backup` does: the stream as a compressed archive, in pieces.
async function takeSnapshot(client, stream) {
  const deliver = createInbox();
  const pieces = client.subscribe(deliver);
  const question = { deliver_subject: deliver, chunk_size: 128 * 1024 };
  const { config, state } = await ask(client, `$JS.API.STREAM.SNAPSHOT.${stream}`, question);
  const archive = [];
  for await (const piece of pieces) {
    if (piece.data.length === 0) break;
    archive.push(piece.data);
    piece.respond();
  }
  return { config, state, archive };
}

// As `nats stream restore` does; the stream must not exist.
async function restore(client, stream, { config, state, archive }) {
  const question = { config, state };
  const { deliver_subject: to } = await ask(client, `$JS.API.STREAM.RESTORE.${stream}`, question);
  for (const piece of archive) await client.request(to, piece, { timeout: 20_000 });
  const end = await client.request(to, new Uint8Array(), { timeout: 20_000 });
  assert.equal(end.json().error, undefined);
}
