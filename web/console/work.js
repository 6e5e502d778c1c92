// SPDX-License-Identifier: Apache-2.0
// Work: tasks, and the agents that do them.

import { html, useState } from './htm-preact.js';
import { ask, getProtocols, json, list, query } from './api.js';
import { HowCurrent, useList } from './follow.js';
import { bytes, Chip, Choice, Failure, Json, Paged, Question, Table, useAnswer, useMay, useQuery, viewOf, When, Words } from './parts.js';

const MANY_MAX = 500, AT_ONCE = 4, EVERY_MS = 3000, AGENTS_MAX = 1000, HOLDERS_MAX = 64, HELD_SHOWN = 3, ACKS_MAX = 100, ACKS_EVERY_MS = 15_000;
// The newest first, as the server lists them: by the place of the request in its stream.
const byAge = (a, b) => (b.seq?.request ?? 0) - (a.seq?.request ?? 0) || Date.parse(b.requested_at) - Date.parse(a.requested_at);
const TASKS = { max: MANY_MAX, asked: { limit: MANY_MAX }, every: EVERY_MS, idOf: ({ id }) => id, order: byAge };
const RANK = ['lost', 'late', 'alive']; // who needs a look, first
const byNeed = (a, b) => RANK.indexOf(a.state) - RANK.indexOf(b.state) || (a.agent < b.agent ? -1 : 1);
const AGENTS = { max: AGENTS_MAX, asked: { limit: AGENTS_MAX }, every: EVERY_MS, idOf: ({ agent }) => agent, order: byNeed };
const CHECKPOINTS = {}, ACKS = { asked: { limit: ACKS_MAX }, every: ACKS_EVERY_MS };
const STATES = ['requested', 'claimed', 'completed', 'failed', 'expired'];
const IS_OPEN = { requested: true, claimed: true };
const IS_AGAIN = { failed: true, expired: true };

// What can be done with tasks: to which it applies, what it asks, and the request.
const ACTIONS = {
  cancel: {
    label: 'Cancel', applies: ({ state }) => IS_OPEN[state],
    fields: (tasks) => [{ name: 'agent', label: 'In the name of', value: tasks[0].from }, { name: 'reason', label: 'Reason' }],
    text: 'Their requesters hear that they failed.',
  },
  retry: {
    label: 'Try again', applies: ({ state }) => IS_AGAIN[state],
    fields: (tasks) => [{ name: 'agent', label: 'In the name of', value: tasks[0].from }],
    text: 'Each becomes a new task with the same payload.',
  },
  release: {
    label: 'Give back', applies: ({ state, holder }) => holder && IS_OPEN[state], isOneByOne: true,
    fields: (tasks) => [
      ...(tasks.length === 1 ? [{ name: 'agent', label: 'In the name of', value: tasks[0].holder }] : []),
      { name: 'why', label: 'Reason', isOptional: true },
    ],
    text: 'Each is given back in the name of its holder; another agent can take it then.',
  },
};

const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));

const actOnOne = (path, name, task, values) => ask(`${path}/${task.id}/${name}`, { method: 'POST', body: JSON.stringify(given(values)) });

