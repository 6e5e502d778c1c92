// SPDX-License-Identifier: Apache-2.0
// HTTP as clients speak it: whole answers, streams of lines and of server-sent events, and raw
// bytes where a proper client would refuse to send what a test needs to send.

import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { atEnd } from './cleanup.mjs';
import { assertDocumented, lineAssertion } from './contract.mjs';
import { until, within } from './poll.mjs';

export const JSON_TYPE = 'application/json';
export const NDJSON_TYPE = 'application/x-ndjson';

// `server` is anything with a port, and, if it speaks HTTPS, with `tls`: what a client needs for it.
const clientOf = (server) => (server.tls ? https : http);

// The body: a string, a Buffer, or an iterable (sent chunked).
// Without an agent every request has a connection of its own. An error says so when the server has
// ended by itself.
export function request(server, method, path, { headers = {}, body, agent = false, timeout } = {}) {
  const answer = new Promise((resolve, reject) => {
    const { port, tls } = server;
    const options = { host: '127.0.0.1', port, method, path, headers, agent, ...tls };
    const req = clientOf(server).request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        try {
          resolve(answerOf(method, path, response, Buffer.concat(chunks)));
        } catch (error) {
          reject(error);
        }
      });
    });
    req.on('error', (error) => {
      const end = server.unexpectedEnd?.();
      if (end) error.message += `: ${end}`;
      reject(error);
    });
    if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) req.end(body);
    else pipeline(Readable.from(body), req).catch(reject);
  });
  return within(`an answer to ${method} ${path}`, answer, timeout);
}

// Every answer to a request is held against openapi.json.
function answerOf(method, path, response, body) {
  const answer = wholeAnswer(response, body);
  assertDocumented(method, path, answer);
  return answer;
}

function wholeAnswer(response, body) {
  return {
    status: response.statusCode,
    headers: response.headers,
    body,
    text: body.toString('utf8'),
    get json() {
      return JSON.parse(this.text);
    },
    get lines() {
      return ndjson(this.text);
    },
  };
}

