// SPDX-License-Identifier: Apache-2.0
// The kernel's view of the connections with a server on this machine.

import { readFileSync } from 'node:fs';

const ESTABLISHED = '01';
const CLOSE_WAIT = '08';

// Source: proc_net_tcp in the kernel's documentation.
function connections() {
  const [, ...rows] = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n');
  return rows.map((row) => {
    const [, local, remote, state, queues, timer] = row.trim().split(/\s+/);
    const [sending, received] = queues.split(':').map((bytes) => parseInt(bytes, 16));
    const portOf = (address) => parseInt(address.split(':')[1], 16);
    return { local: portOf(local), remote: portOf(remote), state, sending, received, timer };
  });
}

// How many connections the server has not closed. (Its metrics are copied every half second, and
// what asks for them is a connection, too.)
export const openAtServer = (server) => portsAtServer(server).length;

// The clients' ports of them.
export const portsAtServer = ({ port }) =>
  connections()
    .filter(({ local, state }) => local === port && [ESTABLISHED, CLOSE_WAIT].includes(state))
    .map(({ remote }) => remote);

const PROBING = '02:'; // the keepalive timer is the next one to fire

// On how many the kernel will ask whether the client is still there.
export const probedAtServer = ({ port }) =>
  connections().filter(({ local, timer }) => local === port && timer.startsWith(PROBING)).length;

// How many clients have the server's end of the answer in their kernel, and have not closed.
export const endedByServer = ({ port }) =>
  connections().filter(({ remote, state }) => remote === port && state === CLOSE_WAIT).length;

const LISTEN = '0A'; // its queues count connections

// How much of what clients have sent the server has not read.
export const unreadBytes = ({ port }) =>
  connections()
    .filter(({ state }) => state !== LISTEN)
    .reduce((sum, { local, remote, sending, received }) => {
      if (remote === port) return sum + sending;
      return local === port ? sum + received : sum;
    }, 0);

// On how many connections the server has bytes of an answer that its client's kernel does not take.
export const heldUpAtServer = ({ port }) =>
  connections().filter(({ local, state, sending }) => local === port && state !== LISTEN && sending > 0).length;
