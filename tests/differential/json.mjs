// SPDX-License-Identifier: Apache-2.0
// JSON whose numbers keep their spelling: 1.0 and 1 are one number to JSON.parse, and two texts to
// a gateway. A number of a tree may be a Spelled; everything else is what JSON.parse gives.

export class Spelled {
  constructor(text) {
    this.text = text;
  }
}

export const isObject = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) &&
  !(value instanceof Spelled);

export function write(value) {
  if (value instanceof Spelled) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, of]) => `${JSON.stringify(key)}:${write(of)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}

export function copy(value) {
  if (value instanceof Spelled) return value;
  if (Array.isArray(value)) return value.map(copy);
  if (!isObject(value)) return value;
  const same = {};
  for (const [key, of] of Object.entries(value)) set(same, key, copy(of));
  return same;
}

// Sets a member by any name, `__proto__` too.
export function set(object, key, value) {
  Object.defineProperty(object, key,
    { value, enumerable: true, configurable: true, writable: true });
}

// The tokens of a JSON Pointer.
export const tokens = (pointer) =>
  pointer.split('/').slice(1).map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

// Whether a tree has a value at this path, whose `*` is any part.
export function isThere(value, path) {
  if (path.length === 0) return true;
  if (!Array.isArray(value) && !isObject(value)) return false;
  if (path[0] === '*') return Object.values(value).some((of) => isThere(of, path.slice(1)));
  return Object.hasOwn(value, path[0]) && isThere(value[path[0]], path.slice(1));
}
