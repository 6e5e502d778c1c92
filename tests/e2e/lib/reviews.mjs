// SPDX-License-Identifier: Apache-2.0
// Messages that wait for people, and what people decide.

import assert from 'node:assert/strict';
import { get, post, send } from './http.mjs';
import { review as forReview } from './halts.mjs';
import { assertAccepted } from './vlp.mjs';

export const decision = (changes) => ({ decision: 'approve', by: 'Ada', reason: 'Checked.', ...changes });

// POST /v1/vlp/reviews/{place}.
export const decide = (server, place, body, options) =>
  post(server, `/v1/vlp/reviews/${place}`, JSON.stringify(body), options);

// GET /v1/vlp/reviews?{query}.
export async function reviewsOf(server, query = '', options) {
  const answer = await get(server, `/v1/vlp/reviews${query && `?${query}`}`, options);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

export function assertDecided(answer) {
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

// Stores a message that waits for a review: { place, message }.
export async function waiting(server, session) {
  const message = forReview(session);
  const { stream, seq } = assertAccepted(await send(server, message));
  return { place: `${stream}:${seq}`, message };
}
