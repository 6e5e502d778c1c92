// SPDX-License-Identifier: Apache-2.0
// `parley pipe` as the port of a real Erlang node: all types of messages, in both directions.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { frames, framesOf } from './lib/frames.mjs';
import { BINARY, parley, parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { isRunning, run, temporaryFolder } from './lib/program.mjs';

const script = resolve(fileURLToPath(import.meta.url), '../lib/exchange.escript');
const TYPES = {
  gerbil: ['heartbeat', 'checkpoint', 'wal_entry', 'wal_batch', 'evolution_intent', 'metrics', 'error'],
  elixir: ['checkpoint_ack', 'restore', 'hot_reload', 'evolution_result', 'process_request', 'shutdown', 'error'],
};

// Both sides send it, each with members of its own.
const ERROR = {
  gerbil: { code: 'EVAL_ERROR', message: 'unbound', stack_trace: 'eval', context: { line: 3 } },
  elixir: { code: 'WAL_FULL', message: 'no room', details: { entries: 100 } },
};

// An example of each type.
async function examplesOf(side) {
  const { stdout } = await parley(['examples', '--format', 'json', 'supervisor']);
  const all = JSON.parse(stdout).map(({ message }) => message);
  return TYPES[side].map((type) =>
    type === 'error'
      ? { type, timestamp: 1705392000, error: ERROR[side] }
      : all.find((each) => each.type === type));
}

it('exchanges all types with the port of the other side', async (t) => {
  const server = await parleyFor(t);
  const folder = temporaryFolder();
  const sent = {};
  for (const side of ['gerbil', 'elixir']) {
    sent[side] = await examplesOf(side);
    writeFileSync(join(folder, `${side}.frames`), frames(sent[side]));
  }
  const ports = await run('escript', [script, BINARY, server.url, 'coder', folder]);
  assert.equal(ports.code, 0, `${ports.stdout}${ports.stderr}`);
  const read = (name) => framesOf(readFileSync(join(folder, `${name}.read`)));
  assert.deepEqual(read('elixir'), sent.gerbil);
  assert.deepEqual(read('gerbil'), sent.elixir);
  const [error] = read('error');
  assert.deepEqual([error.type, error.error.code, error.error.details.frame],
    ['error', 'INVALID_MESSAGE', sent.gerbil.length + 1]);
  for (const pid of ports.stdout.trim().split('\n').map(Number)) {
    await until(`the pipe ${pid} is gone`, () => !isRunning(pid));
  }
});
