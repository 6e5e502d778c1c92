// SPDX-License-Identifier: Apache-2.0
// Longer random histories of tasks, with many gateways killed.

import { describe, it } from 'node:test';
import { playHistory } from './lib/task_histories.mjs';

const seed = Number(process.env.PARLEY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 32));

describe('long random histories of tasks are as the model says', () => {
  for (const [i, lifecycle] of ['on', 'strict'].entries()) {
    it(`with --lifecycle ${lifecycle}, and gateways killed (seed ${seed + i})`, async () => {
      await playHistory(seed + i, 200, { lifecycle, kills: 4, gateways: 3 });
    });
  }
});
