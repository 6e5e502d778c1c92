// SPDX-License-Identifier: Apache-2.0
// Try it: write a message, see at once what is wrong with it, fix it, and send it.

import { html, useEffect, useMemo, useRef, useState } from './htm-preact.js';
import { ask, curl, getProtocols, json, query, verdictOn } from './api.js';
import { Chip, Choice, Copy, Failure, Prose, useAnswer, useMay, useQuery } from './parts.js';

const PAUSE_MS = 300;
const MARKDOWN = 'text/markdown', JSON_TYPE = 'application/json', MSGPACK = 'application/msgpack';
const CODINGS = { [MARKDOWN]: 'markdown', [JSON_TYPE]: 'json', [MSGPACK]: 'msgpack' };

// ---- JSON Patch (RFC 6902), as fixes use it ----

const stepsOf = (path) => path.split('/').slice(1).map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'));

function placeOf(root, path) {
  const steps = stepsOf(path);
  const last = steps.pop();
  const parent = steps.reduce((value, step) => value?.[step], root);
  return { parent, last };
}

function take(root, path) {
  const { parent, last } = placeOf(root, path);
  const value = parent[last];
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return value;
}

function put(root, path, value) {
  const { parent, last } = placeOf(root, path);
  if (!Array.isArray(parent)) parent[last] = value;
  else if (last === '-') parent.push(value);
  else parent.splice(Number(last), 0, value);
}

export function applyPatch(message, patch) {
  const root = { '': structuredClone(message) };
  for (const { op, path, from, value } of patch) {
    const [at, source] = [`/${path}`, from !== undefined ? `/${from}` : undefined];
    if (op === 'remove' || op === 'replace') take(root, at);
    if (op === 'add' || op === 'replace') put(root, at, value);
    if (op === 'move') put(root, at, take(root, source));
    if (op === 'copy') put(root, at, structuredClone(placeOf(root, source).parent[placeOf(root, source).last]));
  }
  return root[''];
}

// ---- the editor ----

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

function coloured(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(TOKENS)) {
    const [whole, string, colon, number, word] = found;
    parts.push(text.slice(end, found.index));
    const kind = string ? (colon ? 'key' : 'string') : number ? 'number' : word === 'null' ? 'null' : 'boolean';
    parts.push(html`<span class=${`json ${kind}`}>${string ?? whole}</span>`, colon ?? '');
    end = found.index + whole.length;
  }
  return [...parts, text.slice(end), '\n'];
}

function Editor({ text, onChange, lines, isJson }) {
  const [area, behind, gutter] = [useRef(), useRef(), useRef()];
  const follow = () => {
    behind.current.scrollTop = gutter.current.scrollTop = area.current.scrollTop;
    behind.current.scrollLeft = area.current.scrollLeft;
  };
  const count = text.split('\n').length;
  const shown = useMemo(() => (isJson && text.length < 50_000 ? coloured(text) : [text, '\n']), [text, isJson]);
  return html`<div class="editor">
    <div class="gutter" ref=${gutter} aria-hidden="true">${Array.from({ length: count }, (_, i) => html`<div class=${lines.has(i + 1) ? 'wrong' : ''}>${i + 1}</div>`)}</div>
    <div class="sheet"><pre ref=${behind} aria-hidden="true">${shown}</pre>
      <textarea ref=${area} spellcheck="false" autocapitalize="off" aria-label="Message" value=${text} wrap="off"
        onInput=${(event) => onChange(event.target.value)} onScroll=${follow}></textarea></div>
  </div>`;
}

// ---- the verdict ----

const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const pretty = (value) => JSON.stringify(value, null, 2);

const inWords = ({ patch, edit }) => (edit
  ? `at byte ${edit.offset} delete ${edit.delete}${edit.insert && `, insert ${JSON.stringify(edit.insert)}`}`
  : patch.map(({ op, path, from, value }) => `${op} ${from ? `${from} → ` : ''}${path}${value !== undefined ? ` ${JSON.stringify(value)}` : ''}`).join('; '));

// Offsets are in bytes.
function edited(text, { offset, delete: count, insert }) {
  const bytes = new TextEncoder().encode(text);
  const decode = (part) => new TextDecoder().decode(part);
  return decode(bytes.subarray(0, offset)) + insert + decode(bytes.subarray(offset + count));
}

