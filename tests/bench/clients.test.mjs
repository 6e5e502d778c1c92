// SPDX-License-Identifier: Apache-2.0

// The programs that read streams for bench/run, against a server that does something wrong: what
// was not delivered whole must fail, or the benchmark would praise the one that loses the most.
// $BENCH_PROGRAMS is the folder of the C programs of bench/.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { claimFile } from "../../bench/lib/claims.mjs";

const { BENCH_PROGRAMS = "." } = process.env;
const READERS = 3;

async function run(name, ...parameters) {
  const child = spawn(join(BENCH_PROGRAMS, `bench_${name}`), parameters.map(String));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  const [status] = await once(child, "close");
  return { status, output };
}

// GET opens a stream, POST sends the body to all who have one; `deliver(write, line, number, place,
// stream)` is how, to the reader of that place.
async function startHub(t, deliver) {
  const streams = [];
  let count = 0;
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      response.writeHead(200).flushHeaders();
      return streams.push(response);
    }
    let body = "";
    for await (const part of request) body += part;
    count += 1;
    streams.forEach((stream, place) =>
      deliver((text) => stream.write(text), body, count, place, stream),
    );
    return response.writeHead(200, { "Content-Length": 2 }).end("{}");
  });
  server.keepAliveTimeout = 0; // never
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  return server.address().port;
}

const isChosen = (number, place) => number === 20 && place === 1;

for (const [name, isWhole, said, deliver] of [
  ["all events to all readers are a run", true, /"lost":0/, (write, line) => write(line)],
  [
    "events cut anywhere, with blank lines between, are the same events",
    true,
    /"lost":0/,
    (write, line) => [line.slice(0, 7), line.slice(7), "\n"].forEach(write),
  ],
  [
    "an event that one reader does not get fails the run",
    false,
    /lost/,
    (write, line, number, place) => isChosen(number, place) || write(line),
  ],
  [
    "an event that one reader gets twice fails the run",
    false,
    /lines/,
    (write, line, number, place) => write(isChosen(number, place) ? line + line : line),
  ],
  [
    "an event that one reader gets shortened fails the run",
    false,
    /bytes/,
    (write, line, number, place) => write(isChosen(number, place) ? "{}\n" : line),
  ],
  [
    "a reader whose connection ends fails the run",
    false,
    /ended/,
    (write, line, number, place, stream) =>
      isChosen(number, place) ? stream.destroy() : write(line),
  ],
]) {
  test(`fanout: ${name}`, async (t) => {
    const port = await startHub(t, deliver);
    const result = await run("fanout", port, "/stream", READERS, "/post", claimFile, 4, 1);
    assert.match(result.output, said);
    assert.equal(result.status === 0, isWhole, result.output);
  });
}

for (const [name, isWhole, finish] of [
  ["a stream that ends is whole", true, (response) => response.end("two\n\nthree\n")],
  ["one that is cut short is not", false, (response) => response.destroy()],
]) {
  test(`drain: ${name}`, async (t) => {
    const server = createServer((request, response) => {
      response.write("one\n", () => finish(response));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const { status, output } = await run("drain", server.address().port, "/");
    assert.equal(status === 0, isWhole, output);
    assert.match(output, isWhole ? /"lines":3,"bytes":11,/ : /cut short/);
  });
}
