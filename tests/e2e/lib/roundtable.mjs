// SPDX-License-Identifier: Apache-2.0
// Round Table messages for the tests.

import { randomUUID } from 'node:crypto';
import { NDJSON_TYPE, post } from './http.mjs';

const envelope = (type, from, changes) => ({
  id: randomUUID(),
  version: '1.0.0',
  type,
  from,
  timestamp: new Date().toISOString(),
  ...changes,
});

export const taskRequest = (task, changes) =>
  envelope('task.request', 'pilot', { payload: { task, params: {} }, ...changes });

export const taskResult = (correlationId, changes) =>
  envelope('task.result', 'worker', {
    correlationId,
    payload: { status: 'completed', result: { format: 'text', content: 'done' } },
    ...changes,
  });

export const taskFailed = (correlationId, changes) =>
  envelope('task.failed', 'worker', {
    correlationId,
    payload: { error: 'timeout', retryable: true },
    ...changes,
  });

export const taskProgress = (correlationId, changes) =>
  envelope('task.progress', 'worker', { correlationId, payload: { percent: 50 }, ...changes });

export const taskClaimed = (correlationId, changes) =>
  envelope('task.claimed', 'worker', { correlationId, payload: {}, ...changes });

export const heartbeat = (from, changes) =>
  envelope('heartbeat', from, { payload: { status: 'idle' }, ...changes });

export const resultSubject = (domain, id, prefix = 'roundtable') =>
  `${prefix}.results.${domain}.${id.toLowerCase()}`;

// One message, or an array of them as lines.
export function sendTask(server, message, { query = '', to = 'messages', headers = {} } = {}) {
  const path = `/v1/roundtable/${to}${query}`;
  if (!Array.isArray(message)) return post(server, path, JSON.stringify(message), { headers });
  const lines = message.map((each) => `${JSON.stringify(each)}\n`).join('');
  return post(server, path, lines, { type: NDJSON_TYPE, headers });
}
