// SPDX-License-Identifier: Apache-2.0

// Three ways to publish to JetStream from Node. Both call `done(error, { stream, seq })`.

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

// Without a promise, a timer and a request for each message: an inbox of one's own, to whose subject
// a number is appended, and a table of who waits. Gives the function that publishes with
// `headersFor(message)` and remembers `done`.
async function openInbox(url, headersFor) {
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
    const options = { reply: inbox + number, headers: headersFor(message) };
    connection.publish(subjectOf(message), body, options);
  };
}

// The headers are encoded while publish runs, so that one list serves all, and only what differs
// from the message before is set.
function byHand(url) {
  const list = headers();
  const last = {};
  return openInbox(url, (message) => {
    for (const [name, value] of headersOf(message)) {
      if (last[name] !== value) list.set(name, (last[name] = value));
    }
    return list;
  });
}

function headerText(message) {
  let text = "NATS/1.0\r\n";
  for (const [name, value] of headersOf(message)) text += `${name}: ${value}\r\n`;
  return Buffer.from(`${text}\r\n`);
}

// Further than the client's documents go. It only calls encode() of a list of headers, so the text
// can be written at once, in a seventh of the time; and it writes once for all that is published
// within one callback, so what a turn of the loop brings is published together.
async function byAllMeans(url) {
  const publish = await openInbox(url, (message) => ({ encode: () => headerText(message) }));
  let queue = [];
  const publishAll = () => {
    const all = queue;
    queue = [];
    for (const parameters of all) publish(...parameters);
  };
  return (...parameters) => {
    if (queue.push(parameters) === 1) setImmediate(publishAll);
  };
}

const ways = { js: byJetStream, hand: byHand, raw: byAllMeans };

// acks: "js", "hand" or "raw". Gives publish(message, body, done).
export const openPublisher = (url, acks) => ways[acks](url);
