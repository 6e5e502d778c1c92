// SPDX-License-Identifier: Apache-2.0
// A fuzzer of the running server: mutates sequences of requests and sends them on many connections at
// once, cut anywhere, some of them broken off. Half of the connections have lives instead: requests
// as they should be, which end at any time (lives.mjs), while NATS stands still now and then. What
// the answers say (statuses, problems, rules) tells
// whether an input did something new; such inputs are kept and mutated again. A finding is: the
// server ends or logs, a sanitizer reports something, an answer is 500 or no HTTP, a plain request
// stays unanswered, memory passes its bound, descriptors do not come back.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { randomSource } from '../differential/random.mjs';
import { get, validate } from '../e2e/lib/http.mjs';
import { operationsOf, storeExamples } from '../e2e/lib/operations.mjs';
import { startParley } from '../e2e/lib/parley.mjs';
import { isSanitized, pause, until } from '../e2e/lib/poll.mjs';
import { processStatus } from '../e2e/lib/program.mjs';
import { claim } from '../e2e/lib/vlp.mjs';
import { Lives } from './lives.mjs';
import { mutated } from './mutate.mjs';
import { REQUESTS, bytesOf } from './requests.mjs';
import { SEQUENCES } from './sequences.mjs';

const HELP = `Usage: tests/attacks/fuzz [OPTION]…
Sends mutated requests to a server of its own ($PARLEY_BIN) and looks for what harms it.

  --seconds N      for how long [10]
  --connections N  at once [16]
  --seed N         of the random numbers: repeats the mutations, not the order of events
  --keep           write inputs that did something new to the corpus
  -h, --help       print this text

The exit status is 1 if something was found; the last inputs are then in build/attacks.
`;

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '16' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (options.help) {
  process.stdout.write(HELP);
  process.exit(0);
}

const here = dirname(fileURLToPath(import.meta.url));
const CORPUS = join(here, 'corpus');
const FOUND = join(here, '../../build/attacks');
const MEMORY_KB_MAX = (isSanitized ? 1536 : 400) * 1024;
const SEED_BYTES_MAX = 16 * 1024;
const KEPT_BYTES_MAX = 2048; // in the repository
const LAST_INPUTS = 64;
const STANDSTILL_MS_MAX = 500;
const QUIET_MS = 150; // then a connection that has nothing more to say is closed
const random = randomSource(Number(options.seed));

// ---- inputs ----

const seeds = [
  ...SEQUENCES,
  ...Object.values(REQUESTS).flat().map(([, bytes]) => bytesOf(bytes)),
  ...readdirSync(CORPUS).map((name) => readFileSync(join(CORPUS, name))),
].filter((bytes) => bytes.length > 0 && bytes.length <= SEED_BYTES_MAX);
const pool = [...seeds];
const effects = new Set();
const last = []; // the inputs sent last, in order

// What an answer says, without what differs from request to request: roughly, and in detail.
function effectsOf(answer) {
  const all = (pattern) => [...answer.matchAll(pattern)].map(([, text]) => text);
  const statuses = all(/HTTP\/1\.1 (\d{3}) /g).slice(0, 2);
  const problems = all(/"type":"\/problems\/([a-z-]+)"/g).slice(0, 2);
  const details = all(/"detail":"([^"]*)"/g).map((text) => text.replace(/`[^`]*`|\d+/g, ''));
  const rules = new Set(all(/"rule":"([A-Z]+-\d+)"/g));
  const rough = [...statuses, ...problems].join(' ');
  return [rough, `${rough} ${details.slice(0, 5)} ${[...rules].slice(0, 5)}`];
}

function isNew(effect) {
  const before = effects.size;
  return effects.add(effect).size > before;
}

function keep(input, answer) {
  const [rough, detailed] = effectsOf(answer);
  if (isNew(detailed)) pool.push(input);
  if (!isNew(rough) || !options.keep || !isRunning || input.length > KEPT_BYTES_MAX) return;
  writeFileSync(join(CORPUS, rough.replaceAll(/[^\w]+/g, '_') || 'closed'), input);
}

// ---- findings ----

let finding;

function found(what) {
  if (finding) return;
  finding = what;
  mkdirSync(FOUND, { recursive: true });
  last.forEach((input, i) => writeFileSync(join(FOUND, `input-${String(i).padStart(2, '0')}`), input));
}

function judge(answer) {
  if (answer !== '' && !'HTTP/1.1 '.startsWith(answer.slice(0, 9))) found(`no HTTP: ${answer.slice(0, 200)}`);
  if (/^HTTP\/1\.1 500 /m.test(answer)) found(`an internal error: ${answer.slice(0, 1000)}`);
}

// ---- sending ----

const ANSWER_MAX = 64 * 1024;

// Resolves once the connection is closed.  Returns: what was answered.
function send(server, input) {
  last.push(input);
  if (last.length > LAST_INPUTS) last.shift();
  return new Promise((resolve) => {
    let answer = '';
    let quiet;
    const socket = net.connect(server.port, '127.0.0.1');
    const waitOn = () => {
      clearTimeout(quiet);
      quiet = setTimeout(() => socket.destroy(), QUIET_MS);
    };
    socket.setEncoding('latin1').setNoDelay(true);
    socket.on('connect', () => sendPieces(socket, input).then(waitOn));
    socket.on('data', (text) => {
      if (answer.length < ANSWER_MAX) answer += text;
      if (quiet) waitOn();
    });
    socket.on('error', () => {}); // a reset is an answer, too
    socket.on('close', () => {
      clearTimeout(quiet);
      resolve(answer);
    });
  });
}