// For what has no request for many: one for each, in the name of its holder.
async function oneByOne(path, name, tasks, values) {
  const left = tasks.slice(), problems = [];
  const work = async () => {
    for (let task = left.shift(); task; task = left.shift()) {
      await actOnOne(path, name, task, { agent: task.holder, ...values }).catch((error) => problems.push({ problem: { detail: error.message } }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done: tasks.length - problems.length, failed: problems.length, problems };
}

// One task by its own address, several by one request, whose answer is a line for each.
async function act(path, name, tasks, values) {
  if (tasks.length === 1) {
    await actOnOne(path, name, tasks[0], values);
    return { done: 1, failed: 0 };
  }
  if (ACTIONS[name].isOneByOne) return oneByOne(path, name, tasks, values);
  const lines = await list(`${path}/${name}`, { method: 'POST', body: JSON.stringify({ ...given(values), ids: tasks.map(({ id }) => id) }) });
  const { summary } = lines.at(-1);
  return { ...summary, problems: lines.filter(({ status }) => status === 'failed') };
}

function Deadline({ task }) {
  const isLate = IS_OPEN[task.state] && task.deadline && Date.parse(task.deadline) < Date.now();
  return html`<span class=${isLate ? 'late' : ''}><${When} time=${task.deadline} />${isLate && ' (over)'}</span>`;
}

// Who holds a task, and whether that agent is late or lost while the task is open.
function Holder({ task, states }) {
  const state = IS_OPEN[task.state] && states.get(task.holder);
  return html`${task.holder}${state && state !== 'alive' && html` <${Chip} kind=${`is-${state}`}>${state}<//>`}`;
}

function Story({ path, task, mayAct, onAct, onClose }) {
  const { value, error } = useAnswer((signal) => json(`${path}/${task.id}`, { signal }), [JSON.stringify(task)]);
  return html`<section class="details" aria-label="Task">
    <header><h2>${task.task}</h2><button type="button" class="small" onClick=${onClose}>Close</button></header>
    <div class="actions">${Object.entries(ACTIONS).filter(([, { applies }]) => mayAct && applies(task)).map(([name, { label }]) =>
      html`<button type="button" class="small" onClick=${() => onAct(name, [task])}>${label}</button>`)}
      ${value?.links?.messages && html`<a href=${`#live?protocol=${path.split('/')[2]}&thread=${task.id}&since=all`}>Its messages</a>`}</div>
    <${Failure} error=${error} />
    ${value?.turns?.length > 0 && html`<h3>Turns</h3><ol class="turns">${value.turns.map((turn) => html`<li>
      <strong>${turn.kind}</strong> ${turn.holder} <${When} time=${turn.at} /> ${turn.why && html`<span class="quiet">${turn.why}</span>`}</li>`)}</ol>`}
    ${value && html`<${Json} value=${value} />`}
  </section>`;
}

function Tasks({ protocol, mayAct, states }) {
  const [filters, change] = useQuery('work');
  const { state = '', domain, holder, from, shown } = filters;
  const [chosen, choose] = useState(new Set());
  const [question, ask_] = useState(null);
  const [outcome, tell] = useState(null);
  const path = protocol.links.tasks;
  const { items: known, hasMore, isFollowed, error, reload } = useList(path, { state, domain, holder, from }, TASKS);
  const items = known ?? [];
  const selected = items.find(({ id }) => id === shown);
  const marked = items.filter(({ id }) => chosen.has(id));
  const toggle = (id) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    choose(next);
  };
  const begin = (name, tasks) => ask_({ name, tasks });
  const action = question && ACTIONS[question.name];
  return html`<section aria-labelledby="tasks"><h2 id="tasks">Tasks</h2>
    <div class="filters">
      <${Choice} label="State" none="all" value=${state} options=${STATES} onChange=${(next) => change({ state: next })} />
      <${Words} label="Domain" value=${domain} onChange=${(next) => change({ domain: next })} />
      <${Words} label="Holder" value=${holder} onChange=${(next) => change({ holder: next })} />
      <${Words} label="From" value=${from} onChange=${(next) => change({ from: next })} />
    </div>
    <${Failure} error=${error} />
    <div class="actions" role="group" aria-label="For the chosen tasks">
      <label class="check"><input type="checkbox" checked=${items.length > 0 && marked.length === items.length}
        onChange=${(event) => choose(new Set(event.target.checked ? items.map(({ id }) => id) : []))} /> Choose all</label>
      ${Object.entries(ACTIONS).filter(() => mayAct).map(([name, { label, applies }]) => {
        const those = marked.filter(applies);
        return html`<button type="button" disabled=${those.length === 0} onClick=${() => begin(name, those)}>${label} ${those.length || ''}</button>`;
      })}
      <${HowCurrent} isFollowed=${isFollowed} every=${EVERY_MS} />
      <span class="quiet" role="status">${outcome ?? `${items.length}${hasMore ? ' and more' : ''} tasks, ${marked.length} chosen`}</span>
    </div>
    <div class="split">
    ${items.length === 0
      ? html`<p class="empty">${known ? 'No task matches.' : 'Loading …'} <a href="#try?protocol=${protocol.name}">Send one</a></p>`
      : html`<${Table} head=${['Chosen', 'Task', 'State', 'Holder', 'Held since', 'Held until', 'Deadline', 'Progress', 'From', 'Priority', 'Attempt']} wraps="Progress"
        rows=${items.map((task) => ({ key: task.id, isSelected: task.id === shown, cells: [
          html`<input type="checkbox" aria-label=${`Choose ${task.task} ${task.id}`} checked=${chosen.has(task.id)} onChange=${() => toggle(task.id)} />`,
          html`<button type="button" class="link" onClick=${() => change({ shown: task.id === shown ? '' : task.id })}>${task.task ?? task.id}</button>`,
          html`<${Chip} kind=${`is-${task.state}`}>${task.state}${task.lapsed ? ', lapsed' : ''}<//>`,
          task.holder && html`<${Holder} task=${task} states=${states} />`,
          task.holder && html`<${When} time=${task.claimed_at} />`,
          task.holder && (!task.until && IS_OPEN[task.state] ? 'no limit' : task.until && html`<${When} time=${task.until} />`),
          task.deadline && html`<${Deadline} task=${task} />`,
          task.progress && `${task.progress.percent ?? '?'} % ${task.progress.message ?? ''}`,
          task.from, task.priority, task.attempt] }))} />`}
    ${selected && html`<${Story} path=${path} task=${selected} mayAct=${mayAct} onAct=${begin} onClose=${() => change({ shown: '' })} />`}
    </div>
    ${question && html`<${Question} title=${`${action.label}: ${question.tasks.length} ${question.tasks.length === 1 ? 'task' : 'tasks'}`}
      text=${action.text} fields=${action.fields(question.tasks)} action=${`${action.label} ${question.tasks.length}`}
      onAnswer=${async (values) => {
        const { done, failed, problems = [] } = await act(path, question.name, question.tasks, values);
        tell(`${done} done, ${failed} failed${problems[0] ? `: ${problems[0].problem?.detail ?? ''}` : ''}`);
        choose(new Set());
        reload();
      }} onClose=${() => ask_(null)} />`}
  </section>`;
}

// ---- agents ----

// An answer may need the token, so that it is fetched, and given to the browser as a file.
async function download(path, name) {
  const blob = await (await ask(path, { headers: { Accept: 'application/json' } })).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function Agent({ path, name, onClose }) {
  const { value: agent, error } = useAnswer((signal) => json(`${path}/${name}`, { signal }), [path, name], EVERY_MS);
  const { items: checkpoints, next, more } = useList(`${path}/${name}/checkpoints`, {}, CHECKPOINTS); // not every agent has them
  const [failure, fail] = useState();
  const fetchFile = (address, file) => download(address, file).catch(fail);
  return html`<section class="details" aria-label="Agent">
    <header><h2>${name}</h2><button type="button" class="small" onClick=${onClose}>Close</button></header>
    <${Failure} error=${error ?? failure} />
    ${agent?.wal?.missing && html`<p class="late">Its log lacks ${agent.wal.missing.map((hole) => `${hole.first} to ${hole.last}`).join(', ')}${agent.wal.more ? ' and perhaps more' : ''}.</p>`}
    ${checkpoints && html`<h3>Checkpoints</h3>
      <${Paged} what="checkpoints" count=${checkpoints.length} hasMore=${next} onMore=${more}><ul class="plain">${checkpoints.map(({ id, size, at, gone }) => html`<li><code>${id}</code> ${bytes(size)} <${When} time=${at} />
        ${gone ? html`<${Chip} kind="error">not kept any more<//>` : html`
          <button type="button" class="small" onClick=${() => fetchFile(`${path}/${name}/checkpoints/${id}`, `${name}-${id}.json`)}>Download</button>
          <button type="button" class="small" onClick=${() => fetchFile(`${path}/${name}/restore?checkpoint=${id}`, `${name}-restore-${id}.json`)}>Restore from here</button>`}</li>`)}</ul><//>`}
    ${agent && html`<${Json} value=${agent} />`}
  </section>`;
}

// The open tasks of each of these agents, which are at most HOLDERS_MAX.
async function tasksHeld(path, agents, signal) {
  const held = new Map(agents.map((agent) => [agent, []]));
  if (agents.length === 0) return held;
  const { items } = await json(path + query({ holder: agents.join(','), state: 'requested,claimed', limit: 1000 }), { signal });
  for (const task of items) held.get(task.holder)?.push(task);
  return held;
}

// At most so many are named; the link shows all.
function Held({ agent, tasks }) {
  const names = tasks?.slice(0, HELD_SHOWN).map(({ task, id }) => task ?? id).join(', ');
  if (tasks?.length === 0) return html`<span class="quiet">none</span>`;
  return html`<a href=${`#work${query({ holder: agent })}`}>${tasks ? `${tasks.length}: ${names}${tasks.length > HELD_SHOWN ? ', …' : ''}` : 'its tasks'}</a>`;
}

function Agents({ protocol, listed }) {
  const path = protocol.links.agents, tasks = protocol.links.tasks;
  const [{ agent: shown, of }, change] = useQuery('work');
  const { items: known, hasMore, next, isFollowed, every, error, more } = listed;
  const items = known ?? [];
  const asked = tasks ? items.slice(0, HOLDERS_MAX).map(({ agent }) => agent) : [];
  const { value: held } = useAnswer((signal) => tasksHeld(tasks, asked, signal), [tasks, asked.join()], EVERY_MS);
  const name = of === protocol.name ? shown : null;
  return html`<section aria-labelledby=${`agents-${protocol.name}`}><h2 id=${`agents-${protocol.name}`}>Agents of ${protocol.title}</h2>
    <${Failure} error=${error} />
    ${known && html`<p class="status"><${HowCurrent} isFollowed=${isFollowed} every=${every} /> · ${items.length}${hasMore ? ' and more' : ''} ${items.length === 1 ? 'agent' : 'agents'}</p>`}
    ${items.length === 0 && !error ? html`<p class="empty">${known ? 'No agent has said anything.' : 'Loading …'}</p>` : html`<div class="split">
      <${Paged} what="agents" count=${items.length} hasMore=${next} onMore=${more}><${Table} head=${['Agent', 'State', 'Last heard', ...(tasks ? ['Holds'] : []), 'Version']}
        rows=${items.map((one) => ({ key: one.agent, isSelected: one.agent === name, cells: [
          html`<button type="button" class="link" onClick=${() => change({ of: protocol.name, agent: one.agent === name ? '' : one.agent })}>${one.agent}</button>`,
          html`<${Chip} kind=${`is-${one.state}`}>${one.state}<//>`, html`<${When} time=${one.last} />`,
          ...(tasks ? [html`<${Held} agent=${one.agent} tasks=${held?.get(one.agent)} />`] : []), one.version] }))} /><//>
      ${name && html`<${Agent} key=${name} path=${path} name=${name} onClose=${() => change({ agent: '' })} />`}
    </div>`}
  </section>`;
}

