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
  --extra          also those in which nats-server itself may lose messages
  --filter REGEX   only scenarios whose names match
  --list           print the scenarios, and end
  -h, --help       print this text

The server is $PARLEY_BIN, without it build/dev/gateway/parley. With a violation, the logs of the
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
function plan({ short, extra, messages, filter }) {
  const name = new RegExp(filter);
  const isWanted = (row) => (!short || row.isShort) && (extra || !row.isExtra);
  const rows = SCENARIOS.filter((row) => name.test(row.name) && isWanted(row));
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
  const total = { sent: 0, counts: {}, faults: {}, ms: 0 };
  process.stdout.write(`${tableHead()}\n`);
  for (const [row, messages] of plan(options)) {
    const reason = await whyNot(row);
    if (reason) {
      process.stdout.write(`${row.name}: skipped: ${reason}\n`);
      continue;
    }
    const progress = showProgress(row.name, Date.now());
    const result = await runScenario(row, { messages, isShort: options.short }, progress);
    if (isTTY) process.stdout.write('\r\x1b[K');
    process.stdout.write(`${tableRow(row.name, result)}\n`);
    for (const where of result.differences) {
      process.stdout.write(`  nats-server's own replicas differ: ${where}\n`);
    }
    if (result.violations.length > 0) report(result);
    add(total, result);
  }
  process.stdout.write(`${tableRow('total', total)}\n`);
  process.exit(Object.values(total.faults).every((count) => count === 0) ? 0 : 1);
}

function add(total, result) {
  for (const part of ['counts', 'faults']) {
    for (const [name, count] of Object.entries(result[part])) {
      total[part][name] = (total[part][name] ?? 0) + count;
    }
  }
  total.sent += result.sent;
  total.ms += result.ms;
}

await main();
