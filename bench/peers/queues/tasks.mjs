// SPDX-License-Identifier: Apache-2.0

// The same work by three task queues: TASKS tasks are queued, 500 at a time, then taken and completed by so
// many workers, one task at a time each. Prints {"queued_s", "worked_s"}.
//   node tasks.mjs parley|bullmq|pg-boss URL TASKS WORKERS

import { Agent, request } from "node:http";

const [name, url, ...numbers] = process.argv.slice(2);
const [tasks, workers] = numbers.map(Number);
const BULK = 500;

// ---- parley: HTTP ----

const uuid = (number) => `${number.toString(16).padStart(8, "0")}-0000-4000-9000-000000000001`;
const message = (number, type, from, more) =>
  JSON.stringify({
    ...{ id: uuid(number), version: "1.0.0", type, from, timestamp: new Date().toISOString() },
    ...more,
  });

class Parley {
  agent = new Agent({ keepAlive: true, maxSockets: workers });

  post(path, body, type = "application/json") {
    return new Promise((resolve, reject) => {
      const headers = { "Content-Type": type, "Content-Length": Buffer.byteLength(body) };
      const sent = request(url + path, { method: "POST", agent: this.agent, headers }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (piece) => (text += piece));
        answer.on("end", () =>
          answer.statusCode < 300 ? resolve(text) : reject(new Error(`${answer.statusCode}: ${text}`)),
        );
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }

  async queue(first, count) {
    const payload = { task: "code.review", params: { number: 1 } };
    const lines = Array.from({ length: count }, (_, i) =>
      message(first + i, "task.request", "pilot", { payload }),
    );
    await this.post("/v1/roundtable/messages", `${lines.join("\n")}\n`, "application/x-ndjson");
  }

  // Until there is no task; returns how many it has done.
  async worker(number) {
    const agent = `worker-${number}`;
    const body = JSON.stringify({ agent });
    for (let done = 0; ; done++) {
      const text = await this.post("/v1/roundtable/tasks/next", body);
      if (text === "") return done;
      const correlationId = JSON.parse(text).task.id;
      const payload = { status: "completed", result: { format: "text", content: "done" } };
      const id = tasks + parseInt(correlationId.slice(0, 8), 16);
      const result = message(id, "task.result", agent, { correlationId, payload });
      await this.post("/v1/roundtable/messages", result);
    }
  }

  async work() {
    const done = await Promise.all(Array.from({ length: workers }, (_, i) => this.worker(i)));
    return done.reduce((sum, count) => sum + count, 0);
  }

  async start() {}
  async stop() {
    this.agent.destroy();
  }
}

// ---- BullMQ: its own worker, which takes the next job with the end of the last one ----

class BullMq {
  async start() {
    this.bullmq = await import("bullmq");
    const { hostname: host, port } = new URL(url);
    this.connection = { host, port: Number(port), maxRetriesPerRequest: null };
    this.jobs = new this.bullmq.Queue("tasks", { connection: this.connection });
  }

  async queue(first, count) {
    const jobs = Array.from({ length: count }, (_, i) => ({ name: "code.review", data: { number: first + i } }));
    await this.jobs.addBulk(jobs);
  }

  async work() {
    let done = 0;
    const options = { connection: this.connection, concurrency: workers };
    this.worker = new this.bullmq.Worker("tasks", async () => "done", options);
    await new Promise((resolve, reject) => {
      this.worker.on("completed", () => ++done === tasks && resolve());
      this.worker.on("failed", (job, error) => reject(error));
      this.worker.on("error", reject);
    });
    return done;
  }

  async stop() {
    await this.worker.close();
    await this.jobs.close();
  }
}

// ---- pg-boss: fetch and complete, without the pauses of its own workers ----

class PgBoss {
  async start() {
    const { default: Boss } = await import("pg-boss");
    this.boss = new Boss({ connectionString: url, max: 20, supervise: false });
    this.boss.on("error", (error) => console.error(error));
    await this.boss.start();
  }

  async queue(first, count) {
    const jobs = Array.from({ length: count }, (_, i) => ({ name: "review", data: { number: first + i } }));
    await this.boss.insert(jobs);
  }

  async worker() {
    for (let done = 0; ; done++) {
      const job = await this.boss.fetch("review");
      if (!job) return done;
      await this.boss.complete(job.id, { result: "done" });
    }
  }

  async work() {
    const done = await Promise.all(Array.from({ length: workers }, () => this.worker()));
    return done.reduce((sum, count) => sum + count, 0);
  }

  async stop() {
    await this.boss.stop({ graceful: false });
  }
}

// ---- the measurement ----

const system = new { parley: Parley, bullmq: BullMq, "pg-boss": PgBoss }[name]();
await system.start();
const began = performance.now();
for (let first = 0; first < tasks; first += BULK) {
  await system.queue(first, Math.min(BULK, tasks - first));
}
const queued = performance.now();
const done = await system.work();
const worked = performance.now();
if (done !== tasks) throw new Error(`${done} of ${tasks} tasks were done`);
process.stdout.write(
  `${JSON.stringify({ queued_s: (queued - began) / 1000, worked_s: (worked - queued) / 1000 })}\n`,
);
await system.stop();
process.exit(0);
