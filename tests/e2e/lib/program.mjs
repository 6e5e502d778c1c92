// SPDX-License-Identifier: Apache-2.0
// A program under test or beside it: its output, its exit, and the promise that it is gone when
// the test file ends, however that ends. Only processes started here are ended, and by their id.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { within } from './poll.mjs';

const BUILT = fileURLToPath(new URL('../../../build/dev/tests/e2e', import.meta.url));

// A program that only tests need, where the build puts it: tests/e2e/run names none.
export function testProgram(name) {
  return join(BUILT, name);
}

const alive = new Set();
const folders = new Set();

process.on('exit', (code) => {
  for (const program of alive) program.killFamily();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  endHere(code);
});

// Node may stand in its own end for ever, long after the last result is written (tests/e2e/run).
// The file that run names gets the status, and nothing is left to node.
function endHere(code) {
  const file = process.env.PARLEY_E2E_STATUS;
  if (!file) return;
  writeFileSync(file, `${code}`);
  process.kill(process.pid, 'SIGKILL');
}

// Tests are over, and nothing of theirs is open. What prints the results has had its time by then.
if (process.env.PARLEY_E2E_STATUS) process.once('beforeExit', () => setTimeout(() => process.exit(), 100));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => process.exit(1));
}

export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-e2e-'));
  folders.add(folder);
  return folder;
}

// Where nats-server is looked for: that of PARLEY_TEST_NATS_SERVER, the path of one, goes first.
function searchPath() {
  const chosen = process.env.PARLEY_TEST_NATS_SERVER;
  const first = chosen ? `${dirname(resolve(chosen))}:` : '';
  return `${first}${process.env.PATH}:/usr/sbin:/usr/local/sbin`;
}

// The test's own settings are no settings of the server's.
function environment(extra) {
  const env = { ...process.env, PATH: searchPath(), ...extra };
  for (const name of Object.keys(env)) {
    if (name.startsWith('PARLEY_') && !(name in extra)) delete env[name];
  }
  return env;
}

export class Program {
  // `input`: all of its standard input; `isOpen`: the test writes that. `onBytes` gets what it writes
  // to standard output, where that is no text.
  constructor(command, args, { env = {}, input, isOpen = false, cwd, onBytes } = {}) {
    this.name = `${command} ${args.join(' ')}`;
    this.stdout = '';
    this.stderr = '';
    this.child = spawn(command, args, { cwd, env: environment(env), stdio: 'pipe' });
    this.pid = this.child.pid;
    this.watchers = new Set();
    if (onBytes) this.child.stdout.on('data', onBytes);
    else this.child.stdout.setEncoding('utf8').on('data', (text) => this.#heard('stdout', text));
    this.child.stderr.setEncoding('utf8').on('data', (text) => this.#heard('stderr', text));
    this.child.stdin.on('error', () => {}); // it may end before it has read everything
    if (!isOpen) this.child.stdin.end(input);
    this.exited = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      // 'close' and not 'exit': all it has written is here by then.
      this.child.once('close', (code, signal) => {
        alive.delete(this);
        this.exit = { code, signal };
        this.#heard('exit', '');
        resolve(this.exit);
      });
    });
    this.exited.catch(() => {});
    if (this.pid) alive.add(this);
  }

  #heard(stream, text) {
    if (stream !== 'exit') this[stream] += text;
    for (const watcher of [...this.watchers]) watcher();
  }

  // The first match of `pattern` in what it prints.
  async prints(pattern, stream = 'stdout') {
    let watcher;
    const found = new Promise((resolve, reject) => {
      watcher = () => {
        const match = pattern.exec(this[stream]);
        if (match) resolve(match);
        else if (this.exit) reject(new Error(`${this.describe()} before it printed ${pattern}`));
      };
      this.watchers.add(watcher);
      this.exited.catch(reject); // it could not be started
      watcher();
    });
    try {
      return await within(`${this.name} prints ${pattern}`, found);
    } catch (error) {
      error.message += `\nstandard output: ${this.stdout}\nstandard error: ${this.stderr}`;
      throw error;
    } finally {
      this.watchers.delete(watcher);
    }
  }

  describe() {
    const { code, signal } = this.exit ?? {};
    return `${this.name} ended (code ${code}, signal ${signal})`;
  }

  signal(name) {
    process.kill(this.pid, name);
  }

  hasExited(what = `${this.name} ends`, timeout = undefined) {
    return within(what, this.exited, timeout);
  }

  // Processes that it has started and that still run.
  children() {
    return childrenOf(this.pid);
  }

  killFamily() {
    for (const pid of [...this.children(), this.pid]) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // gone already
      }
    }
  }
}

// Runs to the end: { code, signal, stdout, stderr }.
export async function run(command, args, options) {
  const program = new Program(command, args, options);
  try {
    const exit = await program.hasExited();
    return { ...exit, stdout: program.stdout, stderr: program.stderr };
  } finally {
    if (!program.exit) program.killFamily();
  }
}

// A zombie has ended, though nobody has asked for its status yet.
export function isRunning(pid) {
  const state = processStatus(pid, 'State');
  return state !== undefined && !state.startsWith('Z') && !state.startsWith('X');
}

// A line of /proc/PID/status, or undefined when there is no such process.
export function processStatus(pid, name) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];
  } catch {
    return undefined;
  }
}

// Every process whose parent this is, whichever thread of it started the child.
export function childrenOf(pid) {
  const found = [];
  for (const entry of readFolder(`/proc/${pid}/task`)) {
    try {
      const list = readFileSync(`/proc/${pid}/task/${entry}/children`, 'utf8');
      found.push(...list.split(' ').filter(Boolean).map(Number));
    } catch {
      // a thread that has just ended
    }
  }
  return found.filter(isRunning);
}

function readFolder(path) {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
