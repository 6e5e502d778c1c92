// SPDX-License-Identifier: Apache-2.0

// What libparley makes of supervisor frames, beside msgpack-c, which only unpacks them.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inProcess } from "../lib/inprocess.mjs";

const FRAMES = 4096;
const LENGTH_BYTES = 4;

// All examples but the compressed checkpoint, in which msgpack-c sees but a string.
function examples(bench) {
  const list = execFileSync(bench.parley, ["examples", "supervisor", "--format", "json"]);
  const messages = JSON.parse(list).map(({ message }) => message);
  return messages.filter(({ compressed }) => !compressed);
}

function framesOf(bench, messages) {
  const input = messages.map((message) => JSON.stringify(message) + "\n").join("");
  const parameters = ["convert", "--quiet", "supervisor", "--to", "frames"];
  const frames = execFileSync(bench.parley, parameters, { input });
  const list = [];
  for (let at = 0; at < frames.length; at += list.at(-1).length) {
    list.push(frames.subarray(at, at + LENGTH_BYTES + frames.readUInt32BE(at)));
  }
  return list;
}

// Numbers from 0 to 1 that only look like chance (xorshift), so that every run has the same.
function random(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

// In the same order each time, but in one that no branch predictor learns by heart, as it would a
// dozen messages in a circle.
function prepare(bench) {
  const file = join(bench.folder, "messages.frames");
  const frames = framesOf(bench, examples(bench));
  const next = random(1);
  const chosen = Array.from({ length: FRAMES }, () => frames[Math.floor(next() * frames.length)]);
  writeFileSync(file, Buffer.concat(chosen));
  return file;
}

const validate = {
  id: "validate",
  title: "MessagePack frames validate",
  unit: "messages/s",
  higherIsBetter: true,
  prepare,
  contenders: {
    parley: inProcess("libparley", "check", (file) => ["supervisor", "frames", file]),
    unpack: inProcess("msgpack_unpack alone", "unpack", (file) => [file]),
  },
  ratios: [{ of: "parley", to: "unpack", atLeast: 0.7 }],
};

export default { name: "msgpack", title: "MessagePack frames without a server", rows: [validate] };
