// SPDX-License-Identifier: Apache-2.0
// A network that can be cut: forwards TCP connections to a port. While it is cut nothing passes,
// and nobody is told: connections stay open, as when a cable is pulled.

import net from 'node:net';

export class Proxy {
  #pairs = new Set();
  #isCut = false;

  // Resolves once it listens; then `port` is where.
  static async to(target) {
    const proxy = new Proxy();
    proxy.server = net.createServer({ pauseOnConnect: true }, (near) => proxy.#took(near, target));
    await new Promise((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    proxy.port = proxy.server.address().port;
    return proxy;
  }

  #took(near, target) {
    const pair = { near, target, far: null };
    this.#pairs.add(pair);
    near.on('error', () => this.#drop(pair)).on('close', () => this.#drop(pair));
    if (!this.#isCut) this.#join(pair);
  }

  #join(pair) {
    const { near, target } = pair;
    const far = net.connect(target, '127.0.0.1');
    pair.far = far;
    near.setNoDelay(true);
    far.setNoDelay(true);
    far.on('error', () => this.#drop(pair)).on('close', () => this.#drop(pair));
    this.#flow(pair);
  }

  #flow({ near, far }) {
    near.pipe(far);
    far.pipe(near);
  }

  // An end that closes during the cut is not noticed by the other before it is over.
  #drop(pair) {
    if (this.#isCut) {
      pair.isBroken = true;
      return;
    }
    this.#pairs.delete(pair);
    pair.near.destroy();
    pair.far?.destroy();
  }

  cut() {
    this.#isCut = true;
    for (const { near, far } of this.#pairs) {
      for (const [one, other] of [
        [near, far],
        [far, near],
      ]) {
        one?.unpipe(other);
        one?.pause();
      }
    }
  }

  // What was on its way arrives late.
  heal() {
    this.#isCut = false;
    for (const pair of [...this.#pairs]) {
      if (pair.isBroken) this.#drop(pair);
      else if (pair.far) this.#flow(pair);
      else this.#join(pair);
    }
  }

  close() {
    this.#isCut = false;
    this.server.close();
    for (const pair of [...this.#pairs]) this.#drop(pair);
  }
}
