// SPDX-License-Identifier: Apache-2.0
// The life-cycle matrix: every operation of the server, in every phase that it can be in
// (life_phases.mjs), ended in every way (life_endings.mjs). After each, the server serves, and all
// that it counts as held is as it was before.

import assert from 'node:assert/strict';
import { get } from './http.mjs';
import { Cell } from './life_cells.mjs';
import { metricsOf, valueOf } from './metrics.mjs';
import { connectNats, startNats } from './nats.mjs';
import { NatsWire } from './nats_wire.mjs';
import { operationsOf, storeExamples } from './operations.mjs';
import { startParley } from './parley.mjs';
import { until } from './poll.mjs';
import { portsAtServer } from './sockets.mjs';

// ---- what is held ----

// Gauges of what requests hold; and those that say something else. A new one is in one of the two.
const HELD = [
  'parley_http_active_requests',
  'parley_http_connections',
  'parley_in_flight_messages',
  'parley_held_messages',
  'parley_awaited_replies',
  'parley_gathered_bytes',
  'parley_spooled_bytes',
  'parley_compression_bytes',
  'parley_stream_readers',
  'parley_tasks_waiting',
];
const NOT_HELD = [
  /^process_|_limit_|_limit$/,
  /_info$|^parley_(workers|nats_connections|jetstream_|stream_reader_lag|webhook_requests_active)/,
  /^parley_(halts_open|tasks_open|facts_pending|index_)/,
];

async function assertGaugesAreKnown({ server, options }) {
  const { families } = await metricsOf(server, options);
  const gauges = [...families].filter(([, { type }]) => type === 'gauge').map(([name]) => name);
  const isKnown = (name) => HELD.includes(name) || NOT_HELD.some((each) => each.test(name));
  assert.deepEqual(
    gauges.filter((name) => !isKnown(name)),
    [],
    'life_cycles.mjs says of each gauge whether it counts what requests hold',
  );
}

// ---- a server ----

const limits = (clients, nats) => [
  ...['--idle-timeout', clients, '--head-timeout', clients],
  ...['--ack-timeout', nats, '--bus-patience', nats],
];
const PATIENT = '60s';
export const IMPATIENT = '2s';

// A server whose NATS is at the other end of a wire. `clients`, `forNats`: how long it waits for them;
// `tls`: what its clients need; `tokens`: { file, client, monitor }; `args`: more of its command line.
export async function openWorld(given = {}) {
  const { clients = PATIENT, forNats = PATIENT, workers = 1, tls, tokens, args = [] } = given;
  const world = { workers, tokens, options: {} };
  try {
    world.nats = await startNats();
    world.client = await connectNats(world.nats.url);
    world.wire = await NatsWire.to(world.nats.url);
    const fixed = ['--reactors', `${workers}`, '--quarantine', '--on-halt', 'ignore'];
    const all = [...fixed, ...limits(clients, forNats), ...args];
    world.server = await startParley({ nats: world.wire.url, args: all, tls });
    Object.assign(world.server, { wait: clients === IMPATIENT ? 2 : 250, token: tokens?.client });
    if (tokens) world.options = { headers: { Authorization: `Bearer ${tokens.monitor}` } };
    await assertGaugesAreKnown(world);
    await storeExamples(world.server, await operationsOf(world.server, world.options), world.options);
    world.operations = await operationsOf(world.server, world.options);
    if (args.includes('--index')) await openIndex(world.server, world.options);
    world.rest = await restOf(world);
    return world;
  } catch (error) {
    await closeWorld(world);
    throw error;
  }
}

// Each thread of the index opens the file with its first question, and keeps it open.
async function openIndex(server, options) {
  for (const path of ['/v1/brenner/threads', '/v1/brenner/acks']) {
    await until('the index answers', async () => (await get(server, path, options)).status === 200);
  }
}

export async function closeWorld({ nats, wire, server, client }) {
  try {
    await client?.close();
    await server?.stop();
  } finally {
    await wire?.close();
    await nats?.stop();
  }
}

async function consumersOf({ client }) {
  const manager = await client.jetstreamManager();
  let count = 0;
  for await (const { state } of manager.streams.list()) count += state.consumer_count;
  return count;
}

async function heldBy(world) {
  const metrics = await metricsOf(world.server, world.options);
  const figures = Object.fromEntries(HELD.map((name) => [name, valueOf(metrics, name)]));
  return { ...figures, consumers: await consumersOf(world), files: world.server.openFiles() };
}

// Waits until what /metrics says was copied after now. What was sent grows with each answer, also
// with those of /metrics; each worker copies it, with its other figures, every half second, and so
// does the process with what workers share: after the second time all are new.
async function isCopied({ server, options, workers }) {
  const sent = async () => valueOf(await metricsOf(server, options), 'parley_http_sent_bytes_total');
  for (let copies = 0; copies <= workers; copies++) {
    const before = await sent();
    await until('the figures are copied', async () => (await sent()) !== before);
  }
}

