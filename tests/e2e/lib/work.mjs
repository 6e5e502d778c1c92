// SPDX-License-Identifier: Apache-2.0
// Agents that ask for work over HTTP, and orchestrators that wait for the answer.

import { post, request } from './http.mjs';

// POST …/tasks/next: 200 with a task, or 204. `wait` in seconds.
export function nextTask(server, agent, { wait, domains, tasks, lease, key, headers: more, ...options } = {}) {
  const headers = {
    ...more,
    ...(wait !== undefined && { Prefer: `wait=${wait}` }),
    ...(key && { 'Idempotency-Key': key }),
  };
  const body = JSON.stringify({ agent, domains, tasks, lease });
  return post(server, '/v1/roundtable/tasks/next', body, { headers, ...options });
}

// POST of a task.request that waits for its reply.
export const askAndWait = (server, message, wait, options) =>
  post(server, '/v1/roundtable/messages', JSON.stringify(message), {
    headers: { Prefer: `wait=${wait}` },
    ...options,
  });

// What the holder of a task asks for: `extend`, `release`.
export const changeTask = (server, id, kind, body, options) =>
  post(server, `/v1/roundtable/tasks/${id}/${kind}`, JSON.stringify(body), options);

export const boardOf = (server, query = '') =>
  request(server, 'GET', `/v1/roundtable/tasks${query}`).then((answer) => {
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.json.items;
  });
