// SPDX-License-Identifier: Apache-2.0

// node fastify.mjs --nats URL --schema FILE [--acks js|hand|raw] [--processes N]: one message a
// request. POST /messages is decoded, validated by Ajv, published to JetStream as it came, and
// answered once that has acknowledged. As Fastify's documentation advises, the validator is
// compiled, the answer has a schema, and nothing is logged; the body is taken as it is, so that
// what is published need not be written anew.

import cluster from "node:cluster";
import Fastify from "fastify";
import { compileSchema, laneOf, subjectOf } from "./claims.mjs";
import { options } from "./options.mjs";
import { createStream, openPublisher } from "./publish.mjs";

const { nats, acks, schema, processes } = options.values;

const answerSchema = {
  type: "object",
  properties: {
    ...{ protocol: { type: "string" }, type: { type: "string" }, id: { type: "string" } },
    ...{ lane: { type: "string" }, subject: { type: "string" }, stream: { type: "string" } },
    ...{ seq: { type: "integer" }, duplicate: { type: "boolean" } },
    warnings: { type: "array", items: { type: "object" } },
  },
};

function takeBody(server) {
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    request.raw_body = body;
    try {
      done(null, JSON.parse(body));
    } catch (error) {
      error.statusCode = 400;
      done(error);
    }
  });
}

async function serve() {
  const validate = compileSchema(schema);
  const publish = await openPublisher(nats, acks);
  const server = Fastify({ logger: false });
  server.decorateRequest("raw_body", null);
  takeBody(server);
  server.setValidatorCompiler(() => validate);
  server.post(
    "/messages",
    { schema: { body: { type: "object" }, response: { 200: answerSchema } } },
    (request, reply) => {
      const message = request.body;
      publish(message, request.raw_body, (error, ack) => {
        if (error) return reply.code(503).send({ error: error.message });
        const { stream, seq, duplicate = false } = ack;
        const { id, type } = message;
        const place = { lane: laneOf(message), subject: subjectOf(message), stream, seq };
        return reply.send({ protocol: "vlp", type, id, ...place, duplicate, warnings: [] });
      });
    },
  );
  return server.listen({ port: 0, host: "127.0.0.1" });
}

// The workers of a cluster that ask for any port share the one that the first was given.
async function startWorkers(count) {
  await createStream(nats);
  const workers = Array.from({ length: count }, () => cluster.fork());
  const isListening = (worker) => new Promise((resolve) => worker.once("listening", resolve));
  const [{ port }] = await Promise.all(workers.map(isListening));
  console.log(`listening on http://127.0.0.1:${port}`);
  process.on("SIGTERM", () => process.exit(0));
}

if (!cluster.isPrimary) {
  await serve();
} else if (Number(processes) > 1) {
  await startWorkers(Number(processes));
} else {
  await createStream(nats);
  console.log(`listening on ${await serve()}`);
}
