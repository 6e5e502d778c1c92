// SPDX-License-Identifier: Apache-2.0
// The programs of examples/ side by side, all on one server, which is stopped, killed and started
// again: every reader has every message once, and every sender had its own stored once. Workers share
// tasks.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { until } from '../e2e/lib/poll.mjs';
import { Program, run, temporaryFolder } from '../e2e/lib/program.mjs';
import { freePort } from './lib/ports.mjs';

const root = resolve(new URL('../..', import.meta.url).pathname);
const examples = join(root, 'examples');
const binary = resolve(process.env.PARLEY_BIN || join(root, 'build/dev/gateway/parley'));
const folder = temporaryFolder();

const port = await freePort();

async function startServer() {
  const args = ['serve', '--listen', `127.0.0.1:${port}`, '--data', join(folder, 'data')];
  const server = new Program(binary, args);
  await server.prints(/^listening on /m);
  return server;
}

async function end(server, signal) {
  server.signal(signal);
  await server.hasExited();
}

// At once, with what a shell has started.
async function kill(program) {
  program.killFamily();
  await program.hasExited();
}

async function compile(name) {
  const out = join(folder, name);
  const flags = ['-std=c11', '-Wall', '-Wextra', '-Werror', '-O1'];
  const result = await run('cc', [...flags, '-o', out, join(examples, `${name}.c`)]);
  assert.equal(result.code, 0, result.stderr);
  return out;
}

// How a language starts its programs: what to run, and the addresses it is given.
const byUrl = (path) => [`http://127.0.0.1:${port}${path}`];
const byParts = (path) => ['127.0.0.1', port, path];
const LANGUAGES = {
  python: { command: (name) => ['python3', join(examples, `${name}.py`)], address: byUrl },
  node: { command: (name) => ['node', join(examples, `${name}.mjs`)], address: byUrl },
  shell: { command: (name) => ['bash', join(examples, `${name}.sh`)], address: byUrl },
  c: { command: (name) => [join(folder, name)], address: byParts },
};

function start(language, name, path, args, options) {
  const { command, address } = LANGUAGES[language];
  const [program, ...first] = command(name);
  return new Program(program, [...first, ...address(path), ...args], { cwd: folder, ...options });
}

const tokenFile = (language) => join(folder, `${language}.token`);
const read = (language) => start(language, 'reader', '/v1/vlp/stream', [tokenFile(language)]);

function send(language, numbers, change = {}) {
  const lines = numbers.map((number) =>
    JSON.stringify({
      id: `${language}-${number}`,
      protocol: 'VLP/1.1',
      type: 'notice',
      timestamp: '2025-12-14T10:30:00Z',
      sender: language,
      content: 'Works.',
      confidence: 0.8,
      ...change,
    }),
  );
  const input = lines.map((line) => `${line}\n`).join('');
  return start(language, 'sender', '/v1/vlp/messages', [], { input });
}

const languages = Object.keys(LANGUAGES);
const all = (work) => Promise.all(languages.map(work));
const idsOf = (text) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .map((value) => (value.specversion ? value.data.id : value.id));
const expected = (numbers) =>
  languages.flatMap((language) => numbers.map((number) => `${language}-${number}`)).sort();

async function hasRead(readers, numbers) {
  for (const language of languages) {
    const wanted = expected(numbers);
    const isThere = () => idsOf(readers[language].stdout).length >= wanted.length;
    await until(`${language} has read ${wanted.length}`, isThere).catch((error) => {
      throw new Error(`${error.message}: ${readers[language].stdout}${readers[language].stderr}`);
    });
    assert.deepEqual(idsOf(readers[language].stdout).sort(), wanted, language);
  }
}

// A reader prints a message before it keeps the token: one that is killed in between prints it again.
async function hasKept(sequence) {
  for (const language of languages) {
    const isKept = () => readFileSync(tokenFile(language), 'utf8').trim().endsWith(`:${sequence}`);
    await until(`${language} keeps ${sequence}`, isKept);
  }
}

async function stored(senders) {
  for (const sender of senders) {
    assert.deepEqual(await sender.hasExited(), { code: 0, signal: null }, sender.stderr);
  }
}

// Takes what a worker is given as it is: the result is the task's payload.
function work(language, agent, command, more = {}) {
  const [program, suffix] = language === 'python' ? ['python3', 'py'] : ['bash', 'sh'];
  const env = { ...process.env, PARLEY_URL: `http://127.0.0.1:${port}`, ...more };
  return new Program(program, [join(examples, `worker.${suffix}`), agent, ...command], { env });
}

async function ask(path, body) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/roundtable/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, await response.text());
}

const report = (message) => ask('messages?stamp=true', message);

async function request(task) {
  const id = randomUUID();
  await report({ type: 'task.request', id, from: 'arthur', timestamp: '2099-02-08T15:00:00Z', payload: { task } });
  return id;
}

