// SPDX-License-Identifier: Apache-2.0
// The life of a task as its contract has it, in a hundred lines: what each message is answered, and
// which keys come of it. Sequential: what happens at once is judged by task_audit.mjs.

const REPLIES = ['task.progress', 'task.result', 'task.failed'];
const DEFAULT_TTL_S = 3600;

const digestOf = ({ from, to, correlationId, payload }) =>
  JSON.stringify([from, to ?? null, correlationId ?? null, payload]);

const deadlineOf = ({ timestamp, ttl }) => Date.parse(timestamp) + (ttl ?? DEFAULT_TTL_S) * 1000;

const refused = (problem, members = {}) => ({ outcome: 'refused', problem, members });
const repeated = (first, members = {}) => ({ outcome: 'repeated', first, members });

// An outcome is { outcome: 'stored' | 'repeated' | 'refused', … }. `first` of a repeated message is the
// outcome of the one that was stored, in whose `seq` a test notes where; its warnings are those of now.
export class TaskModel {
  tasks = new Map(); // id -> { request, claim, end }
  #stored = new Map(); // Nats-Msg-Id -> { digest, outcome }

  constructor(lifecycle = 'on') {
    this.lifecycle = lifecycle;
  }

  // What a POST of it is answered.
  post(message) {
    const { type } = message;
    if (type === 'task.request') return this.#request(message);
    if (type === 'task.claimed') return this.#claim(message);
    return this.#other(message, REPLIES.includes(type) ? this.#judge(message) : {});
  }

  // It was published straight to NATS: the keys that are there once it has been read.
  straight(message, seq) {
    const task = this.#task(message);
    if (message.type === 'task.request' && !task.request) {
      Object.assign(task, { request: message, requested: { seq } });
    }
    if (message.type === 'task.claimed' && !this.#stateIfOver(task) && !task.claim && !this.#isForAnother(message, task)) {
      Object.assign(task, { claim: message, claimed: { seq } });
    }
    if (this.#ends(message, task)) task.end = message;
  }

  // The keys of a task as { request, claim, end } of messages.
  task(id) {
    return this.tasks.get(id.toLowerCase()) ?? {};
  }

  state({ claim, end, request }) {
    if (end) return end.type === 'task.failed' || end.payload.status === 'failed' ? 'failed' : 'completed';
    if (claim) return 'claimed';
    return deadlineOf(request) < Date.now() ? 'expired' : 'requested';
  }

  #task(message) {
    if (message.type === 'heartbeat') return {};
    const key = (message.type === 'task.request' ? message.id : message.correlationId).toLowerCase();
    if (!this.tasks.has(key)) this.tasks.set(key, {});
    return this.tasks.get(key);
  }

  #stateIfOver(task) {
    if (task.end) return this.state(task);
    return !task.claim && task.request && deadlineOf(task.request) < Date.now() ? 'expired' : undefined;
  }

  #request(message) {
    const task = this.#task(message);
    if (!task.request) {
      task.request = message;
      return (task.requested = { outcome: 'stored', warnings: [] });
    }
    if (digestOf(task.request) !== digestOf(message)) return refused('id-reused');
    return repeated(task.requested, { state: this.state(task) });
  }

  #claim(message) {
    const task = this.#task(message);
    const over = this.#stateIfOver(task);
    if (over) return refused('task-over', { state: over });
    if (task.claim) {
      const isTheirs = task.claim.from === message.from;
      return isTheirs ? repeated(task.claimed) : refused('already-claimed', { holder: task.claim.from });
    }
    const { request } = task;
    if (this.#isForAnother(message, task)) return refused('not-addressee', { to: request.to });
    task.claim = message;
    return (task.claimed = { outcome: 'stored', warnings: request ? [] : ['RT-201'] });
  }

  #isForAnother = ({ from }, { request }) => request?.to !== undefined && request.to !== from;

  #isParty = (message, { request, claim }) =>
    !claim || [claim.from, request?.from].includes(message.from);

  #ends(message, task) {
    const isEnd = message.type === 'task.result' || message.type === 'task.failed';
    return isEnd && !task.end && this.#isParty(message, task);
  }

  // A report that is out of place: by whom, or when.
  #judge(message) {
    const task = this.#task(message);
    if (task.end?.id === message.id) return {}; // it is the end itself, once more
    if (this.#stateIfOver(task)) return { warning: 'RT-203', problem: 'task-over' };
    if (!task.request && !task.claim) return { warning: 'RT-201' };
    return this.#isParty(message, task) ? {} : { warning: 'RT-202', problem: 'not-holder' };
  }

  #other(message, { warning, problem }) {
    const msgId = `${message.type}:${message.id}`.toLowerCase();
    const before = this.#stored.get(msgId);
    const warnings = warning ? [warning] : [];
    if (problem && this.lifecycle === 'strict') return refused(problem);
    if (before?.digest === digestOf(message)) return { ...repeated(before.outcome), warnings };
    if (before) return refused('id-reused');
    const task = this.#task(message);
    if (this.#ends(message, task)) task.end = message;
    const outcome = { outcome: 'stored', warnings };
    this.#stored.set(msgId, { digest: digestOf(message), outcome });
    return outcome;
  }
}
