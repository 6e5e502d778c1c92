// SPDX-License-Identifier: Apache-2.0
// Waiting: until a condition holds, with a deadline that only a defect reaches. Nothing here or
// elsewhere in these tests sleeps for a time and then hopes.

import { setTimeout as pause } from 'node:timers/promises';

export const isSanitized = Boolean(process.env.PARLEY_SANITIZE);
export const DEADLINE_MS = 120_000;

// The part of a test's name that says what is asserted of memory: under a sanitizer nothing is, for
// there the server's memory is not its own. (The preset "shipped" runs these tests without one.)
export const ifMemoryCounts = (words) => (isSanitized ? '' : words);

// Calls `probe` until it returns something truthy, and returns that. The last call begins after the
// time is over: this process may have stood still meanwhile, and the others not.
export async function until(what, probe, { timeout = DEADLINE_MS, every = 20 } = {}) {
  const end = Date.now() + timeout;
  let lastError;
  for (;;) {
    const isLast = Date.now() > end;
    try {
      const value = await probe();
      if (value) return value;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (isLast) {
      const reason = lastError ? `: ${lastError.message}` : '';
      throw new Error(`gave up after ${timeout} ms waiting until ${what}${reason}`);
    }
    await pause(every);
  }
}

// The promise's value, or an error that says what did not happen in time.
export async function within(what, promise, timeout = DEADLINE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    const give_up = () => reject(new Error(`${what}: nothing after ${timeout} ms`));
    timer = setTimeout(give_up, timeout);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export { pause };
