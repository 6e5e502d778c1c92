// SPDX-License-Identifier: Apache-2.0
// Reading /metrics.

import assert from 'node:assert/strict';
import { get } from './http.mjs';

// { families: name -> { type, help }, samples: [{ name, labels, value }], text }
export function parseMetrics(text) {
  const families = new Map();
  const samples = [];
  for (const line of text.split('\n').slice(0, -1)) {
    const about = line.match(/^# (HELP|TYPE|UNIT) ([a-z_]+) (.+)$/);
    if (about) {
      const [, what, name, value] = about;
      families.set(name, { ...families.get(name), [what.toLowerCase()]: value });
    } else if (line !== '# EOF') {
      const sample = line.match(/^([a-z_]+)(?:\{(.*)\})? (-?[0-9.e+-]+)$/);
      assert.ok(sample, `not a sample: ${line}`);
      const pairs = [...(sample[2] ?? '').matchAll(/([a-z_]+)="([^"]*)"(?:,|$)/g)];
      const labels = Object.fromEntries(pairs.map(([, key, value]) => [key, value]));
      samples.push({ name: sample[1], labels, value: Number(sample[3]) });
    }
  }
  return { families, samples, text };
}

export async function metricsOf(server, options) {
  const answer = await get(server, '/metrics', options);
  assert.equal(answer.status, 200, answer.text);
  return parseMetrics(answer.text);
}

// The sum of the samples with this name and at least these labels; 0: there are none.
export function valueOf({ samples }, name, labels = {}) {
  const isOne = (sample) =>
    sample.name === name &&
    Object.entries(labels).every(([key, value]) => sample.labels[key] === value);
  return samples.filter(isOne).reduce((sum, { value }) => sum + value, 0);
}
