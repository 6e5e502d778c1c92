// SPDX-License-Identifier: Apache-2.0
// The window of messages in flight fills up: the more urgent a message, the later it is refused.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { send } from './lib/http.mjs';
import { startNats } from './lib/nats.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { sendTask, taskProgress } from './lib/roundtable.mjs';
import { assertAccepted, assertProblem, claim } from './lib/vlp.mjs';

// A window of 20. Without decisions a message is published at once; with them its keys are looked up
// first, which a NATS that stands still does not answer.
const ARGS = [
  ...['--reactors', '1', '--in-flight', '19', '--bus-patience', '0', '--ack-timeout', '1h'],
  ...['--lifecycle', 'off'],
];

const progress = (priority) => taskProgress(randomUUID(), priority ? { priority } : {});

it('refuses low at 70 % of the window, normal at 85 %, high at 95 %, critical last', async (t) => {
  const nats = await startNats();
  atEnd(t, () => nats.stop());
  const server = await parleyFor(t, { nats: nats.url, args: ARGS });
  assertAccepted(await sendTask(server, progress()));
  await nats.freeze();

  const waiting = [];
  const refused = [];
  // As many as have room, and one more, which is refused while the others wait for NATS.
  const fill = async (count, make, part) => {
    const before = refused.length;
    for (let i = 0; i <= count; i++) {
      const answer = make().then((each) => (each.status === 503 && refused.push(each), each));
      waiting.push(answer);
    }
    await until(`one of ${count + 1} is refused`, () => refused.length > before);
    assert.equal(refused.length, before + 1);
    const { detail } = assertProblem(refused.at(-1), 503, 'overloaded');
    assert.match(detail, part);
    assert.match(refused.at(-1).headers['retry-after'], /^\d+$/);
  };
  const task = (priority) => () => sendTask(server, progress(priority));
  await fill(14, task('low'), /reached 70 % of 20 a worker \(--in-flight\)/);
  await fill(0, task('low'), /70 %/);
  await fill(3, task('normal'), /85 %/);
  await fill(0, task(undefined), /85 %/);
  await fill(0, () => send(server, claim()), /85 %/);
  await fill(2, task('high'), /95 %/);
  await fill(1, task('critical'), /reached 20 a worker/);

  // In a batch it waits, and so do those after it.
  const batch = sendTask(server, [progress('low'), progress('critical'), progress('low')]);
  nats.signal('SIGCONT');
  const results = (await batch).lines;
  assert.equal(results.at(-1).summary.accepted, 3);
  const seqs = results.slice(0, -1).map(({ seq }) => seq);
  assert.deepEqual(seqs, [...seqs].sort((a, b) => a - b));
  for (const answer of await Promise.all(waiting)) {
    if (answer.status !== 503) assertAccepted(answer);
  }
  assert.equal(refused.length, 7);
});
