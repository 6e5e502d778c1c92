// SPDX-License-Identifier: Apache-2.0
// Messages of sessions that are halted, and what people ask of halts.

import assert from 'node:assert/strict';
import { get, request, send } from './http.mjs';
import { assertProblem, claim, uniqueId } from './vlp.mjs';

export const session = () => `S-${uniqueId()}`;
export const safe = (session_id) => claim({ session_id });
export const block = (session_id, changes) =>
  claim({ type: 'notice', session_id, safety: { level: 'block' }, content: 'Stop: it leaks.', ...changes });
export const review = (session_id) => claim({ session_id, safety: { level: 'review' } });

export const halts = async (server, query = '') => {
  const answer = await get(server, `/v1/vlp/halts${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};

export const release = async (server, name, kind = 'session') => {
  const query = new URLSearchParams({ [kind]: name, reason: 'looked at it' });
  const answer = await request(server, 'DELETE', `/v1/vlp/halts?${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};

export const assertHalted = async (server, message) =>
  assertProblem(await send(server, message), 409, 'halted');
