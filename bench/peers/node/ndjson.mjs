// SPDX-License-Identifier: Apache-2.0

// node ndjson.mjs --schema FILE [--nats URL] [--acks js|hand|raw]: a body of many messages. Each line
// of a POST is decoded, validated by Ajv and, with --nats, published to JetStream; the answer has a
// result for each line and a summary. Results are written many at a time, and a body waits while
// the window is full.

import http from "node:http";
import { compileSchema, laneOf, subjectOf } from "./claims.mjs";
import { LineCutter } from "./lines.mjs";
import { options } from "./options.mjs";
import { createStream, openPublisher } from "./publish.mjs";

const { nats, acks, schema } = options.values;
const WINDOW = 4096;
const WRITE_CHARACTERS = 64 * 1024;

const validate = compileSchema(schema);
if (nats) await createStream(nats);
const publish = nats ? await openPublisher(nats, acks) : null;

class Body {
  constructor(request, response) {
    Object.assign(this, { request, response, line: 0, good: 0, bad: 0, waiting: 0 });
    Object.assign(this, { cutter: new LineCutter(), results: "", hasEnded: false });
    request.on("data", (data) => this.take(data));
    request.on("end", () => this.end());
    response.on("drain", () => this.goOn());
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
  }

  take(data) {
    for (const text of this.cutter.take(data)) this.takeLine(text);
    if (this.waiting >= WINDOW) this.request.pause();
  }

  takeLine(text) {
    const line = ++this.line;
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return this.refuse(line, "not JSON");
    }
    if (!validate(message)) return this.refuse(line, validate.errors[0].message);
    return publish ? this.publishLine(line, message, text) : this.accept(line, message);
  }

  refuse(line, why) {
    this.bad++;
    this.write(JSON.stringify({ line, valid: false, violations: [{ message: why }] }));
  }

  accept(line, { type, id, safety }) {
    this.good++;
    const lane = laneOf({ safety });
    const subject = subjectOf({ type, safety });
    this.write(
      `{"line":${line},"valid":true,"protocol":"vlp","type":"${type}","id":${JSON.stringify(id)},` +
        `"lane":"${lane}","subject":"${subject}","violations":[]}`,
    );
  }

  publishLine(line, message, text) {
    this.waiting++;
    const { id } = message;
    const subject = subjectOf(message);
    publish(message, text, (error, ack) => {
      this.waiting--;
      if (error) {
        this.refuse(line, error.message);
      } else {
        this.good++;
        this.write(
          `{"line":${line},"status":"accepted","id":${JSON.stringify(id)},` +
            `"subject":"${subject}","stream":"${ack.stream}","seq":${ack.seq}}`,
        );
      }
      this.goOn();
    });
  }

  write(result) {
    this.results += result + "\n";
    if (this.results.length < WRITE_CHARACTERS) return;
    if (!this.response.write(this.results)) this.request.pause();
    this.results = "";
  }

  goOn() {
    if (this.hasEnded) {
      if (this.waiting === 0) this.finish();
    } else if (this.waiting < WINDOW / 2 && this.request.isPaused()) {
      if (!this.response.writableNeedDrain) this.request.resume();
    }
  }

  end() {
    for (const text of this.cutter.end()) this.takeLine(text);
    this.hasEnded = true;
    this.goOn();
  }

  finish() {
    const good = publish ? "accepted" : "valid";
    const summary = { received: this.line, [good]: this.good, invalid: this.bad };
    this.response.end(`${this.results}${JSON.stringify({ summary })}\n`);
  }
}

const server = http.createServer((request, response) => new Body(request, response));
server.listen(0, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
