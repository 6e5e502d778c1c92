// SPDX-License-Identifier: Apache-2.0

// Two ways to publish to JetStream from Node. Both call `done(error, { stream, seq })`.

import { connect, createInbox, headers, nanos } from "nats";
import { headersOf, subjectOf } from "./claims.mjs";

// noAsyncTraces: what the client's README advises for speed, since each request would otherwise
// record a stack.
const open = (url) => connect({ servers: url, noAsyncTraces: true });

const DAY_MS = 24 * 3600 * 1000;

// As parley creates it: file storage, seven days, two minutes of looking for duplicates.
export async function createStream(url) {
  const connection = await open(url);
  const manager = await connection.jetstreamManager();
  await manager.streams.add({
    ...{ name: "VLP", subjects: ["vlp.>"], storage: "file" },
    ...{ max_age: nanos(7 * DAY_MS), duplicate_window: nanos(120_000) },
  });
  await connection.close();
}

// The way that the client's documentation shows.
async function byJetStream(url) {
  const jetstream = (await open(url)).jetstream();
  return (message, body, done) => {
    const list = headers();
    for (const [name, value] of headersOf(message)) list.append(name, value);
    jetstream.publish(subjectOf(message), body, { headers: list }).then(
      (ack) => done(null, ack),
      (error) => done(error),
    );
  };
}

// As a user would who has looked at a profile. No promise, timer and request for each message, but
// an inbox of one's own, to whose subject a number is appended, and a table of who waits. And no
// list of headers: the client only calls its encode(), and to write the text at once takes a
// seventh of the time.
async function byHand(url) {
  const connection = await open(url);
  const inbox = `${createInbox()}.`;
  const waiting = new Map();
  let number = 0;
  connection.subscribe(`${inbox}*`, {
    callback(error, answer) {
      const key = Number(answer.subject.slice(inbox.length));
      const done = waiting.get(key);
      waiting.delete(key);
      const ack = error ? null : answer.json();
      done(error ?? ack.error ?? null, ack);
    },
  });
  await connection.flush();
  return (message, body, done) => {
    waiting.set(++number, done);
    connection.publish(subjectOf(message), body, {
      reply: inbox + number,
      headers: { encode: () => headerText(message) },
    });
  };
}

function headerText(message) {
  let text = "NATS/1.0\r\n";
  for (const [name, value] of headersOf(message)) text += `${name}: ${value}\r\n`;
  return Buffer.from(`${text}\r\n`);
}

// acks: "js" or "hand". Gives publish(message, body, done).
export const openPublisher = (url, acks) => (acks === "js" ? byJetStream(url) : byHand(url));
