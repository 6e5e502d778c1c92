// SPDX-License-Identifier: Apache-2.0
// Why a scenario cannot run on this machine, or null.

import { existsSync } from 'node:fs';
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

export async function whyNot(row) {
  if (row.isSmallDisk) return whyNoDisk();
  if (row.hasClock) return whyNoClock();
  return null;
}
