// SPDX-License-Identifier: Apache-2.0
// Content codings by other implementations: gzip by Node's zlib, zstd by a program beside the tests
// (Node has zstd from 22.15 on).

import { spawn, spawnSync } from 'node:child_process';
import http from 'node:http';
import { createGunzip, gunzipSync, gzipSync } from 'node:zlib';
import { atEnd } from './cleanup.mjs';
import { LineStream } from './http.mjs';
import { testProgram } from './program.mjs';

const FILTER = process.env.PARLEY_ZSTD_FILTER ?? testProgram('zstd_filter');

function filter(args, input) {
  const { status, stdout, stderr } = spawnSync(FILTER, args, { input, maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(`zstd_filter ${args.join(' ')}: ${stderr}`);
  return stdout;
}

export const CODINGS = ['gzip', 'zstd'];

export const zstd = (plain, windowLog) =>
  filter(['compress', ...(windowLog ? [String(windowLog)] : [])], plain);

export const compress = (coding, plain) => (coding === 'gzip' ? gzipSync(plain) : zstd(plain));

export const decompress = (coding, data) =>
  coding === 'gzip' ? gunzipSync(data) : coding === 'zstd' ? filter(['decompress'], data) : data;

// What a stream of compressed bytes holds, as soon as it can be read.
function decompressed(t, coding, source) {
  if (coding === 'gzip') return source.pipe(createGunzip());
  if (coding !== 'zstd') return source;
  const child = spawn(FILTER, ['decompress'], { stdio: ['pipe', 'pipe', 'inherit'] });
  atEnd(t, () => child.kill('SIGKILL')); // a response that is broken off does not end its pipe
  child.stdin.on('error', () => {});
  source.pipe(child.stdin);
  return child.stdout;
}

// A LineStream (http.mjs) of a response in the coding that it says it has.
export async function codedStreamFor(t, server, path, accept, headers = {}) {
  const { req, response } = await new Promise((resolve, reject) => {
    const all = { ...headers, 'Accept-Encoding': accept };
    const options = { host: '127.0.0.1', port: server.port, path, headers: all, agent: false };
    const request = http.get(options, (response) => resolve({ req: request, response }));
    request.on('error', reject);
  });
  response.on('error', () => {});
  const source = decompressed(t, response.headers['content-encoding'], response);
  Object.assign(source, { statusCode: response.statusCode, headers: response.headers });
  const stream = new LineStream(req, source);
  atEnd(t, () => stream.close());
  return stream;
}
