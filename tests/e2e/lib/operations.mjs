// SPDX-License-Identifier: Apache-2.0
// Every operation of a running server, with requests that it can serve, made from what the server
// says of itself: /openapi.json, the examples of each protocol, and the lists that name what the
// variable part of a path may be. No operation is named here, so a new one is in all that uses this.

import { randomUUID } from 'node:crypto';
import { FRAMES_TYPE, MSGPACK_TYPE, frames, msgpack } from './frames.mjs';
import { JSON_TYPE, NDJSON_TYPE, get, post, request } from './http.mjs';
import { lines } from './vlp.mjs';

const MARKDOWN_TYPE = 'text/markdown';
const AGENT = 'life'; // a value for whatever asks for a text
const OTHER_NAMES = new Set([
  'application/ndjson',
  'application/jsonl',
  'application/x-msgpack',
  'application/vnd.msgpack',
]);

// The media types of bodies: what takes messages, and how they are written.
const ENCODINGS = {
  [JSON_TYPE]: { write: ([message]) => Buffer.from(JSON.stringify(message)), isPaddable: true },
  [NDJSON_TYPE]: { isMany: true, write: (messages) => Buffer.from(lines(messages)), isPaddable: true },
  [MSGPACK_TYPE]: { write: ([message]) => msgpack(message) },
  [FRAMES_TYPE]: { isMany: true, write: frames },
  [MARKDOWN_TYPE]: { needsServer: true },
};

let count = 0;

// The same messages under ids that nobody has used: those that refer to each other still do.
function renewed(messages) {
  let text = JSON.stringify(messages);
  for (const { id } of messages) {
    if (typeof id !== 'string') continue;
    const other = /^[0-9a-f-]{36}$/.test(id) ? randomUUID() : `${id}-${process.pid}-${++count}`;
    text = text.replaceAll(`"${id}"`, `"${other}"`);
  }
  return JSON.parse(text);
}

// What can be sent to an operation as its body. `examples`: messages; `first`: the one it begins with.
class Input {
  constructor(type, encoding, { name, messages, first = 0, texts }) {
    Object.assign(this, { type, ...encoding, messages, first, texts, label: `${type} ${name}` });
  }

  // Bytes that were not sent before, if their messages have ids. `times`: how often all of them.
  body({ times = 1, padding = 0 } = {}) {
    if (this.texts) return this.texts[this.first];
    const all = Array.from({ length: times }, () => renewed(this.messages)).flat();
    const chosen = this.isMany ? all : [all[this.first]];
    return padded(this.write(chosen), padding);
  }
}

// JSON is the same message with blanks in it.
const padded = (bytes, size) =>
  size === 0 ? bytes : Buffer.concat([bytes.subarray(0, 1), Buffer.alloc(size, ' '), bytes.subarray(1)]);

class Operation {
  constructor(method, template, about, path) {
    Object.assign(this, { method: method.toUpperCase(), template, about, path });
    this.name = `${this.method} ${template}`;
    this.protocol = /^\/v1\/(\w+)\/(?:messages|validate|convert)$/.exec(template)?.[1];
    this.inputs = [];
  }

  get parameters() {
    return this.about.parameters.map(({ name }) => name);
  }

  has(parameter) {
    return this.parameters.includes(parameter);
  }

  parameter(wanted) {
    return this.about.parameters.find(({ name }) => name === wanted);
  }

  // The media types in which it can answer.
  get accepts() {
    return Object.keys(this.about.responses[200]?.content ?? {}).map((type) => type.split(';')[0]);
  }

  get takesMany() {
    return this.inputs.some(({ isMany }) => isMany);
  }

  // Whether what is sent to it is stored as it is.
  get stores() {
    return this.has('Idempotency-Key') && this.takesMany;
  }

  // What makes a request another one than those before, though its messages have no ids.
  freshHeaders() {
    return this.has('Idempotency-Key') ? { 'Idempotency-Key': randomUUID() } : {};
  }

  // The first of its inputs that has this media type.
  inputOf(wanted) {
    return this.inputs.find(({ type }) => type === wanted);
  }

  // Its address, with what it cannot do without.
  target(query = {}) {
    const all = { ...this.#needed(), ...query };
    const text = new URLSearchParams(all).toString();
    return text ? `${this.path}?${text}` : this.path;
  }

  #needed() {
    const options = this.about.parameters.filter(({ in: place }) => place === 'query');
    const isNeeded = ({ name, required }) => required || name === 'agent';
    // A DELETE says what it removes, by its first option, and why, by its last.
    const needed = this.method === 'DELETE' ? [options[0], options.at(-1)] : options.filter(isNeeded);
    return Object.fromEntries(needed.map(({ name, schema }) => [name, schema?.enum?.[0] ?? AGENT]));
  }
}