// What is held while nothing is asked for: the same twice.
async function restOf(world) {
  let last;
  await until('nothing is under way', async () => {
    await isCopied(world);
    const before = last;
    last = await heldBy(world);
    return JSON.stringify(last) === JSON.stringify(before);
  });
  return last;
}

// Everything that was held is free again, and the server serves.
async function settles(world, what, cells) {
  const ready = await get(world.server, '/readyz', world.options);
  assert.equal(ready.status, 200, ready.text);
  await isCopied(world);
  let difference;
  try {
    await until(`nothing is held after ${what}`, async () => {
      difference = Object.entries(await heldBy(world)).filter(([name, value]) => value > world.rest[name]);
      return difference.length === 0;
    });
  } catch (error) {
    const words = difference.map(([name, value]) => `${name} is ${value}, was ${world.rest[name]}`);
    const ports = portsAtServer(world.server);
    const left = cells.filter(({ port }) => ports.includes(port)).map(({ name }) => name);
    error.message += `: ${words.join(', ')}; connections of ${left.slice(0, 10).join('; ') || 'no request'}`;
    throw error;
  }
}

// ---- a phase ----

// What a run has been through, for its summary. A cell is an operation in a phase that ends in one
// way, with one request or more.
export class Tally {
  #cells = new Map(); // -> why it was not reached; undefined: it was

  note(operation, phase, ending, reason) {
    const key = [operation.name, phase.name, ending].join(' | ');
    if (!this.#cells.has(key) || reason === undefined) this.#cells.set(key, reason);
  }

  #wasReached(operation, phase, ending) {
    const key = [operation.name, phase.name, ending].join(' | ');
    return this.#cells.has(key) && this.#cells.get(key) === undefined;
  }

