// SPDX-License-Identifier: Apache-2.0
// A real browser: Chromium, without a window.

import assert from 'node:assert/strict';
import { run, temporaryFolder } from './program.mjs';

// Of tests that need one: `./scripts/test --no-browser` leaves them out, and says so.
export const inBrowser = { skip: process.env.PARLEY_TEST_BROWSER === 'none' && 'without a browser' };

// The `page` as it is once its scripts have run, and what the browser `complains` of. `names`: hosts
// that it finds at 127.0.0.1, as if their owner had them point there.
export async function browse(url, { names = [] } = {}) {
  const rules = names.map((name) => `MAP ${name} 127.0.0.1`).join(',');
  const result = await run('chromium', [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--no-first-run', `--user-data-dir=${temporaryFolder()}`, '--enable-logging=stderr',
    ...(rules ? [`--host-resolver-rules=${rules}`] : []),
    '--virtual-time-budget=10000', '--dump-dom', url,
  ]);
  assert.equal(result.code, 0, result.stderr);
  const complaints = result.stderr.split('\n').filter((line) => line.includes(':CONSOLE'));
  return { page: result.stdout, complaints };
}
