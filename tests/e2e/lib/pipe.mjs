// SPDX-License-Identifier: Apache-2.0
// `parley pipe` as a program that speaks frames sees it: what it writes, and what it gets to read.

import assert from 'node:assert/strict';
import { atEnd } from './cleanup.mjs';
import { framesOf } from './frames.mjs';
import { BINARY, assertNoSanitizerReport } from './parley.mjs';
import { until } from './poll.mjs';
import { Program } from './program.mjs';

export class Pipe {
  #bytes = Buffer.alloc(0);

  constructor(args, { env } = {}) {
    const onBytes = (bytes) => (this.#bytes = Buffer.concat([this.#bytes, bytes]));
    this.program = new Program(BINARY, ['pipe', ...args], { env, isOpen: true, onBytes });
  }

  // Resolves once the pipe has taken it.
  write(bytes) {
    return new Promise((resolve) => this.program.child.stdin.write(bytes, resolve));
  }

  // The whole frames so far, each with its length.
  get bytes() {
    return this.#bytes.subarray(0, this.#whole().end);
  }

  get messages() {
    return framesOf(this.bytes);
  }

  #whole() {
    let end = 0;
    let count = 0;
    while (this.#bytes.length >= end + 4) {
      const next = end + 4 + this.#bytes.readUInt32BE(end);
      if (next > this.#bytes.length) break;
      end = next;
      count++;
    }
    return { end, count };
  }

  // All messages, once there are as many.
  async reads(count) {
    await until(
      () => `${count} frames, with ${this.#whole().count}; ${this.program.stderr}`,
      () => this.#whole().count >= count,
    );
    return this.messages;
  }

  // The exit after the end of standard input: { code, signal, stderr }.
  async end(bytes) {
    this.program.child.stdin.end(bytes);
    return this.exit();
  }

  async exit() {
    const exit = await this.program.hasExited();
    assertNoSanitizerReport(this.program.stderr);
    assert.equal(this.#whole().end, this.#bytes.length, 'the last frame is cut');
    return { ...exit, stderr: this.program.stderr };
  }
}

// One that is gone when the test is.
export function pipeFor(t, args, options) {
  const pipe = new Pipe(args, options);
  atEnd(t, () => pipe.program.exit ?? pipe.program.killFamily());
  return pipe;
}
