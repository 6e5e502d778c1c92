// SPDX-License-Identifier: Apache-2.0
// A decoder that a JSON Schema constrains: it makes what the schema lets it make, by chance, and looks
// at nothing else. It knows the keywords that decoders of language models know, and conditions.

import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const WORDS = new Set(['title', 'description']); // for the reader
const KEYWORDS = new Set([
  'type', 'properties', 'required', 'items', 'enum', 'const', 'anyOf', 'allOf', 'if', 'then', 'else',
  'pattern', 'format', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'additionalProperties',
]);

// Every schema in a schema.
export function* schemasIn(schema) {
  yield schema;
  const { properties = {}, items, anyOf = [], allOf = [] } = schema;
  const parts = [...Object.values(properties), items, ...anyOf, ...allOf, schema.if, schema.then, schema.else];
  for (const part of parts) if (part) yield* schemasIn(part);
}

// The keywords of a schema that no decoder needs to know.
export const exoticIn = (schema) => [...schemasIn(schema)].flatMap((part) =>
  Object.keys(part).filter((key) => !KEYWORDS.has(key) && !WORDS.has(key)));

// ---- texts of a pattern ----

const PRINTABLE = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
const BLANKS = { n: '\n', r: '\r', t: '\t' };

class Pattern {
  constructor(source, random) {
    Object.assign(this, { source, random, at: 0 });
  }

  // A text that fits. A pattern without an end allows more after it.
  make() {
    const text = this.alternatives();
    return this.source.endsWith('$') ? text : `${text} and so on`;
  }

  alternatives() {
    const made = [this.sequence()];
    while (this.source[this.at] === '|') {
      this.at++;
      made.push(this.sequence());
    }
    return this.random.pick(made);
  }

  sequence() {
    let text = '';
    while (this.at < this.source.length && !'|)'.includes(this.source[this.at])) {
      const begin = this.at;
      const first = this.one();
      const times = this.random.between(...this.count());
      const end = this.at;
      if (times > 0) text += first;
      for (let i = 1; i < times; i++) {
        this.at = begin;
        text += this.one();
      }
      this.at = end;
    }
    return text;
  }

  count() {
    const [whole, sign, least, most] = /^(?:([*+?])|\{(\d+)(?:,(\d*))?\})?/.exec(this.source.slice(this.at));
    this.at += whole.length;
    if (sign) return { '*': [0, 3], '+': [1, 4], '?': [0, 1] }[sign];
    if (least === undefined) return [1, 1];
    return [Number(least), Number(most || least)];
  }

  one() {
    const sign = this.source[this.at++];
    if ('^$'.includes(sign)) return '';
    if (sign === '[') return this.random.pick(this.members());
    if (sign === '\\') return this.escaped();
    if (sign !== '(') return sign;
    const text = this.alternatives();
    this.at++;
    return text;
  }

  escaped() {
    const sign = this.source[this.at++];
    if (sign !== 'x') return BLANKS[sign] ?? sign;
    this.at += 2;
    return String.fromCharCode(Number.parseInt(this.source.slice(this.at - 2, this.at), 16));
  }

  members() {
    const isNot = this.source[this.at] === '^';
    this.at += isNot;
    const ranges = [];
    const member = () => (this.source[this.at] === '\\' ? (this.at++, this.escaped()) : this.source[this.at++]);
    while (this.source[this.at] !== ']') {
      const from = member();
      const isRange = this.source[this.at] === '-' && this.source[this.at + 1] !== ']';
      this.at += isRange;
      ranges.push([from, isRange ? member() : from]);
    }
    this.at++;
    const has = (sign) => ranges.some(([from, to]) => from <= sign && sign <= to);
    return PRINTABLE.filter((sign) => has(sign) !== isNot);
  }
}

// ---- values of a schema ----

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'];
const TRIES = 200; // of one value
const ROUNDS = 50; // of a message, in each of which another condition may be met

export class Decoder {
  // `random`: pick(list), chance(p), between(least, most).
  constructor(random) {
    this.random = random;
    this.ajv = addFormats(new Ajv({ strict: false }));
    this.validators = new Map();
    this.owns = new Map();
  }

