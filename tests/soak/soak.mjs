// SPDX-License-Identifier: Apache-2.0
// Half load for an hour, with TLS, tokens and the quarantine on: memory, descriptors and threads of
// the server stay as they are, and what was accepted is stored.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { authority } from '../e2e/lib/certificates.mjs';
import { connectNats, embeddedUrl } from '../e2e/lib/nats.mjs';
import { parley, startParley } from '../e2e/lib/parley.mjs';
import { pause } from '../e2e/lib/poll.mjs';
import { temporaryFolder } from '../e2e/lib/program.mjs';
import { brokenClaim, claim, claims, lines } from '../e2e/lib/vlp.mjs';

const HELP = `Usage: tests/soak/run [OPTION]…
Sends to a parley with TLS, tokens and the quarantine at half the rate that this machine reaches:
single messages, batches, compressed bodies, invalid messages, wrong tokens, and readers that come
and go. Prints what the server holds; fails when that grows, or when something accepted is missing.

  --minutes N    how long (60)
  --senders N    connections that send (16)
  --json FILE    write all samples there
  -h, --help     print this text

PARLEY_BIN names another binary than build/release/gateway/parley.
`;

const SATURATE_MS = 5000;
const SAMPLES = 60; // of a run
const READERS = 8;
const READ_EVENTS = 500; // by one, before it leaves
const INTRUDE_MS = 1000;
const LEAVE_MS = 10_000; // before the end, readers come no more
const STREAM_BYTES = 256 << 20; // older messages make room: an hour of them would fill the disk
const GROWTH = { rss: 1.05, descriptors: 1.02, threads: 1 }; // of the middle, at the end

const options = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    senders: { type: 'string', default: '16' },
    json: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
}).values;
if (options.help) {
  process.stdout.write(HELP);
  process.exit();
}

const counts = { sent: 0, accepted: 0, invalid: 0, unauthenticated: 0, other: 0, read: 0 };

// ---- the server ----

async function secrets() {
  const { ca, issue } = await authority();
  const { cert, key } = await issue('soak', 'IP:127.0.0.1');
  const tokens = join(temporaryFolder(), 'tokens.json');
  const scopes = ['--allow', 'send:*,read:*,admin'];
  const create = ['token', 'create', '--name', 'soak', ...scopes, '--tokens', tokens];
  const { stdout } = await parley(create);
  return { ca, cert, key, tokens, token: stdout.trim() };
}

async function startServer({ cert, key, tokens }) {
  const tls = ['--tls-cert', cert, '--tls-key', key];
  const server = await startParley({ args: [...tls, '--tokens', tokens, '--quarantine'] });
  const nats = await connectNats(embeddedUrl(server));
  const manager = await nats.jetstreamManager();
  const { config } = await manager.streams.info('VLP');
  await manager.streams.update('VLP', { ...config, max_bytes: STREAM_BYTES });
  return { server, nats, manager };
}

function held(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const value = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)[1]);
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  return { rss: value('VmRSS') / 1024, descriptors, threads: value('Threads') };
}

// ---- the load ----

function request(world, method, path, { body, type, headers = {}, onData } = {}) {
  return new Promise((resolve, reject) => {
    const { ca, token, server, agent } = world;
    const all = { Authorization: `Bearer ${token}`, ...(type && { 'Content-Type': type }) };
    const where = { host: '127.0.0.1', port: server.port, method, path, ca, agent };
    const req = https.request({ ...where, headers: { ...all, ...headers } }, (response) => {
      const chunks = [];
      response.on('data', onData ?? ((chunk) => chunks.push(chunk)));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }),
      );
    });
    req.on('error', reject);
    req.end(body);
  });
}

function account(answer, expected) {
  if (answer.status === expected) return true;
  counts.other++;
  if (counts.other <= 5) console.error(`unexpected: ${answer.status} ${answer.text.slice(0, 300)}`);
  return false;
}

const MESSAGES = '/v1/vlp/messages';
const JSON_BODY = { type: 'application/json' };

async function sendOne(world, more = {}) {
  const answer = await request(world, 'POST', MESSAGES, {
    ...JSON_BODY,
    body: JSON.stringify(claim()),
    ...more,
  });
  counts.sent++;
  counts.accepted += account(answer, 200);
}

async function sendBatch(world) {
  const body = gzipSync(lines([...claims(48), brokenClaim(), brokenClaim()]));
  const answer = await request(world, 'POST', `${MESSAGES}?results=summary`, {
    type: 'application/x-ndjson',
    headers: { 'Content-Encoding': 'gzip' },
    body,
  });
  counts.sent += 50;
  if (!account(answer, 200)) return;
  const { summary } = JSON.parse(answer.text);
  counts.accepted += summary.accepted;
  counts.invalid += summary.invalid;
}

