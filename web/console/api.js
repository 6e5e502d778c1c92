// SPDX-License-Identifier: Apache-2.0
// Requests to this server: with the token of this session, and with problems as errors.

const TOKEN = 'parley-token';
const listeners = new Set();

// The token is kept for the session of this tab, and is never part of an address.
export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set(value) {
    if (value) sessionStorage.setItem(TOKEN, value);
    else sessionStorage.removeItem(TOKEN);
    for (const listener of listeners) listener();
  },
};

// Calls `listener` after the token has changed.  Returns a function that ends this.
export function onToken(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// What the server answers instead of what was asked for: application/problem+json.
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `The server answered ${status}.`);
    Object.assign(this, { status, body: body ?? {}, type: body?.type ?? '' });
  }
}

async function problemOf(response) {
  const isJson = /json/.test(response.headers.get('Content-Type') ?? '');
  const body = isJson ? await response.json().catch(() => null) : null;
  if (response.status === 401) dispatchEvent(new CustomEvent('parley-unauthenticated', { detail: body?.detail }));
  return new Problem(response.status, body);
}

// Returns the response of a request that succeeds.  Throws: Problem; TypeError without a connection.
export async function ask(path, { method = 'GET', body, type = 'application/json', headers = {}, signal } = {}) {
  const all = { ...headers };
  if (token.get()) all.Authorization = `Bearer ${token.get()}`;
  if (body !== undefined) all['Content-Type'] = type;
  const response = await fetch(path, { method, body, headers: all, signal, cache: 'no-store' });
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function json(path, options) {
  const response = await ask(path, options);
  return response.status === 204 ? null : response.json();
}

export const post = (path, value, options) => json(path, { method: 'POST', body: JSON.stringify(value), ...options });

// How many characters a value had as its line of NDJSON: a member that nothing lists or writes.
export const SIZE = Symbol('size');

function valueOf(line) {
  const value = JSON.parse(line);
  value[SIZE] = line.length;
  return value;
}

// The verdict on a message, also where it breaks a rule before it can be read.
export async function verdictOn(protocol, body, type, { options = {}, signal } = {}) {
  try {
    return await json(`/v1/${protocol}/validate${query(options)}`, { method: 'POST', body, type, signal });
  } catch (error) {
    const violations = error instanceof Problem && error.body.violations;
    if (!violations) throw error;
    return { valid: false, violations };
  }
}

// Calls `take` with each array of values, which are objects, that arrives as NDJSON.
export async function readLines(response, take, mayRead = async () => {}) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    await mayRead();
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    const values = lines.filter(Boolean).map(valueOf);
    if (values.length) take(values);
  }
}

export async function list(path, options) {
  const items = [];
  const response = await ask(path, options);
  await readLines(response, (values) => items.push(...values));
  return items;
}

const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

// The command that does the same in a shell.
export function curl(path, { method = 'POST', body, type = 'application/json', isHex } = {}) {
  const words = ['curl', ...(method === 'POST' ? [] : ['-X', method]), quote(location.origin + path)];
  if (token.get()) words.push('-H', '"Authorization: Bearer $(cat token)"');
  if (body !== undefined) words.push('-H', quote(`Content-Type: ${type}`), '\\\n  --data-binary', isHex ? '@-' : quote(body));
  return `${isHex ? `echo ${quote(body)} | xxd -r -p | ` : ''}${words.join(' ')}`;
}

let who;
onToken(() => (who = undefined));
// What the credentials of this session allow: {scopes, name, agent}.
export function whoami() {
  who ??= json('/v1/whoami').catch((error) => {
    who = undefined;
    throw error;
  });
  return who;
}

let protocols;
// The protocols of this server, with the addresses that each has (`links`).
export function getProtocols() {
  protocols ??= json('/v1/protocols').catch((error) => {
    protocols = undefined;
    throw error;
  });
  return protocols;
}

export const query = (values) => {
  const set = Object.entries(values).filter(([, value]) => value !== '' && value != null && value !== false);
  const text = new URLSearchParams(set).toString();
  return text && `?${text}`;
};
