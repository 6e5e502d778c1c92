#!/usr/bin/env node
// Sends messages, one JSON a line of standard input, each until parley has stored it.
//   sender.mjs [URL] <messages.ndjson      (PARLEY_TOKEN: a token, if the server asks for one)
// Exit status: 0 all were stored, 1 some were refused: standard error says why.
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const url = process.argv[2] ?? 'http://localhost:8080/v1/vlp/messages';
const token = process.env.PARLEY_TOKEN;
const mayBeRepeated = [429, 503, 504]; // all other refusals are final

// The answer, or undefined without one: the message may have been stored, or not.
async function post(line) {
  const headers = {
    'Content-Type': 'application/json',
    // The same line is stored once, however often it is sent within the dedupe window.
    'Idempotency-Key': createHash('sha256').update(line).digest('hex'),
    ...(token && { Authorization: `Bearer ${token}` }),
  };
  try {
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(url, { method: 'POST', headers, body: line, signal });
    return { status: response.status, ...(await response.json()) };
  } catch {
    return undefined;
  }
}

// Returns whether the message was stored.
async function send(line) {
  for (let delay = 200; ; delay = Math.min(2 * delay, 10_000)) {
    const answer = await post(line);
    if (answer?.status === 200) {
      console.log(answer.stream, answer.seq, answer.id);
      return true;
    }
    if (answer && !mayBeRepeated.includes(answer.status)) {
      console.error(answer.detail);
      for (const { path, hint } of answer.violations ?? []) console.error('   ', path, hint);
      return false;
    }
    await pause(delay);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() && !(await send(line))) process.exitCode = 1;
}
