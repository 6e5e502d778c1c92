// SPDX-License-Identifier: Apache-2.0
// The phases that a request can be in, as a table: which requests of an operation get there, what is
// held to keep them there, and which state of the server says that they are. No operation is named:
// what a row asks of one is in what the server says of it (operations.mjs).

import { JSON_TYPE, NDJSON_TYPE, chunk, post } from './http.mjs';
import { atOnce } from './fleet.mjs';
import { Cell } from './life_cells.mjs';
import { metricsOf, valueOf } from './metrics.mjs';
import { until } from './poll.mjs';
import { heldUpAtServer } from './sockets.mjs';

const LARGE_BYTES = 300 * 1024; // is checked by the worker pool
const MANY_LINES = 400;
const BODY_OF_GET = Buffer.from('hello');

// ---- requests ----

// What is sent: a head, and as much of a body as there is.
export function bytesOf({ operation, server, input, accept, headers = [], query, body, length, isChunked, version = '1.1' }) {
  const all = [
    `${operation.method} ${operation.target(query)} HTTP/${version}`,
    'Host: localhost',
    ...(server.token ? [`Authorization: Bearer ${server.token}`] : []),
    ...(accept ? [`Accept: ${accept}`] : []),
    ...(input ? [`Content-Type: ${input.type}`] : []),
    ...(isChunked ? ['Transfer-Encoding: chunked'] : []),
    ...(length !== undefined ? [`Content-Length: ${length}`] : []),
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${all.join('\r\n')}\r\n\r\n`), ...(body ? [body] : [])]);
}

const whole = (from, body) => bytesOf({ ...from, body, length: body?.length });
// Its first body in each encoding.
const mainInputs = (operation) => operation.inputs.filter((each) => operation.inputOf(each.type) === each);

// A body for each encoding, or that of a request which needs none.
const bodiesOf = (operation) =>
  operation.inputs.length > 0
    ? mainInputs(operation).map((input) => ({ input, body: input.body() }))
    : [{ body: BODY_OF_GET }];

const linesOf = (headers) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`);

// Whole requests: each example alone, many together, in each encoding; and one for each encoding of
// the answer.
const wholeRequests = (operation) => [
  ...operation.inputs.map((input) => ({
    label: input.label,
    input,
    body: input.body(),
    headers: linesOf(operation.freshHeaders()),
  })),
  ...(operation.inputs.length > 0 ? [] : operation.accepts.map((accept) => ({ label: accept, accept, headers: [] }))),
];

const written = (operation, server, requests) =>
  requests.map((request) => ({ ...request, bytes: whole({ operation, server, ...request }, request.body) }));

// Many, of which some are answered before their body has ended, and none of which is the last.
const openBatch = (operation, server, sent) => {
  const input = operation.inputOf(NDJSON_TYPE);
  const headers = sent ? [] : linesOf(operation.freshHeaders());
  const body = Buffer.concat([chunk('{}\n'), chunk(sent ?? input.body())]);
  return { label: 'chunks without an end', bytes: bytesOf({ operation, server, input, headers, isChunked: true, body }) };
};
const takesResults = (operation) => operation.has('results') && operation.takesMany;

// ---- what says that they are there ----

const ACTIVE = 'parley_http_active_requests';
const RECEIVED = 'parley_http_received_bytes_total';
const grown = ({ figures, base }, name) => valueOf(figures, name) - valueOf(base, name);
const unanswered = (cells) => cells.filter((cell) => !cell.isAnswered);

// Those that have no answer are being served.
const areServed = (state) => grown(state, ACTIVE) >= unanswered(state.cells).length;
const haveSent = ({ cells, hold, ...state }) =>
  grown(state, RECEIVED) >= cells.reduce((sum, cell) => sum + cell.bodyBytes, hold?.bodyBytes ?? 0);
const haveReceived = ({ cells }) => cells.every((cell) => cell.isAnswered);

// ---- what is held ----

const isOfApi = ({ subject }) => subject.startsWith('$JS.API.');
const isOfBucket = ({ subject, body }) => /[.$]KV[_.]/.test(`${subject} ${body}`);

const POOL_FILLERS = 16;
const FILLER_KEYS = 60_000;

// Tasks that the worker pool begins before all that come later: `attempt` times as many.
async function fillPool({ server, operations, options }, attempt) {
  const operation = operations.find((each) => each.has('emit'));
  const input = operation.inputOf(JSON_TYPE);
  const keys = Array.from({ length: FILLER_KEYS }, (_, i) => `"k${i}":1`).join();
  const body = Buffer.concat([Buffer.from(`{${keys},`), input.body().subarray(1)]);
  const bytes = whole({ operation, server, input }, body);
  const fillers = Array.from({ length: POOL_FILLERS * attempt }, () => new Cell({ bytes }));
  const received = async () => valueOf(await metricsOf(server, options), RECEIVED);
  const bodyBytes = fillers.length * body.length;
  const wanted = (await received()) + bodyBytes;
  await Promise.all(fillers.map((each) => each.open(server)));
  await until('the worker pool has much to do', async () => (await received()) >= wanted);
  return {
    bodyBytes,
    isHolding: () => fillers.some((each) => !each.isAnswered),
    release: () => fillers.forEach((each) => each.close()),
  };
}

// ---- what happens before ----

// Each body once, so that it is known when it is sent again.
async function sendOnce({ server, operations, options }) {
  const send = async (operation, input) => {
    input.sent = input.body();
    await post(server, operation.target(), input.sent, { type: input.type, ...options });
  };
  for (const operation of operations.filter(({ protocol }) => protocol)) {
    await Promise.all(operation.inputs.map((input) => send(operation, input)));
  }
}

const repeatedRequests = (operation) =>
  wholeRequests(operation).map((each) => ({ ...each, headers: [], body: each.input?.sent ?? each.body }));

const TAKEN_AT_ONCE = 16;

// Until there is nothing more: or a request that would wait is answered at once.
async function takeWhatIsThere({ server, operations, options }) {
  for (const operation of operations.filter(({ about }) => about.responses[204])) {
    const [input] = operation.inputs;
    const take = () => post(server, operation.target(), input.body(), { type: input.type, ...options });
    await until(`${operation.name} has nothing`, async () => {
      const answers = await Promise.all(Array.from({ length: TAKEN_AT_ONCE }, take));
      return answers.every(({ status }) => status === 204);
    }, { every: 0 });
  }
}

const STREAM_MESSAGES = 60;

const refusedAndKept = async ({ server, options }) =>
  valueOf(await metricsOf(server, options), 'parley_rejected_messages_total', { outcome: 'kept' });

// The stream of what was refused, too; a busy server keeps not all of it.
async function fillRejected({ server, operations, options }) {
  const refused = Buffer.from(JSON.stringify({ refused: 'x'.repeat(LARGE_BYTES) }));
  const before = await refusedAndKept({ server, options });
  await until('enough of what was refused is kept', async () => {
    for (const operation of operations.filter((each) => each.stores)) {
      const headers = { ...options.headers, ...operation.freshHeaders() };
      const send = () => post(server, operation.target(), refused, { type: JSON_TYPE, headers });
      await atOnce(Array.from({ length: 4 }), 4, send);
    }
    return (await refusedAndKept({ server, options })) >= before + STREAM_MESSAGES;
  });
}

// More than the kernel keeps for a client that does not read.
async function fillStreams(world) {
  const { server, operations, options } = world;
  for (const operation of operations.filter((each) => each.stores)) {
    const input = operation.inputOf(JSON_TYPE);
    const send = () => {
      const headers = { ...options.headers, ...operation.freshHeaders() };
      return post(server, operation.target(), input.body({ padding: LARGE_BYTES }), { type: input.type, headers });
    };
    await atOnce(Array.from({ length: STREAM_MESSAGES }), 4, send);
  }
  await fillRejected(world);
}

// What makes its answer go on: a stream does, a list has to be followed.
const isList = (operation) => operation.parameter('follow')?.schema.default === false;
const followsBy = (operation) => (isList(operation) ? { follow: 'true' } : { since: 'all' });
const streamTypes = (operation) => operation.accepts.filter((type) => !isList(operation) || type !== JSON_TYPE);

// ---- the table ----
//
//   name       of the phase
//   lacks      why an operation does not get there; undefined: it does
//   requests   of an operation: [{ label, bytes, bodyBytes }]
//   prepare    what happens before (world, operations)
//   hold       begins to hold what its requests wait for: { release }; or only keeps it busy, and
//              says whether it still is (isHolding): if not, more is tried
//   reached    whether they are: { cells, figures, base, server }
//   isMet      whether an operation must get there, by what the server says of it
//   isAlone    the requests of each operation have the server to themselves
//   keepsUnanswered  those that were answered were not there, since they need not what is held
//   goesOn     its answer does not end by itself
//   owes       an answer to a client that has sent all and closes its half

const NO_BODY = 'its requests have no body';
const NOT_MANY = 'it takes no body of many messages whose results are read';
const needsBody = ({ inputs }) => (inputs.length > 0 ? undefined : NO_BODY);
const needsResults = (operation) => (takesResults(operation) ? undefined : NOT_MANY);

// Requests that were sent before and are sent again, while NATS does not answer some questions.
const lookUp = (name, isHeld) => ({
  name,
  prepare: sendOnce,
  requests: (operation, server) => [
    ...written(operation, server, repeatedRequests(operation)),
    ...(takesResults(operation) ? [openBatch(operation, server, operation.inputOf(NDJSON_TYPE).sent)] : []),
  ],
  hold: ({ wire }) => wire.holdAnswersTo(isHeld),
  reached: areServed,
  keepsUnanswered: 'it is answered without a question to NATS',
  owes: true,
});

export const PHASES = [
  {
    name: 'head',
    requests: (operation, server) => {
      const bytes = bytesOf({ operation, server });
      return [
        { label: 'a part of its line', bytes: bytes.subarray(0, Math.floor(operation.target().length / 2)) },
        { label: 'all but its end', bytes: bytes.subarray(0, bytes.length - 2) },
      ];
    },
    reached: (state) => grown(state, 'parley_http_connections') >= state.cells.length,
  },
  {
    name: 'body that stays away',
    requests: (operation, server) =>
      bodiesOf(operation).flatMap(({ input, body }) => [
        { label: 'a length', bytes: bytesOf({ operation, server, input, length: body.length }) },
        { label: 'chunks', bytes: bytesOf({ operation, server, input, isChunked: true }) },
        {
          label: '100-continue',
          bytes: bytesOf({ operation, server, input, length: body.length, headers: ['Expect: 100-continue'] }),
        },
      ]),
    reached: areServed,
  },
  {
    name: 'part of a body',
    requests: (operation, server) =>
      bodiesOf(operation).flatMap(({ input, body }) => {
        const part = body.subarray(0, Math.ceil(body.length / 2));
        const from = { operation, server, input };
        return [
          { label: 'a length', bytes: bytesOf({ ...from, body: part, length: body.length }) },
          { label: 'chunks', bytes: bytesOf({ ...from, body: chunk(part), isChunked: true }) },
        ].map((each) => ({ ...each, bodyBytes: part.length }));
      }),
    reached: (state) => areServed(state) && haveSent(state),
  },
  {
    name: 'body whole',
    requests: (operation, server) => written(operation, server, wholeRequests(operation)),
    reached: () => true, // their end comes with them
    owes: true,
  },
  {
    name: 'acknowledgement',
    lacks: needsBody,
    requests: (operation, server) => [
      ...written(operation, server, wholeRequests(operation)),
      ...(takesResults(operation) ? [openBatch(operation, server)] : []),
    ],
    hold: ({ wire }) => wire.holdAnswersTo((frame) => !isOfApi(frame)),
    reached: areServed,
    isMet: (operation) => operation.about.responses[504] !== undefined,
    keepsUnanswered: 'it is answered without an acknowledgement of NATS',
    owes: true,
  },
  lookUp('look-up', isOfApi),
  // What comes after the keys were asked for: the stored message that a repeated one is compared with.
  lookUp('comparison', (frame) => isOfApi(frame) && !isOfBucket(frame)),
  {
    name: 'worker pool',
    lacks: (operation) => needsBody(operation) ?? (operation.protocol ? undefined : 'its body is no message'),
    requests: (operation, server) => {
      const inputs = mainInputs(operation).filter(({ isPaddable }) => isPaddable);
      return written(operation, server, inputs.map((input) => {
        const body = input.body({ padding: LARGE_BYTES });
        return { label: input.label, input, body, bodyBytes: body.length };
      }));
    },
    hold: fillPool,
    reached: haveSent,
    isMet: () => true,
    keepsUnanswered: 'its check was over',
    owes: true,
  },
  {
    name: 'spool',
    lacks: (operation) => (operation.takesMany ? undefined : 'it takes no body of many messages'),
    requests: (operation, server) => {
      const input = operation.inputOf(NDJSON_TYPE);
      const body = operation.has('results') ? Buffer.from('{}\n'.repeat(MANY_LINES)) : input.body({ times: MANY_LINES });
      const query = operation.has('to') ? { to: 'ndjson' } : {};
      // One of HTTP/1.0 reads nothing before it has sent all.
      const length = body.length + 1;
      return [{ label: 'HTTP/1.0', bytes: bytesOf({ operation, server, input, query, body, length, version: '1.0' }) }];
    },
    reached: (state) =>
      areServed(state) && grown(state, 'parley_spooled_bytes') >= state.cells.length * 64 * 1024,
  },
  {
    name: 'live results',
    lacks: needsResults,
    requests: (operation, server) => [openBatch(operation, server)],
    reached: haveReceived,
  },
  {
    name: 'parked',
    isAlone: true,
    lacks: (operation) => (operation.has('Prefer') ? undefined : 'nobody waits for its answer'),
    prepare: takeWhatIsThere,
    requests: (operation, server) => {
      const waiting = (each) => ({ ...each, headers: [...each.headers, `Prefer: wait=${server.wait}`] });
      return written(operation, server, wholeRequests(operation).map(waiting));
    },
    reached: (state) =>
      grown(state, 'parley_awaited_replies') + grown(state, 'parley_tasks_waiting') >= unanswered(state.cells).length &&
      areServed(state),
    keepsUnanswered: 'nobody waits for what follows it',
    goesOn: true,
  },
  {
    name: 'stream',
    lacks: (operation) => (operation.has('follow') ? undefined : 'its answer ends'),
    requests: (operation, server) =>
      streamTypes(operation).flatMap((accept) => {
        const from = { operation, server, accept, query: followsBy(operation) };
        return [
          { label: accept, bytes: bytesOf(from) },
          { label: `${accept}, gzip`, bytes: bytesOf({ ...from, headers: ['Accept-Encoding: gzip'] }) },
        ];
      }),
    reached: haveReceived,
    goesOn: true,
  },
  {
    name: 'unread stream',
    lacks: (operation) =>
      operation.has('follow') && !isList(operation) ? undefined : 'its answer fits the buffers of its connection',
    prepare: fillStreams,
    requests: (operation, server) => {
      const query = { since: 'all', follow: 'false' };
      const bytes = bytesOf({ operation, server, accept: NDJSON_TYPE, query });
      return [{ label: NDJSON_TYPE, isUnread: true, bytes }];
    },
    reached: ({ server, cells }) => heldUpAtServer(server) >= cells.length,
    goesOn: true,
  },
];