// ---- acknowledgements ----

// Which messages wait for an acknowledgement, and whose. The index has them, a second or so late.
function Acknowledgements({ protocol, address }) {
  const { items: known, next, error, more } = useList(address, { open: true }, ACKS);
  const items = known ?? [];
  const isOff = error?.body?.type === '/problems/no-index';
  return html`<section aria-labelledby=${`acks-${protocol.name}`}><h2 id=${`acks-${protocol.name}`}>What waits for an acknowledgement in ${protocol.title}</h2>
    ${isOff ? html`<p class="empty">It is known where the server runs with <code>--index on</code>.</p>` : html`<${Failure} error=${error} />`}
    ${items.length === 0 && !next && !error && html`<p class="empty">${known ? 'Nothing waits for an acknowledgement.' : 'Loading …'}</p>`}
    ${(items.length > 0 || next) && html`<${Paged} what="acknowledgements" count=${items.length} hasMore=${next} onMore=${more}><${Table} head=${['Of whom', 'Message', 'From', 'Since', 'Subject']} wraps="Subject"
      rows=${items.map((one) => ({ key: `${one.message} ${one.recipient}`, cells: [
        one.recipient ?? 'anyone',
        html`<a href=${`#stories${query({ id: one.id })}`}>${one.type.split('.').slice(1).join('.')}</a>
          ${one.overdue && html` <${Chip} kind="error">overdue<//>`}${one.urgent && html` <${Chip} kind="warning">urgent<//>`}${one.answered && html` <${Chip}>answered<//>`}`,
        one.sender, html`<${When} time=${one.time} />`, one.members?.subject] }))} /><//>`}
  </section>`;
}

// The agents of a protocol, and its tasks, which show whose holder is lost.
function Of({ protocol, may }) {
  const { agents, tasks } = protocol.links;
  const listed = useList(agents, {}, AGENTS);
  const states = new Map((listed.items ?? []).map(({ agent, state }) => [agent, state]));
  return html`${tasks && html`<${Tasks} protocol=${protocol} mayAct=${may('send', protocol.name)} states=${states} />`}
    ${agents && html`<${Agents} protocol=${protocol} listed=${listed} />`}
    ${viewOf(protocol, 'acks') && html`<${Acknowledgements} protocol=${protocol} address=${viewOf(protocol, 'acks')} />`}`;
}

export default function Work() {
  const { value: protocols = [], error } = useAnswer(getProtocols, []);
  const may = useMay();
  const read = protocols.filter((protocol) => may('read', protocol.name) && (protocol.links.tasks || protocol.links.agents || viewOf(protocol, 'acks')));
  return html`<h1>Work</h1><${Failure} error=${error} />
    ${read.map((protocol) => html`<${Of} key=${protocol.name} protocol=${protocol} may=${may} />`)}`;
}
