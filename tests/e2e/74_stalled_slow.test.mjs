// SPDX-License-Identifier: Apache-2.0
// Thousands of connections that begin something and never finish it: what can never be finished is
// refused at once, the others cost nothing but their memory, and clients that are gone are noticed
// (attack F1). No connection of this server idles out.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { JSON_TYPE, connectRaw, get, rawChunkedHead, send } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { isSanitized, pause, until } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { assertAccepted, claim } from './lib/vlp.mjs';

const limit = Number(execFileSync('sh', ['-c', 'ulimit -Hn; true']).toString().trim()) || 1e6;
const MANY = Math.min(3000, limit - 1000);
const AT_ONCE = 100;
const LOOK_MS = 250;
const TICKS_OF_IDLENESS = 2; // of 10 ms each, in LOOK_MS

const its = useParley({ args: ['--idle-timeout', '1h', '--head-timeout', '1h'] });

// What the process has used of the processors, in ticks.
function ticksOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

const idles = () =>
  until('the process idles', async () => {
    const before = ticksOf(its.parley.pid);
    await pause(LOOK_MS);
    return ticksOf(its.parley.pid) - before <= TICKS_OF_IDLENESS;
  });

async function openMany(bytesOf, count = MANY) {
  const connections = [];
  for (let i = 0; i < count; i += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - i) }, async (_, j) => {
      const connection = await connectRaw(its.parley);
      for (const bytes of [bytesOf(i + j)].flat()) await connection.write(bytes);
      return connection;
    });
    connections.push(...(await Promise.all(some)));
  }
  return connections;
}

const e = (count) => 'e'.repeat(count);
const queryOf = (path, count) => `GET ${path}?${'&'.repeat(count)} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

// Refused: they can never become a request.
const hopeless = [
  ['a chunk line of 9,000 bytes', () => `${rawChunkedHead('/v1/vlp/messages')}5;${e(9000)}`, 400],
  ['a chunk line of 9,000 bytes, by and by', () => [rawChunkedHead('/v1/vlp/messages'), `5;${e(4000)}`, e(5000)], 400],
  ['a stream with 1,500 query options', () => queryOf('/v1/vlp/stream', 1500), 414],
  ['a request with 1,500 query options', () => queryOf('/v1/vlp/messages', 1500), 414],
  ['a head of 20,000 bytes', () => `GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${e(20_000)}`, 431],
];

// Nothing is wrong with them yet, and whatever fills a buffer to its last byte is among them.
const unfinished = [
  ['half a head', () => 'GET /livez HTTP/1.1\r\nHost: localhost\r\nX: '],
  ['a growing head', (i) => `GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${e((i * 7) % 15_000)}`],
  ['the query of a stream', (i) => `GET /v1/vlp/stream?${'&'.repeat(i % 40)}`],
  ['a chunk size', () => `${rawChunkedHead('/v1/vlp/messages')}5`],
  ['half a chunk', (i) => `${rawChunkedHead('/v1/vlp/validate')}ffff\r\n${e((i * 11) % 9000)}`],
  ['a trailer', () => `${rawChunkedHead('/v1/vlp/messages')}0\r\nX: e`],
  ['half a body', () => 'POST /v1/vlp/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'],
];

const memoryCounts = { skip: isSanitized && 'memory is not its own' };

describe('thousands of clients', () => {
  let before;
  const usedKb = () => parseInt(processStatus(its.parley.pid, 'VmRSS'), 10);
  const settled = async () => {
    await until('all are forgotten', () => its.parley.openFiles() <= before);
    await idles();
    assertAccepted(await send(its.parley, claim()));
  };

  for (const [name, bytesOf, status] of hopeless) {
    it(`that send ${name} are answered ${status} and closed`, async () => {
      before = its.parley.openFiles();
      const connections = await openMany(bytesOf);
      for (const connection of connections) {
        const text = await connection.end();
        assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
        connection.close();
      }
      await settled();
    });

    it(`that send ${name} and leave are forgotten`, async () => {
      before = its.parley.openFiles();
      for (const connection of await openMany(bytesOf)) connection.close();
      await settled();
    });
  }

  for (const [name, bytesOf] of unfinished) {
    it(`that send ${name} keep no core busy, and are forgotten when they leave`, async () => {
      before = its.parley.openFiles();
      const connections = await openMany(bytesOf);
      await idles();
      assert.equal((await get(its.parley, '/livez')).status, 200);
      for (const connection of connections) connection.close();
      await settled();
    });
  }

  const bodyOf = (i) => {
    const head = `POST /v1/vlp/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${JSON_TYPE}\r\n`;
    return `${head}Content-Length: 30001\r\n\r\n${' '.repeat(i % 2 ? 30_000 : 3000)}`;
  };
  for (const [name, bytesOf] of [
    ['half of their heads', (i) => `GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${e((i * 7) % 15_000)}`],
    ['half of their bodies', bodyOf],
    ['whole requests', () => 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ]) {
    it(`that send ${name} take no memory along (attack F9)`, memoryCounts, async () => {
      before = its.parley.openFiles();
      const stays = await connectRaw(its.parley); // one that stays must not keep what others had
      const usedBefore = usedKb();
      const connections = await openMany(bytesOf);
      const latest = await openMany(() => 'GET /livez', 1);
      for (const connection of connections) connection.close();
      await until('it is given back', () => usedKb() < usedBefore + 10 * 1024);
      for (const connection of [stays, ...latest]) connection.close();
      await settled();
    });
  }
});
