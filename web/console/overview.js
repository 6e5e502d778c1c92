// SPDX-License-Identifier: Apache-2.0
// Overview: the figures of this gateway, from its /metrics; nothing is kept but the last minutes here.

import { html, useEffect, useRef, useState } from './htm-preact.js';
import { ask, onToken } from './api.js';
import { bytes, Chip, Failure, goTo, useAnswer, useMay } from './parts.js';

const EVERY_MS = 2000, POINTS = 150;
const OUTCOMES = ['accepted', 'duplicate', 'invalid', 'refused', 'failed'];

const LINE = /^([a-zA-Z_:]+)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

// Prometheus' text format: [{name, labels, value}].
function readMetrics(text) {
  const samples = [];
  for (const line of text.split('\n')) {
    const found = LINE.exec(line);
    if (!found || line[0] === '#') continue;
    const labels = Object.fromEntries([...(found[2] ?? '').matchAll(LABEL)].map(([, name, value]) => [name, value]));
    samples.push({ name: found[1], labels, value: Number(found[3]) });
  }
  return samples;
}

const sum = (samples, name, wanted = {}) => samples
  .filter((one) => one.name === name && Object.entries(wanted).every(([label, value]) => one.labels[label] === value))
  .reduce((total, { value }) => total + value, 0);

function sumsBy(samples, name, label) {
  const sums = new Map();
  for (const one of samples) if (one.name === name) sums.set(one.labels[label], (sums.get(one.labels[label]) ?? 0) + one.value);
  return [...sums].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
}

// The upper bound, in seconds, of the bucket in which this share of all measured times is.
function quantile(samples, name, share) {
  const buckets = new Map();
  for (const one of samples) if (one.name === `${name}_bucket`) buckets.set(one.labels.le, (buckets.get(one.labels.le) ?? 0) + one.value);
  const count = buckets.get('+Inf') ?? 0;
  for (const [bound, value] of [...buckets].sort((a, b) => Number(a[0]) - Number(b[0]))) if (count && value >= share * count) return Number(bound);
  return null;
}

function useFigures() {
  const [state, set] = useState({ points: [] });
  useEffect(() => {
    let isOver = false, before = null;
    const points = [];
    const read = async () => {
      if (document.hidden) return;
      try {
        const samples = readMetrics(await (await ask('/metrics')).text());
        const now = Date.now() / 1000;
        const protocols = new Map(sumsBy(samples, 'parley_messages_total', 'protocol'));
        const totals = OUTCOMES.map((outcome) => sum(samples, 'parley_messages_total', { outcome }));
        if (before) points.push([now, ...totals.map((total, i) => (total - before.totals[i]) / (now - before.now))]);
        if (points.length > POINTS) points.shift();
        const rates = before && new Map([...protocols].map(([name, total]) => [name, (total - (before.protocols.get(name) ?? 0)) / (now - before.now)]));
        before = { now, totals, protocols };
        if (!isOver) set({ samples, rates, points: [...points] });
      } catch (error) {
        if (!isOver) set((last) => ({ ...last, error }));
      }
    };
    read();
    const timer = setInterval(read, EVERY_MS);
    const end = onToken(read);
    return () => {
      isOver = true;
      clearInterval(timer);
      end();
    };
  }, []);
  return state;
}

// ---- the chart: uPlot is loaded when one is seen ----