async function sendPieces(socket, input) {
  const cuts = Array.from({ length: random.below(4) }, () => random.below(input.length + 1));
  let from = 0;
  for (const cut of [...cuts.sort((a, b) => a - b), input.length]) {
    socket.write(input.subarray(from, cut));
    from = cut;
    if (random.chance(0.5)) await new Promise(setImmediate);
  }
  if (random.chance(0.7)) socket.end();
  else if (random.chance(0.1)) socket.resetAndDestroy();
}

let isRunning = false;
let sent = 0;
let lived = 0;
let stops = 0;

const LIFE_MS_MAX = 400;

// Sends at once, and ends at some time in some way.  Resolves once the connection is closed.
function live(server, input) {
  last.push(input);
  if (last.length > LAST_INPUTS) last.shift();
  const ending = random.pick(['destroy', 'resetAndDestroy', 'end', 'silence']);
  const end = random.pick(['now', 'answered', 'later']);
  const after = random.below(LIFE_MS_MAX);
  return new Promise((resolve) => {
    const socket = net.connect(server.port, '127.0.0.1');
    const leave = () => {
      if (ending !== 'silence') socket[ending]();
      setTimeout(() => socket.destroy(), QUIET_MS);
    };
    let answer = '';
    socket.setEncoding('latin1').setNoDelay(true);
    socket.on('connect', () => {
      socket.write(input);
      if (end === 'now') leave();
    });
    socket.once('data', () => end === 'answered' && leave());
    socket.on('data', (text) => {
      if (answer.length < ANSWER_MAX) answer += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer));
    setTimeout(leave, after); // though nothing is answered
  });
}

async function liveOn(server, lives) {
  while (isRunning && !finding) {
    judge(await live(server, lives.bytes()));
    lived++;
  }
}

// NATS stands still for a while, and goes on.
async function disturb(server) {
  while (isRunning && !finding) {
    await pause(random.below(STANDSTILL_MS_MAX));
    const pid = server.natsPid();
    if (!pid) continue;
    process.kill(pid, 'SIGSTOP');
    stops++;
    await pause(random.below(STANDSTILL_MS_MAX));
    process.kill(pid, 'SIGCONT');
  }
}

async function attack(server) {
  while (isRunning && !finding) {
    const input = mutated(random, random.pick(pool), pool);
    const answer = await send(server, input);
    sent++;
    judge(answer);
    keep(input, answer);
  }
}

async function watch(server) {
  while (isRunning && !finding) {
    try {
      if ((await get(server, '/livez')).status !== 200) found('/livez is not 200');
      const verdict = await validate(server, claim());
      if (verdict.json.valid !== true) found(`a valid message is refused: ${verdict.text}`);
    } catch (error) {
      found(`a plain request is not answered: ${error.message}`);
    }
    await pause(100);
  }
}

// ---- a run ----

const rssMb = (server) => Math.round(parseInt(processStatus(server.pid, 'VmRSS'), 10) / 1024);

async function report(server, seconds) {
  for (let part = 1; part <= 10 && isRunning && !finding; part++) {
    await pause(seconds * 100);
    const state = `${sent} inputs, ${effects.size} effects, ${lived} lives, ${stops} stops of NATS, ${rssMb(server)} MB, ${server.openFiles()} files`;
    console.log(`${Math.round((part * seconds) / 10)} s: ${state}`);
  }
  isRunning = false;
}

async function run() {
  const server = await startParley({ args: ['--idle-timeout', '5s', '--on-halt', 'ignore'] });
  try {
    for (const seed of seeds) keep(seed, await send(server, seed)); // what is known already
    await storeExamples(server, await operationsOf(server));
    const operations = await operationsOf(server);
    const files = server.openFiles();
    isRunning = true;
    const lives = new Lives(random, server, operations);
    const attackers = Array.from({ length: Number(options.connections) }, (_, i) =>
      i % 2 === 0 ? attack(server) : liveOn(server, lives),
    );
    const others = [watch(server), disturb(server), report(server, Number(options.seconds))];
    await Promise.all([...attackers, ...others]);
    if (finding) throw new Error(finding);
    await storeExamples(server, operations); // which shows readers that have left
    await until('its connections are closed', () => server.openFiles() <= files);
    const peakKb = parseInt(processStatus(server.pid, 'VmHWM'), 10);
    if (peakKb > MEMORY_KB_MAX) throw new Error(`the most memory it used: ${peakKb} kB`);
    const faults = server.faults();
    if (faults.length > 0) throw new Error(`it logged:\n${faults.join('\n')}`);
    await server.stop();
  } catch (error) {
    found(error.message);
    error.message += `\nseed ${options.seed}; the last inputs are in ${FOUND}\n${server.program.stderr}`;
    throw error;
  }
}

console.log(`seed ${options.seed}, ${seeds.length} inputs to begin with`);
await run().then(
  () => process.exit(0),
  (error) => {
    console.error(error.message);
    process.exit(1);
  },
);
