#!/usr/bin/env node
// Follows a stream and prints its messages, one a line. It goes on where it was after a restart of
// itself, because it keeps the resume token in a file, and after one of the server.
//   reader.mjs [URL [FILE]]      (PARLEY_TOKEN: a token, if the server asks for one)
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const [url = 'http://localhost:8080/v1/vlp/stream', file = 'resume-token'] = process.argv.slice(2);
const token = process.env.PARLEY_TOKEN;

function save(resume) {
  writeFileSync(`${file}.new`, resume);
  renameSync(`${file}.new`, file); // never half a token
}

function take(event) {
  if (!event.type.startsWith('parley.')) {
    console.log(JSON.stringify(event.data)); // what you do with a message
  } else if (['parley.gap', 'parley.foreign', 'parley.end'].includes(event.type)) {
    console.error(event.type, JSON.stringify(event.data));
  }
  if (event.resume) save(event.resume); // only now: if killed before, it gets the message again
}

async function follow() {
  const since = existsSync(file) ? readFileSync(file, 'utf8') : 'all';
  const silence = new AbortController();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const address = `${url}?since=${encodeURIComponent(since)}`;
  const response = await fetch(address, { headers, signal: silence.signal });
  if (!response.ok) {
    const { detail } = await response.json();
    console.error(detail);
    if (![429, 503].includes(response.status)) process.exit(1);
    return;
  }
  let rest = '', timer;
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), 40_000); // a keep-alive comes every 15 s
    const lines = (rest + text).split('\n');
    rest = lines.pop(); // the last line may be cut off
    for (const line of lines) if (line.trim()) take(JSON.parse(line));
  }
  clearTimeout(timer);
}

for (;;) {
  await follow().catch((error) => console.error(error.message)); // refused, reset, silent
  await pause(500);
}
