// SPDX-License-Identifier: Apache-2.0
// Hundreds of readers at once: those who fetch a large past, those who are stuck in the middle of
// it, and those who wait for what never comes. What they cost others is printed, not asserted: the
// bench and tests/budget measure that.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { send, sendLines, streamFor } from './lib/http.mjs';
import { loadFor } from './lib/load.mjs';
import { useParley } from './lib/parley.mjs';
import { ifMemoryCounts, isSanitized, pause, until } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { assertAccepted, claim, lines, uniqueId } from './lib/vlp.mjs';

const LARGE = 1_000_000;
const readers = isSanitized ? 40 : 200;
const stuck = isSanitized ? 100 : 1_000;

// Counts the lines of a response and keeps nothing, so that thousands of them fit into this process.
class Counter {
  lines = 0;
  #head = ''; // of the response, or of a chunk, until it is whole
  #isBegun = false;
  #left = 0; // of the chunk, with its CR LF
  #last = 0;

  constructor(t, server, path) {
    this.socket = net.connect(server.port, '127.0.0.1');
    this.socket.on('error', () => {});
    this.socket.on('data', (data) => this.#take(data));
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    atEnd(t, () => this.socket.destroy());
  }

  get isBegun() {
    return this.#isBegun;
  }

  #take(data) {
    for (let at = 0; at < data.length;) {
      at = this.#left > 0 ? this.#takeContent(data, at) : this.#takeHead(data, at);
    }
  }

  #takeHead(data, at) {
    const end = this.#isBegun ? '\r\n' : '\r\n\r\n';
    this.#head += String.fromCharCode(data[at]);
    if (this.#head.endsWith(end)) {
      if (this.#isBegun) this.#left = parseInt(this.#head, 16) + 2;
      this.#isBegun = true;
      this.#head = '';
    }
    return at + 1;
  }

