// SPDX-License-Identifier: Apache-2.0
// Clients that go on whatever happens, each sending its own messages one after the other, and enter
// every answer in the ledger. `single` sends a message a request on a connection that is kept;
// `batch` sends lines while their results come back.

import http from 'node:http';
import https from 'node:https';
import { NDJSON_TYPE, openStream, post } from '../../e2e/lib/http.mjs';
import { pause, until } from '../../e2e/lib/poll.mjs';
import { ACCEPTED, REFUSED, UNKNOWN } from './ledger.mjs';
import { KINDS } from './texts.mjs';

const ANSWER_MS = 120_000; // only a defect takes as long
const HASTY_MS = 300;
const LINES_A_PIECE = 50;
const LINES_AHEAD = 1_000; // sent and not answered
const STORED_NOTHING = new Set([400, 409, 413, 422, 429, 503]);

// What an error of the connection says: nothing was sent where nobody listened.
const outcomeOfError = (error) => (error.code === 'ECONNREFUSED' ? REFUSED : UNKNOWN);

function outcomeOfStatus(status) {
  if (status === 504 || status === 500) return UNKNOWN;
  return STORED_NOTHING.has(status) ? REFUSED : null;
}

class Client {
  // `spec`: see scenarios.mjs. `gateways` is asked for the one to use before each attempt.
  constructor(spec, account, gateways) {
    Object.assign(this, { spec, account, gateways });
    const { protocol, query = '' } = KINDS[spec.kind];
    this.path = `/v1/${protocol}/messages${query}`;
    this.isStopped = false;
    this.isOver = false; // it shall not even retry
    this.answer_ms = spec.isHasty ? HASTY_MS : ANSWER_MS;
    this.moves = account.client;
    this.wait_ms = 5;
  }

  // Each attempt goes to the next gateway, if the client is one that moves.
  gateway() {
    const at = this.spec.moves ? this.moves++ : this.moves;
    return this.gateways[at % this.gateways.length];
  }

  surprise(number, what) {
    this.account.ledger.violation('wrong', this.account, number, `an answer that says ${what}`);
  }

  recordProblem(number, problem, where) {
    const outcome = outcomeOfStatus(problem.status);
    if (outcome === null) this.surprise(number, JSON.stringify(problem));
    const detail = `${problem.status} ${problem.detail} ${where}`;
    this.account.record(number, outcome ?? UNKNOWN, { detail });
  }

  // Refusals are quick; that is no reason to send nothing else.
  async backOff(isGood) {
    this.wait_ms = isGood ? 5 : Math.min(2 * this.wait_ms, 100);
    if (!isGood) await pause(this.wait_ms);
  }

  async run() {
    while (!this.isStopped) {
      this.isIdle = true;
      await this.mayGoOn;
      this.isIdle = false;
      await this.deliver();
    }
  }
}

// What a retry cannot change.
const isFinal = (status) => status >= 400 && status < 500 && status !== 429;

export class SingleClient extends Client {
  connections = 0; // made so far

  constructor(...rest) {
    super(...rest);
    this.#connect();
  }

  #connect() {
    const { Agent } = this.gateways[0].tls ? https : http;
    this.agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const create = this.agent.createConnection;
    this.agent.createConnection = (...rest) => {
      this.connections++;
      return create.apply(this.agent, rest);
    };
  }

  async deliver() {
    const number = this.account.take();
    while (!(await this.attempt(number)) && this.spec.retries && !this.isOver);
  }

  // Whether it is done with.
  async attempt(number) {
    const server = this.gateway();
    const key = `${this.account.client}-${number}`;
    const headers = { ...server.headers, ...(this.spec.isKeyed && { 'Idempotency-Key': key }) };
    const options = { agent: this.agent, headers, timeout: this.answer_ms };
    this.account.pending = 1;
    let status = 0;
    try {
      const answer = await post(server, this.path, this.account.text(number), options);
      status = answer.status;
      this.#record(number, answer, `at ${server.port}`);
    } catch (error) {
      const detail = `${error.code ?? error.message} at ${server.port}`;
      this.account.record(number, outcomeOfError(error), { detail });
      this.agent.destroy(); // it may wait for the answer still
      this.#connect();
    }
    this.account.pending = 0;
    await this.backOff(status === 200);
    return status === 200 || isFinal(status);
  }

  #record(number, answer, where) {
    if (answer.status !== 200) return this.recordProblem(number, answer.json, where);
    const { seq, duplicate } = answer.json;
    this.account.record(number, ACCEPTED, { place: seq, isDuplicate: duplicate, detail: where });
  }

  close() {
    this.agent.destroy();
  }
}

export class BatchClient extends Client {
  #batches = 0;
  #attempts = 0;

  async deliver() {
    const numbers = Array.from({ length: this.spec.lines }, () => this.account.take());
    const key = `${this.account.client}b${this.#batches++}`;
    while (!(await this.attempt(numbers, key)) && this.spec.retries && !this.isOver);
  }

