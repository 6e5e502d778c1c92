// SPDX-License-Identifier: Apache-2.0
// Content codings by other implementations: gzip by Node's zlib, zstd by a program beside the tests
// (Node has zstd from 22.15 on).

import { spawn, spawnSync } from 'node:child_process';
import { createGunzip, gunzipSync, gzipSync } from 'node:zlib';

const FILTER = process.env.PARLEY_ZSTD_FILTER ?? 'build/dev/tests/e2e/zstd_filter';

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

// A duplex stream that gives what it is given, decompressed, as soon as it can be.
export function decompressing(coding) {
  if (coding === 'gzip') return createGunzip();
  const child = spawn(FILTER, ['decompress'], { stdio: ['pipe', 'pipe', 'inherit'] });
  return { readable: child.stdout, writable: child.stdin };
}
