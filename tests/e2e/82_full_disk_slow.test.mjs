// SPDX-License-Identifier: Apache-2.0
// A full disk under its own nats-server: 503 while it lasts, nothing acknowledged is lost, and the
// server recovers by itself once there is room. The disk is a small tmpfs that only the server
// sees: it has a mount namespace of its own.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, post, send, validate } from './lib/http.mjs';
import { parseLog } from './lib/log.mjs';
import { connectNats, startNats, storedMessages } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { isSanitized, pause, until } from './lib/poll.mjs';
import { run, temporaryFolder } from './lib/program.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';

const RECOVERY_MS = isSanitized ? 240_000 : 120_000;
const MOUNT = 'mount -t tmpfs -o size=64m,mode=700 parley-e2e "$0" && exec "$@"';

async function whyNot() {
  if (process.getuid() !== 0) return 'only root may mount a small disk for it';
  const probe = await run('unshare', [
    '-m',
    '--propagation',
    'private',
    'sh',
    '-c',
    MOUNT,
    '/mnt',
    'true',
  ]);
  return probe.code === 0 ? false : `no tmpfs can be mounted here: ${probe.stderr.trim()}`;
}

const wrapperFor = (data) => ['unshare', '-m', '--propagation', 'private', 'sh', '-c', MOUNT, data];

describe('a full disk', { skip: await whyNot() }, () => {
  it('is 503 until there is room again, and nothing acknowledged is lost', async (t) => {
    const data = temporaryFolder();
    const parley = await parleyFor(t, { data, wrapper: wrapperFor(data) });
    const inside = `/proc/${parley.pid}/root${data}`;
    const accepted = new Map();
    const deliver = async () => {
      const message = claim({ content: 'x'.repeat(100_000) });
      const answer = await send(parley, message, { timeout: RECOVERY_MS });
      if (answer.status === 200) accepted.set(message.id, answer.json.seq);
      else if (answer.status === 504) assertProblem(answer, 504, 'bus-timeout');
      else assertProblem(answer, 503, 'bus-unavailable');
      return answer.status;
    };

    for (let i = 0; i < 20; i++) assert.equal(await deliver(), 200);
    fill(`${inside}/ballast`, inside);
    await until('the disk is full', async () => (await deliver()) !== 200, {
      timeout: RECOVERY_MS,
    });
    for (let i = 0; i < 5; i++) await deliver();
    // (attack F2) It is told apart from a nats-server that is away.
    const isTold = /disk of the store .* is full/;
    await until('the answer says why', async () => {
      const answer = await send(parley, claim(), { timeout: RECOVERY_MS });
      return answer.status === 503 && isTold.test(answer.json.detail);
    });
    await until('/readyz says why', async () => {
      const ready = await get(parley, '/readyz');
      return ready.status === 503 && isTold.test(ready.json.detail);
    });
    await until('the log says why', () => isTold.test(parley.program.stderr));
    assert.equal((await get(parley, '/livez')).status, 200);
    assert.equal((await validate(parley, claim())).json.valid, true);

    rmSync(`${inside}/ballast`);
    await until('messages are taken again', async () => (await deliver()) === 200, {
      timeout: RECOVERY_MS,
    });
    for (let i = 0; i < 20; i++) await until('taken', async () => (await deliver()) === 200);
    assertAccepted(await send(parley, claim()));

    const url = readFileSync(`${inside}/nats.url`, 'utf8').trim();
    const client = await connectNats(url);
    atEnd(t, () => client.close());
    const stored = await storedMessages(client);
    const places = new Map(stored.map(({ seq, payload }) => [JSON.parse(payload).id, seq]));
    assert.equal(places.size, stored.length, 'each is stored once');
    for (const [id, seq] of accepted) assert.equal(places.get(id), seq, `${id} is there`);
    assert.equal(existsSync(`${data}/nats.url`), false, "the disk was the server's own");
  });

  it('does not come from checkpoints: one for which there is no room is refused', async (t) => {
    const data = temporaryFolder();
    const args = ['--reactors', '4'];
    const parley = await parleyFor(t, { data, wrapper: wrapperFor(data), args });
    const upload = (agent, megabytes) => {
      const state = { agent_state: { id: agent, notes: 'x'.repeat(megabytes * 1e6) } };
      const message = { type: 'checkpoint', timestamp: 1705392000, data: state };
      const path = `/v1/supervisor/messages?agent=${agent}`;
      return post(parley, path, JSON.stringify(message), { timeout: RECOVERY_MS });
    };
    assert.equal((await upload('first', 10)).status, 200);
    const { detail } = assertProblem(await upload('large', 60), 503, 'bus-unavailable');
    const [, room] = detail.match(/has room for (\d+) more bytes, and this takes \d+/);
    assert.ok(Number(room) > 20e6 && Number(room) < 57e6, detail);
    // By different threads at the same time.
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => upload(name, 20)));
    const refused = answers.filter(({ status }) => status !== 200);
    t.diagnostic(JSON.stringify(answers.map(({ status }) => status)));
    assert.ok(refused.length >= 4, 'two of them fit at the most');
    for (const answer of refused) {
      assert.match(assertProblem(answer, 503, 'bus-unavailable').detail, /has room for \d+ more bytes/);
    }
    assertAccepted(await send(parley, claim()));
  });

  it('keeps the index from being written, which is said once, until there is room again', async (t) => {
    const data = temporaryFolder();
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const args = ['--index', 'on'];
    const parley = await parleyFor(t, { data, nats: nats.url, wrapper: wrapperFor(data), args });
    const inside = `/proc/${parley.pid}/root${data}`;
    const index = async () => {
      const { json } = await get(parley, '/readyz', { headers: { accept: 'application/json' } });
      return json.checks.find(({ name }) => name === 'index').status;
    };
    const failures = () => parseLog(parley.program.stderr).filter(({ event }) => event === 'index.failed');
    assertAccepted(await send(parley, claim()));
    await until('the index is there', async () => (await get(parley, '/v1/vlp/messages')).status === 200);

    fill(`${inside}/ballast`, inside, 256 * 1024);
    let seq;
    await until('the index cannot be written', async () => {
      ({ seq } = assertAccepted(await send(parley, claim())));
      return (await index()) === 'degraded';
    });
    for (let i = 0; i < 40; i++) {
      await pause(100); // it is tried again every two seconds
      assert.equal(await index(), 'degraded');
    }
    assert.equal(failures().length, 1);

    rmSync(`${inside}/ballast`);
    await until('the index has it', async () => {
      return (await get(parley, `/v1/vlp/messages?after=VLP:${seq}&wait=5`)).status === 200;
    });
    await until('/readyz says so', async () => (await index()) === 'ok');
  });
});

it('a file that may not grow any more is as a full disk', async (t) => {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const wrapper = ['sh', '-c', 'ulimit -f 300; exec "$0" "$@"'];
  const parley = await parleyFor(t, { nats: nats.url, wrapper, args: ['--index', 'on'] });
  await until('the index cannot be written', async () => {
    assertAccepted(await send(parley, claim()));
    return parley.logged('index.failed').length > 0;
  });
  for (let i = 0; i < 20; i++) assertAccepted(await send(parley, claim()));
});

// Leaves a few megabytes: enough to go on for some messages, as a disk fills in life.
function fill(file, folder, left = 3 * 1024 * 1024) {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(file, Buffer.alloc(bavail * bsize - left));
}
