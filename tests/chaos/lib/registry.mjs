// SPDX-License-Identifier: Apache-2.0
// Tasks that several agents claim at once while things break. A claim is sent again, at the next
// gateway, until it is decided; what each agent was told is compared with the keys of the tasks at
// the end.

import { post } from '../../e2e/lib/http.mjs';
import { pause, within } from '../../e2e/lib/poll.mjs';
import { taskClaimed, taskRequest } from '../../e2e/lib/roundtable.mjs';
import { assertOneHolder, auditTasks } from '../../e2e/lib/task_audit.mjs';

const AGENTS = ['galahad', 'lancelot', 'percival'];
const CONTENTIONS = 2; // tasks that are contended for at a time
const ANSWER_MS = 30_000;
const RETRY_MS = 100;
const PAUSE_MS = 20; // the load beside it is to have most of the machine

export class Registry {
  isStopped = false; // no new contention begins
  isOver = false; // nobody tries again
  undecided = 0; // attempts that ended without a decision
  #last = ''; // of them, what the last one was
  #asked = new Map(); // by id, the answer to its request
  #told = new Map(); // by id: [{ agent, answer }]
  #turn = 0;

  constructor(gateways) {
    this.gateways = gateways;
    this.running = Promise.all(Array.from({ length: CONTENTIONS }, () => this.#contend()));
    this.running.catch(() => {});
  }

  async #contend() {
    while (!this.isStopped) {
      const request = taskRequest('chaos.claim');
      this.#asked.set(request.id, await this.#decided(request));
      const claims = AGENTS.map(async (agent) => {
        return { agent, answer: await this.#decided(taskClaimed(request.id, { from: agent })) };
      });
      this.#told.set(request.id, await Promise.all(claims));
      await pause(PAUSE_MS);
    }
  }

  async #decided(message) {
    for (let at = this.#turn++; !this.isOver; at++) {
      const gateway = this.gateways[at % this.gateways.length];
      try {
        const options = { headers: gateway.headers, timeout: ANSWER_MS };
        const answer = await post(gateway, '/v1/roundtable/messages', JSON.stringify(message), options);
        if (answer.status < 500) return answer;
        this.#last = answer.text;
      } catch (error) {
        if (error.name === 'AssertionError') throw error; // no documented answer
        this.#last = error.message;
      }
      this.undecided++;
      await pause(RETRY_MS);
    }
    throw new Error('nothing was decided');
  }

  // Each contention that has begun is decided first.
  async stop(patience_ms) {
    this.isStopped = true;
    try {
      await within('every claim is decided', this.running, patience_ms);
    } catch (error) {
      error.message += `; the last attempt: ${this.#last}`;
      throw error;
    }
  }

  close() {
    this.isStopped = true;
    this.isOver = true;
  }

  get counts() {
    const all = [...this.#told.values()].flat();
    const held = all.filter(({ answer }) => answer.status === 200).length;
    return { tasks: this.#told.size, claims: all.length, held, undecided: this.undecided };
  }

  // What contradicts the keys: texts.
  async contradictions(client) {
    const { keys } = await auditTasks(client);
    return contradictions(this.#asked, this.#told, keys);
  }
}

export function contradictions(asked, told, keys) {
  const found = [];
  const check = (act) => {
    try {
      act();
    } catch (error) {
      found.push(error.message);
    }
  };
  for (const [id, { status, text, json }] of asked) {
    if (status !== 200) found.push(`the request of ${id} was answered ${status} ${text}`);
    else if (keys.get(id)?.seq !== json.seq) found.push(`the request of ${id} has not its key`);
  }
  for (const [id, answers] of told) {
    check(() => assertOneHolder(keys.get(`${id}.claim`), answers));
    const held = answers.filter(({ answer }) => answer.status === 200);
    if (held.length > 1) found.push(`${held.map(({ agent }) => agent)} hold ${id}`);
  }
  return found;
}
