// SPDX-License-Identifier: Apache-2.0
// Holds answers against openapi.json, which the build has written beside the binary: status, media
// type and JSON must be documented. There every object is closed, so that a member that the
// document does not name fails the test.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const binary = process.env.PARLEY_BIN || resolve(here, '../../../build/dev/gateway/parley');
const file = resolve(dirname(binary), 'openapi.json');

const LINES_MAX = 200; // of an answer that are looked at, besides its last one
const BYTES_MAX = 1 << 20; // of a body; larger ones are not parsed twice
const METHODS = ['get', 'post', 'delete'];

// Compiled when it is first needed: most files need few schemas.
class Contract {
  #validators = new Map();

  constructor() {
    this.document = JSON.parse(readFileSync(file, 'utf8'));
    const open = new Set(schemasOfMessages(this.document.components.schemas));
    for (const [name, schema] of Object.entries(this.document.components.schemas)) {
      if (!open.has(name)) close(schema);
    }
    this.patterns = Object.keys(this.document.paths).map((path) => [patternOf(path), path]);
  }

  #ajv() {
    const require = createRequire(import.meta.url);
    const Ajv = require('ajv/dist/2020').default;
    this.ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false });
    this.ajv.addSchema(this.document, 'openapi');
    return this.ajv;
  }

  // The faults of a value, by the schema at a JSON Pointer of the document.
  faults(pointer, value) {
    if (!this.#validators.has(pointer)) {
      const ajv = this.ajv ?? this.#ajv();
      this.#validators.set(pointer, ajv.compile({ $ref: `openapi#${pointer}` }));
    }
    const validate = this.#validators.get(pointer);
    if (validate(value)) return '';
    return validate.errors.map(textOf).join('; ');
  }

  // An operation, with the JSON Pointer to it; undefined for what the document does not name.
  operation(method, path) {
    const name = method === 'HEAD' ? 'get' : method.toLowerCase();
    const known = this.patterns.find(([pattern]) => pattern.test(path))?.[1];
    const operation = METHODS.includes(name) ? this.document.paths[known]?.[name] : undefined;
    return operation && { operation, pointer: `/paths/${escape(known)}/${name}` };
  }

  // A response, with the JSON Pointer to it, through its `$ref`.
  response({ operation, pointer }, status) {
    const response = operation.responses[status];
    if (!response?.$ref) return response && { response, at: `${pointer}/responses/${status}` };
    const at = response.$ref.slice(1);
    return { response: this.document.components.responses[at.split('/').pop()], at };
  }
}

// Messages may have members that no schema names.
function schemasOfMessages(schemas) {
  const types = Object.values(schemas).flatMap(({ discriminator }) => Object.values(discriminator?.mapping ?? {}));
  const parts = Object.keys(schemas).filter((name) => /(Draft|Envelope|Members)$/.test(name));
  return [...parts, ...types.map((link) => link.split('/').pop())];
}

const escape = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1');
const patternOf = (path) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
const textOf = ({ instancePath, message, params }) =>
  `${instancePath || '/'} ${message} ${params.additionalProperty ?? ''}`;

// The documented media type that an answer has, with or without its parameters.
function contentOf({ content }, type) {
  return [type, type.split(';')[0]].find((name) => content?.[name]);
}

// What has members has no others.
function close(schema) {
  if (schema === null || typeof schema !== 'object') return;
  if (schema.type === 'object' && schema.properties) schema.additionalProperties ??= false;
  Object.values(schema).forEach(close);
}

const isLines = (type) => /ndjson|jsonl/.test(type);
const isJson = (type) => /json$/.test(type);

function* valuesOf(type, text) {
  if (!isLines(type)) {
    if (isJson(type)) yield JSON.parse(text);
    return;
  }
  const lines = text.split('\n').slice(0, -1).filter(Boolean);
  for (let i = 0; i < lines.length; i = i === LINES_MAX ? Math.max(i + 1, lines.length - 1) : i + 1) {
    yield JSON.parse(lines[i]);
  }
}

let contract;

// The faults of an answer: '' if it is as documented. `answer`: { status, headers, body (a Buffer) }.
export function faultsOf(method, path, { status, headers, body }) {
  if (!contract && !existsSync(file)) return ''; // a binary from elsewhere
  contract ??= new Contract();
  const type = headers['content-type'] ?? '';
  const found = contract.operation(method, path.split('?')[0]);
  if (!found) {
    // OPTIONS, and what is not there or not so: refused, by a problem.
    if (status < 300) return method === 'OPTIONS' ? '' : `nothing documents ${status}`;
    const isProblem = type === 'application/problem+json' && !headers['content-encoding'];
    return isProblem && method !== 'HEAD' && body.length > 0
      ? contract.faults('/components/schemas/Problem', JSON.parse(body))
      : '';
  }
  const { response, at } = contract.response(found, status) ?? {};
  if (!response) return `status ${status} is not documented`;
  if (!type) return response.content && method !== 'HEAD' ? 'no Content-Type' : '';
  const known = contentOf(response, type);
  if (!known) return `${type} is not documented for status ${status}`;
  const isOpaque = method === 'HEAD' || headers['content-encoding'] || body.length > BYTES_MAX;
  if (isOpaque || body.length === 0) return '';
  if (!response.content[known].schema) return '';
  const pointer = `${at}/content/${escape(known)}/schema`;
  for (const value of valuesOf(type, body.toString('utf8'))) {
    const faults = contract.faults(pointer, value);
    if (faults) return `${faults}\n${JSON.stringify(value).slice(0, 1000)}`;
  }
  return '';
}

// The same for the lines of an answer that goes on: a function that asserts it of one value.
export function lineAssertion(method, path, { status, headers }) {
  assertDocumented(method, path, { status, headers, body: Buffer.alloc(0) });
  const found = contract?.operation(method, path.split('?')[0]);
  const type = headers['content-type'] ?? '';
  const { at } = (found && contract.response(found, status)) ?? {};
  if (!at || !isLines(type)) return () => {};
  const pointer = `${at}/content/${escape(type)}/schema`;
  let count = 0;
  return (value) => {
    const faults = count++ < LINES_MAX ? contract.faults(pointer, value) : '';
    if (faults) throw new Error(`a line of ${path} is not as openapi.json says: ${faults}`);
  };
}

export function assertDocumented(method, path, answer) {
  const faults = faultsOf(method, path, answer);
  if (faults) throw new Error(`${method} ${path} is not as openapi.json says: ${faults}`);
}
