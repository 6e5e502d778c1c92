// SPDX-License-Identifier: Apache-2.0
// tests/chaos/run: see README.md.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runScenario } from './lib/run.mjs';
import { tableRow, tableHead } from './lib/table.mjs';
import { whyNot } from './lib/possible.mjs';
import { SCENARIOS } from './scenarios.mjs';

const USAGE = `Usage: tests/chaos/run [OPTION]…
Breaks things under load, and compares what each client was told of its messages with what is
stored. Exits with 1 if a message was lost, doubled, stored out of order or told wrong.

  --all            every scenario (the default)
  --short          a few of them, with 200 messages each
  --messages N     how many messages are accepted at least, over all scenarios (default: 12000)
  --minutes N      all of that again and again, until N minutes are over
  --extra          also those in which this nats-server itself may lose messages
  --filter REGEX   only scenarios whose names match
  --list           print the scenarios, and end
  -h, --help       print this text

The server is $PARLEY_BIN, without it build/dev/gateway/parley; the nats-server is the first of
$PATH, or $PARLEY_TEST_NATS_SERVER. With a violation, the logs of the
processes are kept in build/chaos.
`;

const SHORT_MESSAGES = 200;

function settings() {
  try {
    return parseArgs({
      options: {
        all: { type: 'boolean' },
        short: { type: 'boolean' },
        messages: { type: 'string', default: '12000' },
        minutes: { type: 'string', default: '0' },
        extra: { type: 'boolean' },
        filter: { type: 'string', default: '' },
        list: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

// The rows to run, each with its number of messages.
function plan({ short, messages, filter }) {
  const name = new RegExp(filter);
  const rows = SCENARIOS.filter((row) => name.test(row.name) && (!short || row.isShort));
  const weight = rows.reduce((sum, row) => sum + (row.weight ?? 1), 0);
  const share = (row) => Math.ceil((Number(messages) * (row.weight ?? 1)) / weight);
  return rows.map((row) => [row, short ? SHORT_MESSAGES : share(row)]);
}

const { isTTY, columns = 80 } = process.stdout;

function showProgress(name, began) {
  if (!isTTY) return () => {};
  return (what) => {
    const seconds = Math.round((Date.now() - began) / 1000);
    process.stdout.write(`\r\x1b[K${`${name}: ${what} (${seconds} s)`.slice(0, columns - 1)}`);
  };
}

const here = dirname(fileURLToPath(import.meta.url));

function report({ row, violations, logs }) {
  for (const violation of violations) process.stdout.write(`  ${violation}\n`);
  const folder = resolve(here, '../../build/chaos', row.name.replace(/[^a-z0-9]+/gi, '-'));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of logs) writeFileSync(join(folder, `${name}.log`), text);
  process.stdout.write(`  logs: ${folder}\n`);
}

async function main() {
  const options = settings();
  if (options.help) return process.stdout.write(USAGE);
  if (options.list) return SCENARIOS.forEach(({ name }) => process.stdout.write(`${name}\n`));
  const total = { sent: 0, counts: {}, faults: {}, tasks: {}, ms: 0 };
  const end = Date.now() + 60_000 * Number(options.minutes);
  const rows = await possible(plan(options), options);
  process.stdout.write(`${tableHead()}\n`);
  do {
    for (const [row, messages] of rows) await runRow(row, messages, options, total);
  } while (rows.length > 0 && Date.now() < end);
  process.stdout.write(`${tableRow('total', total)}\n`);
  showTasks(total.tasks);
  process.exit(Object.values(total.faults).every((count) => count === 0) ? 0 : 1);
}

// The rows that can be run here; of the others it says why not.
async function possible(rows, options) {
  const found = [];
  for (const [row, messages] of rows) {
    const reason = await whyNot(row, options);
    if (reason) process.stdout.write(`${row.name}: skipped: ${reason}\n`);
    else found.push([row, messages]);
  }
  return found;
}

async function runRow(row, messages, { short }, total) {
  const progress = showProgress(row.name, Date.now());
  const result = await runScenario(row, { messages, isShort: short }, progress);
  if (isTTY) process.stdout.write('\r\x1b[K');
  process.stdout.write(`${tableRow(row.name, result)}\n`);
  for (const where of result.differences) {
    process.stdout.write(`  nats-server's own replicas differ: ${where}\n`);
  }
  if (result.violations.length > 0) report(result);
  add(total, result);
}

function showTasks({ tasks, claims, held, undecided }) {
  if (!tasks) return;
  const what = `${claims} claims of ${tasks} tasks: ${held} hold one, ${claims - held} were told who does`;
  process.stdout.write(`${what}; ${undecided} attempts were not decided\n`);
}

function add(total, result) {
  for (const part of ['counts', 'faults', 'tasks']) {
    for (const [name, count] of Object.entries(result[part] ?? {})) {
      total[part][name] = (total[part][name] ?? 0) + count;
    }
  }
  total.sent += result.sent;
  total.ms += result.ms;
}

await main();
