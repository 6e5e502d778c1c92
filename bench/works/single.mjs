// SPDX-License-Identifier: Apache-2.0

// One message a request, on many connections that each wait for their answer.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { probe } from "../lib/claims.mjs";
import { WARM_UP_CONNECTIONS, warmUpByWrk, wrk, wrkMissing } from "../lib/clients.mjs";
import { fastify, forward, forwardByAllMeans, nodeMissing, swallow } from "../lib/peers.mjs";
import { firstLine, run } from "../lib/processes.mjs";
import { checkStored, parley, withServers } from "../lib/servers.mjs";

// Reads a page every second, until the function that it returns is called, which fails if the page
// was not there.
function scrape(url) {
  const SECOND_MS = 1000;
  const reads = [];
  const read = async () => {
    const answer = await fetch(url);
    const text = await answer.text();
    if (!answer.ok || !text.includes("parley_messages_total")) throw new Error(`${url}: ${text}`);
  };
  const note = () => reads.push(read().then(() => undefined, (error) => error));
  note();
  const timer = setInterval(note, SECOND_MS);
  return async () => {
    clearInterval(timer);
    const failure = (await Promise.all(reads)).find((error) => error);
    if (failure) throw failure;
  };
}

// One run of requests: what wrk counted, as figures.
//   isStored      each must be in the stream
//   isWarmedUp    its code is compiled while it runs: it is asked for a while before it is measured
//   showsToken    a token, which the server asks for, is in this file below bench.folder
//   isScraped     somebody reads /metrics every second meanwhile
//   isTls         it speaks HTTPS with a certificate that only wrk takes: it is not probed first
export function postRequests(bench, contender, connections) {
  const { server, target, isStored, isWarmedUp, showsToken, isTls, isScraped } = contender;
  const warmUp = isWarmedUp && (({ url }) => warmUpByWrk(url + target));
  const tokenFile = showsToken && join(bench.folder, showsToken);
  const servers = { server, probe: !isTls && { ...probe(target), tokenFile }, warmUp };
  return withServers(bench, servers, async ({ url }, nats) => {
    const stopScraping = isScraped && scrape(`${url}/metrics`);
    const {
      requests: count,
      seconds,
      p50_ms,
      p99_ms,
    } = await wrk(bench, connections, url + target, tokenFile);
    if (isScraped) await stopScraping();
    // What wrk did not wait for, at its end and at that of the warm-up, may be some more.
    if (isStored) await checkStored(nats, count, count + connections + WARM_UP_CONNECTIONS);
    return { count, value: count / seconds, p50_ms, p99_ms };
  });
}

export const stored = {
  parley: { label: "parley", server: parley, target: "/v1/vlp/messages", isStored: true },
  forward: { label: "bare libmicrohttpd, publishes", server: forward, target: "/", isStored: true },
};

export const storedByFastify = (label, acks, processes) => ({
  ...{ label: `Fastify + Ajv, ${label}`, server: fastify(acks, processes), target: "/messages" },
  ...{ isStored: true, isWarmedUp: true, missing: nodeMissing },
});

const requests = (contender, connections) => ({
  label: contender.label,
  missing: () => wrkMissing() ?? contender.missing?.(),
  run: (bench) => postRequests(bench, contender, connections),
});

const validate = {
  id: "validate-64",
  title: "POST validate, 64 connections",
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    parley: requests({ label: "parley", server: parley, target: "/v1/vlp/validate" }, 64),
    swallow: requests({ label: "bare libmicrohttpd, swallows", server: swallow, target: "/" }, 64),
  },
  ratios: [{ of: "parley", to: "swallow", atLeast: 0.9 }],
};

// Rates that no client reaches: what it costs to count.
const withRates = (bench, nats, folder) =>
  parley(bench, nats, folder, ["--rate-messages", "10000000", "--rate-bytes", "4g"]);

const validateWithRates = {
  id: "validate-rates",
  title: "POST validate, 64 connections, rates that are not reached",
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    rates: requests({ label: "parley, rates", server: withRates, target: "/v1/vlp/validate" }, 64),
    parley: requests({ label: "parley", server: parley, target: "/v1/vlp/validate" }, 64),
  },
  ratios: [{ of: "rates", to: "parley", atLeast: 0.95 }],
};

