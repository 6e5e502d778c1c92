// SPDX-License-Identifier: Apache-2.0
// Clients of the Model Context Protocol: the official ones, of both eras, and plain requests where
// those would not send what a test needs to send.

import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { atEnd } from './cleanup.mjs';
import { post } from './http.mjs';

export const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol';
const BOTH = 'application/json, text/event-stream';

const ABOUT = { name: 'parley-tests', version: '1.0.0' };

// The client of the newest revision needs Node 20.
export const HAS_MODERN = Number(process.versions.node.split('.')[0]) >= 20;
const modern = HAS_MODERN ? await import('@modelcontextprotocol/client') : {};
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

// One message as it is, with the headers that its revision asks for, but for `headers`.
export function rpc(server, message, { headers = {}, ...more } = {}) {
  const isModern = message?.params?._meta?.[`${META}/protocolVersion`] !== undefined;
  const { method, params } = message ?? {};
  const name = params?.name ?? params?.uri;
  const repeated = isModern
    ? { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, ...(name ? { 'Mcp-Name': name } : {}) }
    : {};
  const all = { Accept: BOTH, ...repeated, ...headers };
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  return post(server, '/mcp', body, { headers: sent, ...more });
}

let count = 0;
export const legacyRequest = (method, params) => ({ jsonrpc: '2.0', id: ++count, method, params });
export const modernRequest = (method, params, version = MODERN) =>
  legacyRequest(method, {
    ...params,
    _meta: { [`${META}/protocolVersion`]: version, [`${META}/clientCapabilities`]: {} },
  });
