// SPDX-License-Identifier: Apache-2.0
// One connection on which everything is sent at once, and then nothing more.

import net from 'node:net';
import { within } from '../e2e/lib/poll.mjs';

const STATUS_LINE = /HTTP\/1\.1 (\d{3}) /g;
const OVERLAP = 'HTTP/1.1 200 '.length - 1;
const TAIL = 1000;

// Until the server has closed.  Returns: the statuses of its answers, and their end. An answer may
// be long: it is not kept.
export function exchange(server, bytes) {
  const done = new Promise((resolve, reject) => {
    const statuses = [];
    let tail = '';
    const socket = net.connect(server.port, '127.0.0.1');
    socket.setEncoding('latin1');
    socket.on('connect', () => socket.end(bytes));
    socket.on('data', (text) => {
      const seen = tail.slice(-OVERLAP) + text; // a status line may be cut by two reads
      for (const [, status] of seen.matchAll(STATUS_LINE)) statuses.push(Number(status));
      tail = (tail + text).slice(-TAIL);
    });
    // It may close while much of what it refused is still on its way.
    socket.on('error', (error) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('close', () => resolve({ statuses, tail }));
  });
  return within('the server closes', done);
}
