// SPDX-License-Identifier: Apache-2.0
// One request on a connection of its own, which ends at a phase of its life.

import { connectRaw } from './http.mjs';

const KEPT_BYTES = 64 * 1024; // of an answer
const STATUS = /HTTP\/1\.[01] ([2-5]\d\d)/; // no interim answer

export class Cell {
  #text = '';

  // `bytes`: what it sends, `bodyBytes` of them of a body. `isUnread`: it does not read.
  constructor({ operation, label, ending, bytes, bodyBytes = 0, isUnread = false }) {
    Object.assign(this, { operation, label, ending, bytes, bodyBytes, isUnread, isOver: false });
  }

  async open(server) {
    const { socket } = await connectRaw(server);
    this.socket = socket;
    this.port = socket.localPort;
    socket.removeAllListeners('data').setEncoding('latin1');
    socket.on('data', (text) => {
      if (this.#text.length < KEPT_BYTES) this.#text += text;
    });
    socket.on('error', () => {}); // the server may have closed
    socket.on('close', () => (this.isOver = true));
    if (this.isUnread) socket.pause();
    socket.write(this.bytes);
  }

  // The status of its answer; undefined: there is none yet.
  get status() {
    return STATUS.exec(this.#text)?.[1];
  }

  get isAnswered() {
    return this.status !== undefined;
  }

  get name() {
    return `${this.operation.name} (${this.label}), ${this.ending}`;
  }

  close() {
    this.socket.destroy();
  }

  reset() {
    if (this.isOver || !this.socket) return;
    if (this.socket.encrypted) this.close(); // Node resets none of TLS
    else this.socket.resetAndDestroy();
  }

  halfClose() {
    this.socket.end();
  }
}
