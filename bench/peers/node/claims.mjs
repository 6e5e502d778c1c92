// SPDX-License-Identifier: Apache-2.0

// What the peers know of a message: whether it is valid, by Ajv with the schema that parley prints
// (parley schema vlp), and where it goes: subject and headers as parley gives them.

import { readFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

// Compiled once; the first error is enough, and formats are checked the fast way.
export function compileSchema(file) {
  const ajv = new Ajv2020.default({ strict: false, allErrors: false });
  addFormats.default(ajv, { mode: "fast", formats: ["date-time"] });
  return ajv.compile(JSON.parse(readFileSync(file, "utf8")));
}

export const laneOf = (message) => message.safety?.level ?? "safe";
export const subjectOf = (message) => `vlp.${laneOf(message)}.${message.type}`;

// A count is the cheapest id that is never a duplicate; parley's is a digest, of this length.
let count = 0;
const life = `${process.pid}.${Date.now()}.`;
export const nextMessageId = () => life + String(++count).padStart(32 - life.length, "0");

// The sender is encoded for the URI, and its percent signs once more for a header of NATS.
const sourceOf = ({ sender }) => `/vlp/${encodeURIComponent(sender).replaceAll("%", "%25")}`;

export const headersOf = (message) => [
  ["Nats-Msg-Id", nextMessageId()],
  ["ce-specversion", "1.0"],
  ["ce-id", message.id],
  ["ce-source", sourceOf(message)],
  ["ce-type", `vlp.${message.type}`],
  ["ce-time", message.timestamp],
];
