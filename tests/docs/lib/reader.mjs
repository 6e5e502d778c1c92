// SPDX-License-Identifier: Apache-2.0
// Somebody who follows a page: a shell that keeps its variables from block to block, further
// terminals, an empty folder to work in, and `parley` in the PATH. A port that the page names is a
// free one here.

import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { until } from '../../e2e/lib/poll.mjs';
import { Program, run, temporaryFolder } from '../../e2e/lib/program.mjs';
import { freePort } from './ports.mjs';

const PORTS = /(?<=(?:localhost|127\.0\.0\.1|0\.0\.0\.0|listen |\[::\]):?)\b(8080|8081|8082|8443)\b/g;
const REPORT = /(Address|Leak|Thread|UndefinedBehavior|Memory)Sanitizer|runtime error:/;

// Debian gives its ordinary users no sbin.
const pathOfUsers = () => process.env.PATH.split(':').filter((folder) => !/\/sbin$/.test(folder));

export class Reader {
  static async at(binary) {
    const ports = new Map();
    for (const port of ['8080', '8081', '8082', '8443']) ports.set(port, await freePort());
    return new Reader(binary, ports);
  }

  constructor(binary, ports) {
    this.ports = ports;
    this.folder = temporaryFolder();
    this.home = join(this.folder, 'home');
    mkdirSync(this.home);
    mkdirSync(join(this.folder, 'bin'));
    symlinkSync(binary, join(this.folder, 'bin', 'parley'));
    // At a terminal curl shows no progress either.
    writeFileSync(join(this.home, '.curlrc'), 'silent\nshow-error\n');
    this.terminals = new Map();
    this.count = 0;
    this.shell = this.#start(['--norc'], true);
  }

  #start(args, isOpen) {
    const env = {
      HOME: this.home,
      XDG_STATE_HOME: join(this.home, '.local/state'),
      PATH: [join(this.folder, 'bin'), ...pathOfUsers()].join(':'),
      PARLEY_LISTEN: `127.0.0.1:${this.ports.get('8080')}`,
      LC_ALL: 'C.UTF-8',
      TZ: 'UTC',
      NO_COLOR: '1',
    };
    const program = new Program('bash', args, { env, isOpen, cwd: this.home });
    return program;
  }

  here(text) {
    return text.replace(PORTS, (port) => this.ports.get(port));
  }

  // What the page would say: its own ports and no folder of this machine.
  there(text) {
    let result = text.replaceAll(this.home, '~');
    for (const [page, port] of this.ports) result = result.replaceAll(`:${port}`, `:${page}`);
    return result;
  }

  #script(text) {
    const path = join(this.folder, `block-${++this.count}`);
    writeFileSync(path, this.here(text));
    return path;
  }

  // Returns { status, printed }.
  async run(text) {
    const path = this.#script(text);
    const name = `${this.count}`;
    this.shell.child.stdin.write(`. ${path} >${path}.out 2>&1 </dev/null; echo "done ${name} $?"\n`);
    const [, status] = await this.shell.prints(new RegExp(`^done ${name} (\\d+)$`, 'm'));
    return { status: Number(status), printed: this.there(readFileSync(`${path}.out`, 'utf8')) };
  }

  save(name, text) {
    mkdirSync(dirname(join(this.home, name)), { recursive: true });
    writeFileSync(join(this.home, name), this.here(text));
  }

  // Returns once it has printed a line. A server does so after 3 s though it is not ready, as on a busy
  // machine: then once it is.
  async open(name, text) {
    if (this.terminals.has(name)) throw new Error(`terminal ${name} is open already`);
    const program = this.#start(['-c', `. ${this.#script(text)}`], false);
    this.terminals.set(name, { program, shown: 0 });
    await program.prints(/\n/);
    const [, url] = /^listening on (\S+)$/m.exec(program.stdout) ?? [];
    if (!url || !program.stderr.includes('start.waiting')) return;
    const isReady = async () => (await run('curl', ['-fsk', `${url}/readyz`])).code === 0;
    await until('it is ready', isReady, { every: 100 });
  }

  // What a terminal has printed since it was last asked, once it satisfies `isWhole` or, so that
  // the difference can be shown, after `timeout` ms.
  async seen(name, isWhole, timeout) {
    const terminal = this.terminals.get(name);
    if (!terminal) throw new Error(`there is no terminal ${name}`);
    const rest = () => this.there(terminal.program.stdout.slice(terminal.shown));
    const isHere = () => rest() !== '' && isWhole(rest());
    const isThere = until(`${name} shows it`, isHere, { timeout });
    const printed = await isThere.then(rest, rest);
    terminal.shown = terminal.program.stdout.length;
    return printed;
  }

  // Ends what was started, the last first, and says what went wrong.
  async leave() {
    const programs = [...[...this.terminals.values()].reverse().map((t) => t.program), this.shell];
    this.shell.child.stdin.end();
    for (const program of programs) await end(program);
    const reports = programs.filter((program) => REPORT.test(program.stderr));
    return reports.map((program) => program.stderr).join('\n');
  }
}

async function end(program) {
  for (const pid of program.exit ? [] : program.children()) {
    if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGTERM');
  }
  try {
    await program.hasExited();
  } catch (error) {
    program.killFamily();
    throw error;
  }
}