  // Phases in which no request was, and operations that must have been in one and were not.
  missing(operations, phases, endings) {
    const missing = [];
    for (const [ending, { lacks }] of Object.entries(endings)) {
      for (const phase of phases.filter((each) => !lacks?.(each))) {
        const reached = operations.filter((each) => this.#wasReached(each, phase, ending));
        const wanted = operations.filter((each) => phase.isMet?.(each) && !phase.lacks?.(each));
        const names = wanted.filter((each) => !reached.includes(each)).map(({ name }) => name);
        if (reached.length === 0 || names.length > 0) missing.push(`${phase.name}, ${ending}: ${names}`);
      }
    }
    return missing;
  }

  text(operations, phases, endings) {
    const reasons = new Map();
    for (const reason of this.#cells.values()) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    const run = reasons.get(undefined) ?? 0;
    reasons.delete(undefined);
    const words = [...reasons].map(([reason, count]) => `${count} (${reason})`);
    return (
      `${operations.length} operations x ${phases.length} phases x ${Object.keys(endings).length} endings = ` +
      `${this.#cells.size} cells, ${run} run, ${this.#cells.size - run} not reachable: ${words.join(', ')}`
    );
  }
}

const WIDTH = 64; // connections that are opened at once

async function openAll(server, cells) {
  for (let i = 0; i < cells.length; i += WIDTH) {
    await Promise.all(cells.slice(i, i + WIDTH).map((cell) => cell.open(server)));
  }
}

function cellsOf({ server }, operations, phase, endings, tally) {
  const cells = [];
  for (const [ending, { lacks }] of Object.entries(endings)) {
    for (const operation of operations) {
      const reason = lacks?.(phase, operation);
      if (reason) tally.note(operation, phase, ending, reason);
      else cells.push(...phase.requests(operation, server).map((each) => new Cell({ operation, ending, ...each })));
    }
  }
  return cells;
}

// The server has handled what came before: what it is asked now, it reads later.
async function passes({ server, options, workers }) {
  for (let i = 0; i < 2 * workers; i++) assert.equal((await get(server, '/livez', options)).status, 200);
}

// Returns: whether they were there, and what they waited for was held until they had ended.
async function runCells(world, phase, endings, cells, { tally, attempt }) {
  const isElsewhere = (cell) => phase.keepsUnanswered && cell.isAnswered;
  let hold;
  try {
    const base = await metricsOf(world.server, world.options);
    hold = await phase.hold?.(world, attempt);
    await openAll(world.server, cells);
    await areThere(world, phase, { cells, base, hold, server: world.server });
    const elsewhere = cells.filter(isElsewhere);
    const there = cells.filter((cell) => !elsewhere.includes(cell));
    elsewhere.forEach((cell) => cell.close());
    const isHeld = await end(world, phase, endings, there, hold);
    await settles(world, phase.name, cells);
    for (const cell of elsewhere) tally.note(cell.operation, phase, cell.ending, phase.keepsUnanswered);
    for (const cell of there) tally.note(cell.operation, phase, cell.ending);
    return isHeld && !(phase.isMet && there.length === 0);
  } finally {
    cells.forEach((cell) => cell.reset());
    await hold?.release();
  }
}

async function areThere({ server, options }, phase, state) {
  try {
    await until(`requests are in the phase ${phase.name}`, async () => {
      state.figures = await metricsOf(server, options);
      return phase.reached(state);
    });
  } catch (error) {
    const grown = HELD.map((name) => `${name} by ${valueOf(state.figures, name) - valueOf(state.base, name)}`);
    const open = state.cells.filter((cell) => !cell.isAnswered).map(({ name }) => name);
    error.message += `: grown are ${grown.join(', ')}; not answered are ${open.slice(0, 10).join('; ')}`;
    throw error;
  }
}

async function end(world, phase, endings, cells, hold) {
  const all = Object.values(endings);
  for (const { act } of all) await act?.(world);
  for (const cell of cells) endings[cell.ending].leave?.(cell);
  await passes(world);
  const wasHeld = hold?.isHolding?.() ?? true;
  if (!all.some(({ isUnanswered }) => isUnanswered)) await hold?.release();
  await letStay(world, phase, endings, cells.filter((cell) => endings[cell.ending].stays));
  cells.forEach((cell) => cell.reset()); // or one that has closed its half would go unnoticed
  await hold?.release();
  await until('it has its NATS again', async () => (await get(world.server, '/readyz', world.options)).status === 200);
  // A reader of messages alone that has left shows when there is one more.
  await storeExamples(world.server, world.operations, world.options);
  return wasHeld;
}

// Those whose clients wait get what they are owed, which for some has no end.
async function letStay({ server }, phase, endings, cells) {
  const goesOn = ({ operation, isAnswered, ending }) =>
    operation.has('follow') && isAnswered ? !endings[ending].endsStreams : phase.goesOn && endings[ending].leave;
  const isOver = (cell) => (cell.isUnread ? !portsAtServer(server).includes(cell.port) : cell.isOver);
  const rest = () => cells.filter((cell) => !isOver(cell) && !goesOn(cell)).map(({ name }) => name);
  await untilNone(`connections that the server does not close (${phase.name})`, rest);
  const owed = phase.owes ? cells.filter((cell) => !cell.isAnswered).map(({ name }) => name) : [];
  assert.deepEqual(owed, [], `each whole request is answered (${phase.name})`);
}

async function untilNone(what, list) {
  try {
    await until(`there are no ${what}`, () => list().length === 0);
  } catch (error) {
    error.message += `: ${list().slice(0, 10).join('; ')}`;
    throw error;
  }
}

// The figures that growth is measured from must not count what this asked for: an answer may be here
// before a worker has copied that it is given.
async function prepare(world, phase) {
  if (!phase.prepare) return;
  await phase.prepare(world);
  await settles(world, `what comes before the phase ${phase.name}`, []);
}

const ATTEMPTS = [3, 8];

// Runs one phase with these endings.
export async function runPhase(world, phase, endings, tally) {
  for (const operation of world.operations.filter((each) => phase.lacks?.(each))) {
    for (const ending of Object.keys(endings)) tally.note(operation, phase, ending, phase.lacks(operation));
  }
  const able = world.operations.filter((each) => !phase.lacks?.(each));
  for (const operations of phase.isAlone ? able.map((each) => [each]) : [able]) {
    await prepare(world, phase);
    let wasHeld = false;
    for (let i = 0; i < ATTEMPTS.length && !wasHeld; i++) {
      const cells = cellsOf(world, operations, phase, endings, tally);
      wasHeld = cells.length === 0 || (await runCells(world, phase, endings, cells, { tally, attempt: ATTEMPTS[i] }));
    }
    assert.ok(wasHeld, `what requests wait for in the phase ${phase.name} is held`);
  }
}

// Has the server stop while requests are in a phase, of which some then end in these ways and the
// others wait.  Returns: how many there were.
export async function stopIn(world, phase, endings) {
  const { server } = world;
  await prepare(world, phase);
  const ways = { ...endings, 'the stop': {} };
  const able = world.operations.filter((each) => !phase.lacks?.(each));
  const cells = cellsOf(world, able, phase, ways, new Tally());
  const base = await metricsOf(server, world.options);
  const hold = await phase.hold?.(world, 1);
  await openAll(server, cells);
  await areThere(world, phase, { cells, base, hold, server });
  server.signal('SIGTERM');
  await until('the server stops', () => server.logged('drain').length > 0 || server.program.exit);
  for (const cell of cells) ways[cell.ending].leave?.(cell);
  await server.program.hasExited(`the server ends (${phase.name})`);
  assert.deepEqual(server.program.exit, { code: 0, signal: null }, server.program.stderr);
  await hold?.release();
  await closeWorld(world);
  return `${cells.length} requests`;
}

// What the server complains of. That JetStream does not answer is not among it: phases hold its
// answers, and on a busy machine for longer than the server is patient.
export const faultsOf = (world) =>
  world.server.faults().filter((line) => !line.includes('but JetStream does not answer'));
