// SPDX-License-Identifier: Apache-2.0
// The server under test: started on a free port with a data folder of its own, and stopped with
// the questions that every test asks: did it exit with 0, did a sanitizer speak, is its
// nats-server gone?

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { after, before } from 'node:test';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atEnd } from './cleanup.mjs';
import { get } from './http.mjs';
import { faultsIn, parseLog } from './log.mjs';
import { connectNats, embeddedUrl } from './nats.mjs';
import { until } from './poll.mjs';
import { Program, isRunning, run, temporaryFolder } from './program.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const built = resolve(here, '../../../build/dev/gateway/parley');

export const BINARY = resolve(process.env.PARLEY_BIN || built);

function assertBinary() {
  assert.ok(
    existsSync(BINARY),
    `there is no ${BINARY}: ./scripts/test builds it, or name another with PARLEY_BIN`,
  );
}

const REPORT = /(Address|Leak|Thread|UndefinedBehavior|Memory)Sanitizer|runtime error:/;

export function assertNoSanitizerReport(stderr) {
  assert.ok(!REPORT.test(stderr), `a sanitizer's report:\n${stderr}`);
}

// Runs `parley ARGS` to its end.
export async function parley(args, options) {
  assertBinary();
  const result = await run(BINARY, args, options);
  assertNoSanitizerReport(result.stderr);
  return result;
}

export function serveArguments({ listen = '127.0.0.1:0', data, nats, args = [] }) {
  return ['serve', '--listen', listen, '--data', data, ...(nats ? ['--nats', nats] : []), ...args];
}

// Nothing waits for NATS, for tests that ask what it is told at once.
export const IMPATIENT = ['--bus-patience', '0'];

// Options: listen, data (a folder), nats (URLs of servers to use), args (more of the command
// line), env, wrapper (a command line to put before it), tls (what clients need, if it speaks HTTPS),
// isAway (NATS is, or is of no use: it does not become ready).
export async function startParley({ env, wrapper = [], isAway = false, ...options } = {}) {
  assertBinary();
  const data = options.data ?? temporaryFolder();
  const command = [...wrapper, BINARY, ...serveArguments({ ...options, data })];
  const program = new Program(command[0], command.slice(1), { env });
  const [, host, port] = await program.prints(/^listening on https?:\/\/(.+):(\d+)$/m);
  const server = new Server(program, { data, host, port: Number(port), tls: options.tls });
  if (!isAway) await letItBecomeReady(server);
  return server;
}

// A server listens after 3 s though it is not ready, as on a busy machine; tests that send at once
// would then get 503. One that does not become ready is ended, and says why.
async function letItBecomeReady(server) {
  if (server.logged('start.waiting').length === 0) return;
  let said = '';
  const isOver = async () => {
    if (server.program.exit) return true;
    const { status, text } = await get(server, '/readyz');
    said = text;
    return status === 200;
  };
  try {
    await until('it is ready', isOver);
  } catch (error) {
    server.program.killFamily();
    error.message += `\n/readyz: ${said}\nits log: ${server.faults().slice(-5).join('\n')}`;
    throw error;
  }
}

// What a start that is refused prints, and its exit status. One whose look at NATS takes more than
// 3 s, as on a busy machine, listens, and is no longer ended by what it finds: then another is made.
export async function refusedStart(options) {
  assertBinary();
  let stderr = '';
  const result = await until('the start is refused', async () => {
    const program = new Program(BINARY, serveArguments({ data: temporaryFolder(), ...options }));
    const isLate = await program.prints(/^listening on /m).then(() => true, () => false);
    if (isLate) program.signal('SIGTERM');
    const exit = await program.hasExited();
    stderr += program.stderr;
    return !isLate && { ...exit, stdout: program.stdout, stderr: program.stderr };
  });
  assertNoSanitizerReport(stderr);
  return result;
}

// The same, stopped with the test that started it.
export async function parleyFor(t, options) {
  const server = await startParley(options);
  atEnd(t, () => server.stop());
  return server;
}

class Server {
  constructor(program, { data, host, port, tls }) {
    Object.assign(this, { program, data, host, port, tls, pid: program.pid });
    this.url = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  }

  signal(name) {
    this.isEndedByTest ||= ['SIGTERM', 'SIGINT', 'SIGKILL'].includes(name);
    this.program.signal(name);
  }

  // What there is to say of a server that ended though no test asked for it; else ''.
  unexpectedEnd() {
    const { exit, stderr } = this.program;
    const isKilled = exit?.signal === 'SIGKILL'; // by a test that knows its pid
    if (!exit || this.isEndedByTest || isKilled) return '';
    return `${this.program.describe()} by itself; standard error: ${stderr}`;
  }

  // The lines of its log, as objects, whose event begins with `prefix`.
  logged(prefix = '') {
    return parseLog(this.program.stderr).filter(({ event }) => event?.startsWith(prefix));
  }

  // What its log has beyond what every server logs, and one that took more than 3 s to start.
  faults() {
    const isLateStart = ({ event, msg }) =>
      event === 'start.waiting' || msg === 'NATS does not answer yet';
    const faults = faultsIn(this.program.stderr).filter((each) => !isLateStart(each));
    return faults.map(({ text }) => text);
  }

  openFiles() {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  // Its own nats-server's pid; undefined while there is none.
  natsPid() {
    return this.program.children()[0];
  }

  // The clean end. A server that a test has already ended is only asked for reports.
  async stop() {
    if (!this.program.exit) {
      const children = this.program.children();
      this.signal('SIGTERM');
      try {
        await this.program.hasExited('parley ends after SIGTERM');
      } catch (error) {
        this.program.killFamily();
        error.message += `\nstandard error: ${this.program.stderr}`;
        throw error;
      }
      assert.deepEqual(
        this.program.exit,
        { code: 0, signal: null },
        `a clean exit; standard error: ${this.program.stderr}`,
      );
      for (const pid of children) {
        await until(`child ${pid} is gone`, () => !isRunning(pid));
      }
    }
    assertNoSanitizerReport(this.program.stderr);
    assert.equal(this.unexpectedEnd(), '');
  }

  // The end that nobody can prepare for.
  async kill() {
    if (this.program.exit) return;
    this.signal('SIGKILL');
    await this.program.hasExited();
  }
}

// One server for all tests of a `describe`, with a NATS client on its streams: in `its.parley` and
// `its.nats` while they run.
export function useParley(options) {
  const its = {};
  before(async () => {
    its.parley = await startParley(options);
    its.nats = await connectNats(embeddedUrl(its.parley));
  });
  after(async () => {
    await its.nats?.close();
    await its.parley?.stop();
  });
  return its;
}