// A server that asks for a token, which is made for it.
const TOKEN_FILE = "token";
async function withToken(bench, nats, folder) {
  const file = join(folder, "tokens.json");
  const create = ["token", "create", "--tokens", file, "--name", "bench", "--allow", "send:vlp"];
  const token = firstLine(bench.parley, ...create);
  writeFileSync(join(bench.folder, TOKEN_FILE), `${token}\n`, { mode: 0o600 });
  return parley(bench, nats, folder, ["--tokens", file]);
}

const validateWithToken = {
  id: "validate-token",
  title: "POST validate, 64 connections, each request with a token",
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    token: requests(
      {
        ...{ label: "parley, tokens", server: withToken, target: "/v1/vlp/validate" },
        ...{ showsToken: TOKEN_FILE },
      },
      64,
    ),
    parley: requests({ label: "parley", server: parley, target: "/v1/vlp/validate" }, 64),
  },
  ratios: [{ of: "token", to: "parley", atLeast: 0.95 }],
};

const validateWhileScraped = {
  id: "validate-scraped",
  title: "POST validate, 64 connections, /metrics read every second",
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    scraped: requests(
      { ...{ label: "parley, scraped", server: parley, target: "/v1/vlp/validate" }, isScraped: true },
      64,
    ),
    parley: requests({ label: "parley", server: parley, target: "/v1/vlp/validate" }, 64),
  },
  ratios: [{ of: "scraped", to: "parley", atLeast: 0.95 }],
};

// A server that writes a line for each request into a file.
const withAccessLog = (bench, nats, folder) => [
  ...["sh", "-c", 'exec "$@" 2>"$0"', join(folder, "log")],
  ...parley(bench, nats, folder, ["--access-log", "all"]),
];

const validateLogged = {
  id: "validate-logged",
  title: "POST validate, 64 connections, each request in the access log",
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    logged: requests(
      { label: "parley, --access-log all", server: withAccessLog, target: "/v1/vlp/validate" },
      64,
    ),
    parley: requests({ label: "parley", server: parley, target: "/v1/vlp/validate" }, 64),
  },
  ratios: [{ of: "logged", to: "parley" }],
};

// A server with a certificate, which is made for it.
async function withTls(bench, nats, folder) {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const kind = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=bench";
  await run("openssl", ["req", ...kind.split(" "), "-keyout", key, "-out", certificate]);
  return parley(bench, nats, folder, ["--tls-cert", certificate, "--tls-key", key]);
}

const validateOverTls = {
  id: "validate-tls",
  title: "POST validate, 64 connections, over TLS",
  unit: "requests/s",
  higherIsBetter: true,
  contenders: {
    tls: requests(
      { ...{ label: "parley, TLS", server: withTls, target: "/v1/vlp/validate" }, isTls: true },
      64,
    ),
    parley: requests({ label: "parley", server: parley, target: "/v1/vlp/validate" }, 64),
  },
  ratios: [{ of: "tls", to: "parley" }],
};

// Beyond what the documents of the peers' NATS clients describe.
const byAllMeans = {
  contenders: {
    bareRaw: requests(
      {
        ...{ label: "bare libmicrohttpd, by all means", server: forwardByAllMeans },
        ...{ target: "/", isStored: true },
      },
      64,
    ),
    raw: requests(storedByFastify("by all means", "raw"), 64),
  },
  ratios: [
    { of: "parley", to: "bareRaw", atLeast: 0.9 },
    { of: "parley", to: "raw" },
  ],
};

function messages(connections, more = { contenders: {}, ratios: [] }) {
  return {
    id: `messages-${connections}`,
    title: `POST messages, JetStream file, ${connections} connections`,
    unit: "requests/s",
    higherIsBetter: true,
    contenders: {
      parley: requests(stored.parley, connections),
      forward: requests(stored.forward, connections),
      hand: requests(storedByFastify("acks matched by hand", "hand"), connections),
      js: requests(storedByFastify("js.publish", "js"), connections),
      ...more.contenders,
    },
    ratios: [
      { of: "parley", to: "forward", atLeast: 0.9 },
      { of: "parley", to: "hand", atLeast: 2.2 },
      { of: "parley", to: "js", atLeast: 4 },
      ...more.ratios,
    ],
  };
}

export default {
  name: "single",
  title: "one message a request, many connections",
  rows: [
    validate,
    validateWithRates,
    validateWithToken,
    validateWhileScraped,
    validateLogged,
    validateOverTls,
    messages(64, byAllMeans),
    messages(256),
  ],
};
