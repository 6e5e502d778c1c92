// SPDX-License-Identifier: Apache-2.0
// Asks two judges about the same messages: parley, and Ajv with the JSON Schema that parley writes.
// Of what the schema expresses they must say the same, and each of its rules must have been broken
// and kept often enough for that to mean something. See --help.

import { readFileSync, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Ajv2020 from 'ajv/dist/2020.js';
import { isDateTime } from './date_time.mjs';
import { Generator } from './generate.mjs';
import { isObject, isThere, tokens, write } from './json.mjs';
import { Protocols } from './protocol.mjs';
import { randomSource } from './random.mjs';
import { valuesFor } from './values.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const BATCH = 1000;
const ENOUGH = 5; // so often should a place be broken alone before other places are as interesting
const SHOWN = 5; // of the differences
// Rules that a schema must say at all of their places: JSON Schema can, and they were left out once.
const MUST_SAY = { brenner: ['MB-001', 'MB-101', 'MB-102', 'MB-120', 'MB-121'] };

const HELP = `Usage: tests/differential/run [--count N] [--seed N] [--protocol NAME] [--parley FILE]
  --count N        messages of each protocol [5000]
  --seed N         repeats a run [one of the clock]
  --protocol NAME  only this one
  --parley FILE    the program [build/dev/gateway/parley]
`;

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '5000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    protocol: { type: 'string' },
    parley: { type: 'string', default: join(here, '../../build/dev/gateway/parley') },
    help: { type: 'boolean', short: 'h' },
  },
});

// ---- the judges ----

function compile(schema) {
  const ajv = new Ajv2020.default({ strict: true, validateFormats: true, ownProperties: true });
  ajv.addFormat('date-time', { type: 'string', validate: isDateTime });
  return ajv.compile(schema);
}

const fits = (pattern, path) =>
  pattern.length === path.length && pattern.every((token, i) => token === '*' || token === path[i]);

// The ids that the schema says it leaves out: whole, and in part with the places that it cannot say.
// What only an option of a request asks for is not asked here, so that of such a rule everything
// else is compared.
function leftOut(schema) {
  const whole = new Set(), inPart = new Map();
  for (const sentence of schema.$comment.split('. ')) {
    for (const [, id, , paths] of sentence.matchAll(/\b([A-Z]+-\d{3})( \(in part: ([^)]*)\))?/g)) {
      if (paths === undefined) whole.add(id);
      else if (!sentence.startsWith('Checked only if a request option')) {
        inPart.set(id, paths.split(', ').map(tokens));
      }
    }
  }
  return { whole, inPart };
}

const isInPart = (left, id, path) =>
  (left.inPart.get(id) ?? []).some((of) => fits(of, tokens(path)));

const isOfDecoding = ({ rule, severity }) => rule.startsWith('GW-') && rule !== 'GW-006' && severity === 'error';

// Whether a violation is of the message itself, and not of what is encoded in one of its strings.
function isOfMessage(message, { path }) {
  return path === '' || typeof tokens(path).slice(0, -1)
    .reduce((of, token) => of?.[token], message) === 'object';
}

// What is wrong between the two verdicts on one message, or nothing. Of a rule that is expressed in
// part, what is broken at the places that are not may or may not be heard from the schema.
function difference(isValid, broken, left) {
  const expressed = broken.filter(({ rule }) => !left.whole.has(rule));
  const certain = expressed.filter(({ rule, path }) => !isInPart(left, rule, path))
    .map(({ rule, path }) => `${rule} ${path}`);
  if (isValid && certain.length > 0) return `the schema takes what breaks ${certain.join(', ')}`;
  if (!isValid && expressed.length === 0) return 'the schema refuses what parley takes';
  return null;
}

// ---- which messages ----

const depthOf = (value) => typeof value !== 'object' || value === null ? 0
  : 1 + Math.max(0, ...Object.values(value).map(depthOf));

// The bodies of the conformance cases, as far as they are one JSON object, not large and not deep.
function casesOf(name) {
  const file = join(here, `../conformance/${name}.ndjson`);
  if (!existsSync(file)) return [];
  const cases = readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  return cases
    .filter((of) => of.media_type === 'application/json' && typeof of.body === 'string')
    .flatMap((of) => {
      try {
        return [JSON.parse(of.body)];
      } catch {
        return [];
      }
    })
    .filter((of) => isObject(of) && JSON.stringify(of).length < 20000 && depthOf(of) < 20);
}

// Those that no GW rule stops, since there is no verdict to compare on such a one, nor on what is
// made of it; and of these the valid ones.
async function seedsOf(protocols, name, messages) {
  const verdicts = await protocols.check(name, messages.map((of) => JSON.stringify(of)));
  return {
    seeds: messages.filter((_, i) => !verdicts[i].violations.some(isOfDecoding)),
    good: messages.filter((_, i) => verdicts[i].valid),
  };
}

// ---- one protocol ----

