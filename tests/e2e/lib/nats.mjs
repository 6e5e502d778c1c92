// SPDX-License-Identifier: Apache-2.0
// nats-server, and the second NATS client: npm's `nats`, which shares no code with parley's.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { connect, consumerOpts, createInbox } from 'nats';
import { atEnd } from './cleanup.mjs';
import { DEADLINE_MS, until, within } from './poll.mjs';
import { Program, run, temporaryFolder } from './program.mjs';

export async function natsServerVersion() {
  const { stdout } = await run('nats-server', ['--version']);
  return /v(\d+\.\d+\.\d+)/.exec(stdout)[1];
}

const numberOf = (version) => version.split('.').reduce((sum, part) => 1000 * sum + Number(part), 0);
export const isOlder = (version, since) => numberOf(version) < numberOf(since);

// A nats-server with JetStream on 127.0.0.1. `restart` brings it back on the same port and store.
export async function startNats({
  port,
  store = temporaryFolder(),
  args = [],
  hasJetStream = true,
} = {}) {
  const ports = temporaryFolder();
  const address = ['-a', '127.0.0.1', '-p', String(port ?? (await freePorts(1))[0])];
  const where = [...(hasJetStream ? ['-js', '-sd', store] : []), '--ports_file_dir', ports];
  const program = new Program('nats-server', [...address, ...where, ...args]);
  const file = await until('nats-server has written its ports', () => {
    if (program.exit) return 'none';
    return readdirSync(ports).find((name) => name.endsWith('.ports'));
  });
  if (program.exit) throw new Error(`${program.describe()}: ${program.stderr}`);
  const url = await until(
    'the ports are whole',
    () => JSON.parse(readFileSync(join(ports, file), 'utf8')).nats[0],
  );
  return serverOf(program, url, (options) =>
    startNats({ port: Number(new URL(url).port), store, args, ...options }),
  );
}

function serverOf(program, url, restart) {
  return {
    program,
    url,
    pid: program.pid,
    restart,
    signal: (name) => program.signal(name),
    // SIGSTOP, and no thread of it runs any more: the signal alone may come after a message or two.
    async freeze() {
      program.signal('SIGSTOP');
      const tasks = `/proc/${program.pid}/task`;
      const isStopped = (task) => readFileSync(`${tasks}/${task}/stat`, 'utf8').includes(') T ');
      await until('nats-server is stopped', () => readdirSync(tasks).every(isStopped));
    },
    async kill() {
      if (program.exit) return;
      program.signal('SIGKILL');
      await program.hasExited();
    },
    async stop() {
      if (program.exit) return;
      program.signal('SIGCONT');
      program.signal('SIGTERM');
      await program.hasExited();
    },
  };
}

// Ports of this process, in turn: those that are free now. They are below the range that the system
// takes ports from (listen(0), and every connection), so that a server can be restarted on its own.
// Another process that runs tests has other ones: each holds the first of its hundred while it runs.
const [FIRST_PORT, SHARES, SHARE] = [10_000, 200, 100];
let shareTaken;
let taken = 0;

export async function freePorts(count) {
  const start = await (shareTaken ??= takeShare());
  const ports = [];
  for (let tries = 1; ports.length < count; tries++) {
    assert.ok(tries < SHARE, `${count} of the ports ${start}-${start + SHARE - 1} are free`);
    const port = start + 1 + (taken++ % (SHARE - 1));
    const server = await listenOn(port);
    if (server) ports.push(port);
    await new Promise((done) => (server ? server.close(done) : done()));
  }
  return ports;
}

async function takeShare() {
  for (let i = 0; i < SHARES; i++) {
    const start = FIRST_PORT + ((process.pid + i) % SHARES) * SHARE;
    const holder = await listenOn(start);
    holder?.unref();
    if (holder) return start;
  }
  throw new Error(`every ${SHARE}th port from ${FIRST_PORT} is taken`);
}

// A server, or nothing where the port is taken.
async function listenOn(port) {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve());
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

// Three nats-servers that know each other; ready once each says that it is healthy, and JetStream's
// group has all three. (Of three that start at once 2.10.27 leaves the last one out of it now and then,
// healthy or not; then no stream has room for three copies.) `route` may put something between them:
// it returns the port at which FROM reaches TO's port. They then find each other there only: what they
// advertise of themselves is a port at which nobody listens. A member that was restarted has caught up
// with the others once it becomes healthy.
export async function startCluster({ route } = {}, attempts = 3) {
  const folder = temporaryFolder();
  const client = await freePorts(9);
  const routes = client.splice(3, 3);
  const monitor = client.splice(3, 3);
  const members = [];
  const [nowhere] = route ? await freePorts(1) : [];
  for (let i = 0; i < 3; i++) {
    const name = `n${i + 1}`;
    const others = [];
    for (let other = 0; other < 3; other++) {
      if (other !== i) others.push(route ? await route(i, other, routes[other]) : routes[other]);
    }
    const file = join(folder, `${name}.conf`);
    mkdirSync(join(folder, name));
    writeFileSync(
      file,
      `server_name: ${name}
host: 127.0.0.1
port: ${client[i]}
http: "127.0.0.1:${monitor[i]}"
jetstream { store_dir: "${join(folder, name)}", max_mem: 64M, max_file: 512M }
cluster {
  name: parley
  listen: "127.0.0.1:${routes[i]}"${route ? `\n  advertise: "127.0.0.1:${nowhere}"` : ''}
  routes: [ ${others.map((port) => `"nats-route://127.0.0.1:${port}"`).join(', ')} ]
}
`,
    );
    const start = () => {
      const program = new Program('nats-server', ['-c', file]);
      const becomesHealthy = (options) => isHealthy({ name, program }, monitor[i], options);
      return { name, becomesHealthy, ...serverOf(program, `nats://127.0.0.1:${client[i]}`, start) };
    };
    members.push(start());
  }
  try {
    for (const member of members) await member.becomesHealthy();
    await until('all three are of one group', () => isWhole(monitor), { timeout: GROUPED_MS });
  } catch (error) {
    // A port that was free may be another program's by now; or one was left out.
    await Promise.all(members.map((member) => member.kill()));
    if (attempts === 1) throw error;
    return startCluster({ route }, attempts - 1);
  }
  return { members, url: members.map((member) => member.url).join(',') };
}

