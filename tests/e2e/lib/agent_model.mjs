// SPDX-License-Identifier: Apache-2.0
// What an agent's log and checkpoints mean, written a second time: the state that a whole log gives,
// and the one that a checkpoint and the entries after it give.

// { applied: the last sequence, memory, tools, status }. Order counts in `memory`, so that an entry
// that is applied twice, or in the wrong place, shows.
export const newState = () => ({ applied: 0, memory: [], tools: {}, status: 'idle' });

const APPLY = {
  memory_add: (state, { content }) => state.memory.push(content),
  tool_register: (state, { name, doc }) => (state.tools[name] = doc),
  state_update: (state, { status }) => (state.status = status),
};

// An agent applies by `sequence`: what it holds already is left out.
export function apply(state, { operation, params, sequence }) {
  if (sequence <= state.applied) return;
  APPLY[operation](state, params);
  state.applied = sequence;
}

// Of several entries of one sequence the first that was stored counts.
function fold(state, entries) {
  const first = new Map();
  for (const entry of entries) if (!first.has(entry.sequence)) first.set(entry.sequence, entry);
  for (const [, entry] of [...first].sort(([a], [b]) => a - b)) apply(state, entry);
  return state;
}

// ---- checkpoints ----

export const snapshotOf = ({ applied, memory, tools, status }, padding = '') => ({
  agent_state: { id: 'a', name: 'a', version: '1', status, applied, padding },
  memory_blocks: memory.map((text, i) => ({ id: `m${i}`, text, importance: 0.5 })),
  tool_registry: { tools: Object.entries(tools).map(([name, doc]) => ({ name, doc })) },
});

const stateOf = ({ agent_state: { applied, status }, memory_blocks, tool_registry }) => ({
  applied,
  memory: memory_blocks.map(({ text }) => text),
  tools: Object.fromEntries(tool_registry.tools.map(({ name, doc }) => [name, doc])),
  status,
});

// What a message of the type `restore` makes of an agent.
export const restoredBy = ({ snapshot, wal_entries }) => fold(stateOf(snapshot), wal_entries);

// ---- what the stream says ----

// The messages of one agent, as they are stored.
export class StoredLog {
  entries = []; // with the place `at` in the stream
  hasCheckpoint = false;
  last = 0; // the place of the last message that was read

  add({ seq, subject, payload }) {
    this.last = seq;
    if (subject.endsWith('.checkpoint')) {
      this.hasCheckpoint = true;
    } else if (/\.wal_(entry|batch)$/.test(subject)) {
      for (const entry of [JSON.parse(payload).data].flat()) this.entries.push({ ...entry, at: seq });
    }
  }

  // The entry that counts, of those with a sequence.
  winner = (wanted) => this.entries.find(({ sequence }) => sequence === wanted);

  whole = () => fold(newState(), this.entries);
}