// How often each rule was broken at each of its places, and nothing else that the schema expresses,
// so that nothing else can have made the schema refuse; and how often a message with that place
// in it was valid. The places of a rule that are not expressed do not count.
class Tally {
  constructor(rules, left) {
    this.left = left;
    this.places = rules.flatMap(({ id, paths }) => {
      return (paths.length > 0 ? paths : [''])
        .filter((path) => !isInPart(left, id, path))
        .map((path) => ({ id, name: `${id} ${path}`, pattern: tokens(path), alone: 0, kept: 0 }));
    });
  }

  count(message, isValid, errors) {
    const expressed = errors.filter(({ rule }) => !this.left.whole.has(rule));
    const [{ rule, path } = {}] = expressed;
    for (const place of this.places) {
      const isThis = place.id === rule && fits(place.pattern, tokens(path));
      if (expressed.length === 1 && !isValid && isThis) place.alone++;
      if (isValid && isThere(message, place.pattern)) place.kept++;
    }
  }

  // The places of which little is known yet.
  wanted() {
    return this.places.filter(({ alone, kept }) => alone < ENOUGH || kept < ENOUGH)
      .map(({ pattern }) => pattern);
  }

  unproven() {
    return this.places.filter(({ alone, kept }) => alone === 0 || kept === 0)
      .map(({ name, alone, kept }) => `${name} (broken alone ${alone}, kept ${kept})`);
  }

  least() {
    return Math.min(...this.places.map(({ alone }) => alone));
  }
}

// Compares the verdicts on a batch.  Returns: how many were valid.
async function compare({ protocols, name, validate, left, tally, differences }, texts) {
  const verdicts = await protocols.check(name, texts);
  let validCount = 0;
  verdicts.forEach((verdict, i) => {
    const message = JSON.parse(texts[i]);
    const isValid = validate(message);
    const errors = verdict.violations
      .filter((of) => of.severity === 'error' && isOfMessage(message, of));
    const wrong = verdict.violations.some(isOfDecoding)
      ? `the generator made what is not a message: ${errors.map(({ rule }) => rule)}`
      : difference(isValid, errors, left);
    if (wrong) {
      differences.push({ wrong, text: texts[i], parley: verdict.violations, ajv: validate.errors });
    }
    tally.count(message, isValid, errors);
    validCount += verdict.valid;
  });
  return validCount;
}

function show({ wrong, text, parley, ajv }) {
  console.error(`${wrong}\n  message: ${text}`);
  console.error(`  parley: ${JSON.stringify(parley.map(({ rule, path }) => `${rule} ${path}`))}`);
  console.error(`  ajv: ${JSON.stringify((ajv ?? []).map((of) => `${of.instancePath} ${of.message}`))}`);
}

async function judge(protocols, { name }, count, seed) {
  const schema = await protocols.schema(name);
  const left = leftOut(schema);
  const rules = (await protocols.rules(name))
    .filter(({ id, severity }) => severity === 'error' && !left.whole.has(id));
  const examples = (await protocols.examples(name)).map(({ message }) => message);
  const generator = new Generator({
    random: randomSource(seed),
    ...await seedsOf(protocols, name, [...examples, ...casesOf(name)]),
    paths: rules.flatMap(({ paths }) => paths.map(tokens)),
    values: valuesFor(schema),
  });
  const run = { protocols, name, validate: compile(schema), left,
    tally: new Tally(rules, left), differences: [] };
  let validCount = 0;
  for (let done = 0; done < count; done += BATCH) {
    const length = Math.min(BATCH, count - done);
    const texts = Array.from({ length }, () => write(generator.next()));
    validCount += await compare(run, texts);
    generator.want(run.tally.wanted());
  }
  run.differences.slice(0, SHOWN).forEach(show);
  const unproven = run.tally.unproven();
  const unsaid = (MUST_SAY[name] ?? []).filter((id) => left.whole.has(id) || left.inPart.has(id));
  console.log(`${name}: ${count} messages, ${validCount} valid; ${rules.length} rules at ` +
    `${run.tally.places.length} places expressed, each broken alone ${run.tally.least()} times or more; ${run.differences.length} differences`);
  if (unproven.length > 0) console.error(`  not proven: ${unproven.join(', ')}`);
  if (unsaid.length > 0) console.error(`  the schema must say, and does not: ${unsaid.join(', ')}`);
  return run.differences.length === 0 && unproven.length === 0 && unsaid.length === 0;
}

if (options.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const seed = Number(options.seed) >>> 0;
const protocols = new Protocols(resolve(options.parley));
console.log(`seed ${seed}`);
let isFine = true;
for (const protocol of await protocols.list()) {
  if (options.protocol === undefined || options.protocol === protocol.name) {
    isFine = (await judge(protocols, protocol, Number(options.count), seed)) && isFine;
  }
}
if (!isFine) console.error(`Repeat it with --seed ${seed} --count ${options.count}`);
process.exit(isFine ? 0 : 1);
