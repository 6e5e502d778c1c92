// SPDX-License-Identifier: Apache-2.0
// GET /metrics: what is counted, in both formats, and who may read it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { describe, it } from 'node:test';
import { get, post, send, sendLines, streamFor, validate, validateLines } from './lib/http.mjs';
import { metricsOf, parseMetrics, valueOf } from './lib/metrics.mjs';
import { freePorts } from './lib/nats.mjs';
import { parley, parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertProblem, brokenClaim, claim, claims, lines } from './lib/vlp.mjs';

const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
const documented = [...page.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \|/gm)];
const OPENMETRICS = 'application/openmetrics-text; version=1.0.0';

const messages = (its, outcome, type = 'claim') =>
  valueOf(its, 'parley_messages_total', { protocol: 'vlp', type, outcome });

describe('metrics', () => {
  // Without a lease no task lapses, and the board is read only when it is asked for.
  const its = useParley({ args: ['--reactors', '2', '--task-lease', '0'] });
  const read = () => metricsOf(its.parley);

  it('are those of the page, with the type that it names, and no others', async () => {
    const { families, text } = await read();
    assert.deepEqual(
      [...families].map(([name, { type }]) => [name, type]),
      documented.map(([, name, type]) => [name, type]),
    );
    assert.ok(documented.length > 20, text);
  });

  it('leave out what is not known yet', async () => {
    const valuesOf = async (name) =>
      (await read()).samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels.protocol, value]);
    assert.deepEqual(await valuesOf('parley_tasks_open'), []);
    await get(its.parley, '/v1/roundtable/tasks');
    await until('the board was read', async () => (await valuesOf('parley_tasks_open')).length > 0);
    assert.deepEqual(await valuesOf('parley_tasks_open'), [[undefined, 0]]);
    await until('the consumers are there', async () => (await valuesOf('parley_facts_pending_messages')).length === 2);
    const pending = await valuesOf('parley_facts_pending_messages');
    assert.deepEqual(pending.sort(), [['roundtable', 0], ['vlp', 0]]);
  });

  it('count each message once, by what became of it', async () => {
    const before = await read();
    const first = claim();
    await send(its.parley, first);
    await send(its.parley, first);
    await send(its.parley, { ...first, content: 'another' });
    await send(its.parley, brokenClaim());
    await post(its.parley, '/v1/vlp/messages', 'no JSON');
    await sendLines(its.parley, lines([...claims(100), brokenClaim(), first]));
    const after = await read();
    const grown = (outcome, type) => messages(after, outcome, type) - messages(before, outcome, type);
    assert.equal(grown('accepted'), 102); // the third has other bytes: it is another message
    assert.equal(grown('duplicate'), 2);
    assert.equal(grown('invalid'), 2);
    assert.equal(grown('invalid', 'other'), 1);
    assert.equal(grown('refused') + grown('failed'), 0);
    const acks = valueOf(after, 'parley_ack_duration_seconds_count', { protocol: 'vlp' });
    assert.equal(acks, messages(after, 'accepted') + messages(after, 'duplicate'));
  });

  it('count what was only checked apart, and rules by their ids', async () => {
    const before = await read();
    await validate(its.parley, claim());
    await validate(its.parley, brokenClaim());
    await validateLines(its.parley, lines([claim(), brokenClaim()]));
    const { violations } = (await send(its.parley, brokenClaim())).json;
    const after = await read();
    const grown = (name, labels) => valueOf(after, name, labels) - valueOf(before, name, labels);
    const validated = (outcome) =>
      grown('parley_validated_messages_total', { protocol: 'vlp', outcome });
    assert.equal(validated('valid'), 2);
    assert.equal(validated('invalid'), 2);
    assert.equal(validated('failed'), 0);
    assert.equal(violations.length, 1);
    assert.equal(
      grown('parley_violations_total', { protocol: 'vlp', rule: violations[0].rule }),
      1,
      'those of /messages alone',
    );
  });

  // Which is after their clients have read the answer, on whichever worker they were.
  it('count requests by route, status and problem, when they are over', async () => {
    const before = await read();
    await get(its.parley, '/nothing/here');
    await get(its.parley, '/v1/vlp/validate');
    await get(its.parley, '/v1/protocols/vlp/examples');
    let after;
    const grown = (name, labels) => valueOf(after, name, labels) - valueOf(before, name, labels);
    const requests = ([route, status]) => grown('parley_http_requests_total', { route, status });
    const once = [
      ['other', '404'],
      ['/v1/{protocol}/validate', '405'],
      ['/v1/protocols/{protocol}/examples', '200'],
    ];
    await until('all are over', async () => {
      after = await read();
      return [...once, ['/metrics', '200']].every((each) => requests(each) > 0);
    });
    assert.deepEqual(once.map(requests), [1, 1, 1]);
    assert.equal(grown('parley_problems_total', { problem: 'not-found' }), 1);
    const route = '/v1/protocols/{protocol}/examples';
    assert.equal(grown('parley_http_request_duration_seconds_count', { route }), 1);
  });

  it('have buckets that grow up to their count', async () => {
    await validate(its.parley, claim());
    const { samples } = await read();
    const buckets = samples.filter(
      ({ name, labels }) =>
        name === 'parley_check_duration_seconds_bucket' && labels.protocol === 'vlp',
    );
    const values = buckets.map(({ value }) => value);
    assert.deepEqual(values, [...values].sort((a, b) => a - b));
    assert.equal(buckets.at(-1).labels.le, '+Inf');
    assert.ok(values.at(-1) > 0, 'the first message is measured');
    assert.equal(Number(buckets[0].labels.le), 0.00005);
    assert.ok(Number(buckets.at(-2).labels.le) > 10);
  });

  it('count bytes, and what is open', async (t) => {
    const before = await read();
    const body = 'x'.repeat(100_000);
    await post(its.parley, '/v1/vlp/validate', body);
    await streamFor(t, its.parley, '/v1/vlp/stream');
    await until('the bytes and the stream are counted', async () => {
      const after = await read();
      const grown = (name) => valueOf(after, name) - valueOf(before, name);
      return (
        grown('parley_http_received_bytes_total') >= body.length &&
        grown('parley_http_sent_bytes_total') > 100 &&
        valueOf(after, 'parley_http_active_requests') >= 1
      );
    });
  });

  it('say who reads, and what there is in NATS', async (t) => {
    const stream = await streamFor(t, its.parley, '/v1/vlp/stream?since=all');
    await send(its.parley, claim());
    await stream.event();
    await until('the reader is counted, and has caught up', async () => {
      const now = await read();
      return (
        valueOf(now, 'parley_stream_readers', { protocol: 'vlp' }) >= 1 &&
        valueOf(now, 'parley_stream_events_total', { protocol: 'vlp' }) >= 1 &&
        valueOf(now, 'parley_jetstream_messages', { stream: 'VLP' }) >= 1 &&
        valueOf(now, 'parley_jetstream_usable', { stream: 'VLP' }) === 1 &&
        valueOf(now, 'parley_http_connections') >= 1 &&
        valueOf(now, 'parley_nats_connections') === 2
      );
    });
    const now = await read();
    assert.equal(valueOf(now, 'parley_nats_reconnects_total'), 0);
    assert.equal(valueOf(now, 'parley_embedded_nats_restarts_total'), 0);
    assert.equal(valueOf(now, 'parley_held_messages'), 0);
    assert.ok(valueOf(now, 'parley_http_connections_limit') > 0);
  });

  it('say what the process has', async () => {
    const its = await until('both workers are ready', async () => {
      const now = await read();
      return valueOf(now, 'parley_workers_ready') === 2 && now;
    });
    assert.ok(valueOf(its, 'process_resident_memory_bytes') > 1e6);
    assert.ok(valueOf(its, 'process_open_fds') > 5);
    assert.ok(valueOf(its, 'process_max_fds') >= valueOf(its, 'process_open_fds'));
    assert.ok(valueOf(its, 'process_cpu_seconds_total') > 0);
    assert.ok(Math.abs(valueOf(its, 'process_start_time_seconds') - Date.now() / 1000) < 3600);
    assert.equal(valueOf(its, 'parley_workers'), 2);
    assert.ok(
      valueOf(its, 'parley_gathered_limit_bytes') > 256 * 2 ** 20,
      'beside --gather-max there is room for the starts of bodies',
    );
    const { samples } = its;
    assert.ok(samples.some(({ name, labels }) => name === 'parley_build_info' && labels.version));
  });

  it('are OpenMetrics where that is asked for', async () => {
    const answer = await get(its.parley, '/metrics', { headers: { Accept: OPENMETRICS } });
    assert.match(answer.headers['content-type'], /^application\/openmetrics-text; version=1\.0\.0/);
    assert.match(answer.text, /^# TYPE parley_messages counter$/m);
    assert.match(answer.text, /^parley_messages_total\{/m);
    assert.match(answer.text, /^# UNIT parley_check_duration_seconds seconds$/m);
    assert.match(answer.text, /,le="1\.6384"\}/);
    assert.ok(answer.text.endsWith('\n# EOF\n'));
    const plain = await get(its.parley, '/metrics');
    assert.match(plain.headers['content-type'], /^text\/plain; version=0\.0\.4/);
    const names = (text) => new Set(parseMetrics(text).samples.map(({ name }) => name));
    assert.deepEqual(names(answer.text), names(plain.text));
  });

  it('have no label that a client can make grow', async () => {
    const before = (await read()).samples.length;
    for (let i = 0; i < 20; i++) {
      await get(its.parley, `/problems/x${i}`);
      await get(its.parley, `/y${i}`);
      await send(its.parley, claim({ type: `t${i}`, sender: `s${i}` }));
    }
    const { samples } = await read();
    assert.ok(samples.length <= before + 50, 'at most the routes that were asked for, once each');
    assert.ok(!samples.some(({ labels }) => Object.values(labels).some((v) => /^[tsxy]\d/.test(v))));
  });

  it('are refused with 405 to a POST', async () => {
    assertProblem(await post(its.parley, '/metrics', ''), 405, 'method-not-allowed');
  });
});

