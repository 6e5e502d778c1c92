// SPDX-License-Identifier: Apache-2.0
// A network between one program and nats-server that reads NATS's own protocol, so that a test can
// hold a message that it names: what follows it passes, and the test kills something meanwhile.

import net from 'node:net';
import { within } from './poll.mjs';

const LINE_END = Buffer.from('\r\n');

// Cuts a byte stream into frames: a line, with the payload that its last word announces.
class Frames {
  #rest = Buffer.alloc(0);

  *of(bytes) {
    this.#rest = this.#rest.length ? Buffer.concat([this.#rest, bytes]) : bytes;
    for (let end; (end = this.#rest.indexOf(LINE_END)) !== -1; ) {
      const words = this.#rest.toString('latin1', 0, end).split(/[ \t]+/);
      const hasPayload = /^H?(PUB|MSG)$/i.test(words[0]);
      const size = end + 2 + (hasPayload ? Number(words.at(-1)) + 2 : 0);
      if (this.#rest.length < size) return;
      yield frameOf(words, this.#rest.subarray(0, size), end + 2);
      this.#rest = this.#rest.subarray(size);
    }
  }
}

// { kind: 'publish' | 'deliver' | 'other', subject, reply, body (text, with its headers), bytes }
function frameOf(words, bytes, start) {
  const verb = words[0].toUpperCase();
  const isPublish = verb === 'PUB' || verb === 'HPUB';
  if (!isPublish && verb !== 'MSG' && verb !== 'HMSG') return { kind: 'other', bytes };
  const between = words.slice(isPublish ? 2 : 3, verb.startsWith('H') ? -2 : -1);
  return {
    kind: isPublish ? 'publish' : 'deliver',
    subject: words[1],
    reply: between[0],
    body: bytes.toString('utf8', start),
    bytes,
  };
}

// Frames that wait: those that match, from the first on.
class Hold {
  #frames = [];
  #isOver = false;

  constructor(matches) {
    this.matches = matches;
    this.met = new Promise((resolve) => (this.meet = resolve));
  }

  keep(frame, to) {
    this.#frames.push([frame, to]);
    this.meet(frame);
  }

  // Waits until a frame has come that matches.
  reached(what = 'the message that is held', timeout = undefined) {
    return within(`${what} passes`, this.met, timeout);
  }

  get count() {
    return this.#frames.length;
  }

  isFor(frame) {
    return !this.#isOver && this.matches(frame);
  }

  release() {
    this.#isOver = true;
    for (const [frame, to] of this.#frames.splice(0)) to.write(frame.bytes);
  }
}

export class NatsWire {
  #sockets = new Set();
  #holds = [];

  static async to(url) {
    const wire = new NatsWire();
    const target = new URL(url);
    wire.server = net.createServer((near) => wire.#join(near, Number(target.port)));
    await new Promise((resolve) => wire.server.listen(0, '127.0.0.1', resolve));
    wire.url = `nats://127.0.0.1:${wire.server.address().port}`;
    return wire;
  }

  #join(near, port) {
    const far = net.connect(port, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      const frames = new Frames();
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.on('data', (bytes) => this.#pass(frames.of(bytes), other));
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  #pass(frames, to) {
    for (const frame of frames) {
      const hold = this.#holds.find((each) => each.isFor(frame));
      if (hold) hold.keep(frame, to);
      else to.write(frame.bytes);
    }
  }

  // Holds what `matches(frame)`; { reached(), release(), count }.
  hold(matches) {
    const hold = new Hold(matches);
    this.#holds.push(hold);
    return hold;
  }

  // Holds the answer to the first request or publication that matches, which itself passes.
  holdAnswerTo(matches) {
    let inbox;
    return this.hold((frame) => {
      if (!inbox && frame.kind === 'publish' && frame.reply && matches(frame)) inbox = frame.reply;
      return inbox !== undefined && frame.kind === 'deliver' && frame.subject === inbox;
    });
  }

  // The same for each that matches.
  holdAnswersTo(matches) {
    const inboxes = new Set();
    return this.hold((frame) => {
      if (frame.kind === 'publish' && frame.reply && matches(frame)) inboxes.add(frame.reply);
      return frame.kind === 'deliver' && inboxes.has(frame.subject);
    });
  }

  async close() {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
