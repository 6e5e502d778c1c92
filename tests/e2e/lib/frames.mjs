// SPDX-License-Identifier: Apache-2.0
// MessagePack and frames as a client makes them, by a library that shares nothing with ours.

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

export { decode };
