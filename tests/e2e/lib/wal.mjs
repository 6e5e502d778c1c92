// SPDX-License-Identifier: Apache-2.0
// An agent's write-ahead log, in the short words of tests: 5 is entry 5, '5!' another entry that has
// this sequence, [5, 6] a wal_batch.

import { FRAMES_TYPE, frames, msgpack, MSGPACK_TYPE } from './frames.mjs';
import { JSON_TYPE, NDJSON_TYPE, post } from './http.mjs';
import { lines } from './vlp.mjs';

const dataOf = (word) => ({
  operation: 'memory_add',
  params: { text: `${word}` },
  sequence: Number.parseInt(word, 10),
});

export const walMessage = (word) => ({
  type: Array.isArray(word) ? 'wal_batch' : 'wal_entry',
  timestamp: 1705392000,
  data: Array.isArray(word) ? word.map(dataOf) : dataOf(word),
});

const FORMS = {
  ndjson: { type: NDJSON_TYPE, body: lines },
  frames: { type: FRAMES_TYPE, body: frames },
};
const SINGLE_FORMS = {
  json: { type: JSON_TYPE, body: (message) => JSON.stringify(message) },
  msgpack: { type: MSGPACK_TYPE, body: msgpack },
};

export function sendWal(server, agent, body, { type, ...options }) {
  return post(server, `/v1/supervisor/messages${agent ? `?agent=${agent}` : ''}`, body, {
    ...options,
    type,
  });
}

const WARNINGS = { 'IPC-201': 'hole', 'IPC-202': 'back' };

// What an answer says of a message: "ok", "duplicate", "hole", "back", "hole back", "gap 5", "503".
function outcome({ status, duplicate, warnings = [], problem }) {
  if (problem) return problem.expected ? `gap ${problem.expected}` : `${problem.status}`;
  const words = warnings.map(({ rule }) => WARNINGS[rule] ?? rule);
  if (duplicate || status === 'duplicate') words.unshift('duplicate');
  return words.join(' ') || 'ok';
}

// Sends the messages as one body of many, or (json, msgpack) each alone, and returns the outcomes.
export async function log(server, agent, words, form = 'ndjson') {
  const messages = words.map(walMessage);
  if (FORMS[form]) {
    const { type, body } = FORMS[form];
    const answer = await sendWal(server, agent, body(messages), { type });
    if (answer.status !== 200) return words.map(() => `${answer.status}`);
    return answer.lines.slice(0, -1).map(outcome);
  }
  const outcomes = [];
  for (const message of messages) {
    const { type, body } = SINGLE_FORMS[form];
    const { status, json } = await sendWal(server, agent, body(message), { type });
    outcomes.push(outcome(status === 200 ? { ...json, status: undefined } : { problem: json }));
  }
  return outcomes;
}
