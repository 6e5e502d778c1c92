// SPDX-License-Identifier: Apache-2.0
// Values at the edges of what rules ask: of every kind, and the ones that a schema itself names.

import { Spelled } from './json.mjs';

const NUMBERS = [
  '0', '-0', '-0.0', '0.0', '1', '1.0', '4.0e3', '1e0', '10E-1', '1.5', '-1', '-1.0', '2', '3',
  '0.1', '0.85', '0.9', '0.999999999999999944', '1.0000000000000002', '0.99999999999999999', '5e-324',
  '-5e-324', '1e-400', '100', '100.0', '100.5', '101', '9007199254740993', '9223372036854775807',
  '-9223372036854775808', '18446744073709551616', '1e19', '1e300', '1.7976931348623157e308',
];

const TIMES = [
  '2025-12-14T10:30:00Z', '2025-12-14t10:30:00z', '2025-12-14 10:30:00Z', '2025-12-14T10:30:00',
  '2025-12-14T10:30:00.123456789Z', '2025-12-14T10:30:00.Z', '2025-12-14T10:30:00,5Z',
  '2025-12-14T10:30:00+00:00', '2025-12-14T10:30:00-00:00', '2025-12-14T10:30:00+23:59',
  '2025-12-14T10:30:00+24:00', '2025-12-14T10:30:00+0100', '2025-12-14T10:30:00+01',
  '2025-12-14T10:30:00+01:60', '2025-12-14T24:00:00Z', '2025-12-14T10:60:00Z',
  '2025-12-14T10:30:60Z', '2025-12-14T10:30:61Z', '2025-06-30T23:59:60Z', '2025-12-31T23:59:60Z',
  '2025-12-31T23:59:60.5z', '2025-12-31T23:59:61Z', '2025-12-31T15:59:60-08:00',
  '2026-01-01T08:59:60+09:00', '2025-07-01T05:29:60+05:30', '2025-06-30T23:59:60+01:00',
  '2025-09-30T23:59:60Z', '2024-02-29T00:00:00Z', '2023-02-29T00:00:00Z', '1900-02-29T00:00:00Z',
  '2000-02-29T00:00:00Z', '0000-02-29T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z',
  '2025-04-31T00:00:00Z', '2025-13-01T00:00:00Z', '2025-00-10T00:00:00Z', '2025-01-00T00:00:00Z',
  '20251214T103000Z', '2025-12-14', '10:30:00Z', '12025-12-14T10:30:00Z', '2025-12-14T10:30Z',
  '2025-12-14T10:30:00Z ', ' 2025-12-14T10:30:00Z', '2025-12-14T10:30:00Z\n',
  '２０２５-12-14T10:30:00Z',
];

const UUIDS = [
  '0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b', '0C9C2D3E-6F6A-4C43-BA5B-0A8F4F0F1A2B',
  '0c9c2d3e-6f6a-1c43-9a5b-0a8f4f0f1a2b', '0c9c2d3e-6f6a-4c43-7a5b-0a8f4f0f1a2b',
  '0c9c2d3e-6f6a-4c43-ca5b-0a8f4f0f1a2b', '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff', '0c9c2d3e6f6a4c439a5b0a8f4f0f1a2b',
  '{0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b}', '0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2',
  '0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2bc', '0c9c2d3g-6f6a-4c43-9a5b-0a8f4f0f1a2b',
  'urn:uuid:0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b',
];

const STRINGS = [
  '', ' ', 'a', 'A', '0', '-', '_', '.', 'a.b', 'A.b', 'a..b', '.a', 'a.', 'a.b.c', 'a b', 'a/b',
  '1.0', '1.0.0', '1.2.3.4', '2.0', '01.0', '1', 'v1', '1.0.0-rc.1', '1.', 'null', 'true', '1e0',
  'é', 'e\u0301', '😀', '\u{10FFFF}', '\u200D', '\uFEFF', '\u0000', 'a\u0000b', '\n', 'a\n', '\na',
  '\u007f', '\u0080', 'a\u009f', '\u00a0', '*', '>', 'a~b', '50%', '1.0.0+5', '1.0.0-a..b', '1.0.0-01',
  '1.0.0-x.7.z+a.001', '1.0-rc.1', '2.0.0-rc.1', '1.0.0+', '\u2028', 'ß', 'ſ', 'K', 'ı', '１', '\\', '"', 'x'.repeat(4096),
];

const OTHERS = [null, true, false];

// As many code points as asked for, of one byte, of several, and of several code points a letter.
const long = (length) =>
  ['a', 'é', '😀', 'e\u0301'].map((unit) => [...unit.repeat(length)].slice(0, length).join(''));

// Adds what the schema says of each member to `found`, by the member's name: its choices, forms, and
// what lies about its limits. What it says of items stands with the array.
function about(schema, name, found) {
  if (typeof schema !== 'object' || schema === null) return;
  const values = (found[name] ??= []);
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') {
      for (const [member, of] of Object.entries(value)) about(of, member, found);
    } else if (key === 'enum' || key === 'const') {
      const choices = [value].flat().filter((of) => typeof of === 'string');
      values.push(...choices.flatMap((of) => [of, of.toUpperCase(), `${of} `, of.slice(1)]));
    } else if (key === 'minLength' || key === 'maxLength') {
      values.push(...[value - 1, value, value + 1].filter((length) => length >= 0).flatMap(long));
    } else if (key === 'minimum' || key === 'maximum') {
      const step = Math.max(Math.abs(value), 1) * Number.EPSILON;
      const near = [value, value - step, value + step, value - 1, value + 1].map(String);
      values.push(...[...near, '-0.0', '1.0', '0.5'].map((text) => new Spelled(text)));
    } else if (key === 'format') {
      values.push(...TIMES);
    } else if (key === 'pattern') {
      values.push(...UUIDS, ...STRINGS, ...long(64), ...long(65), ...long(128), ...long(129));
    } else if (key !== 'required' && key !== 'type') {
      about(value, name, found);
    }
  }
}

// Lists of values by kind, and by the name of the member whose rules they are about.
export function valuesFor(schema) {
  const byName = {};
  about(schema, '', byName);
  const choices = Object.values(byName).flat().filter((of) => typeof of === 'string');
  return {
    numbers: NUMBERS.map((text) => new Spelled(text)),
    times: TIMES,
    uuids: UUIDS,
    strings: [...STRINGS, ...long(64), ...long(65)],
    choices: [...new Set(choices)],
    others: OTHERS,
    byName,
  };
}