  #takeContent(data, at) {
    const content = data.subarray(at, at + Math.min(this.#left - 2, data.length - at));
    const skipped = this.#left <= 2 ? 1 : content.length; // the CR or LF behind it
    if (this.#left > 2) {
      for (let end = content.indexOf(10); end >= 0; end = content.indexOf(10, end + 1)) {
        // Blank lines keep a quiet stream alive.
        if ((end > 0 ? content[end - 1] : this.#last) !== 10 && (end > 0 || this.#last !== 0)) {
          this.lines += 1;
        }
      }
      this.#last = content[content.length - 1];
    }
    this.#left -= skipped;
    return at + skipped;
  }
}

async function store(server, messages, lane) {
  for (let i = 0; i < messages; i += 1) {
    assertAccepted(await send(server, claim({ content: 'x'.repeat(LARGE), sender: lane })));
  }
}

const cpuTicks = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return Number(fields[11]) + Number(fields[12]);
};

// It has used less than a tenth of a second in one.
async function isIdle(pid) {
  const before = cpuTicks(pid);
  await pause(1000);
  return cpuTicks(pid) - before < 10;
}

describe('readers of a large past', () => {
  const its = useParley({ args: ['--reactors', '1'] });

  it(`${readers} at once get all of it, while every message that is sent is accepted`, async (t) => {
    const count = 8;
    await store(its.parley, count, 'past');
    const live = await streamFor(t, its.parley, '/v1/vlp/stream?sender=live');
    const load = loadFor(t, its.parley, { senders: 4, make: () => claim({ sender: 'load' }) });
    await load.accepts(10);
    const begin = Date.now();
    const many = Array.from(
      { length: readers },
      () => new Counter(t, its.parley, `/v1/vlp/stream?envelope=none&since=all&sender=past&limit=${count}`),
    );
    const message = claim({ sender: 'live' });
    assertAccepted(await send(its.parley, message));
    assert.equal((await live.event()).id, message.id);
    const small = new Counter(t, its.parley, '/v1/vlp/stream?envelope=none&since=9&limit=5&sender=load');
    await until('the small one is through', () => small.lines === 5);
    const smallMs = Date.now() - begin;
    await until('all have all', () => many.every((each) => each.lines === count), {
      timeout: 240_000,
      every: 100,
    });
    t.diagnostic(`large ones: ${Date.now() - begin} ms; a small one: ${smallMs} ms`);
    t.diagnostic(`senders meanwhile: ${JSON.stringify(load.statuses)}`);
    await load.stop();
    assert.deepEqual(Object.keys(load.statuses), ['200']);
    assert.deepEqual(load.surprises, []);
  });
});

describe('readers that are stuck', () => {
  const its = useParley({ args: ['--reactors', '1'] });

  const areBounded = ifMemoryCounts('take bounded memory, and ');
  it(`${stuck} in large messages ${areBounded}keep no other from reading`, async (t) => {
    const count = 40;
    await store(its.parley, count, 'past');
    const many = [];
    const opened = Date.now();
    for (let i = 0; i < stuck; i += 1) {
      const since = 1 + (i % (count / 2));
      many.push(new Counter(t, its.parley, `/v1/vlp/stream?envelope=none&since=${since}&sender=past`));
      many[i].socket.pause();
      if (i % 50 === 49) await pause(100);
    }
    // Until what the kernel takes of each is full.
    await until('all are stuck', () => isIdle(its.parley.pid), { timeout: 240_000 });
    t.diagnostic(`stuck after ${Date.now() - opened} ms`);
    const peak = parseInt(processStatus(its.parley.pid, 'VmHWM'), 10);
    t.diagnostic(`the most memory it ever used: ${Math.round(peak / 1024)} MB`);
    const begin = Date.now();
    const quick = new Counter(t, its.parley, `/v1/vlp/stream?envelope=none&since=all&limit=${count}`);
    await until('one that reads is through', () => quick.lines === count);
    t.diagnostic(`one that reads: ${Date.now() - begin} ms`);
    for (const each of many.slice(0, 40)) each.socket.resume();
    await until('those who read on have the rest', () =>
      many.slice(0, 40).every((each, i) => each.lines === count - (i % (count / 2))),
    );
    if (!isSanitized) assert.ok(peak < 300 * 1024, `${peak} kB`);
  });
});

describe('readers that wait for what never comes', () => {
  const its = useParley({ args: ['--reactors', '1'] });
  const rate = async (server) => {
    const body = lines(Array.from({ length: 20_000 }, () => claim({ sender: 'busy' })));
    const begin = process.hrtime.bigint();
    const answer = await sendLines(server, body, { query: '?results=summary' });
    assert.equal(answer.lines[0].summary.accepted, 20_000);
    return 20_000 / (Number(process.hrtime.bigint() - begin) / 1e9);
  };

  it(
    'are 8,000, and an event goes to the one whom it is for',
    { skip: isSanitized && 'this is about time' },
    async (t) => {
      await rate(its.parley);
      const before = Math.max(await rate(its.parley), await rate(its.parley));
      const idle = [];
      for (let i = 0; i < 8_000; i += 1) {
        const own = i % 2 === 0 ? `sender=idle-${i}` : 'lane=block&type=query';
        idle.push(new Counter(t, its.parley, `/v1/vlp/stream?envelope=none&${own}`));
        if (i % 100 === 99) await pause(20);
      }
      await until('they have begun', () => idle.every((each) => each.isBegun));
      const after = Math.max(await rate(its.parley), await rate(its.parley));
      t.diagnostic(
        `alone ${Math.round(before)} messages/s, beside 8,000 idle readers ${Math.round(after)}`,
      );
      const id = uniqueId();
      assertAccepted(await send(its.parley, claim({ id, sender: 'idle-4000' })));
      await until('the one it is for gets it', () => idle[4000].lines === 1);
      assert.equal(idle.filter((each) => each.lines > 0).length, 1);
    },
  );
});
