#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// What a core, a stream's leader and many gateways bear, from the figures of bench/run
// (docs/benchmarks.json): bench/scaling.mjs prints the table of docs/scaling.md, --write-docs writes it
// there, and --check ends with 1 if it is another. Each row says whether it was measured.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(new URL('..', import.meta.url).pathname);
const bench = JSON.parse(readFileSync(join(root, 'docs/benchmarks.json'), 'utf8'));

function row(id, who = 'parley') {
  const found = bench.rows.find((each) => each.id === id)?.contenders[who];
  if (!found) throw new Error(`docs/benchmarks.json has no row ${id} of ${who}`);
  return found;
}

const single = row('single/messages-256');
const batch = row('ndjson/messages');
const check = row('single/validate-64');
const fanout = row('fanout/1000');
const replay = row('replay/all');

// How often a core does what costs so many microseconds.
const perCore = (us) => 1e6 / us;

// A stream with copies on three servers: for each follower its leader sends the message once more
// and reads an acknowledgement. Both are taken to cost as much as storing it.
const leader = (us, copies) => perCore(us * copies);

const GATEWAY_CORES = 4;
const COPIES = 3;
const MEASURED = 'measured';
const CALCULATED = 'calculated';

// Gateways with all their cores at work, on one cluster.
function gateways(count) {
  const workers = count * GATEWAY_CORES;
  const sent = workers * perCore(single.cpu_us);
  const stored = leader(single.nats_cpu_us, COPIES);
  // What one worker with readers costs the leader: each message is sent to it once.
  const followed = perCore(single.nats_cpu_us * COPIES + replay.nats_cpu_us * workers);
  return [
    [`${count} × ${GATEWAY_CORES} cores: parley checks and publishes`, sent, CALCULATED],
    [`${count} × ${GATEWAY_CORES} cores: one stream stores`, Math.min(sent, stored), CALCULATED],
    [`${count} × ${GATEWAY_CORES} cores: streams that store all of it`, sent / stored, CALCULATED],
    [`${count} × ${GATEWAY_CORES} cores: one stream, readers at every worker`, followed, CALCULATED],
  ];
}

const rows = [
  ['2 cores with parley and its nats-server: single messages', single.value, MEASURED],
  ['2 cores with parley and its nats-server: lines of a batch', batch.value, MEASURED],
  ['1 core of parley: single messages, checked only', check.value, MEASURED],
  ['1 core of parley: single messages, published', perCore(single.cpu_us), CALCULATED],
  ['1 core of parley: lines of a batch, published', perCore(batch.cpu_us), CALCULATED],
  ['1 core of parley: events to 1,000 readers, together', fanout.value, MEASURED],
  ['1 core of parley: events of a replay', replay.value, MEASURED],
  ['a stream of 1 copy: single messages', leader(single.nats_cpu_us, 1), CALCULATED],
  ['a stream of 1 copy: lines of a batch', batch.value, MEASURED],
  ['a stream of 3 copies: single messages', leader(single.nats_cpu_us, 3), CALCULATED],
  ['a stream of 3 copies: lines of a batch', leader(batch.nats_cpu_us, 3), CALCULATED],
  ...[1, 10, 100].flatMap(gateways),
];

const round = (value) => Number(value.toPrecision(2)).toLocaleString('en');
const text = (cells) => `| ${cells.join(' | ')} |`;
const lines = [
  text(['what', 'a second', '']),
  '|---|--:|---|',
  ...rows.map(([what, value, kind]) => text([what, round(value), kind])),
];
const { machine, versions, date } = bench;
const table = `From the figures of ${date.slice(0, 10)} (${machine.cores} cores of ${machine.cpu},
parley ${versions.parley}, nats-server ${versions['nats-server']}), to two digits:

${lines.join('\n')}
`;

const BEGIN = '<!-- bench/scaling.mjs --write-docs: begin -->\n';
const END = '<!-- bench/scaling.mjs --write-docs: end -->\n';

function replaceIn(page) {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error('docs/scaling.md has no place for the table');
  return `${before}${BEGIN}\n${table}\n${END}${after}`;
}

const page = join(root, 'docs/scaling.md');
const [option] = process.argv.slice(2);
if (option === '--write-docs') {
  writeFileSync(page, replaceIn(readFileSync(page, 'utf8')));
} else if (option === '--check') {
  const current = readFileSync(page, 'utf8');
  if (replaceIn(current) !== current) {
    console.error('docs/scaling.md is stale: bench/scaling.mjs --write-docs');
    process.exitCode = 1;
  }
} else {
  process.stdout.write(table);
}
