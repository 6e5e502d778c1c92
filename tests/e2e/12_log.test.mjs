// SPDX-License-Identifier: Apache-2.0
// The log on standard error (docs/logs.md): what it says of a start and an end, in both forms, and
// that nobody has to read it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get } from './lib/http.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';

const TIME = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the log', () => {
  for (const form of ['logfmt', 'json']) {
    it(`says where the server is and with what, and that it ends (${form})`, async (t) => {
      const server = await parleyFor(t, { args: ['--log-format', form] });
      const [versions, limits, listening] = server.logged('start.');
      assert.match(versions.parley, /^\d+\.\d+\.\d+$/);
      assert.equal(Number(limits.in_flight), 16384);
      assert.equal(listening.url, server.url);
      assert.equal(listening.data, server.data);
      assert.equal(listening.access, 'open');
      await server.stop();
      const lines = server.logged();
      assert.equal(lines.length, server.program.stderr.trim().split('\n').length);
      for (const { time, level, msg } of lines) {
        assert.match(time, TIME);
        assert.equal(level, 'info', msg);
      }
      assert.deepEqual(lines.slice(-2).map(({ event }) => event), ['drain.begin', 'stop']);
      assert.equal(lines.at(-2).reason, 'SIGTERM');
      assert.equal(Number(lines.at(-1).status), 0);
    });
  }

  it('leaves out what is less important than its level', async (t) => {
    const server = await parleyFor(t, { args: ['--log-level', 'warn'] });
    await server.stop();
    assert.equal(server.program.stderr, '');
  });

  it('holds nothing up when nobody reads it', async (t) => {
    const server = await parleyFor(t);
    const { stderr } = server.program.child;
    atEnd(t, () => stderr.resume());
    stderr.pause();
    for (let i = 0; i < 40; i++) server.signal('SIGHUP');
    await until('it serves', async () => (await get(server, '/readyz')).status === 200);
  });
});
