// SPDX-License-Identifier: Apache-2.0

// object.mjs URL FILE: puts the file into an object store by the client's own `put`, and prints how
// many chunks it made, and the seconds from its first byte on.

import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { connect } from "nats";

const [url, file] = process.argv.slice(2);
const bytes = readFileSync(file);
const PIECE_BYTES = 1024 * 1024; // the client cuts its chunks out of what it is given

function readable() {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, (at += PIECE_BYTES)));
    },
  });
}

const connection = await connect({ servers: url, noAsyncTraces: true });
const store = await connection.jetstream({ timeout: 60_000 }).views.os("bench");
const began = performance.now();
const { size, chunks } = await store.put({ name: "bench" }, readable());
const seconds = (performance.now() - began) / 1000;
if (size !== bytes.length) throw new Error(`${size} bytes were stored of ${bytes.length}`);
console.log(`${chunks} ${seconds}`);
await connection.close();