let library;
function loadChart() {
  library ??= new Promise((resolve, reject) => {
    const style = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/console/uplot.css' });
    const script = Object.assign(document.createElement('script'), { src: '/console/uplot.js', onload: () => resolve(globalThis.uPlot), onerror: reject });
    document.head.append(style, script);
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function Chart({ points }) {
  const [box, chart] = [useRef(), useRef()];
  const data = OUTCOMES.reduce((all, _, i) => [...all, points.map((point) => point[i + 1])], [points.map(([time]) => time)]);
  const hasData = points.length > 1;
  useEffect(() => {
    if (!hasData) return undefined;
    let isOver = false;
    loadChart().then((UPlot) => {
      if (isOver) return;
      const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 } };
      const width = () => Math.max(280, box.current.clientWidth);
      chart.current = new UPlot({
        width: width(), height: 200, legend: { live: false }, axes: [axis, axis],
        series: [{}, ...OUTCOMES.map((label, i) => ({ label, stroke: colour(`--series-${i + 1}`), width: 2 }))],
      }, data, box.current);
      chart.current.resize = () => chart.current?.setSize({ width: width(), height: 200 });
      addEventListener('resize', chart.current.resize);
    }, () => {});
    return () => {
      isOver = true;
      if (chart.current) removeEventListener('resize', chart.current.resize);
      chart.current?.destroy();
      chart.current = null;
    };
  }, [hasData]);
  useEffect(() => chart.current?.setData(data), [points]);
  return html`<div class="chart" ref=${box} role="img" aria-label="Messages a second, by outcome">
    ${!hasData && html`<p class="quiet">The chart begins in a moment.</p>`}</div>`;
}

const Figure = ({ title, children, href }) => html`<div class="figure"><dt>${title}</dt><dd>${href ? html`<a href=${href}>${children}</a>` : children}</dd></div>`;

const inRate = (rate) => rate.toFixed(rate < 10 ? 1 : 0);

function Bars({ title, rows, rates, href, empty }) {
  const most = rows[0]?.[1] ?? 1;
  return html`<section aria-label=${title}><h2>${title}</h2>
    ${rows.length === 0 ? html`<p class="empty">${empty}</p>` : html`<ul class="bars">${rows.slice(0, 12).map(([name, value]) => html`<li>
      <a href=${href(name)}>${name}</a><progress max=${most} value=${value} aria-label=${`${name}: ${value}`}></progress><span>${value.toLocaleString()}${rates && html` <span class="quiet">${inRate(rates.get(name) ?? 0)}/s</span>`}</span></li>`)}</ul>`}
  </section>`;
}

const ms = (seconds) => (seconds === null ? '–' : `≤ ${seconds * 1000 < 1 ? (seconds * 1000).toFixed(2) : Math.round(seconds * 1000)} ms`);

// The commands of the page without scripts, for who has nothing here yet.
function Start() {
  const box = useRef();
  useEffect(() => {
    const start = document.getElementById('start').cloneNode(true);
    start.removeAttribute('id');
    start.hidden = false;
    start.querySelector('h1')?.remove();
    box.current.append(start);
  }, []);
  return html`<section class="start" id="begin" ref=${box} aria-label="How to begin"></section>`;
}

export default function Overview() {
  const { samples, rates, points, error } = useFigures();
  const { value: ready } = useAnswer(async () => (await fetch('/readyz', { headers: { Accept: 'application/json' } })).json(), [], EVERY_MS);
  const may = useMay();
  const halted = samples ? sum(samples, 'parley_halted_messages_total') : 0;
  const refusals = samples && [...sumsBy(samples, 'parley_violations_total', 'rule'), ...(halted ? [['halted', halted]] : [])];
  const rate = points.at(-1)?.slice(1).reduce((all, one) => all + one, 0) ?? 0;
  return html`<h1>Overview</h1>
    <p class="quiet">Figures of this gateway since it was started; of other gateways of the fleet ask their own.
      <button type="button" class="small" onClick=${() => goTo('begin')}>Connect an agent</button></p>
    <${Failure} error=${error} />
    ${ready && html`<p class="status" role="status"><span class=${`dot ${ready.status === 'ready' ? 'open' : 'failed'}`}></span> ${ready.status}
      ${ready.checks?.map(({ name, status, version }) => html` <${Chip} kind=${status === 'ok' ? '' : 'error'}>${name}${version ? ` ${version}` : ''}: ${status}<//>`)}</p>`}
    ${samples && html`<dl class="figures">
      <${Figure} title="Messages a second" href="#live">${inRate(rate)}<//>
      <${Figure} title="Accepted" href="#live?since=all">${sum(samples, 'parley_messages_total', { outcome: 'accepted' }).toLocaleString()}<//>
      <${Figure} title="Not valid" href=${may('admin') && '#decide'}>${sum(samples, 'parley_messages_total', { outcome: 'invalid' }).toLocaleString()}<//>
      <${Figure} title="Acknowledged within, 50 %">${ms(quantile(samples, 'parley_ack_duration_seconds', 0.5))}<//>
      <${Figure} title="Acknowledged within, 99 %">${ms(quantile(samples, 'parley_ack_duration_seconds', 0.99))}<//>
      <${Figure} title="Readers">${sum(samples, 'parley_stream_readers')}<//>
      <${Figure} title="Halts" href="#decide">${sum(samples, 'parley_halts_open')}<//>
      <${Figure} title="Unclaimed tasks" href="#work?state=requested">${sum(samples, 'parley_tasks_open')}<//>
      <${Figure} title="Memory">${bytes(sum(samples, 'process_resident_memory_bytes'))}<//>
    </dl>
    <h2>Messages a second, by outcome</h2>
    <${Chart} points=${points} />
    <div class="two">
      <${Bars} title="All outcomes, by protocol" rows=${sumsBy(samples, 'parley_messages_total', 'protocol')} rates=${rates} href=${(name) => `#live?protocol=${name}&since=all`} empty="No message has come yet." />
      <${Bars} title="Violations and halts, by rule" rows=${refusals.sort((a, b) => b[1] - a[1])} empty="No rule was broken."
        href=${(name) => (may('admin') ? `#decide?refused=${name}` : `#rules?text=${name}`)} />
    </div>`}
    <${Start} />`;
}