const GROUPED_MS = 20_000;

// Whether the leader of JetStream's group counts two others.
async function isWhole(ports) {
  for (const port of ports) {
    const answer = await fetch(`http://127.0.0.1:${port}/jsz`);
    const { meta_cluster: group } = await answer.json();
    if (group?.replicas?.length === 2) return true;
  }
  return false;
}

async function isHealthy({ name, program }, port, options) {
  const isOver = async () => {
    if (program.exit) return true;
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
    return (await answer.json()).status === 'ok';
  };
  await until(`${name} of the cluster is healthy`, isOver, options);
  if (program.exit) throw new Error(`${program.describe()}: ${program.stderr}`);
}

// nats.js gives up a request to JetStream after 5 s, which a busy machine can take. Not as long as
// the tests' own deadlines: one that a server took to its death is to be sent again.
const JETSTREAM_TIMEOUT_MS = 20_000;

function patient(connection) {
  for (const name of ['jetstream', 'jetstreamManager']) {
    const open = connection[name].bind(connection);
    connection[name] = (options = {}) => open({ timeout: JETSTREAM_TIMEOUT_MS, ...options });
  }
  return connection;
}

// nats.js takes no credentials out of a URL.
export async function connectNats(url) {
  const servers = url.split(',').map((part) => new URL(part));
  const { username, password } = servers[0];
  const credentials = password ? { user: username, pass: password } : {};
  if (username && !password) credentials.token = decodeURIComponent(username);
  const connecting = connect({
    servers: servers.map((server) => server.host),
    reconnectTimeWait: 50,
    maxReconnectAttempts: -1, // until it is closed
    ...credentials,
  });
  return patient(await within(`connecting to ${url}`, connecting));
}

// The URL of the nats-server that parley has started for itself.
export function embeddedUrl(parley) {
  const file = join(parley.data, 'nats.url');
  assert.ok(existsSync(file), `${file} is there`);
  return readFileSync(file, 'utf8').trim();
}

// A client of the test's own, closed with the test.
export async function natsClient(t, url) {
  const connection = await connectNats(url);
  atEnd(t, () => connection.close());
  return connection;
}

export async function streamInfo(connection, stream = 'VLP') {
  const manager = await connection.jetstreamManager();
  return manager.streams.info(stream);
}

export async function lastSequence(connection, stream = 'VLP') {
  return (await streamInfo(connection, stream)).state.last_seq;
}

// One stored message: { seq, subject, payload, headers }, headers as a plain object.
export async function storedMessage(connection, seq, stream = 'VLP') {
  const manager = await connection.jetstreamManager();
  const stored = await manager.streams.getMessage(stream, { seq });
  return plain(stored.seq, stored);
}

// All that a stream holds, in order.
export async function storedMessages(connection, options) {
  const messages = [];
  await eachStored(connection, (message) => messages.push(plain(message.seq, message)), options);
  return messages;
}

// The same for more than fits in memory: `visit` gets one after another, as the client has it.
export async function eachStored(connection, visit, { stream = 'VLP', from = 1 } = {}) {
  const { state } = await streamInfo(connection, stream);
  if (state.messages === 0 || from > state.last_seq) return;
  const options = consumerOpts();
  options.orderedConsumer();
  options.bindStream(stream);
  options.startSequence(from);
  const subscription = await connection.jetstream().subscribe('', options);
  const readAll = async () => {
    for await (const message of subscription) {
      visit(message);
      if (message.seq >= state.last_seq) break;
    }
  };
  const timeout = DEADLINE_MS + state.messages; // a million takes a while
  await within(`reading stream ${stream}`, readAll(), timeout);
}

// All of it, as one member of the cluster holds it, which the cluster chooses by chance: { member,
// subscription }. It ends by itself only with the connection.
export async function openOnMember(connection, stream) {
  const options = consumerOpts();
  options.ackNone().deliverAll().bindStream(stream).deliverTo(createInbox());
  options.idleHeartbeat(1000).flowControl();
  options.memory().numReplicas(1);
  const subscription = await connection.jetstream().subscribe('', options);
  const { cluster } = await subscription.consumerInfo();
  return { member: cluster?.leader, subscription };
}

function plain(seq, { subject, data, headers, header }) {
  const all = {};
  const given = headers ?? header;
  for (const key of given ? given.keys() : []) all[key.toLowerCase()] = given.get(key);
  return { seq, subject, payload: Buffer.from(data), headers: all };
}
