// SPDX-License-Identifier: Apache-2.0
// POST /convert, and what its answer must be.

import assert from 'node:assert/strict';
import { post } from './http.mjs';

export const convert = (server, protocol, to, body, options) =>
  post(server, `/v1/${protocol}/convert?to=${to}`, body, options);

export function assertConverted(answer, type) {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['content-type'].split(';')[0], type);
}