async function taskOf(id) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/roundtable/tasks/${id}`);
  return response.json();
}

const repeat = (count, work) => Promise.all(Array.from({ length: count }, (_, at) => work(at)));

async function haveEnded(ids, state) {
  for (const id of ids) {
    await until(`${id} is ${state}`, async () => (await taskOf(id)).state === state);
  }
}

test('examples are short', () => {
  for (const name of readdirSync(examples)) {
    const lines = readFileSync(join(examples, name), 'utf8').split('\n').length - 1;
    const most = { worker: 61, supervisor: 75 }[name.split('.')[0]] ?? 60;
    assert.ok(lines < most, `${name} has ${lines} lines`);
  }
});

test('senders and readers survive restarts, of the server and of themselves', async () => {
  await Promise.all(['sender', 'reader'].map(compile));
  let server = await startServer();
  const readers = Object.fromEntries(languages.map((language) => [language, read(language)]));
  try {
    await stored(languages.map((language) => send(language, [1, 2])));
    await hasRead(readers, [1, 2]);

    await end(server, 'SIGTERM');
    const early = languages.map((language) => send(language, [3]));
    await all((language) => readers[language].prints(/parley\.end/, 'stderr'));
    server = await startServer();
    await stored(early);
    await hasRead(readers, [1, 2, 3]);

    await end(server, 'SIGKILL');
    server = await startServer();
    await stored(languages.map((language) => send(language, [3, 4]))); // 3 is stored already
    await hasRead(readers, [1, 2, 3, 4]);
    await hasKept(4 * languages.length);

    await all((language) => kill(readers[language]));
    for (const language of languages) readers[language] = read(language);
    await stored(languages.map((language) => send(language, [5])));
    await hasRead(readers, [5]);
    await hasKept(5 * languages.length);

    const refused = languages.map((language) => send(language, [6], { confidence: 2 }));
    for (const sender of refused) {
      assert.equal((await sender.hasExited()).code, 1);
      assert.match(sender.stderr, /VLP-007/);
    }

    // What was lost in between is said, and reading goes on.
    await all((language) => kill(readers[language]));
    for (const language of languages) {
      writeFileSync(tokenFile(language), 'VLP:2020-01-01T00:00:00.000000000Z:9');
      readers[language] = read(language);
    }
    await all((language) => readers[language].prints(/parley\.gap/, 'stderr'));
    await hasRead(readers, [1, 2, 3, 4, 5]);
  } finally {
    for (const program of [...Object.values(readers), server]) await kill(program);
  }
});

test('workers share tasks, and go on when the server is back', async () => {
  let server = await startServer();
  const workers = [work('python', 'galahad', ['cat']), work('shell', 'lancelot', ['cat'])];
  try {
    const first = await repeat(8, (at) => request(`work.number-${at}`));
    await haveEnded(first, 'completed');
    await end(server, 'SIGTERM');
    server = await startServer();
    const second = await repeat(8, (at) => request(`work.number-${at}`));
    await haveEnded(second, 'completed');
    const receipts = () => workers.flatMap((worker) => worker.stdout.split('\n').filter(Boolean));
    const count = first.length + second.length;
    await until('each has printed its receipts', () => receipts().length >= count);
    assert.equal(receipts().length, count);
    for (const worker of workers) await kill(worker);

    for (const language of ['python', 'shell']) {
      const worker = work(language, language, ['false']);
      workers.push(worker);
      await haveEnded([await request('work.fails')], 'failed');
      await worker.prints(/^task\.failed /m);
      await kill(worker);
    }
  } finally {
    for (const program of [...workers, server]) await kill(program);
  }
});

test('workers stop what they do when their task is cancelled, and go on', async () => {
  const server = await startServer();
  const workers = [];
  try {
    for (const language of ['python', 'shell']) {
      const worker = work(language, language, ['sh', '-c', 'read -r task; case $task in *long*) exec sleep 1000 ;; esac'], { PARLEY_EXTEND: '1' });
      workers.push(worker);
      const long = await request('work.long');
      await haveEnded([long], 'claimed');
      await ask(`tasks/${long}/cancel`, { agent: 'arthur', reason: 'Not needed.' });
      await haveEnded([long], 'failed');
      await worker.prints(/The task is over/, 'stderr');
      await haveEnded([await request('work.short')], 'completed');
      await worker.prints(/^task\.result /m);
      assert.doesNotMatch(worker.stdout, /task\.failed/, 'the lost task is not reported on');
      await kill(worker);
    }
  } finally {
    for (const program of [...workers, server]) await kill(program);
  }
});

async function say(message) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/supervisor/messages?agent=ada&from=gerbil`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ timestamp: Math.floor(Date.now() / 1000), ...message }),
  });
  assert.equal(response.status, 200, await response.text());
}

test('a supervisor sees agents come and go, and goes on when the server is back', async () => {
  let server = await startServer();
  const env = { PARLEY_URL: `http://127.0.0.1:${port}`, PATH: `${dirname(binary)}:${process.env.PATH}` };
  const supervisor = new Program('escript', [join(examples, 'supervisor.escript'), 'ada'], { env });
  const prints = (pattern, from = 0) => until(`it prints ${pattern}: ${supervisor.stdout}${supervisor.stderr}`,
    async () => {
      await say({ type: 'heartbeat' });
      return pattern.test(supervisor.stdout.slice(from));
    }, { every: 200 });
  try {
    await prints(/ada: alive\n$/);
    const hypothesis = { reason: 'speed', target: 'dsl', new_code: '()', expected_improvement: { latency: -0.5 } };
    await say({ type: 'evolution_intent', hypothesis });
    await say({ type: 'error', error: { code: 'EVAL_ERROR', message: 'naïve ✓' } });
    await prints(/ada: evolution rejected\n(?:.*\n)*?ada: error: naïve ✓\n/);
    await supervisor.prints(/ada: lost\n$/);
    const before = supervisor.stdout.length;
    await end(server, 'SIGKILL');
    server = await startServer();
    await prints(/^ada: alive\n/m, before);
    assert.equal(supervisor.exit, undefined);
  } finally {
    for (const program of [supervisor, server]) await kill(program);
  }
});
