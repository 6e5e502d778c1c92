// SPDX-License-Identifier: Apache-2.0
// Tokens of a server: how they are made and shown.

import assert from 'node:assert/strict';
import { parley } from './parley.mjs';

export const TOKEN_FORM = /^parley_[0-9A-Za-z]{49}\n$/;

// `parley token create` with this file; the token.
export async function createToken(file, name, allow, ...more) {
  const args = ['token', 'create', '--tokens', file, '--name', name, '--allow', allow, ...more];
  const { code, stdout, stderr } = await parley(args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, TOKEN_FORM);
  assert.ok(!stderr.includes(stdout.trim()), 'words go to standard error, the token does not');
  return stdout.trim();
}

// Options of a request that shows the token.
export const bearer = (token, headers) => ({ headers: { Authorization: `Bearer ${token}`, ...headers } });
