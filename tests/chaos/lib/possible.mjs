// SPDX-License-Identifier: Apache-2.0
// Why a scenario cannot run on this machine, or null.

import { existsSync } from 'node:fs';
import { isOlder, natsServerVersion } from '../../e2e/lib/nats.mjs';
import { run } from '../../e2e/lib/program.mjs';

async function whyNoDisk() {
  if (process.getuid() !== 0) return 'only root may mount a small disk for it';
  const mount = ['mount', '-t', 'tmpfs', '-o', 'size=1m', 'parley-chaos', '/mnt'];
  const probe = await run('unshare', ['-m', '--propagation', 'private', ...mount]);
  return probe.code === 0 ? null : `no tmpfs can be mounted here: ${probe.stderr.trim()}`;
}

function whyNoClock() {
  const library = process.env.CHAOS_CLOCK;
  return library && existsSync(library) ? null : 'CHAOS_CLOCK does not name the library of clock.c';
}

// Of a server that is older than the row asks for.
async function whyNoServer({ since }) {
  const version = await natsServerVersion();
  if (!isOlder(version, since)) return null;
  return `nats-server ${version} breaks the invariant, ${since} does not: --extra runs it`;
}

// `extra`: whether rows are wanted in which nats-server itself breaks the invariant.
export async function whyNot(row, { extra }) {
  const reason = row.since && !extra ? await whyNoServer(row) : null;
  if (reason) return reason;
  if (row.isSmallDisk) return whyNoDisk();
  if (row.hasClock) return whyNoClock();
  return null;
}