  // Sends all of its lines, also those that were accepted before: they are duplicates then.
  async attempt(numbers, key) {
    const batch = new BatchAttempt(this, numbers, this.gateway());
    if (this.spec.leaves && this.#attempts++ % 2 === 0) {
      batch.leavesAfter = Math.floor(Math.random() * numbers.length);
    }
    await batch.run(this.spec.isKeyed ? { 'Idempotency-Key': key } : {});
    const isGood = numbers.every((number) => this.account.isAccepted(number));
    await this.backOff(isGood);
    return isGood || batch.isFinal;
  }

  close() {}
}

class BatchAttempt {
  sent = 0;
  answered = 0;
  isOver = false;
  isFinal = false;
  leavesAfter = Infinity; // so many results
  #wake = () => {};

  constructor(client, numbers, server) {
    Object.assign(this, { client, account: client.account, numbers, server });
    this.where = `at ${server.port}`;
  }

  async run(headers) {
    const type = { 'Content-Type': NDJSON_TYPE, ...this.server.headers, ...headers };
    const timeout = this.client.answer_ms;
    const options = { method: 'POST', headers: type, body: this.#body(), timeout };
    try {
      this.stream = await openStream(this.server, this.client.path, options);
      await this.#read();
    } catch (error) {
      // Of a connection that was never made nothing has been sent.
      this.#giveUp(outcomeOfError(error), error.code ?? error.message);
    }
    this.account.pending = 0;
    this.stream?.close();
    this.#end();
  }

  #end() {
    this.isOver = true;
    this.#wake();
  }

  async *#body() {
    const { numbers } = this;
    while (this.sent < numbers.length && !this.isOver) {
      if (this.sent - this.answered > LINES_AHEAD) {
        await new Promise((resolve) => (this.#wake = resolve));
        continue;
      }
      const piece = numbers.slice(this.sent, this.sent + LINES_A_PIECE);
      this.sent += piece.length;
      this.account.pending = this.sent - this.answered;
      yield `${piece.map((number) => this.account.text(number)).join('\n')}\n`;
    }
  }

  async #read() {
    if (this.stream.status !== 200) return this.#refuse();
    for (let line; (line = await this.stream.line(this.client.answer_ms)) !== null;) {
      const result = JSON.parse(line);
      if (this.answered === this.leavesAfter) throw new Error('it hung up');
      if (result.summary) return this.#finish(result.summary);
      this.#result(result);
    }
    if (this.stream.ended) this.client.surprise(this.numbers[this.answered], 'the end, no summary');
    this.#giveUp(UNKNOWN, 'broken');
  }

  #result(result) {
    const number = this.numbers[this.answered++];
    this.account.pending = this.sent - this.answered;
    if (result.line !== this.answered) this.client.surprise(number, `line ${result.line}`);
    if (result.status === 'accepted' || result.status === 'duplicate') {
      const isDuplicate = result.status === 'duplicate';
      this.account.record(number, ACCEPTED, { place: result.seq, isDuplicate, detail: this.where });
    } else if (result.status === 'failed') {
      this.isFinal ||= isFinal(result.problem.status);
      this.client.recordProblem(number, result.problem, this.where);
    } else {
      this.client.surprise(number, JSON.stringify(result));
      this.account.record(number, REFUSED, { detail: 'invalid' });
    }
    this.#wake();
  }

  #finish({ received }) {
    if (received !== this.answered || received !== this.numbers.length) {
      this.client.surprise(this.numbers[0], `${received} received of ${this.numbers.length}`);
    }
  }

  // One answer for all of the lines.
  async #refuse() {
    let text = '';
    for (let line; (line = await this.stream.line(ANSWER_MS)) !== null;) text += line;
    const problem = { status: this.stream.status, detail: (text + this.stream.rest).slice(0, 300) };
    for (const number of this.numbers) this.client.recordProblem(number, problem, this.where);
    this.answered = this.sent;
  }

  #giveUp(outcome, reason) {
    const detail = `${reason} ${this.where}`;
    for (const [at, number] of this.numbers.entries()) {
      if (at < this.answered) continue;
      this.account.record(number, at < this.sent ? outcome : REFUSED, { detail });
    }
  }
}

const CLASSES = { single: SingleClient, batch: BatchClient };

// All clients of a scenario.
export class Load {
  constructor(specs, ledger, gateways) {
    this.ledger = ledger;
    this.clients = specs.map((spec) => {
      const account = ledger.open(spec.kind);
      return new CLASSES[spec.sends](spec, account, gateways);
    });
    this.running = Promise.all(this.clients.map((client) => client.run()));
    this.running.catch(() => {});
  }

  // Runs `act` while nobody sends: each client has finished, and waits.
  async without(act) {
    let release;
    const gate = new Promise((resolve) => (release = resolve));
    for (const client of this.clients) client.mayGoOn = gate;
    try {
      await until('nobody sends', () => this.clients.every(({ isIdle }) => isIdle));
      return await act();
    } finally {
      release();
    }
  }

  // Lets each finish what it is sending; those that retry go on until it is accepted.
  async stop() {
    for (const client of this.clients) client.isStopped = true;
    await this.running;
    this.close();
  }

  close() {
    for (const client of this.clients) {
      client.isStopped = true;
      client.isOver = true;
      client.close();
    }
  }
}
