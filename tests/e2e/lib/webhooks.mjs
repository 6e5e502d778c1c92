// SPDX-License-Identifier: Apache-2.0
// A receiver of webhooks, which behaves as a test says, and checks each request's signature as
// Standard Webhooks asks receivers to.

import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { atEnd } from './cleanup.mjs';
import { temporaryFolder } from './program.mjs';

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

export function signatureOf(secret, { id, timestamp, text }) {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64');
  return `v1,${mac}`;
}

// `answer(event, response)` decides on a request: a number is its status. `events` are all that came,
// in order, whatever it answered.
class Receiver {
  constructor(secret, answer) {
    Object.assign(this, { secret, answer, events: [], unsigned: [], open: 0, mostOpen: 0 });
  }

  async take(request, response) {
    this.enter(response);
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const event = this.read(request, Buffer.concat(pieces).toString());
    this.events.push(event);
    const status = await this.answer(event, response);
    if (typeof status === 'number') response.writeHead(status).end();
  }

  // A request is open until it is answered, or its connection ends.
  enter(response) {
    let isOpen = true;
    const leave = () => {
      this.open -= isOpen ? 1 : 0;
      isOpen = false;
    };
    const end = response.end.bind(response);
    response.end = (...args) => {
      leave();
      return end(...args);
    };
    response.on('close', leave);
    this.mostOpen = Math.max(this.mostOpen, ++this.open);
  }

  read({ method, url, headers }, text) {
    const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']];
    const wanted = signatureOf(this.secret, { id, timestamp, text });
    const isSigned = headers['webhook-signature']?.split(' ').includes(wanted);
    const isFresh = Math.abs(Date.now() / 1000 - Number(timestamp)) < 300;
    if (!isSigned || !isFresh) this.unsigned.push({ headers, text });
    return { method, url, headers, id, text, body: text && JSON.parse(text) };
  }

  ids() {
    return new Set(this.events.map((event) => event.id));
  }
}

// `answer`: see Receiver. `tls`: { cert, key }, paths.
export async function receiverFor(t, { secret = newSecret(), answer = () => 204, tls, path = '/hook' } = {}) {
  const receiver = new Receiver(secret, answer);
  const handle = (request, response) => void receiver.take(request, response).catch(() => response.destroy());
  const server = tls
    ? https.createServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, handle)
    : http.createServer(handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(t, () => {
    server.closeAllConnections();
    server.close();
  });
  receiver.port = server.address().port;
  receiver.url = `http${tls ? 's' : ''}://127.0.0.1:${receiver.port}${path}`;
  return receiver;
}

// The path of a file with these webhooks: { name: { url, secret, … } }.
export function webhookFile(webhooks) {
  const path = join(temporaryFolder(), 'webhooks.yaml');
  const line = ([key, value]) =>
    `  ${key}: ${Array.isArray(value) ? `[${value.join(', ')}]` : value}\n`;
  const section = ([name, keys]) => `${name}:\n${Object.entries(keys).map(line).join('')}`;
  writeFileSync(path, Object.entries(webhooks).map(section).join(''));
  chmodSync(path, 0o600);
  return path;
}

export const hookTo = (receiver, keys) => ({
  url: receiver.url,
  secret: receiver.secret,
  private: true,
  ...keys,
});
