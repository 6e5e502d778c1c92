// SPDX-License-Identifier: Apache-2.0
// MessagePack between parley and @msgpack/msgpack: node javascript.mjs CONVERT

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const require = createRequire(new URL('../e2e/package.json', import.meta.url));
const { decode, encode } = require('@msgpack/msgpack');
const program = process.env.PARLEY_CONVERT;

const messages = readFileSync(new URL('messages.ndjson', import.meta.url), 'utf8')
    .trim().split('\n').map((line) => JSON.parse(line));

/** One line of answer for each line of input. */
function convert(lines) {
    const result = spawnSync(program, { input: lines.join('\n') + '\n', encoding: 'utf8', maxBuffer: 1 << 28 });
    assert.equal(result.status, 0, result.stderr);
    const answers = result.stdout.trimEnd().split('\n');
    assert.equal(answers.length, lines.length);
    return answers;
}

const hex = (bytes) => Buffer.from(bytes).toString('hex');

/** `value` as parley says it in JSON: a bin is its base64 text. */
function asJson(value) {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
    if (Array.isArray(value)) return value.map(asJson);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asJson(inner)]));
}

const many = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
const lengths = [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536];
const integers = [0, 1, 127, 128, 255, 256, 65535, 65536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1,
    -1, -32, -33, -128, -129, -32768, -32769, -(2 ** 31), -(2 ** 31) - 1, -(2 ** 53) + 1];
const floats = [0.5, 0.1, -2.25, 1e300, 5e-324, 1e-7, 123456.789, Math.PI];
const families = [
    { simple: [null, true, false] },
    ...integers.map((integer) => ({ integer })),
    ...floats.map((float) => ({ float })),
    ...lengths.map((length) => ({ text: 'x'.repeat(length) })),
    ...lengths.map((length) => ({ list: Array(length).fill(1) })),
    ...lengths.map((length) => ({ map: many(length) })),
    { text: '\u0000\n"\\é€😀' },
    { nested: [[], {}, [[{ a: [{}] }]]] },
];
const binaries = lengths.map((length) => ({ bin: new Uint8Array(length).fill(0xfe) }));

test('parley reads what @msgpack/msgpack writes', () => {
    const values = [...messages, ...families, ...binaries];
    const answers = convert(values.map((value) => hex(encode(value))));
    answers.forEach((answer, i) => assert.deepEqual(JSON.parse(answer), asJson(values[i])));
});

test('parley reads float 32 as the double that it is', () => {
    const singles = floats.filter((float) => Number.isFinite(Math.fround(float)));
    const answers = convert(singles.map((a) => hex(encode({ a }, { forceFloat32: true }))));
    answers.forEach((answer, i) => assert.equal(JSON.parse(answer).a, Math.fround(singles[i])));
});

test('parley reads integers of 64 bits exactly', () => {
    const large = [2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 53n) - 1n, -(2n ** 63n)];
    const answers = convert(large.map((a) => hex(encode({ a }, { useBigInt64: true }))));
    assert.deepEqual(answers, large.map((a) => `{"a":${a}}`));
});

test('@msgpack/msgpack reads what parley writes', () => {
    const values = [...messages, ...families];
    const answers = convert(values.map((value) => JSON.stringify(value)));
    answers.forEach((answer, i) => assert.deepEqual(decode(Buffer.from(answer, 'hex')), values[i]));
});

test('@msgpack/msgpack reads integers of 64 bits that parley writes exactly', () => {
    const large = [2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 53n) - 1n, -(2n ** 63n)];
    const answers = convert(large.map((a) => `{"a":${a}}`));
    answers.forEach((answer, i) =>
        assert.equal(decode(Buffer.from(answer, 'hex'), { useBigInt64: true }).a, large[i]));
});

test('both write the same bytes where there is one shortest form', () => {
    const values = families.filter((value) => value.float === undefined);
    // It writes integers beyond 32 bits as floats unless they are BigInt.
    const small = values.filter(({ integer }) => integer === undefined ||
        (integer < 2 ** 32 && integer >= -(2 ** 31)));
    const answers = convert(small.map((value) => JSON.stringify(value)));
    answers.forEach((answer, i) => assert.equal(answer, hex(encode(small[i]))));
});

test('extension types are refused', () => {
    const [answer] = convert([hex(encode({ at: new Date(1705392000000) }))]);
    assert.match(answer, /^GW-001 extension types/);
});