async function sendInvalid(world) {
  const body = JSON.stringify(brokenClaim());
  const answer = await request(world, 'POST', MESSAGES, { ...JSON_BODY, body });
  counts.sent++;
  counts.invalid += account(answer, 422);
}

async function sendUnauthenticated(world) {
  const headers = { Authorization: 'Bearer parley_wrong' };
  const body = JSON.stringify(claim());
  const answer = await request(world, 'POST', MESSAGES, { ...JSON_BODY, body, headers });
  counts.unauthenticated += account(answer, 401);
}

// Of a hundred turns.
const WORK = [
  [82, sendOne],
  [92, (world) => sendOne({ ...world, agent: false })],
  [97, sendInvalid],
  [100, sendBatch],
];

function work(world, turn) {
  const place = (turn * 37) % 100; // in another order than the table's, and the same each run
  return WORK.find(([end]) => place < end)[1](world);
}

// `rate`: requests a second of all senders; Infinity: as fast as they go.
async function load(world, senders, rate, until) {
  let turn = 0;
  const started = performance.now();
  const go = async () => {
    while (performance.now() < until) {
      const due = started + (1000 * turn) / rate;
      if (due > performance.now()) await pause(due - performance.now());
      await work(world, turn++);
    }
  };
  await Promise.all(Array.from({ length: senders }, go));
  return (1000 * turn) / (performance.now() - started);
}

// Each has a connection of its own, and comes again: those that read after so many events, and
// whoever shows a wrong token after its answer, which takes a while.
async function come(world, until) {
  while (performance.now() < until) {
    const onData = (chunk) => (counts.read += chunk.toString().split('\n').length - 1);
    const path = `/v1/vlp/stream?limit=${READ_EVENTS}`;
    account(await request({ ...world, agent: false }, 'GET', path, { onData }), 200);
  }
}

async function intrude(world, until) {
  while (performance.now() < until) {
    await sendUnauthenticated({ ...world, agent: false });
    await pause(INTRUDE_MS);
  }
}

// ---- the run ----

function show(label, sample) {
  const { rss, descriptors, threads } = sample;
  const what = `${rss.toFixed(1)} MiB, ${descriptors} descriptors, ${threads} threads`;
  console.log(`${label.padEnd(10)} ${what}, ${sample.sent} sent, ${sample.accepted} accepted`);
}

async function sampleUntil(server, end, samples) {
  const interval = (end - performance.now()) / SAMPLES;
  for (let i = 0; i < SAMPLES; i++) {
    await pause(interval);
    const minutes = (((i + 1) * interval) / 60000).toFixed(1);
    samples.push({ minutes: Number(minutes), ...held(server.pid), ...counts });
    if (process.stderr.isTTY) process.stderr.write(`\r${minutes} of ${options.minutes} minutes `);
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

// The middle of a few, since readers come and go.
function around(samples, share) {
  const at = Math.round(share * (samples.length - 5));
  const few = samples.slice(at, at + 5);
  const median = (name) => few.map((sample) => sample[name]).sort((a, b) => a - b)[2];
  return { ...few[2], ...Object.fromEntries(Object.keys(GROWTH).map((name) => [name, median(name)])) };
}

async function main() {
  const files = await secrets();
  const { server, nats, manager } = await startServer(files);
  const senders = Number(options.senders);
  const agent = new https.Agent({ keepAlive: true, maxSockets: senders });
  const world = { server, agent, token: files.token, ca: readFileSync(files.ca) };
  const most = await load(world, senders, Infinity, performance.now() + SATURATE_MS);
  console.log(`${most.toFixed(0)} requests/s are reached; ${options.minutes} minutes at half of it`);
  const end = performance.now() + Number(options.minutes) * 60000;
  const samples = [];
  // Readers leave with what is sent last.
  const readers = Array.from({ length: READERS }, () => come(world, end - LEAVE_MS));
  const others = [...readers, intrude(world, end), sampleUntil(server, end, samples)];
  await Promise.all([load(world, senders, most / 2, end), ...others]);
  if (options.json) writeFileSync(options.json, JSON.stringify(samples, null, 1));
  const [begin, middle, last] = [0, 0.5, 1].map((share) => around(samples, share));
  show('beginning', begin);
  show('middle', middle);
  show('end', last);
  console.log(JSON.stringify(counts));
  const { state } = await manager.streams.info('VLP');
  await nats.close();
  agent.destroy();
  await server.stop();
  assert.equal(counts.other, 0, 'every answer was the expected one');
  assert.equal(state.last_seq, counts.accepted, 'what was accepted is stored, and nothing else');
  for (const [name, factor] of Object.entries(GROWTH)) {
    const most = Math.ceil(middle[name] * factor);
    assert.ok(last[name] <= most, `${name}: ${last[name]} at the end, ${middle[name]} in the middle`);
  }
}

await main();
