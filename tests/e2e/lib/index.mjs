// SPDX-License-Identifier: Apache-2.0
// What tests of the index ask: send, and read once the index has it.

import assert from 'node:assert/strict';
import { NDJSON_TYPE, get, post } from './http.mjs';
import { until } from './poll.mjs';
import { lines } from './vlp.mjs';

export const PATIENT = 'wait=5';

// Returns: the place of the last message, for `after=`.
export async function send(server, messages) {
  const answer = await post(server, '/v1/vlp/messages', lines(messages), {
    type: NDJSON_TYPE,
  });
  const results = answer.text.trim().split('\n').map(JSON.parse);
  const last = results.filter(({ seq }) => seq !== undefined).at(-1);
  return `VLP:${last.seq}`;
}

export async function list(server, path, options) {
  let answer;
  await until('the index has it', async () => {
    answer = await get(server, path, options); // `wait` is at most 5 s
    return answer.status !== 503;
  });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}
