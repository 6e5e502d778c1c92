// SPDX-License-Identifier: Apache-2.0
// The life-cycle matrix (lib/life_cycles.mjs): each operation of the server, in each phase that its
// requests can be in, while its clients leave. 74_life_cycles_slow has the other endings.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Tally, closeWorld, faultsOf, openWorld, runPhase } from './lib/life_cycles.mjs';
import { LEAVING } from './lib/life_endings.mjs';
import { PHASES } from './lib/life_phases.mjs';

describe(`requests whose clients leave (${Object.keys(LEAVING).join(', ')})`, () => {
  const tally = new Tally();
  let world;
  before(async () => {
    world = await openWorld({ args: ['--index', 'on'] });
  });
  after(() => world && closeWorld(world));

  for (const phase of PHASES) {
    it(`hold nothing afterwards: ${phase.name}`, () => runPhase(world, phase, LEAVING, tally));
  }

  it('were in each phase, and each operation was in as many as it has', (t) => {
    t.diagnostic(tally.text(world.operations, PHASES, LEAVING));
    assert.deepEqual(tally.missing(world.operations, PHASES, LEAVING), []);
    assert.deepEqual(faultsOf(world), []);
  });
});
