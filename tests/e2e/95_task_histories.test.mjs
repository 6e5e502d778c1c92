// SPDX-License-Identifier: Apache-2.0
// Random histories of tasks, held against a model of their life: every answer, and every key.
// PARLEY_TEST_SEED=N plays the history N again.

import { describe, it } from 'node:test';
import { playHistory } from './lib/task_histories.mjs';

const seed = Number(process.env.PARLEY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 32));

describe('a random history of tasks is as the model says', () => {
  it(`over HTTP, in batches and straight to NATS, with a gateway killed (seed ${seed})`, async () => {
    await playHistory(seed, 120, { kills: 1 });
  });

  it(`with --lifecycle strict (seed ${seed})`, async () => {
    await playHistory(seed, 60, { lifecycle: 'strict' });
  });
});
