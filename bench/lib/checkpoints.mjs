// SPDX-License-Identifier: Apache-2.0

// Supervisor checkpoints whose memory blocks make them large, each with another time, so that none
// is another one's object.

import { request } from "node:http";
import { performance } from "node:perf_hooks";

export const CHECKPOINT_BYTES = 100_000_000;

const BLOCK_TEXT = "The user prefers short answers, and said so on several occasions. ".repeat(15);

const memoryBlock = (number) => ({
  id: `m${number}`,
  text: BLOCK_TEXT,
  embedding: [0.12, -0.5, 0.33],
  metadata: { source: "conversation" },
  importance: 0.8,
  access_count: 3,
  created: 1_705_390_000,
});

const head = (number) => `{"type":"checkpoint","timestamp":${1_705_392_000 + number},"data":`;

// What comes after that in a checkpoint of a bit less than so many bytes.
export function checkpointAfterHead(bytes) {
  const blocks = [];
  const blockBytes = JSON.stringify(memoryBlock(1e6)).length + 1;
  for (let i = 0; i < bytes / blockBytes - 1; i++) blocks.push(JSON.stringify(memoryBlock(i)));
  const state = '{"id":"agent-7","name":"scribe","version":"0.4.2","status":"idle"}';
  return Buffer.from(`{"agent_state":${state},"memory_blocks":[${blocks.join(",")}]}}`);
}

export const checkpointJson = (bytes) =>
  Buffer.concat([Buffer.from(head(0)), checkpointAfterHead(bytes)]);

// Sends one to be stored, and gives the seconds from its first byte to the end of the answer.
export function postCheckpoint(url, agent, number, rest) {
  const start = head(number);
  const length = Buffer.byteLength(start) + rest.length;
  const headers = { "Content-Type": "application/json", "Content-Length": length };
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const target = `${url}/v1/supervisor/messages?agent=${agent}`;
    const sent = request(target, { method: "POST", headers }, (answer) => {
      let text = "";
      answer.on("data", (data) => (text += data)).on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve((performance.now() - began) / 1000);
        else reject(new Error(`a checkpoint was answered ${answer.statusCode}: ${text}`));
      });
    });
    sent.on("error", reject);
    sent.write(start);
    sent.end(rest);
  });
}
