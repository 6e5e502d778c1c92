// SPDX-License-Identifier: Apache-2.0
// MessagePack and frames as a client makes them, by a library that shares nothing with ours.

import assert from 'node:assert/strict';
import { decode, encode } from '@msgpack/msgpack';

export const MSGPACK_TYPE = 'application/msgpack';
export const FRAMES_TYPE = 'application/vnd.parley.frames';

export const msgpack = (message) => Buffer.from(encode(message));

export function frame(bytes) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

export const frames = (messages) => Buffer.concat(messages.map((each) => frame(msgpack(each))));

export function framesOf(bytes) {
  const messages = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    if (at + 4 + length > bytes.length) throw new Error('the last frame is cut');
    messages.push(decode(bytes.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return messages;
}

// A problem as those get it who read MessagePack: the document's error. Returns the problem in it.
export function assertPackedProblem(answer, status, name) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers['content-type'], MSGPACK_TYPE);
  const { type, error } = decode(answer.body);
  assert.equal(type, 'error');
  assert.equal(error.details.type, `/problems/${name}`);
  assert.equal(error.details.status, status);
  assert.equal(error.message, error.details.detail);
  return error.details;
}

export { decode };
