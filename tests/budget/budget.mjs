// SPDX-License-Identifier: Apache-2.0
// Performance is kept by counting, not by timing: what a message costs on each hot path, in
// instructions and allocations of parley's own functions, held against bench/budget.json.

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { get } from '../e2e/lib/http.mjs';
import { until } from '../e2e/lib/poll.mjs';
import { temporaryFolder } from '../e2e/lib/program.mjs';
import { countsOf } from './callgrind.mjs';
import { complaint } from './complaint.mjs';
import { paths } from './paths.mjs';

const USAGE = `Usage: tests/budget/run [OPTION]…
Counts, by callgrind, what a message costs on each hot path: the instructions and allocations of
parley's own functions. Fails where one has grown by more than a tenth over bench/budget.json
(allocations: and a tenth of one).

  --parley FILE   the program (build/release/gateway/parley)
  --only TEXT     only the paths with TEXT in their names
  --functions     show the dearest functions of each path, too
  --write         write what was counted to bench/budget.json; the commit says why it changed
  -h, --help      this text
`;
const SHRUNK = 0.8; // so much less that the budget should be written anew
const SKIPPED = 77;
const FUNCTIONS_SHOWN = 12;

const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const budgetFile = fileOf('../../bench/budget.json');
const { values: options } = parseArgs({
  options: {
    parley: { type: 'string', default: fileOf('../../build/release/gateway/parley') },
    only: { type: 'string', default: '' },
    functions: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (options.help) {
  process.stdout.write(USAGE);
  process.exit();
}
process.env.PARLEY_BIN = realpathSync(options.parley);
const binary = process.env.PARLEY_BIN;
const { startNats } = await import('../e2e/lib/nats.mjs');
const { startParley } = await import('../e2e/lib/parley.mjs');

// Instructions are of one compiler for one kind of processor; elsewhere the figures mean nothing.
function countedWith() {
  const compiler = execFileSync('cc', ['-dumpfullversion'], { encoding: 'utf8' }).trim();
  return { compiler: `cc ${compiler.split('.')[0]}`, machine: process.arch };
}

const example = (protocol, name) =>
  execFileSync(binary, ['examples', protocol, name], { encoding: 'utf8' });

// A dump holds what was counted since the one before.
async function dump(server, folder, number) {
  execFileSync('callgrind_control', ['--dump', String(server.pid)], { stdio: 'pipe', timeout: 120_000 });
  const file = join(folder, `callgrind.${number}`);
  await until('callgrind has written', () => readdirSync(folder).includes(basename(file)));
  return file;
}

async function count(path) {
  const folder = temporaryFolder();
  const file = `--callgrind-out-file=${join(folder, 'callgrind')}`;
  const wrapper = ['valgrind', '--tool=callgrind', '--quiet', file];
  const nats = await startNats(); // valgrind knows no pidfd_open, with which parley watches its own
  const server = await startParley({ wrapper, nats: nats.url, args: ['--reactors', '1'] });
  try {
    await until('it is ready', async () => (await get(server, '/readyz')).status === 200);
    await path(server, example); // what is needed once is there from now on
    await dump(server, folder, 1);
    const messages = await path(server, example);
    const counts = countsOf(await dump(server, folder, 2), (object) => object === binary);
    return { messages, ...counts };
  } finally {
    await server.stop();
    await nats.stop();
  }
}

const dearest = (shares) => [...shares].sort(([, a], [, b]) => b - a).slice(0, FUNCTIONS_SHOWN);

function showFunctions({ functions, allocators, messages }) {
  const line = (digits, unit) => ([name, share]) =>
    console.log(`    ${(share / messages).toFixed(digits).padStart(10)}${unit}  ${name}`);
  dearest(functions).forEach(line(0, ''));
  dearest(allocators).forEach(line(1, ' allocations'));
}

const budget = JSON.parse(readFileSync(budgetFile, 'utf8'));
const here = countedWith();
if (!options.write && JSON.stringify(here) !== JSON.stringify(budget.counted_with)) {
  const name = ({ compiler, machine }) => `${compiler} on ${machine}`;
  console.log(`Skipped: the budget is for ${name(budget.counted_with)}, and this is ${name(here)}.`);
  process.exit(SKIPPED);
}

const complaints = [];
console.log('  instructions  allocations  (budget)             a message of');
for (const [name, path] of Object.entries(paths)) {
  if (!name.includes(options.only)) continue;
  const allowed = budget.paths[name];
  const counts = await count(path);
  const counted = {
    instructions: Math.round(counts.instructions / counts.messages),
    allocations: Number((counts.allocations / counts.messages).toFixed(2)),
  };
  const limit = allowed ? `(${allowed.instructions}, ${allowed.allocations})` : '(none)';
  const figures = `${counted.instructions}`.padStart(14) + `${counted.allocations}`.padStart(13);
  console.log(`${figures}  ${limit.padEnd(20)} ${name}`);
  if (options.functions) showFunctions(counts);
  if (options.write) budget.paths[name] = counted;
  else if (complaint(counted, allowed)) {
    complaints.push(`${name}: ${complaint(counted, allowed)}`);
  } else if (counted.instructions < allowed.instructions * SHRUNK) {
    console.log('    a fifth less than budgeted: keep it so with --write');
  }
}
if (options.write) {
  budget.counted_with = here;
  writeFileSync(budgetFile, `${JSON.stringify(budget, null, 2)}\n`);
}
for (const text of complaints) console.error(`tests/budget: ${text}.`);
process.exit(complaints.length > 0 ? 1 : 0);
