// SPDX-License-Identifier: Apache-2.0
// The processes of a scenario: gateways, and the nats-servers that they use.
//
//   embedded   a gateway with its own nats-server
//   external   a gateway and a nats-server
//   cut-off    the same, with a network between them that can be cut
//   pair       two gateways and a nats-server
//   cluster    two gateways and three nats-servers; the network between those can be cut

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { atEnd } from '../../e2e/lib/cleanup.mjs';
import { connectNats, freePorts, startCluster, startNats } from '../../e2e/lib/nats.mjs';
import { startParley } from '../../e2e/lib/parley.mjs';
import { until } from '../../e2e/lib/poll.mjs';
import { isRunning, temporaryFolder } from '../../e2e/lib/program.mjs';
import { Access } from './access.mjs';
import { Proxy } from './proxy.mjs';

// After as long a repeated message must still be known, however busy the machine is.
const ALWAYS = ['--dedupe-window', '1h', '--ack-timeout', '2s'];
const MOUNT = 'mount -t tmpfs -o size=64m,mode=700 parley-chaos "$0" && exec "$@"';

// A gateway that can be killed and started again at the same address, with the same data.
class Gateway {
  logs = '';

  // `access`: what its clients need, if it asks who they are.
  constructor(options, access) {
    this.options = options;
    this.tls = access?.tls;
    this.headers = access?.headers;
  }

  async start() {
    this.port ??= (await freePorts(1))[0];
    this.server = await startParley({ ...this.options, listen: `127.0.0.1:${this.port}` });
    this.options.data = this.server.data;
  }

  async kill() {
    const children = this.server.program.children();
    await this.server.kill();
    for (const pid of children) await until('its nats-server is gone', () => !isRunning(pid));
    this.#keepLog();
  }

  async stop() {
    await this.server.stop();
    this.#keepLog();
  }

  #keepLog() {
    this.logs += this.server.program.stderr;
    this.server.program.stderr = '';
  }

  get log() {
    return this.logs + this.server.program.stderr;
  }
}

export class Topology {
  gateways = [];
  nats = []; // what serverOf of tests/e2e/lib/nats.mjs returns
  links = []; // between a gateway and NATS
  routes = []; // between nats-servers: { from, to, proxy }

  constructor(scope, row) {
    Object.assign(this, { scope, row });
  }

  async start() {
    if (this.row.isGuarded) this.access = await Access.make();
    await this[START[this.row.topology]]();
  }

  async startEmbedded() {
    const options = { args: this.#args() };
    if (this.row.isSmallDisk) {
      options.data = temporaryFolder();
      const shell = ['sh', '-c', MOUNT, options.data];
      options.wrapper = ['unshare', '-m', '--propagation', 'private', ...shell];
    }
    await this.#gateway(options);
  }

  async startExternal(gateways = 1) {
    await this.#nats();
    for (let i = 0; i < gateways; i++) await this.#gatewayOf(this.nats[0].url);
  }

  startPair() {
    return this.startExternal(2);
  }

  async startCutOff() {
    await this.#nats();
    const proxy = await Proxy.to(Number(new URL(this.nats[0].url).port));
    atEnd(this.scope, () => proxy.close());
    this.links.push(proxy);
    await this.#gatewayOf(`nats://127.0.0.1:${proxy.port}`);
  }

  async startCluster() {
    const route = async (from, to, port) => {
      const proxy = await Proxy.to(port);
      atEnd(this.scope, () => proxy.close());
      this.routes.push({ from, to, proxy });
      return proxy.port;
    };
    const { members, url } = await startCluster({ route });
    atEnd(this.scope, () => Promise.all(this.nats.map((member) => member.stop())));
    this.nats = members;
    this.url = url;
    for (let i = 0; i < 2; i++) await this.#gatewayOf(url, ['--replicas', '3']);
  }

  async #nats() {
    const options = {};
    if (this.row.maxPayload) {
      this.conf = join(temporaryFolder(), 'nats.conf');
      this.configure(this.row.maxPayload);
      Object.assign(options, { hasJetStream: false, args: ['-c', this.conf] });
    }
    this.nats = [await startNats(options)];
    atEnd(this.scope, () => this.nats[0].stop());
    this.url = this.nats[0].url;
  }

  // A server that reads its configuration again forgets what the command line said of JetStream.
  configure(maxPayload) {
    const store = join(dirname(this.conf), 'store');
    writeFileSync(this.conf, `max_payload: ${maxPayload}\njetstream { store_dir: "${store}" }\n`);
  }

  #args(more = []) {
    return [...ALWAYS, ...more, ...(this.access?.args ?? []), ...(this.row.args ?? [])];
  }

  #gatewayOf(nats, more) {
    return this.#gateway({ nats, args: this.#args(more) });
  }

  async #gateway(options) {
    const env = this.row.hasClock ? this.#clock() : {};
    const gateway = new Gateway({ ...options, env, tls: this.access?.tls }, this.access);
    await gateway.start();
    atEnd(this.scope, () => gateway.stop());
    this.gateways.push(gateway);
  }

  // The gateway's clock is shifted by as many seconds as this file says (clock.c).
  #clock() {
    this.clock = join(temporaryFolder(), 'offset');
    writeFileSync(this.clock, '0\n');
    return {
      LD_PRELOAD: process.env.CHAOS_CLOCK,
      CHAOS_CLOCK_FILE: this.clock,
      ASAN_OPTIONS: `verify_asan_link_order=0:${process.env.ASAN_OPTIONS ?? ''}`,
    };
  }

  // The data folder of an embedded nats-server, as its gateway sees it.
  get folder() {
    const { server } = this.gateways[0];
    return this.row.isSmallDisk ? `/proc/${server.pid}/root${server.data}` : server.data;
  }

  // A client of the test's own.
  client() {
    return connectNats(this.url ?? readFileSync(join(this.folder, 'nats.url'), 'utf8').trim());
  }

  logs() {
    const named = (name, all, log) => all.map((each, i) => [`${name} ${i + 1}`, log(each)]);
    return [
      ...named('parley', this.gateways, (gateway) => gateway.log),
      ...named('nats-server', this.nats, (nats) => nats.program.stderr),
    ];
  }
}

const START = {
  embedded: 'startEmbedded',
  external: 'startExternal',
  'cut-off': 'startCutOff',
  pair: 'startPair',
  cluster: 'startCluster',
};
