// SPDX-License-Identifier: Apache-2.0
// How requests end, as a table.
//
//   leave         what the client of a request does
//   act           what happens to the server or its NATS before (world)
//   stays         the client waits for its answer, unless that has no end
//   isUnanswered  what requests wait for does not come before their end
//   endsStreams   streams end, too
//   lacks         why requests of a phase do not end so; undefined: they do

import { parley } from './parley.mjs';

// What clients do, while the server and its NATS do what they should.
export const LEAVING = {
  FIN: { leave: (cell) => cell.close() },
  RST: { leave: (cell) => cell.reset() },
  'half-close': { leave: (cell) => cell.halfClose(), stays: true },
};

// The same over TLS, where Node resets no connection: what is to go on is not left in two steps.
export const LEAVING_TLS = {
  FIN: LEAVING.FIN,
  'half-close': {
    ...LEAVING['half-close'],
    lacks: ({ goesOn }) => (goesOn ? 'no reset would end it afterwards' : undefined),
  },
};

// Nothing comes any more, from the client or from what its request waits for: time limits end it.
export const SILENCE = {
  silence: {
    stays: true,
    isUnanswered: true,
    lacks: ({ name }) => (name === 'stream' ? 'a stream that is read has no time limit' : undefined),
  },
};

// `parley token create`, and its opposite.
export async function createToken(file, name, allow) {
  const { code, stdout, stderr } = await parley(['token', 'create', '--tokens', file, '--name', name, '--allow', allow]);
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

async function revokeToken({ server, tokens }) {
  const { code, stderr } = await parley(['token', 'revoke', '--tokens', tokens.file, 'client']);
  if (code !== 0) throw new Error(stderr);
  server.signal('SIGHUP');
}

export const REVOKED = {
  'token revoked': {
    ...LEAVING['half-close'],
    act: revokeToken,
    endsStreams: true,
    lacks: ({ name }) => (name === 'worker pool' ? 'the pool is done before a token is revoked' : undefined),
  },
};

async function restartNats(world) {
  await world.nats.kill();
  world.nats = await world.nats.restart();
}

export const NATS_GONE = {
  'NATS gone and back': { ...LEAVING['half-close'], act: restartNats },
};
