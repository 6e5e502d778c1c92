// SPDX-License-Identifier: Apache-2.0
// Clients of the Model Context Protocol: the official ones, of both eras, and plain requests where
// those would not send what a test needs to send.

import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { atEnd } from './cleanup.mjs';
import { post } from './http.mjs';
import { ABOUT, HAS_MODERN, META, MODERN, assertOfRevision, modern } from './mcp_schemas.mjs';

export { HAS_MODERN, MODERN } from './mcp_schemas.mjs';

const BOTH = 'application/json, text/event-stream';
const modernStdio = HAS_MODERN ? await import('@modelcontextprotocol/client/stdio') : {};

const optionsOf = (token) =>
  token ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } } : {};

// An official client, connected: of 2025-11-25, which begins with a handshake.
export async function legacyClient(t, server, { token } = {}) {
  const client = new LegacyClient(ABOUT);
  await client.connect(new LegacyHttp(new URL(`${server.url}/mcp`), optionsOf(token)));
  atEnd(t, () => client.close());
  return client;
}

// Of 2026-07-28, which asks server/discover.
export async function modernClient(t, server, { token } = {}) {
  const client = new modern.Client(ABOUT, { versionNegotiation: { mode: { pin: MODERN } } });
  const url = new URL(`${server.url}/mcp`);
  await client.connect(new modern.StreamableHTTPClientTransport(url, optionsOf(token)));
  atEnd(t, () => client.close());
  return client;
}

// The same clients, which start a program instead.
async function legacyProgram(t, [command, ...args], { env = {} } = {}) {
  const client = new LegacyClient(ABOUT);
  await client.connect(new LegacyStdio({ command, args, env }));
  atEnd(t, () => client.close());
  return client;
}

async function modernProgram(t, [command, ...args], { env = {} } = {}) {
  const client = new modern.Client(ABOUT, { versionNegotiation: { mode: { pin: MODERN } } });
  await client.connect(new modernStdio.StdioClientTransport({ command, args, env }));
  atEnd(t, () => client.close());
  return client;
}

const PATIENCE_MS = 600_000; // on a busy machine; a test that hangs is ended by ctest

// `options`: a signal that cancels it, though only the newer revision does that by closing the answer.
export const callTool = (client, params, options) =>
  client instanceof LegacyClient
    ? client.callTool(params, undefined, { timeout: PATIENCE_MS, ...options })
    : client.callTool(params, { timeout: PATIENCE_MS, ...options });

// What a test asks of each. `cancel`: what closes the answer of a call that waits.
export const CLIENTS = [
  {
    revision: '2025-11-25',
    isThere: true,
    connect: legacyClient,
    startProgram: legacyProgram,
    cancel: (client) => client.close(),
  },
  {
    revision: MODERN,
    isThere: HAS_MODERN,
    connect: modernClient,
    startProgram: modernProgram,
    cancel: (client, controller) => controller.abort(),
  },
];

// What an answer by HTTP says; nothing where it is refused before the message is read.
function valuesOf({ headers, text }) {
  const type = headers['content-type'] ?? '';
  if (type.startsWith('application/json')) return [JSON.parse(text)];
  if (!type.startsWith('text/event-stream')) return [];
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
}

function messageOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // its answer is an error
  }
}

// One message as it is, with the headers that its revision asks for, except `headers`. What is
// answered is held against the schemas of that revision.
export async function rpc(server, message, { headers = {}, ...more } = {}) {
  const version = message?.params?._meta?.[`${META}/protocolVersion`];
  const { method, params } = message ?? {};
  const name = params?.name ?? params?.uri;
  const repeated = version !== undefined
    ? { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, ...(name ? { 'Mcp-Name': name } : {}) }
    : {};
  const all = { Accept: BOTH, ...repeated, ...headers };
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  const answer = await post(server, '/mcp', body, { headers: sent, ...more });
  for (const value of valuesOf(answer)) await assertOfRevision(messageOf(body), value);
  return answer;
}

let count = 0;
export const legacyRequest = (method, params) => ({ jsonrpc: '2.0', id: ++count, method, params });
export const modernRequest = (method, params, version = MODERN) =>
  legacyRequest(method, {
    ...params,
    _meta: { [`${META}/protocolVersion`]: version, [`${META}/clientCapabilities`]: {} },
  });
