// SPDX-License-Identifier: Apache-2.0
// Messages out of messages: each aims at a place of a rule. It is a copy of a seed that has the
// place, with up to four mutations, most of them there. No mutation makes text that is no JSON.

import { Spelled, copy, isObject, isThere, set } from './json.mjs';

// Every array and object of a tree, with the way to its parts.
function containersOf(value, found = []) {
  if (Array.isArray(value)) found.push(value);
  else if (isObject(value)) found.push(value);
  else return found;
  for (const part of Object.values(value)) containersOf(part, found);
  return found;
}

const keysOf = (container) => Object.keys(container);

function remove(container, key) {
  if (Array.isArray(container)) container.splice(Number(key), 1);
  else delete container[key];
}

// The values of all members of messages, by name.
function membersOf(messages) {
  const members = new Map();
  for (const object of messages.flatMap((message) => containersOf(message)).filter(isObject)) {
    for (const [name, value] of Object.entries(object)) {
      members.set(name, [...(members.get(name) ?? []), value]);
    }
  }
  return members;
}

// What stands at a path, whose `*` is every part.
const partsAt = (value, path) => path.reduce(
  (parts, token) => parts.flatMap((of) => token === '*' ? Object.values(of) : [of[token]]), [value]);

export class Generator {
  // `seeds`: messages, those that are valid in `good`; `paths`: places of rules as tokens, with `*`;
  // `values`: lists by kind.
  constructor({ random, seeds, good, paths, values }) {
    Object.assign(this, { random, seeds, values });
    this.members = membersOf(good);
    this.aims = paths.filter((path) => path.length > 0)
      .map((path) => ({ path, seeds: this.seedsWith(path, good) }));
    this.wanted = [];
    this.names = [...new Set(this.aims.flatMap(({ path }) => path))].filter((name) => name !== '*');
    this.mutations = [
      [6, this.setAtRule], [2, this.dropAtRule], [3, this.editAtRule], [1, this.setAnywhere],
      [1, this.dropAnywhere], [1, this.addUnknown], [1, this.transplant], [1, this.repeatItem],
      [1, this.emptyContainer],
    ].flatMap(([weight, mutation]) => Array(weight).fill(mutation));
  }

  // Aims every other message at one of these paths from now on, if there is any.
  want(paths) {
    const texts = new Set(paths.map(String));
    this.wanted = this.aims.filter(({ path }) => texts.has(String(path)));
  }

  // Messages that have a value at a path, or else the place for one: valid ones, or ones into which
  // a member of another message was put that has the rest of the path.
  seedsWith(path, good) {
    for (let length = path.length; length >= 0; length--) {
      const having = good.filter((message) => isThere(message, path.slice(0, length)));
      if (having.length === 0) continue;
      const grafts = length === path.length ? [] : (this.members.get(path[length]) ?? [])
        .filter((value) => isThere(value, path.slice(length + 1)));
      if (grafts.length === 0) return having;
      return grafts.slice(0, 20).map((value, i) => {
        const message = copy(having[i % having.length]);
        partsAt(message, path.slice(0, length)).filter(isObject)
          .forEach((object) => set(object, path[length], copy(value)));
        return message;
      });
    }
    return this.seeds;
  }

  next() {
    const { random } = this;
    if (random.chance(0.02)) return this.value();
    this.aim = random.pick(this.wanted.length > 0 && random.chance(0.5) ? this.wanted : this.aims);
    const message = copy(random.pick(random.chance(0.7) ? this.aim.seeds : this.seeds));
    const count = random.pick([0, 1, 1, 1, 1, 1, 2, 2, 3, 4]);
    for (let i = 0; i < count; i++) random.pick(this.mutations).call(this, message);
    return message;
  }

  // A value of any kind; arrays and objects are shallow.
  value(depth = 0) {
    const { random, values } = this;
    const kinds = ['numbers', 'strings', 'choices', 'times', 'uuids', 'others'];
    if (depth < 2 && random.chance(0.25)) {
      const size = random.pick([0, 0, 1, 1, 2, 3]);
      if (random.chance(0.5)) {
        return Array.from({ length: size }, () => this.value(depth + 1));
      }
      const object = {};
      for (let i = 0; i < size; i++) set(object, this.name(), this.value(depth + 1));
      return object;
    }
    const list = values[random.pick(kinds)];
    return list.length > 0 ? random.pick(list) : null;
  }

  name() {
    return this.random.chance(0.7) ? this.random.pick(this.names) : this.unknownName();
  }

  unknownName() {
    return this.random.pick(['x', '', 'X-1', 'é', '😀', 'a.b', 'a/b', 'a~b', '__proto__',
      'constructor', 'toString', 'length', '0']);
  }

