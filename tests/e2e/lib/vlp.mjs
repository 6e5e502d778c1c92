// SPDX-License-Identifier: Apache-2.0
// VLP messages for the tests, and what the contract says of them in more than one place.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';

let count = 0;
const run = randomBytes(4).toString('hex');

// No two tests share an id, though they may share a server.
export const uniqueId = () => `MSG-${run}-${++count}`;

// A valid claim; `changes` replaces members, and undefined leaves one out.
export function claim(changes = {}) {
  const message = {
    id: uniqueId(),
    protocol: 'VLP/1.1',
    type: 'claim',
    timestamp: '2025-12-14T10:30:00Z',
    sender: 'The Observer',
    content: 'Found 5 gas stations in zip 73102',
    confidence: 0.85,
    ...changes,
  };
  return JSON.parse(JSON.stringify(message));
}

// One that breaks VLP-005, and no other rule.
export const brokenClaim = (changes) => claim({ sender: '', ...changes });

export const claims = (number, changes) => Array.from({ length: number }, () => claim(changes));

export const lines = (messages) =>
  messages
    .map((message) => `${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
    .join('');

export const ruleIds = (violations) => violations.map((violation) => violation.rule);

// RFC 9457, as the contract spells it.
export function assertProblem(answer, status, name) {
  assert.equal(
    answer.status,
    status,
    `status ${status} ${name}, not: ${answer.status} ${answer.text}`,
  );
  assert.match(answer.headers['content-type'] ?? '', /^application\/problem\+json\b/);
  const problem = JSON.parse(answer.text);
  assert.equal(problem.type, `/problems/${name}`);
  assert.equal(problem.status, status);
  assert.ok(typeof problem.title === 'string' && problem.title !== '', 'it has a title');
  assert.ok(typeof problem.detail === 'string' && problem.detail !== '', 'it has a detail');
  assert.equal(problem.instance, answer.headers['x-request-id'], 'instance is the request id');
  assert.ok(problem.instance, 'there is a request id');
  return problem;
}

export function assertViolation(violation) {
  assert.match(violation.rule, /^(GW|VLP)-\d{3}$/);
  assert.ok(['error', 'warning'].includes(violation.severity), violation.severity);
  assert.equal(typeof violation.path, 'string');
  assert.ok(violation.path === '' || violation.path.startsWith('/'), violation.path);
  assert.ok(Number.isInteger(violation.at?.line) && violation.at.line >= 1, 'at.line');
  assert.ok(Number.isInteger(violation.at?.column) && violation.at.column >= 1, 'at.column');
  assert.ok(violation.message, 'it has a message');
  assert.ok(violation.hint, 'it has a hint');
  const { fix, expected, ...others } = violation;
  const members = ['rule', 'severity', 'path', 'at', 'message', 'hint'];
  assert.deepEqual(Object.keys(others).sort(), members.sort());
  assert.ok(expected === undefined || Object.keys(expected).length > 0, 'it expects something');
  if (fix !== undefined) {
    assert.equal(typeof fix.safe, 'boolean');
    assert.ok(fix.patch.length > 0, 'it changes something');
  }
}

// The one answer for a message that was stored: returns its sequence number.
export function assertAccepted(answer) {
  assert.equal(answer.status, 200, answer.text);
  const result = JSON.parse(answer.text);
  assert.ok(Number.isInteger(result.seq) && result.seq >= 1, answer.text);
  return result;
}