export function ndjson(text) {
  if (text !== '' && !text.endsWith('\n'))
    throw new Error(`the last line is cut: ${text.slice(-80)}`);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

export const get = (server, path, options) => request(server, 'GET', path, options);

export function post(server, path, body, { type = JSON_TYPE, headers = {}, ...more } = {}) {
  const all = type === null ? headers : { 'Content-Type': type, ...headers };
  return request(server, 'POST', path, { headers: all, body, ...more });
}

export const send = (server, message, options) =>
  post(server, `/v1/vlp/messages${options?.query ?? ''}`, textOf(message), options);

export const validate = (server, message, options) =>
  post(server, `/v1/vlp/validate${options?.query ?? ''}`, textOf(message), options);

export const sendLines = (server, body, options) =>
  send(server, body, { type: NDJSON_TYPE, ...options });

export const validateLines = (server, body, options) =>
  validate(server, body, { type: NDJSON_TYPE, ...options });

// Objects are messages, and arrays of them batches; strings and buffers are sent as they are, and
// an array of those, or any other iterable, piece by piece.
function textOf(message) {
  const isPiece = (value) => typeof value === 'string' || Buffer.isBuffer(value);
  const isBatch = Array.isArray(message) && !message.every(isPiece);
  return isBatch || message?.constructor === Object ? JSON.stringify(message) : message;
}

// --- streams ---

const MANY_LINES = 50_000;

// Whether it says that the stream is open, or still is.
const isAboutTheResponse = (event) =>
  event?.type === 'parley.open' || event?.type === 'parley.keepalive';

// A response that goes on: its lines as they come, and how it ended. Those of a `path` are held
// against openapi.json.
export class LineStream {
  #lines = [];
  #next = 0; // the first of #lines that nobody has taken
  #isHeld = false;
  #rest = Buffer.alloc(0);
  #wake = () => {};

  constructor(req, response, path) {
    this.req = req;
    const { statusCode: status, headers } = response;
    this.assertLine = path ? lineAssertion(req.method, path, { status, headers }) : () => {};
    this.response = response;
    this.status = response.statusCode;
    this.headers = response.headers;
    this.ended = false; // by the server, in order
    this.broken = false; // cut off
    response.on('data', (chunk) => this.#took(chunk));
    response.on('end', () => this.#finish('ended'));
    response.on('error', () => this.#finish('broken'));
    response.on('aborted', () => this.#finish('broken'));
  }

  #took(chunk) {
    const data = this.#rest.length ? Buffer.concat([this.#rest, chunk]) : chunk;
    let end;
    let start = 0;
    while ((end = data.indexOf(10, start)) !== -1) {
      this.#lines.push(data.toString('utf8', start, end));
      start = end + 1;
    }
    this.#rest = data.subarray(start);
    // A test that is slower than the server must not hold everything in memory.
    if (this.#lines.length > MANY_LINES && !this.#isHeld) this.#hold(true);
    this.#wake();
  }

  #hold(on) {
    this.#isHeld = on;
    if (on) this.response.pause();
    else this.response.resume();
  }

  #finish(how) {
    if (!this.ended) this[how] = true;
    this.#wake();
  }

  // The next line without its newline; null once the response has ended.
  async line(timeout) {
    while (this.#next === this.#lines.length) {
      this.#lines = [];
      this.#next = 0;
      if (this.#isHeld) this.#hold(false);
      if (this.ended || this.broken) return null;
      const woken = new Promise((resolve) => (this.#wake = resolve));
      await within('the next line of a stream', woken, timeout);
    }
    return this.#lines[this.#next++];
  }

  // What came after the last newline, which must be nothing.
  get rest() {
    return this.#rest.toString('utf8');
  }

  // The next line that is not blank, parsed: what opens a stream and keeps it alive too.
  async anyEvent(timeout) {
    for (;;) {
      const line = await this.line(timeout);
      if (line === null) return null;
      if (line === '') continue;
      const event = JSON.parse(line);
      this.assertLine(event);
      return event;
    }
  }

  // The next event that a reader waits for.
  async event(timeout) {
    for (;;) {
      const event = await this.anyEvent(timeout);
      if (!isAboutTheResponse(event)) return event;
    }
  }

  async events(count, timeout) {
    const events = [];
    while (events.length < count) {
      const event = await this.event(timeout);
      if (event === null) throw new Error(`ended after ${events.length} of ${count} events`);
      events.push(event);
    }
    return events;
  }

  // Everything up to the end of the response.
  async toEnd(timeout) {
    const events = [];
    for (let event; (event = await this.event(timeout)) !== null;) events.push(event);
    return events;
  }

  // The next server-sent event as { field: value }; comments come as { comment }.
  async sse(timeout) {
    const event = {};
    for (;;) {
      const line = await this.line(timeout);
      if (line === null) return null;
      if (line === '') {
        if (Object.keys(event).length > 0) return event;
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) {
        event.comment = line.slice(1);
        continue;
      }
      const field = line.slice(0, colon);
      const value = line.slice(colon + 1).replace(/^ /, '');
      event[field] = field in event ? `${event[field]}\n${value}` : value;
    }
  }

  // The next one that bears data.
  async sseData(timeout) {
    for (let event; (event = await this.sse(timeout)) !== null;) {
      if ('data' in event) return event;
    }
    return null;
  }

  // A reader that does not read: the bytes stay in the kernel, then in the server.
  pause() {
    this.response.pause();
  }

  resume() {
    this.response.resume();
  }

  close() {
    this.req.destroy();
  }
}

// Resolves once the response's headers are here, whatever its status.
export async function openStream(
  server,
  path,
  { headers = {}, method = 'GET', body, timeout } = {},
) {
  let req;
  const opened = new Promise((resolve, reject) => {
    const { port, tls } = server;
    const options = { host: '127.0.0.1', port, method, path, headers, agent: false, ...tls };
    req = clientOf(server).request(options, (response) => {
      try {
        resolve(new LineStream(req, response, path));
      } catch (error) {
        reject(error);
      }
    });
    req.on('error', reject);
    if (body && typeof body !== 'string' && !Buffer.isBuffer(body)) {
      // A server that answers and closes before it has read everything breaks the upload.
      pipeline(Readable.from(body), req).catch(reject);
    } else {
      req.end(body);
    }
  });
  try {
    return await within(`the headers of ${method} ${path}`, opened, timeout);
  } catch (error) {
    req.destroy();
    throw error;
  }
}

// While NATS does not say in time what a stream has, as on a busy machine, its readers get 503.
const IS_LATE = /NATS did not say in time/;

// The same, closed with the test.
export async function streamFor(t, server, path, options) {
  const stream = await until('the stream can be read', async () => {
    const each = await openStream(server, path, options);
    if (each.status !== 503) return each;
    const text = (await each.line()) ?? each.rest;
    assert.match(text, IS_LATE);
  });
  atEnd(t, () => stream.close());
  return stream;
}

// The answer to a reading that ends by itself (follow=false or limit=).
export const readStream = (server, path, options) =>
  until('the stream can be read', async () => {
    const each = await get(server, path, options);
    return !(each.status === 503 && IS_LATE.test(each.text)) && each;
  });

// Its events, of VLP.
export async function readEvents(server, query = 'since=all', options) {
  const answer = await readStream(server, `/v1/vlp/stream?follow=false&${query}`, options);
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.lines;
}

// --- raw bytes ---

export class RawConnection {
  constructor(socket) {
    this.socket = socket;
    this.received = Buffer.alloc(0);
    this.closed = false;
    this.wake = () => {};
    socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.wake();
    });
    const closed = () => {
      this.closed = true;
      this.wake();
    };
    socket.on('end', closed).on('error', closed).on('close', closed);
  }

  // Resolves once the kernel has taken it; false when the server has closed.
  write(bytes) {
    return new Promise((resolve) => this.socket.write(bytes, (error) => resolve(!error)));
  }

  async #more(what, timeout) {
    if (this.closed) throw new Error(`closed while waiting for ${what}: ${this.received}`);
    await within(what, new Promise((resolve) => (this.wake = resolve)), timeout);
  }

  // The next whole answer: { status, headers, body }. `head` when it answers a HEAD.
  async answer({ head = false, timeout } = {}) {
    let end;
    while ((end = this.received.indexOf('\r\n\r\n')) === -1) await this.#more('an answer', timeout);
    const [first, ...rest] = this.received.toString('latin1', 0, end).split('\r\n');
    const headers = Object.fromEntries(
      rest.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), valueOf(line)]),
    );
    this.received = this.received.subarray(end + 4);
    const status = Number(first.split(' ')[1]);
    const bare = head || status === 100 || status === 204 || status === 304;
    const body = bare ? Buffer.alloc(0) : await this.#body(headers, timeout);
    return { status, headers, body, text: body.toString('utf8') };
  }

  async #body(headers, timeout) {
    if (/chunked/i.test(headers['transfer-encoding'] ?? '')) return this.#chunks(timeout);
    const length = Number(headers['content-length'] ?? 0);
    while (this.received.length < length) await this.#more('the rest of a body', timeout);
    return this.#take(length);
  }

  async #chunks(timeout) {
    const chunks = [];
    for (;;) {
      let end;
      while ((end = this.received.indexOf('\r\n')) === -1) await this.#more('a chunk', timeout);
      const size = parseInt(this.#take(end + 2).toString('latin1'), 16);
      while (this.received.length < size + 2) await this.#more('a chunk', timeout);
      chunks.push(this.#take(size + 2).subarray(0, size));
      if (size === 0) return Buffer.concat(chunks);
    }
  }

  #take(count) {
    const taken = this.received.subarray(0, count);
    this.received = this.received.subarray(count);
    return taken;
  }

  // Waits until the server has closed; returns what came after the last answer.
  async end(timeout) {
    while (!this.closed) {
      await within('the server closes', new Promise((done) => (this.wake = done)), timeout);
    }
    return this.received.toString('latin1');
  }

  close() {
    this.socket.destroy();
  }
}

const valueOf = (line) => line.slice(line.indexOf(':') + 1).trim();

export function connectRaw(server) {
  const connected = new Promise((resolve, reject) => {
    const address = { host: '127.0.0.1', port: server.port };
    const socket = server.tls ? tls.connect({ ...address, ...server.tls }) : net.connect(address);
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.once(server.tls ? 'secureConnect' : 'connect', () => {
      socket.removeListener('error', reject);
      resolve(new RawConnection(socket));
    });
  });
  return within('a connection', connected);
}

// The same, closed with the test, with `bytes` sent already.
export async function rawFor(t, server, bytes = '') {
  const connection = await connectRaw(server);
  atEnd(t, () => connection.close());
  if (bytes.length) await connection.write(bytes);
  return connection;
}

// A request's bytes with its Content-Length.
export function rawPost(path, body, { type = JSON_TYPE, headers = [] } = {}) {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body)]);
}

// Its head alone, for a body that follows in chunks.
export function rawChunkedHead(path, type = NDJSON_TYPE) {
  const lines = [`POST ${path} HTTP/1.1`, 'Host: localhost', `Content-Type: ${type}`];
  return `${lines.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n`;
}

export function chunk(bytes) {
  const data = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]);
}
