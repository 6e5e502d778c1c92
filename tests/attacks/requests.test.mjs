// SPDX-License-Identifier: Apache-2.0
// The table of requests (requests.mjs), a connection each, against the real server: each is answered
// as its row says and nothing of it is stored; then the server serves the next one. In the end it
// has logged nothing and taken no more memory than it may; and that no sanitizer has spoken is asked
// where it is stopped.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { validate } from '../e2e/lib/http.mjs';
import { lastSequence } from '../e2e/lib/nats.mjs';
import { useParley } from '../e2e/lib/parley.mjs';
import { isSanitized } from '../e2e/lib/poll.mjs';
import { processStatus } from '../e2e/lib/program.mjs';
import { claim } from '../e2e/lib/vlp.mjs';
import { exchange } from './exchange.mjs';
import { REQUESTS, bytesOf } from './requests.mjs';

// AddressSanitizer keeps 256 MiB of what was freed.
const MEMORY_KB_MAX = (isSanitized ? 1024 : 150) * 1024;
const STORES = new Set(['headers that its Connection takes away']);

for (const [group, rows] of Object.entries(REQUESTS)) {
  describe(`hostile requests (${group}, ${rows.length})`, () => {
    const its = useParley();
    for (const [what, bytes, expected] of rows) {
      it(`${what}: ${expected.join(', ') || 'closed'}`, async () => {
        const before = await lastSequence(its.nats);
        const { statuses, tail } = await exchange(its.parley, bytesOf(bytes));
        assert.deepEqual(statuses, expected, tail);
        assert.equal(await lastSequence(its.nats), before + STORES.has(what));
        assert.equal((await validate(its.parley, claim())).json.valid, true);
      });
    }

    it('logged no fault, and took no memory', () => {
      assert.deepEqual(its.parley.faults(), []);
      const peakKb = parseInt(processStatus(its.parley.pid, 'VmHWM'), 10);
      assert.ok(peakKb < MEMORY_KB_MAX, `the most it ever used: ${peakKb} kB`);
    });
  });
}