  fits(schema, value) {
    if (!this.validators.has(schema)) this.validators.set(schema, this.ajv.compile(schema));
    return this.validators.get(schema)(value);
  }

  // A value that the schema lets pass. A condition is looked at once its value is there, and what it
  // asks for is then asked from the start.
  decode(schema) {
    const asked = [schema];
    for (let round = 0; round < ROUNDS; round++) {
      const value = this.value(asked);
      if (value !== undefined && this.fits(schema, value)) return value;
      for (const part of asked.flatMap((each) => this.conditionsOf(each))) {
        const branch = value === undefined ? undefined : this.fits(part.if, value) ? part.then : part.else;
        if (branch && !asked.includes(branch)) asked.push(branch);
      }
      if (value === undefined) asked.length = 1; // these ask for what cannot be at once
    }
    return undefined;
  }

  conditionsOf({ allOf = [], ...schema }) {
    return [...(schema.if ? [schema] : []), ...allOf.flatMap((part) => this.conditionsOf(part))];
  }

  // What all of these ask of one value; of several choices one.
  partsOf(schemas) {
    return schemas.flatMap((schema) => {
      const { allOf = [], anyOf } = schema;
      return [this.ownOf(schema), ...this.partsOf(allOf), ...(anyOf ? this.partsOf([this.random.pick(anyOf)]) : [])];
    });
  }

  // Without those parts and without conditions; one object always, as it is compiled once.
  ownOf(schema) {
    if (!this.owns.has(schema)) {
      const { allOf, anyOf, if: condition, then, else: otherwise, ...own } = schema;
      this.owns.set(schema, own);
    }
    return this.owns.get(schema);
  }

  value(schemas) {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const parts = this.partsOf(schemas);
      const value = this.draft(parts);
      if (value !== undefined && parts.every((part) => this.fits(part, value))) return value;
    }
    return undefined;
  }

  draft(parts) {
    const lists = parts.flatMap((part) => ('const' in part ? [[part.const]] : part.enum ? [part.enum] : []));
    if (lists.length > 0) return this.random.pick(lists.toSorted((a, b) => a.length - b.length)[0]);
    const allows = ({ type }, each) =>
      type === undefined || [type].flat().some((one) => one === each || (one === 'number' && each === 'integer'));
    const types = TYPES.filter((each) => parts.every((part) => allows(part, each)));
    return types.length > 0 ? this[this.random.pick(types)](parts) : undefined;
  }

  object(parts) {
    const names = new Set(parts.flatMap(({ properties = {} }) => Object.keys(properties)));
    const needed = new Set(parts.flatMap(({ required = [] }) => required));
    const value = {};
    for (const name of new Set([...names, ...needed])) {
      if (!needed.has(name) && this.random.chance(0.5)) continue;
      const made = this.value(parts.flatMap(({ properties = {} }) => properties[name] ?? []));
      if (made === undefined && needed.has(name)) return undefined;
      if (made !== undefined) value[name] = made;
    }
    return value;
  }

  array(parts) {
    const least = Math.max(0, ...parts.map(({ minItems = 0 }) => minItems));
    const items = parts.flatMap((part) => part.items ?? []);
    const made = Array.from({ length: this.random.between(least, least + 2) }, () => this.value(items));
    return made.includes(undefined) ? undefined : made;
  }

  string(parts) {
    const patterns = parts.flatMap(({ pattern }) => pattern ?? []);
    if (patterns.length > 0) return new Pattern(this.random.pick(patterns), this.random).make();
    if (parts.some(({ format }) => format === 'date-time')) return '2026-02-08T15:00:00Z';
    return this.random.pick(['a', 'some words', 'ä😀', '']);
  }

  integer(parts) {
    return Math.floor(this.number(parts));
  }

  number(parts) {
    const least = Math.max(...parts.map(({ minimum = -1000 }) => minimum));
    const most = Math.min(...parts.map(({ maximum = least + 1000 }) => maximum));
    return this.random.pick([least, most, least + (most - least) / 2]);
  }

  boolean() {
    return this.random.chance(0.5);
  }

  null() {
    return null;
  }
}
