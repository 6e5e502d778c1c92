// SPDX-License-Identifier: Apache-2.0
// The dashboard and the alerts ask for metrics that exist, with labels that these have, and each
// alert is explained in docs/metrics.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/metrics.md');
const rules = read('docker/prometheus/alerts.yml');
const dashboard = JSON.parse(read('docker/grafana/dashboards/parley.json'));

// name -> its labels; of a histogram under each of its three names.
const metrics = new Map();
for (const [, name, type, labels] of page.matchAll(
  /^\| `([a-z_]+)` \| (counter|gauge|histogram) \| ([^|]*)\|/gm,
)) {
  const own = [...labels.matchAll(/`([a-z]+)`/g)].map(([, label]) => label);
  const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];
  names.forEach((each) => metrics.set(each, [...own, 'le']));
}
metrics.set('up', []); // Prometheus' own
const ADDED = ['job', 'instance', '__name__']; // by Prometheus

const alerts = [...rules.matchAll(/- alert: (\w+)\n\s+expr: >-\n\s+(.+)/g)].map(
  ([, name, expr]) => ({ name, expr }),
);
const panels = dashboard.panels.filter(({ type }) => type !== 'row');

function assertExists(expr, where) {
  const text = expr.replace(/"[^"]*"/g, '""');
  const used = text.match(/\b(parley|process)_[a-z_]+|\bup\b/g);
  assert.ok(used, `${where} asks for no metric`);
  for (const name of used) assert.ok(metrics.has(name), `${where}: there is no ${name}`);
  for (const [, name, labels] of text.matchAll(/\b((?:parley|process)_[a-z_]+)\{([^}]*)\}/g)) {
    for (const [, label] of labels.matchAll(/([a-z_]+)\s*=~?/g)) {
      assert.ok([...metrics.get(name), ...ADDED].includes(label), `${where}: ${name} has no ${label}`);
    }
  }
}

it('the page has metrics, the rules alerts, the dashboard panels', () => {
  assert.ok(metrics.size > 30 && alerts.length > 15 && panels.length > 20);
});

it('alerts ask for what exists', () => {
  for (const { name, expr } of alerts) assertExists(expr, name);
});

it('panels ask for what exists, and no two lie on each other', () => {
  const places = new Set();
  for (const { title, targets, gridPos } of panels) {
    targets.forEach(({ expr }) => assertExists(expr, title));
    const place = `${gridPos.x} ${gridPos.y}`;
    assert.ok(!places.has(place), title);
    places.add(place);
  }
});

it('every metric is in the dashboard, but for the least', () => {
  const text = JSON.stringify(dashboard);
  const left = [...metrics.keys()].filter((name) => !text.includes(name));
  const few = /_(sum|count)$|^up$|^parley_(build|durability|nats_server)_info$|^process_(virtual_memory_bytes|max_fds)$/;
  assert.deepEqual(
    left.filter((name) => !few.test(name)),
    [],
  );
});

it('each alert links to what it means', () => {
  for (const { name } of alerts) {
    assert.ok(page.includes(`<a id="${name.toLowerCase()}"></a>${name} `), name);
    assert.ok(rules.includes(`runbook: docs/metrics.md#${name.toLowerCase()}`), name);
  }
  const explained = [...page.matchAll(/<a id="(parley\w+)"><\/a>/g)].map(([, id]) => id);
  assert.deepEqual(explained, alerts.map(({ name }) => name.toLowerCase()));
});
