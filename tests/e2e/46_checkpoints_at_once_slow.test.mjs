// SPDX-License-Identifier: Apache-2.0
// Large checkpoints of many agents at once: as many as --gather-max has room for are stored, the others
// are refused and sent again, and the server's memory stays within it.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { MSGPACK_TYPE, msgpack } from './lib/frames.mjs';
import { JSON_TYPE, post } from './lib/http.mjs';
import { embeddedUrl, natsClient } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { ifMemoryCounts, isSanitized, until } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { assertProblem } from './lib/vlp.mjs';

const MB = 1e6;
const GATHER_MAX = (isSanitized ? 64 : 256) * 2 ** 20;
const BYTES = isSanitized ? 25 * MB : 100 * MB; // of JSON; two of them fit
const REST_BYTES = 48 * 2 ** 20; // of all else that the server holds
const AGENTS = ['ada', 'bob', 'eve', 'zoe'];

const checkpoint = (seconds, bytes) => ({
  type: 'checkpoint',
  timestamp: 1705392000 + seconds,
  data: { agent_state: { id: 'a', notes: 'x'.repeat(bytes) } },
});

it(`four at once are all stored in the end${ifMemoryCounts(', within --gather-max')}`, async (t) => {
  const args = ['--gather-max', String(GATHER_MAX), '--checkpoints-keep', '1'];
  const parley = await parleyFor(t, { args });
  let refused = 0;
  const store = (agent, body, type) => {
    const attempt = async () => {
      const path = `/v1/supervisor/messages?agent=${agent}`;
      // What is refused early is cut off while its client still sends.
      const answer = await post(parley, path, body, { type }).catch(({ code, message }) => {
        assert.ok(['ECONNRESET', 'EPIPE'].includes(code), message);
      });
      if (answer?.status === 200) return answer.json;
      if (answer) assertProblem(answer, 503, 'overloaded');
      refused++;
      return false;
    };
    return until(`the checkpoint of ${agent} is stored`, attempt, { every: 200 });
  };
  const ids = {};
  const storeAll = async (body, type) => {
    const receipts = await Promise.all(AGENTS.map((agent) => store(agent, body, type)));
    AGENTS.forEach((agent, i) => (ids[agent] = receipts[i].id));
  };
  for (let round = 0; round < 2; round++) {
    await storeAll(JSON.stringify(checkpoint(round, BYTES)), JSON_TYPE);
  }
  // As MessagePack it takes the size of its JSON as well.
  await storeAll(msgpack(checkpoint(9, BYTES / 2)), MSGPACK_TYPE);

  const client = await natsClient(t, embeddedUrl(parley));
  const objects = await client.jetstream().views.os('parley_checkpoints');
  await until('the newest of each is kept', async () => {
    const names = (await objects.list()).map(({ name }) => name).sort();
    return String(names) === String(AGENTS.map((agent) => `${agent}/${ids[agent]}`));
  });
  const peak = parseInt(processStatus(parley.pid, 'VmHWM'), 10) * 1024;
  t.diagnostic(`${refused} were refused; ${Math.round(peak / MB)} MB at the most`);
  if (!isSanitized) assert.ok(peak < GATHER_MAX + REST_BYTES, `the most it ever used: ${peak}`);
});
