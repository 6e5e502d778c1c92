// SPDX-License-Identifier: Apache-2.0

// Front matter is compared with another implementation of YAML 1.2: whatever both accept means the
// same to both, but for what docs/protocols/brenner.md#front-matter decides (of the booleans only
// true and false).

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { parseDocument } from 'yaml';

const bin = process.env.PARLEY_YAML_TO_JSON;

// How many texts are made by chance, as in tests/lib/rounds.h.
const ROUNDS = Number(process.env.PARLEY_TEST_ROUNDS ?? 8000);

/** Numbers from 0 to `bound` - 1, the same in every run (a linear congruential generator). */
function randomSource(seed) {
  let state = BigInt(seed);
  return (bound) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(bound));
  };
}

/** What parley makes of each text: an object, or undefined where it is refused. */
function readByParley(texts) {
  const input = texts.map((text) => JSON.stringify(text)).join('\n');
  const { status, stdout } = spawnSync(bin, { input, maxBuffer: 1 << 28 });
  assert.equal(status, 0);
  const lines = stdout.toString().trimEnd().split('\n');
  assert.equal(lines.length, texts.length);
  return lines.map((line) => JSON.parse(line) ?? undefined);
}

/** What the other implementation makes of it. */
function readByPeer(text) {
  const options = { version: '1.2', schema: 'core', strict: true, uniqueKeys: true,
    logLevel: 'error' };
  const document = parseDocument(text, options);
  if (document.errors.length > 0) return undefined;
  try {
    return document.toJS() ?? {};
  } catch {
    return undefined;
  }
}

/** Without the sign of zero. */
const plain = (value) => JSON.parse(JSON.stringify(value));

/** What is a boolean in the core schema and text by our rules. */
const isTrueOrFalse = (text) => /^(True|TRUE|False|FALSE)$/.test(text);

/** Compares the meaning of `k` over many texts; returns how many both read, and who refused. */
function compare(texts, scalarOf = () => '') {
  const ours = readByParley(texts);
  const counts = { both: 0, parleyAlone: 0, peerAlone: 0, neither: 0 };
  texts.forEach((text, i) => {
    const theirs = readByPeer(text);
    if (ours[i] === undefined || theirs === undefined) {
      counts[ours[i] ? 'parleyAlone' : theirs ? 'peerAlone' : 'neither'] += 1;
      return;
    }
    counts.both += 1;
    if (isTrueOrFalse(scalarOf(text))) return;
    assert.deepEqual(plain(ours[i]), plain(theirs), JSON.stringify(text));
  });
  return counts;
}

/** All words over `letters` of at most `length`. */
function wordsOver(letters, length) {
  let words = [''];
  const all = [];
  for (let i = 0; i < length; i += 1) {
    words = words.flatMap((word) => [...letters].map((letter) => word + letter));
    all.push(...words);
  }
  return all;
}

test('every short text of the characters of numbers means the same', () => {
  const texts = wordsOver('019.e+-xoF_', 4).map((word) => `k: ${word}\n`);
  const counts = compare(texts);
  assert.ok(counts.both > 15000);
});

test('words that YAML knows mean the same in every case of letters', () => {
  const words = ['true', 'false', 'null', 'yes', 'no', 'on', 'off', 'y', 'n', '~', 'nan', '.nan',
    '.inf', 'inf', '<<', '=', '1e400', '-1e400', '0x1F', '0X1F', '0o17', '0b11', '1_000', '1:30',
    '2025-12-30', '.5', '5.', '1.e3', '12345678901234567890', '0.1', '1e-400'];
  const capital = (word) => word[0].toUpperCase() + word.slice(1);
  const cased = words.flatMap((word) => [word, word.toUpperCase(), capital(word)]);
  const signed = cased.flatMap((word) => [word, `+${word}`, `-${word}`]);
  const counts = compare(signed.flatMap((word) =>
    [`k: ${word}\n`, `k: [${word}]\n`, `k: "${word}"\n`, `k: '${word}'\n`, `k:\n- ${word} # c\n`]),
    (text) => text.replace(/^k:\n?[ -]*\[?/, '').replace(/\]?( # c)?\n$/, ''));
  assert.ok(counts.both > 800);
});

test('random scalars mean the same, plain and in quotes', () => {
  const random = randomSource(7);
  const letters = ['a', 'b', ' ', ' ', ':', ': ', '#', ' #', ',', '-', '- ', '.', '"', "'", '\\',
    '\\n', '\\x41', '\\u00e9', '[', ']', '{', '}', '&', '*', '!', '|', '>', '%', '@', '`', '?', '~',
    '1', '0', 'e', 'é', '😀', '\t', '\n', '\n  ', '\r\n  ', '/'];
  const texts = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    let scalar = '';
    for (let left = 1 + random(7); left > 0; left -= 1) scalar += letters[random(letters.length)];
    const forms = [`k: ${scalar}\n`, `k: "${scalar}"\n`, `k: '${scalar}'\n`, `k: [${scalar}]\n`,
      `k: {a: ${scalar}}\n`, `k: |\n  ${scalar}\n`, `k: >-\n  ${scalar}\n`, `${scalar}: v\n`,
      `k:\n  ${scalar}\nl: v\n`, `k:\n- ${scalar}\n- v\n`];
    texts.push(forms[random(forms.length)]);
  }
  const counts = compare(texts);
  assert.ok(counts.both > ROUNDS / 5);
});

// libyaml takes three of them for the end of a line, and refuses the rest
// (docs/protocols/brenner.md#front-matter).
test('characters that YAML 1.1 does not know mean the same in quotes', () => {
  const random = randomSource(85);
  const special = ['\u0085', '\u2028', '\u2029', '\ufeff', '\u{f0000}', '\u{f0001}', '\ue000'];
  const letters = [...special, ...special, 'a', ' ', ': ', ' #', ',', "''", '\\U000F0000', '\\u2028',
    '\\N', '\n  ', '\r\n  ', '\n\n  ', '\t', 'é', '😀'];
  const texts = [];
  for (let i = 0; i < ROUNDS / 2; i += 1) {
    const quoted = () => {
      const quote = `"'`[random(2)];
      let scalar = '';
      for (let left = 1 + random(6); left > 0; left -= 1) scalar += letters[random(letters.length)];
      return quote + scalar + quote;
    };
    const forms = [`k: ${quoted()}\n`, `k: [${quoted()}, x, ${quoted()}]\n`,
      `${quoted()}: {a: ${quoted()}}\nl: v\n`, `k:\n- ${quoted()}\n- ${quoted()} # c\n`,
      `? ${quoted()}\n: ${quoted()}\n`];
    texts.push(forms[random(forms.length)]);
  }
  const counts = compare(texts);
  assert.ok(counts.both > ROUNDS / 8 * 3, JSON.stringify(counts));
  assert.equal(counts.peerAlone, 0);
});

test('what libyaml accepts and YAML 1.2 does not is refused', () => {
  const texts = ['k: >#c\n  x\n', 'k: |+#c\n  x\n', 'k: "\u0001"\n', 'k: a\rl: b\n'];
  assert.deepEqual(readByParley(texts), texts.map(() => undefined));
});
