// SPDX-License-Identifier: Apache-2.0
// One thread of a server, held as a defect or a slow disk would hold it; the others go on.

import { readdirSync, readFileSync } from 'node:fs';
import { atEnd } from './cleanup.mjs';
import { Program, testProgram } from './program.mjs';
import { until } from './poll.mjs';

const HOLD_THREAD = process.env.PARLEY_HOLD_THREAD ?? testProgram('hold_thread');

const nameOf = (pid, thread) => readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim();

// Holds the thread of that name until `letGo` of what is returned, or the end of the test.
export async function holdThread(t, { pid }, name) {
  const thread = await until(`a thread is named ${name}`, () =>
    readdirSync(`/proc/${pid}/task`).find((each) => nameOf(pid, each) === name));
  const holder = new Program(HOLD_THREAD, [thread], { isOpen: true });
  const letGo = async () => {
    holder.child.stdin.end();
    await holder.hasExited();
  };
  atEnd(t, letGo);
  await holder.prints(/^held$/m);
  return { letGo };
}
