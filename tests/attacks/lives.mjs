// SPDX-License-Identifier: Apache-2.0
// Random lives of requests that are as they should be: of each operation, whole or in part, new or
// sent before, one after another on a connection, and ended at any time in any way.

import { NDJSON_TYPE, chunk } from '../e2e/lib/http.mjs';
import { bytesOf } from '../e2e/lib/life_phases.mjs';

const REMEMBERED = 64; // bodies that may be sent again
const BODY_OF_GET = Buffer.from('hello');
const REPEATS_MAX = 30;

export class Lives {
  #sent = []; // [operation, input, body]

  constructor(random, server, operations) {
    Object.assign(this, { random, server, operations });
  }

  // What a client sends on one connection, which may end anywhere.
  bytes() {
    const { random } = this;
    const requests = Array.from({ length: 1 + random.below(3) }, () => this.#request());
    const bytes = Buffer.concat(requests);
    return random.chance(0.4) ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes;
  }

  #request() {
    const { random, server } = this;
    const again = random.chance(0.4) && random.pick(this.#sent);
    const operation = again ? again[0] : random.pick(this.operations);
    const input = again ? again[1] : random.pick(operation.inputs);
    const body = again ? again[2] : this.#body(operation, input);
    const request = { operation, server, input, query: this.#query(operation), headers: this.#headers(operation) };
    if (operation.accepts.length > 0 && random.chance(0.5)) request.accept = random.pick(operation.accepts);
    if (!body || random.chance(0.1)) return bytesOf({ ...request, ...this.#announced() });
    return random.chance(0.5) ? bytesOf({ ...request, body, length: body.length }) : this.#chunked(request, body);
  }

  #body(operation, input) {
    if (!input) return this.random.chance(0.1) ? BODY_OF_GET : undefined;
    const body = input.body({ padding: this.random.chance(0.05) ? 300 * 1024 : 0 });
    this.#sent.push([operation, input, input.type === NDJSON_TYPE ? this.#repeated(body) : body]);
    if (this.#sent.length > REMEMBERED) this.#sent.shift();
    return this.#sent.at(-1)[2];
  }

  // Lines that are there many times.
  #repeated(body) {
    return this.random.chance(0.5) ? Buffer.concat(Array(1 + this.random.below(REPEATS_MAX)).fill(body)) : body;
  }

  // A body that stays away, or none.
  #announced() {
    return this.random.pick([{}, {}, { length: 5 }, { isChunked: true }, { length: 5, headers: ['Expect: 100-continue'] }]);
  }

  // In pieces, perhaps behind one that has a result at once, and perhaps without an end.
  #chunked(request, body) {
    const { random } = this;
    const at = random.below(body.length + 1);
    const pieces = [body.subarray(0, at), body.subarray(at)].filter(({ length }) => length > 0).map(chunk);
    if (request.input?.isMany && random.chance(0.3)) pieces.unshift(chunk('{}\n'));
    if (random.chance(0.7)) pieces.push(Buffer.from('0\r\n\r\n'));
    return bytesOf({ ...request, isChunked: true, body: Buffer.concat(pieces) });
  }

  #query(operation) {
    const { random } = this;
    if (!operation.has('follow')) return {};
    return { since: random.pick(['all', '1h', '1']), follow: random.pick(['true', 'false']) };
  }

  #headers(operation) {
    const { random } = this;
    const wait = operation.has('Prefer') && random.chance(0.5) ? [`Prefer: wait=${random.below(3)}`] : [];
    const coding = random.chance(0.2) ? ['Accept-Encoding: gzip'] : [];
    return [...wait, ...coding];
  }
}
