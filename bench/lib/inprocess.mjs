// SPDX-License-Identifier: Apache-2.0

// Contenders that need no server: one program that works through a file again and again.

import { run } from "./processes.mjs";

// `parameters(prepared)`: what the program is told before the seconds; `prepared` is the row's.
export function inProcess(label, program, parameters) {
  const measure = async (bench, prepared) => {
    const words = [...parameters(prepared), String(bench.seconds)];
    const output = await run(bench.program(program), words);
    const { messages, seconds, cpu_seconds } = JSON.parse(output);
    return { value: messages / seconds, cpu_us: (cpu_seconds / messages) * 1e6 };
  };
  return { label, run: measure };
}
