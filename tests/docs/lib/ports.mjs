// SPDX-License-Identifier: Apache-2.0
// A port for a server that starts later, or again. It is not one of those that the system gives to
// outgoing connections (from 32768 on): one of these could take it meanwhile, or a client that
// knocks while nobody listens could reach itself.

import { createServer } from 'node:net';

const FIRST = 10_000;
const COUNT = 20_000;

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

const given = new Set();

export async function freePort() {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return String(port);
  }
}
