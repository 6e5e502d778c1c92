// SPDX-License-Identifier: Apache-2.0
// Clients that send and never read (attack F2): their results take no more of the disk than they
// may, nobody else notices, and in the end they are closed.

import assert from 'node:assert/strict';
import { readlinkSync, readdirSync, statSync, statfsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { NDJSON_TYPE, connectRaw, rawFor, rawPost, send } from './lib/http.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { run, temporaryFolder } from './lib/program.mjs';
import { assertAccepted, claim } from './lib/vlp.mjs';

const MOUNT = 'mount -t tmpfs -o size=64m,mode=700 parley-e2e "$0" && exec "$@"';
const IN_NAMESPACE = ['unshare', '-m', '--propagation', 'private', 'sh', '-c', MOUNT];
const KIB = 1024;
const MIB = KIB * KIB;
const LINES = 'x\n'.repeat(1_000_000); // 140 bytes of result each

async function whyNot() {
  if (process.getuid() !== 0) return 'only root may mount a small disk for it';
  const probe = await run(IN_NAMESPACE[0], [...IN_NAMESPACE.slice(1), '/mnt', 'true']);
  return probe.code === 0 ? false : `no tmpfs can be mounted here: ${probe.stderr.trim()}`;
}

// What the nameless files of its results take.
function spooledBytes(parley) {
  const folder = `/proc/${parley.pid}/fd`;
  const isSpool = (fd) => {
    try {
      return /\/spool-\w+ \(deleted\)$/.test(readlinkSync(`${folder}/${fd}`));
    } catch {
      return false; // closed meanwhile
    }
  };
  return readdirSync(folder)
    .filter(isSpool)
    .reduce((sum, fd) => sum + (statSync(`${folder}/${fd}`, { throwIfNoEntry: false })?.size ?? 0), 0);
}

// Connections that send all of `bytes`, as far as it is taken, and read nothing.
async function neverReading(t, parley, count, bytes) {
  for (let i = 0; i < count; i++) {
    const connection = await connectRaw(parley);
    atEnd(t, () => connection.close());
    connection.socket.pause();
    connection.socket.write(bytes);
  }
}

// Sends one message after another until `isOver`.  Each must be acknowledged.
async function deliverUntil(what, parley, isOver) {
  await until(what, async () => {
    assertAccepted(await send(parley, claim()));
    return isOver();
  });
}

const endless = (path) => rawPost(path, LINES, { type: NDJSON_TYPE });

describe('clients that never read their results', () => {
  for (const path of ['/v1/vlp/messages', '/v1/vlp/validate']) {
    it(`${path}: fill no more than --spool-max together, and are closed`, async (t) => {
      const args = ['--spool-max', '4m', '--idle-timeout', '3s', '--reactors', '2'];
      const parley = await parleyFor(t, { args });
      const files = parley.openFiles();
      let most = 0;
      await neverReading(t, parley, 8, endless(path));
      await until('they are spooled', () => spooledBytes(parley) > 0);
      await deliverUntil('they are closed', parley, () => {
        most = Math.max(most, spooledBytes(parley));
        return parley.openFiles() <= files;
      });
      assert.ok(most <= 4 * MIB, `${most} bytes`);
    });
  }

  it('get all of them when they read at last', async (t) => {
    const parley = await parleyFor(t, { args: ['--spool-max', '1m'] });
    const connection = await connectRaw(parley);
    atEnd(t, () => connection.close());
    connection.socket.pause();
    connection.socket.write(rawPost('/v1/vlp/validate', 'x\n'.repeat(200_000), { type: NDJSON_TYPE }));
    await until('they are spooled', () => spooledBytes(parley) > 900 * KIB);
    connection.socket.resume();
    const answer = await connection.answer();
    assert.match(answer.text.slice(-100), /{"summary":{"received":200000,"valid":0,/);
    await until('the room is free', () => spooledBytes(parley) === 0);
  });

  it('over HTTP/1.0 are refused once there is no room', async (t) => {
    const parley = await parleyFor(t, { args: ['--spool-max', '1m'] });
    const bytes = endless('/v1/vlp/validate').toString().replace('HTTP/1.1', 'HTTP/1.0');
    const connection = await rawFor(t, parley, bytes);
    const answer = await connection.answer();
    assert.equal(answer.status, 413);
    assert.match(answer.text, /--spool-max/);
  });
});

describe('clients that never read, on a small disk', { skip: await whyNot() }, () => {
  it('take nothing of it, and others go on being acknowledged', async (t) => {
    const data = temporaryFolder();
    const args = ['--idle-timeout', '3s'];
    const parley = await parleyFor(t, { data, args, wrapper: [...IN_NAMESPACE, data] });
    const disk = `/proc/${parley.pid}/root${data}`;
    const leftBytes = () => {
      const { bavail, bsize } = statfsSync(disk);
      return bavail * bsize;
    };
    assertAccepted(await send(parley, claim()));
    const before = leftBytes();
    const files = parley.openFiles();
    let least = before;
    await neverReading(t, parley, 8, endless('/v1/vlp/messages'));
    await until('they are served', () => parley.openFiles() >= files + 8);
    await deliverUntil('they are closed', parley, () => {
      least = Math.min(least, leftBytes());
      return parley.openFiles() <= files;
    });
    assert.ok(before - least < 4 * MIB, `${before - least} bytes were taken`);
  });
});
