// SPDX-License-Identifier: Apache-2.0
// Holds JSON-RPC answers of /mcp against the official schemas of their revision. Those of 2025-11-25
// (and of 2025-06-18, of which it is the superset) are exported. Those of 2026-07-28 are not: only the
// official client has them, which parses each result by them; it is given an answer as if it had just come.

import assert from 'node:assert/strict';
import * as legacy from '@modelcontextprotocol/sdk/types.js';

export const MODERN = '2026-07-28';
export const META = 'io.modelcontextprotocol';
export const ABOUT = { name: 'parley-tests', version: '1.0.0' };

// The client of the newest revision needs Node 20.
export const HAS_MODERN = Number(process.versions.node.split('.')[0]) >= 20;
export const modern = HAS_MODERN ? await import('@modelcontextprotocol/client') : {};

const LEGACY_RESULTS = {
  initialize: legacy.InitializeResultSchema,
  ping: legacy.EmptyResultSchema,
  'tools/list': legacy.ListToolsResultSchema,
  'tools/call': legacy.CallToolResultSchema,
  'prompts/list': legacy.ListPromptsResultSchema,
  'resources/list': legacy.ListResourcesResultSchema,
  'resources/templates/list': legacy.ListResourceTemplatesResultSchema,
  'resources/read': legacy.ReadResourceResultSchema,
};

const isModern = (message) => message?.params?._meta?.[`${META}/protocolVersion`] === MODERN;

// A transport whose server gives one answer.
class Replay {
  constructor(result) {
    this.result = result;
  }

  async start() {}

  async send({ id }) {
    if (id !== undefined) queueMicrotask(() => this.onmessage({ jsonrpc: '2.0', id, result: this.result }));
  }

  async close() {
    this.onclose?.();
  }
}

async function assertModernResult({ method, params: { _meta, ...params } }, result) {
  const discover = {
    resultType: 'complete',
    supportedVersions: [MODERN],
    capabilities: { tools: {}, resources: {}, prompts: {} },
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [`${META}/serverInfo`]: ABOUT },
  };
  const client = new modern.Client(ABOUT, { versionNegotiation: { mode: { pin: MODERN } } });
  await client.connect(new Replay(result), { prior: { kind: 'modern', discover } });
  try {
    await client.request({ method, params });
  } finally {
    await client.close();
  }
}

async function assertResult(request, answer) {
  legacy.JSONRPCResultResponseSchema.parse(answer);
  assert.equal(answer.id, request.id);
  if (!isModern(request)) {
    assert.ok(LEGACY_RESULTS[request.method], `${request.method} has a result`);
    LEGACY_RESULTS[request.method].parse(answer.result);
  } else if (HAS_MODERN) {
    await assertModernResult(request, answer.result);
  }
}

// One message of the server on a request: its answer, or word of its progress.
export async function assertOfRevision(request, answer) {
  if (answer.error) legacy.JSONRPCErrorResponseSchema.parse(answer);
  else if (answer.method) legacy.ProgressNotificationSchema.merge(legacy.JSONRPCNotificationSchema).parse(answer);
  else await assertResult(request, answer);
}