  // The container and key of a place that a rule names, its `*` chosen, and the last name on the
  // way; what is missing on the way is made only when `isMade`. Nothing where there is no such place.
  find(message, isMade) {
    const { path } = this.random.chance(0.7) ? this.aim : this.random.pick(this.aims);
    let at = message, name = '';
    for (let i = 0; i < path.length; i++) {
      if (!Array.isArray(at) && !isObject(at)) return null;
      let key = path[i];
      if (key === '*') {
        const keys = keysOf(at);
        if (keys.length === 0 && !isMade) return null;
        key = keys.length > 0 ? this.random.pick(keys) : Array.isArray(at) ? '0' : this.name();
      } else if (Array.isArray(at)) {
        return null;
      }
      if (path[i] !== '*') name = path[i];
      if (i === path.length - 1) return { container: at, key, name };
      if (!Object.hasOwn(at, key)) {
        if (!isMade) return null;
        this.put(at, key, path[i + 1] === '*' && this.random.chance(0.7) ? [] : {});
      }
      at = at[key];
    }
    return null;
  }

  put(container, key, value) {
    if (Array.isArray(container)) container[Math.min(Number(key), container.length)] = value;
    else set(container, key, value);
  }

  setAtRule(message) {
    const place = this.find(message, this.random.chance(0.5));
    if (place) this.put(place.container, place.key, this.valueAbout(place.name));
  }

  // A value at the edge of what the rules of that member want, one that it has elsewhere, or any.
  valueAbout(name) {
    const edges = this.values.byName[name] ?? [], others = this.members.get(name) ?? [];
    if (edges.length > 0 && this.random.chance(0.5)) return this.random.pick(edges);
    if (others.length > 0 && this.random.chance(0.2)) return copy(this.random.pick(others));
    return this.value();
  }

  dropAtRule(message) {
    const place = this.find(message, false);
    if (place && Object.hasOwn(place.container, place.key)) remove(place.container, place.key);
  }

  // A small change to what is there, of the same kind.
  editAtRule(message) {
    const place = this.find(message, false);
    if (!place || !Object.hasOwn(place.container, place.key)) return;
    const value = place.container[place.key];
    if (typeof value === 'string') this.put(place.container, place.key, this.edit(value));
    else if (typeof value === 'number' || value instanceof Spelled) {
      this.put(place.container, place.key, this.random.pick([
        ...this.values.numbers, ...(this.values.byName[place.name] ?? [])]));
    }
  }

  // Code points, so that no surrogate is left alone.
  edit(text) {
    const { random } = this;
    const points = [...text];
    const at = random.below(points.length + 1);
    const point = random.pick(['a', 'Z', '0', '-', '_', '.', ' ', '\n', '\u0000', 'é', '😀', '\u0301']);
    const edits = [
      () => points.splice(at, 0, point),
      () => points.splice(at, 1),
      () => points.splice(at, 1, point),
      () => points.push(point),
      () => points.unshift(point),
      () => points.splice(0, points.length, ...text.toUpperCase()),
      () => points.splice(0, points.length, ...text.toLowerCase()),
      () => points.push(...text),
    ];
    random.pick(edits)();
    return points.join('');
  }

  anywhere(message) {
    const container = this.random.pick(containersOf(message).concat([{}]));
    const keys = keysOf(container);
    return keys.length > 0 ? { container, key: this.random.pick(keys) } : null;
  }

  setAnywhere(message) {
    const place = this.anywhere(message);
    if (place) this.put(place.container, place.key, this.value());
  }

  dropAnywhere(message) {
    const place = this.anywhere(message);
    if (place) remove(place.container, place.key);
  }

  addUnknown(message) {
    const objects = containersOf(message).filter(isObject);
    if (objects.length > 0) set(this.random.pick(objects), this.unknownName(), this.value());
  }

  // A part of another message at the place that it has there.
  transplant(message) {
    if (!isObject(message)) return;
    const other = this.random.pick(this.seeds);
    const keys = isObject(other) ? keysOf(other) : [];
    if (keys.length > 0) {
      const key = this.random.pick(keys);
      set(message, key, copy(other[key]));
    }
  }

  repeatItem(message) {
    const arrays = containersOf(message).filter((of) => Array.isArray(of) && of.length > 0);
    if (arrays.length > 0) {
      const array = this.random.pick(arrays);
      array.push(copy(this.random.pick(array)));
    }
  }

  emptyContainer(message) {
    const container = this.random.pick(containersOf(message).concat([{}]));
    for (const key of keysOf(container).reverse()) remove(container, key);
  }
}
