// SPDX-License-Identifier: Apache-2.0
// Floods of bodies that never end (attack F9): what they hold has a bound, and goes back.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { connectRaw, rawPost, send } from './lib/http.mjs';
import { parleyFor } from './lib/parley.mjs';
import { isSanitized, until } from './lib/poll.mjs';
import { processStatus } from './lib/program.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';

const residentKb = (parley) => parseInt(processStatus(parley.pid, 'VmRSS'), 10);

// Half-sent bodies, all of which have come to the server.  Returns: their connections.
async function flood(t, parley, count, bytes) {
  const half = rawPost('/v1/vlp/messages', 'x'.repeat(bytes + 1)).subarray(0, -1);
  const connections = [];
  for (let i = 0; i < count; i++) {
    const connection = await connectRaw(parley);
    atEnd(t, () => connection.close());
    await connection.write(half);
    connections.push(connection);
  }
  return connections;
}

describe('after floods of bodies that never end', { skip: isSanitized && 'memory is not its own' }, () => {
  it('memory goes back', async (t) => {
    const parley = await parleyFor(t, { args: ['--idle-timeout', '10m'] });
    assertAccepted(await send(parley, claim()));
    const before = residentKb(parley);
    for (const [count, bytes] of [
      [1000, 60_000],
      [200, 900_000],
      [1000, 60_000],
    ]) {
      const connections = await flood(t, parley, count, bytes);
      await until('they are held', () => residentKb(parley) > before + 48 * 1024);
      for (const connection of connections) connection.close();
      await until('it went back', () => residentKb(parley) < before + 24 * 1024, { every: 200 });
    }
    assertAccepted(await send(parley, claim()));
  });

  it('the start of each counts, too: beyond the bound they are refused', async (t) => {
    const parley = await parleyFor(t, { args: ['--idle-timeout', '10m', '--gather-max', '1m'] });
    const connections = await flood(t, parley, 400, 60_000); // 24 MB; 9 MiB are allowed
    const refused = await until('one is refused', async () => {
      const answer = await send(parley, claim({ content: 'x'.repeat(50_000) }));
      return answer.status === 503 && answer;
    });
    assertProblem(refused, 503, 'overloaded');
    assertAccepted(await send(parley, claim()));
    for (const connection of connections) connection.close();
    await until('there is room again', async () => {
      return (await send(parley, claim({ content: 'x'.repeat(50_000) }))).status === 200;
    });
  });
});