// `options`: those of the requests that ask (headers).
export async function operationsOf(server, options) {
  const document = (await get(server, '/openapi.json', options)).json;
  const examples = await examplesOf(server, options);
  const operations = [];
  for (const [template, methods] of Object.entries(document.paths)) {
    const path = await filled(server, template, options);
    for (const [method, raw] of Object.entries(methods)) {
      const parameters = (raw.parameters ?? []).map((each) => resolved(document, each));
      const operation = new Operation(method, template, { ...raw, parameters }, path);
      operation.inputs = await inputsOf(server, document, operation, examples, options);
      operations.push(operation);
    }
  }
  return operations;
}

const resolved = (document, { $ref, ...rest }) =>
  $ref ? $ref.slice(2).split('/').reduce((value, key) => value[key], document) : rest;

async function examplesOf(server, options) {
  const protocols = (await get(server, '/v1/protocols', options)).json;
  const found = {};
  for (const { name } of protocols.protocols ?? protocols) {
    found[name] = (await get(server, `/v1/protocols/${name}/examples`, options)).json;
  }
  return found;
}

// Stores the examples of each protocol, so that what lists and names can be asked for is there.
export async function storeExamples(server, operations, options = {}) {
  for (const operation of operations.filter((each) => each.stores)) {
    const input = operation.inputOf(NDJSON_TYPE);
    const headers = { ...options.headers, ...operation.freshHeaders() };
    const answer = await post(server, operation.target(), input.body(), { type: input.type, headers });
    if (answer.status !== 200) throw new Error(`${operation.name}: ${answer.status} ${answer.text}`);
  }
}

// A path's variable parts are what the list above them has: any text in its first item by which the
// server finds something, or that is an address which takes no GET.
async function filled(server, template, options) {
  let path = '';
  for (const part of template.split('/').slice(1)) {
    path = /^\{\w+\}$/.test(part) ? await oneOf(server, path, options) : `${path}/${part}`;
  }
  return path;
}

async function oneOf(server, path, options = {}) {
  const headers = { ...options.headers, Accept: JSON_TYPE };
  const list = (await get(server, path, { headers })).json;
  for (const text of Object.values((list.items ?? list)[0] ?? {})) {
    const name = typeof text === 'string' ? text.split('/').pop() : '';
    const address = `${path}/${encodeURIComponent(name)}`;
    if (name && [200, 405].includes((await request(server, 'HEAD', address, { headers })).status)) return address;
  }
  return `${path}/${AGENT}`;
}

async function inputsOf(server, document, operation, examples, options) {
  const content = operation.about.requestBody?.content ?? {};
  const inputs = [];
  for (const [type, { schema }] of Object.entries(content)) {
    if (OTHER_NAMES.has(type)) continue;
    const encoding = ENCODINGS[type];
    if (!encoding) throw new Error(`no test writes ${type}, which ${operation.name} takes`);
    if (!operation.protocol) {
      const messages = [smallest(resolved(document, schema))];
      inputs.push(new Input(type, encoding, { name: 'smallest', messages }));
      continue;
    }
    const all = examples[operation.protocol];
    const messages = all.map(({ message }) => message);
    const texts = encoding.needsServer && (await textsOf(server, operation, type, messages, options));
    const each = encoding.isMany ? [{ name: 'examples' }] : all;
    each.forEach(({ name }, first) => inputs.push(new Input(type, encoding, { name, messages, first, texts })));
  }
  return inputs;
}

// The messages in an encoding that the server writes.
async function textsOf(server, { protocol }, type, messages, options = {}) {
  const texts = [];
  for (const message of messages) {
    const headers = { ...options.headers, Accept: type };
    const path = `/v1/${protocol}/convert?to=${type.split('/')[1]}`;
    texts.push((await post(server, path, JSON.stringify(message), { headers })).body);
  }
  return texts;
}

// A value with what its schema requires, and nothing else.
function smallest({ type, enum: choices, required = [], properties = {} }) {
  if (choices) return choices[0];
  if (type !== 'object') return AGENT;
  return Object.fromEntries(required.map((name) => [name, smallest(properties[name])]));
}