function Violation({ one, onFix }) {
  const { rule, severity, path, at, message, hint, fix } = one;
  return html`<li class=${severity}>
    <p><${Chip} kind=${severity}>${severity}<//> <a href=${`/rules/${rule}`} target="_blank" rel="noopener">${rule}</a>
      ${path && html` <code>${path}</code>`}${at?.line && html` <span class="quiet">line ${at.line}, column ${at.column}</span>`}</p>
    <p><${Prose} text=${message} /></p>
    ${hint && html`<p class="quiet"><${Prose} text=${hint} /></p>`}
    ${fix && onFix && html`<button type="button" class="small" onClick=${() => onFix(one)}>${fix.safe ? 'Fix' : 'Take the suggestion'}</button>
      <code class="patch">${inWords(fix)}</code>`}
  </li>`;
}

// MessagePack is written as hex; all that is none of its digits is passed over.
const toHex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ').replace(/(.{47}) /g, '$1\n');
const fromHex = (text) => Uint8Array.from(text.replace(/[^0-9a-fA-F]/g, '').match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const bodyOf = (text, type) => (type === MSGPACK ? fromHex(text) : text);

// The message in another encoding, as it is written there.
async function converted(protocol, text, type, to, signal) {
  const answer = await ask(`/v1/${protocol}/convert?to=${CODINGS[to]}`, { method: 'POST', body: bodyOf(text, type), type, signal });
  if (to === MSGPACK) return toHex(new Uint8Array(await answer.arrayBuffer()));
  return to === JSON_TYPE ? pretty(await answer.json()) : answer.text();
}

function useVerdict(protocol, type, text, options) {
  const [state, set] = useState({});
  useEffect(() => {
    if (!protocol || !text.trim()) return set({});
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        set({ verdict: await verdictOn(protocol, bodyOf(text, type), type, { options, signal: abort.signal }) });
      } catch (error) {
        if (!abort.signal.aborted) set({ error });
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [protocol, type, text, JSON.stringify(options)]);
  return state;
}

// The message in the other encoding, beside the one in which it is written.
function Beside({ protocol, text, type, isValid }) {
  const other = type === MSGPACK ? JSON_TYPE : MSGPACK;
  const { value, error } = useAnswer(
    async (signal) => (isValid ? converted(protocol, text, type, other, signal) : null), [protocol, text, type, isValid]);
  const title = other === MSGPACK ? 'As MessagePack' : 'As JSON';
  if (!isValid) return html`<p class="quiet">${title} it is shown once it is valid.</p>`;
  if (error) return html`<${Failure} error=${error} />`;
  return value && html`<h2>${title}${other === MSGPACK && `, ${fromHex(value).length} bytes`}</h2><pre class="hex" tabindex="0">${value}</pre>`;
}

// As crypto.randomUUID, which browsers have for secure origins alone.
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

// The message with another id and the time of now, where it has them, so that it can be sent again.
function renewed(message) {
  const { id, timestamp } = message;
  const now = typeof timestamp === 'number' ? Math.floor(Date.now() / 1000) : `${new Date().toISOString().slice(0, 19)}Z`;
  return { ...message, ...(id !== undefined && { id: newId() }), ...(timestamp !== undefined && { timestamp: now }) };
}
const canRenew = (message) => message !== null && typeof message === 'object' && ('id' in message || 'timestamp' in message);

const mcpCall = (protocol, text) => {
  const message = parse(text) ?? text;
  return pretty({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'send', arguments: { protocol, message } } });
};

export default function Try() {
  const [{ protocol: chosen, example: wanted }, change] = useQuery('try');
  const { value: all = [], error: failure } = useAnswer(getProtocols, []);
  const may = useMay();
  const protocols = all.filter(({ name }) => may('send', name));
  const protocol = protocols.find(({ name }) => name === chosen) ?? protocols[0];
  const { value: examples = [] } = useAnswer(async (signal) => (protocol ? json(protocol.links.examples, { signal }) : []), [protocol?.name]);
  const [text, setText] = useState('');
  const [type, setType] = useState(JSON_TYPE);
  const [isStamped, setStamped] = useState(true);
  const [sent, setSent] = useState({});
  const isWritten = useRef(false); // an example that comes late does not replace what a person wrote
  useEffect(() => { isWritten.current = false; }, [chosen, wanted]);
  const write = (changed) => {
    isWritten.current = true;
    setText(changed);
  };
  useEffect(() => {
    if (isWritten.current) return;
    const example = examples.find(({ name }) => name === wanted) ?? examples[0];
    if (!example) return;
    setType(JSON_TYPE);
    setText(pretty(example.message));
    setSent({});
  }, [examples, wanted]);
  const options = isStamped ? { stamp: true } : {};
  const { verdict, error } = useVerdict(protocol?.name, type, text, options);
  const encodings = protocol?.encodings.flatMap(({ media_types: types }) => types) ?? [];
  const isBinary = encodings.includes(MSGPACK);
  const forms = [[JSON_TYPE, 'JSON'], [MARKDOWN, 'Markdown'], [MSGPACK, 'MessagePack, in hex']].filter(([name]) => name === JSON_TYPE || encodings.includes(name));
  const path = `/v1/${protocol?.name}/messages${query(options)}`;
  const lines = new Set((verdict?.violations ?? []).map(({ at }) => at?.line));
  const fix = ({ path: where, fix: { patch, edit } }) => {
    const message = parse(text);
    const name = where.slice(1);
    if (type === MARKDOWN) setText(edited(text, edit));
    else if (message === undefined) return;
    else if (edit) setText(pretty({ ...message, [name]: edited(message[name], edit) }));
    else setText(pretty(applyPatch(message, patch)));
  };
  const fixAll = async () => {
    const { message } = await json(`/v1/${protocol.name}/validate${query({ ...options, fix: true })}`, { method: 'POST', body: text });
    if (message) setText(pretty(message));
  };
  // What cannot be converted stays as it is, to be written again.
  const convert = async (next) => {
    try {
      setText(await converted(protocol.name, text, type, next));
    } catch (problem) {
      setSent({ problem });
    }
    setType(next);
  };
  const send = async () => {
    try {
      setSent({ receipt: await json(path, { method: 'POST', body: bodyOf(text, type), type }) });
    } catch (problem) {
      setSent({ problem });
    }
  };
  const canFix = type === JSON_TYPE && parse(text) !== undefined;
  const hasSafe = verdict?.violations?.some((one) => one.fix?.safe);
  return html`<h1>Try it</h1>
    <${Failure} error=${failure} />
    <div class="filters">
      <${Choice} label="Protocol" value=${protocol?.name} options=${protocols.map(({ name, title }) => ({ value: name, label: title }))}
        onChange=${(name) => change({ protocol: name, example: '' })} />
      <${Choice} label="Example" value=${wanted ?? examples[0]?.name} onChange=${(example) => change({ example })}
        options=${examples.map(({ name, title }) => ({ value: name, label: `${name}: ${title}` }))} />
      ${forms.length > 1 && html`<${Choice} label="Written as" value=${type} onChange=${convert}
        options=${forms.map(([value, label]) => ({ value, label }))} />`}
      <label class="check"><input type="checkbox" checked=${isStamped} onChange=${(event) => setStamped(event.target.checked)} /> fill in id, time and version where they are missing</label>
    </div>
    <div class="two">
      <section aria-label="Message">
        <${Editor} text=${text} onChange=${write} lines=${lines} isJson=${type === JSON_TYPE} />
        <div class="actions">
          <button type="button" class="main" onClick=${send}>Send it</button>
          ${canFix && html`<button type="button" onClick=${() => setText(pretty(parse(text)))}>Format</button>`}
          ${canFix && canRenew(parse(text)) && html`<button type="button" onClick=${() => setText(pretty(renewed(parse(text))))}>New id and time</button>`}
          <${Copy} text=${() => curl(path, { body: text, type, isHex: type === MSGPACK })} label="Copy as curl" />
          ${type !== MSGPACK && html`<${Copy} text=${() => mcpCall(protocol.name, text)} label="Copy as MCP call" />`}
        </div>
        ${sent.receipt && html`<div class="success" role="status"><p>Stored in ${sent.receipt.stream} as number ${sent.receipt.seq}${sent.receipt.duplicate ? ', where it was already' : ''}.
          ${' '}<a href=${`#live${query({ protocol: protocol.name, text: sent.receipt.id })}`}>See it live</a></p><pre tabindex="0">${pretty(sent.receipt)}</pre></div>`}
        <${Failure} error=${sent.problem} />
      </section>
      <section aria-label="Verdict" aria-live="polite">
        <${Failure} error=${error} />
        ${verdict && html`<p class=${verdict.valid ? 'verdict valid' : 'verdict invalid'}><strong>${verdict.valid ? 'Valid' : 'Not valid'}</strong>
            ${verdict.subject && html` <code>${verdict.subject}</code>`}</p>
          ${canFix && hasSafe && html`<p><button type="button" onClick=${fixAll}>Apply all safe fixes</button></p>`}
          <ul class="violations">${verdict.violations.map((one) => html`<${Violation} one=${one} onFix=${canFix || (type === MARKDOWN && one.fix?.edit) ? fix : null} />`)}</ul>`}
        ${isBinary && html`<${Beside} protocol=${protocol.name} text=${text} type=${type} isValid=${Boolean(verdict?.valid)} />`}
      </section>
    </div>`;
}
