// SPDX-License-Identifier: Apache-2.0

// One message a request, on many connections that each wait for their answer.

import { probe } from "../lib/claims.mjs";
import { wrk, wrkMissing } from "../lib/clients.mjs";
import { checkStored, parley, withServers } from "../lib/servers.mjs";

function requests(label, server, target, connections, isStored) {
  const measure = (bench) =>
    withServers(bench, { server, probe: probe(target) }, async ({ url }, nats) => {
      const { requests: count, seconds, p50_ms, p99_ms } = await wrk(bench, connections, url + target);
      // The probe is one more; what wrk did not wait for at its end may be some more still.
      if (isStored) await checkStored(nats, count + 1, count + 1 + connections);
      return { count, value: count / seconds, p50_ms, p99_ms };
    });
  return { label, missing: wrkMissing, run: measure };
}

const swallow = (bench) => [bench.program("swallow")];
const forward = (bench, nats) => [bench.program("forward"), nats.url];

const validate = {
  id: "validate-64",
  title: "POST validate, 64 connections",
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    parley: requests("parley", parley, "/v1/vlp/validate", 64, false),
    swallow: requests("bare libmicrohttpd that swallows", swallow, "/", 64, false),
  },
  ratios: [{ of: "parley", to: "swallow", atLeast: 0.9 }],
};

function messages(connections) {
  return {
    id: `messages-${connections}`,
    title: `POST messages, JetStream file, ${connections} connections`,
    unit: "requests/s",
    higherIsBetter: true,
    contenders: {
      parley: requests("parley", parley, "/v1/vlp/messages", connections, true),
      forward: requests("bare libmicrohttpd that publishes", forward, "/", connections, true),
    },
    ratios: [{ of: "parley", to: "forward", atLeast: 0.9 }],
  };
}

export default {
  name: "single",
  title: "one message a request, many connections",
  rows: [validate, messages(64), messages(256)],
};