describe('--admin-listen', () => {
  // A server whose /metrics needs a token, and what its other address answers, which is not what
  // /openapi.json describes.
  async function served(t, { args = [], ...options } = {}) {
    const [port] = await freePorts(1);
    const data = temporaryFolder();
    const made = await parley(['token', 'create', '--data', data, '--name', 'a', '--allow', 'admin']);
    assert.equal(made.code, 0, made.stderr);
    const server = await parleyFor(t, { data, args: ['--admin-listen', `:${port}`, ...args], ...options });
    const ask = (path, more) => new Promise((resolve, reject) => {
      const whole = async (answer) => {
        const text = Buffer.concat(await answer.toArray()).toString();
        resolve({ status: answer.statusCode, headers: answer.headers, text });
      };
      http.request({ host: '127.0.0.1', port, path, agent: false, ...more }, whole)
        .on('error', reject).end();
    });
    return { server, ask, statusFor: async (Host) => (await ask('/metrics', { headers: { Host } })).status };
  }

  it('has the metrics and the state of the server, and nothing else, without a token', async (t) => {
    const { server, ask } = await served(t);
    assertProblem(await get(server, '/metrics'), 401, 'unauthenticated');
    const metrics = await ask('/metrics');
    assert.equal(metrics.status, 200, metrics.text);
    assert.match(metrics.headers['content-type'], /^text\/plain; version=0.0.4/);
    assert.equal((await ask('/livez')).text, 'alive\n');
    assert.equal((await ask('/readyz')).text, 'ready\n');
    for (const path of ['/', '/v1/protocols', '/v1/vlp/stream', '/metrics/']) {
      assert.equal((await ask(path)).status, 404, path);
    }
    assert.equal((await ask('/metrics', { method: 'POST' })).status, 405);
  });

  for (const listen of ['127.0.0.1:0', '0.0.0.0:0']) {
    it(`answers no page that has pointed its name at it, of a server on ${listen}`, async (t) => {
      const { server, statusFor } = await served(t, { listen, args: ['--insecure'] });
      assert.equal(await statusFor('rebound.example'), 421);
      assert.equal(await statusFor(`rebound.example:${server.port}`), 421);
      for (const host of ['localhost', '127.0.0.1:9090', '[::1]']) {
        assert.equal(await statusFor(host), 200, host);
      }
    });
  }

  it('answers to the names of --host', async (t) => {
    const { statusFor } = await served(t, { args: ['--host', 'gateway.example'] });
    assert.equal(await statusFor('gateway.example'), 200);
    assert.equal(await statusFor('rebound.example'), 421);
  });
});
