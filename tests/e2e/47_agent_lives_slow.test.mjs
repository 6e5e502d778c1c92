// SPDX-License-Identifier: Apache-2.0
// Many lives of an agent over kills of gateways and of nats-server. PARLEY_TEST_LIVES=1000 for more.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { AgentLives } from './lib/agent_lives.mjs';

const lives = Number(process.env.PARLEY_TEST_LIVES ?? 60);
const seed = Number(process.env.PARLEY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 32));

describe('an agent that dies again and again', () => {
  it(`is restored to what it was told is logged (${lives} lives, seed ${seed})`, async (t) => {
    const its = new AgentLives(seed);
    atEnd(t, () => its.stop());
    await its.start();
    const counts = await its.play(lives);
    t.diagnostic(JSON.stringify(counts));
    assert.equal(counts.lives, lives);
    assert.ok(counts.logged > lives && counts.gateways + counts.nats >= Math.floor(lives / 5));
  });
});
