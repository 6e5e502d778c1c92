// SPDX-License-Identifier: Apache-2.0
// Tasks as their keys say: one by its id, and all of them with filters. The keys are written by
// another NATS client here: what they say is all that counts.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { get } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertProblem } from './lib/vlp.mjs';

const FUTURE = '2099-01-01T00:00:00Z';
const PAST = '2020-01-01T00:00:00Z';

const requestOf = (changes) => ({
  stream: 'ROUNDTABLE',
  seq: 7,
  task: 'security.scan',
  from: 'tim',
  to: null,
  priority: 'high',
  deadline: FUTURE,
  at: '2026-01-01T00:00:00Z',
  digest: 'x',
  ...changes,
});
const CLAIM = { stream: 'ROUNDTABLE', seq: 8, holder: 'galahad', claim: 'c', at: '2026-01-01T00:00:01Z', request: 7 };
const END = { stream: 'ROUNDTABLE', seq: 9, state: 'failed', from: 'galahad', at: '2026-01-01T00:00:02Z', error: 'timeout', retryable: true };

const putTo = (its) => async (key, value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return (await its.nats.jetstream().publish(`$KV.parley_tasks.${key}`, text)).seq;
};
const task = async (its, id) => {
  const answer = await get(its.parley, `/v1/roundtable/tasks/${id}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};
const list = async (its, query = '') => {
  const answer = await get(its.parley, `/v1/roundtable/tasks${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.items;
};

const ANOTHER = '650e8400-e29b-41d4-a716-446655440000';

describe('a task', () => {
  const its = useParley();

  it('says what its keys say, from the request to the end', async () => {
    const put = putTo(its);
    const id = randomUUID();
    await put(id, requestOf());
    const requested = {
      id,
      task: 'security.scan',
      domain: 'security',
      state: 'requested',
      priority: 'high',
      from: 'tim',
      to: null,
      holder: null,
      requested_at: '2026-01-01T00:00:00Z',
      deadline: FUTURE,
      claimed_at: null,
      attempt: null,
      until: null,
      lapsed: false,
      not_before: null,
      progress: null,
      ended_at: null,
      error: null,
      retryable: null,
      retry_at: null,
      contested: null,
      retry_of: null,
      retried_by: null,
      seq: { request: 7, claim: null, end: null },
      turns: [],
      links: {
        self: `/v1/roundtable/tasks/${id}`,
        messages: `/v1/roundtable/stream?thread=${id}&since=7`,
      },
    };
    assert.deepEqual(await task(its, id), requested);
    await put(`${id}.claim`, CLAIM);
    const claimed = {
      ...requested,
      state: 'claimed',
      holder: 'galahad',
      claimed_at: CLAIM.at,
      attempt: 1,
      seq: { request: 7, claim: 8, end: null },
      turns: [{ n: 1, kind: 'claim', holder: 'galahad', attempt: 1, until: null, not_before: null, at: CLAIM.at, why: null }],
    };
    assert.deepEqual(await task(its, id.toUpperCase()), claimed);
    await put(`${id}.end`, END);
    assert.deepEqual(await task(its, id), {
      ...claimed,
      state: 'failed',
      ended_at: END.at,
      error: 'timeout',
      retryable: true,
      seq: { request: 7, claim: 8, end: 9 },
    });
  });

  for (const [what, keys, wanted] of [
    ['of an older gateway', { '': 'security' }, { state: 'requested', domain: 'security', task: null }],
    ['past its deadline', { '': requestOf({ deadline: PAST }) }, { state: 'expired' }],
    ['past its deadline but claimed', { '': requestOf({ deadline: PAST }), '.claim': CLAIM }, { state: 'claimed' }],
    ['without its request', { '.claim': CLAIM }, { state: 'claimed', holder: 'galahad', task: null, priority: null }],
    ['whose value is broken', { '': '{"task":', '.end': 'null' }, { state: 'failed', task: null }],
    ['whose members are of other kinds', { '': { task: 7, seq: 'x', deadline: 'soon', priority: 'top' } }, { task: null, deadline: null, priority: null, seq: { request: null, claim: null, end: null } }],
    ['that tries another again', { '': requestOf({ retry_of: ANOTHER }) }, { retry_of: ANOTHER }],
    ['that was tried again', { '': requestOf(), '.retry': { retried_by: ANOTHER, from: 'tim' } }, { retried_by: ANOTHER }],
    ['that tries none again', { '': requestOf({ retry_of: 'b' }) }, { retry_of: null }],
  ]) {
    it(`${what} is shown as far as it is known`, async () => {
      const put = putTo(its);
      const id = randomUUID();
      for (const [suffix, value] of Object.entries(keys)) await put(id + suffix, value);
      const { [Object.keys(wanted)[0]]: _, ...shown } = await task(its, id);
      for (const [member, value] of Object.entries(wanted)) {
        if (member in shown) assert.deepEqual(shown[member], value, member);
      }
      assert.deepEqual(_, Object.values(wanted)[0]);
    });
  }

  for (const path of [
    `/v1/roundtable/tasks/${randomUUID()}`,
    '/v1/roundtable/tasks/nonsense',
    `/v1/vlp/tasks/${randomUUID()}`,
    '/v1/vlp/tasks',
  ]) {
    it(`is not found at ${path.replace(/[0-9a-f-]{36}/, 'UUID')}`, async () => {
      assertProblem(await get(its.parley, path), 404, 'not-found');
    });
  }
});

describe('the list of tasks', () => {
  const its = useParley();
  const ids = Array.from({ length: 4 }, () => randomUUID());

  before(async () => {
    const put = putTo(its);
    await put(ids[0], requestOf());
    await put(ids[1], requestOf({ task: 'finance.audit', priority: 'low', from: 'arthur' }));
    await put(ids[2], requestOf({ deadline: PAST }));
    await put(ids[3], requestOf());
    await put(`${ids[1]}.claim`, CLAIM);
    await put(`${ids[3]}.claim`, CLAIM);
    await put(`${ids[3]}.end`, { ...END, state: 'completed' });
  });

  for (const [query, numbers] of [
    ['', [3, 2, 1, 0]],
    ['?limit=2', [3, 2]],
    ['?state=requested', [0]],
    ['?state=expired', [2]],
    ['?state=claimed', [1]],
    ['?state=completed', [3]],
    ['?state=failed', []],
    ['?domain=finance', [1]],
    ['?holder=galahad', [3, 1]],
    ['?holder=galahad&domain=security', [3]],
    ['?from=arthur', [1]],
    ['?priority=high', [3, 2, 0]],
    ['?state=requested,claimed', [1, 0]],
    ['?domain=none,finance&priority=low,critical', [1]],
    ['?from=arthur,tim&state=completed,expired', [3, 2]],
    ['?holder=percival,galahad', [3, 1]],
  ]) {
    it(`is chosen by "${query}"`, async () => {
      const items = await list(its, query);
      assert.deepEqual(items.map((item) => ids.indexOf(item.id)), numbers);
    });
  }

  it('says when there are more than its limit', async () => {
    const listOf = async (query) => (await get(its.parley, `/v1/roundtable/tasks?${query}`)).json;
    assert.equal((await listOf('limit=3')).more, true);
    assert.equal((await listOf('limit=4')).more, undefined);
  });

  it('follows what is written, deleted and dropped', async () => {
    const put = putTo(its);
    const id = randomUUID();
    const stateOf = async () => (await list(its)).find((item) => item.id === id)?.state;
    await put(id, requestOf());
    await until('it is there', async () => (await stateOf()) === 'requested');
    await put(`${id}.claim`, CLAIM);
    await until('it is claimed', async () => (await stateOf()) === 'claimed');
    const kv = await its.nats.jetstream().views.kv('parley_tasks');
    await kv.purge(`${id}.claim`);
    await until('the claim is gone', async () => (await stateOf()) === 'requested');
    await kv.delete(id);
    await until('it is gone', async () => (await stateOf()) === undefined);
  });

  it('begins anew with a bucket that was made again', async () => {
    const manager = await its.nats.jetstreamManager();
    await list(its);
    await manager.streams.delete('KV_parley_tasks');
    await until('it is empty', async () => {
      const answer = await get(its.parley, '/v1/roundtable/tasks');
      return answer.status === 200 && answer.json.items.length === 0;
    });
    const id = randomUUID();
    const put = putTo(its);
    await put(id, requestOf());
    await until('a new one is there', async () => (await list(its)).some((item) => item.id === id));
  });

  for (const query of ['?state=gone', '?state=requested,', '?state=requested,gone', '?domain=a,b.c', `?holder=${'a,'.repeat(64)}a`, '?limit=0', '?limit=1001', '?domain=', '?x=1', '?from=a&from=b', '?priority=top']) {
    it(`refuses "${query}"`, async () => {
      assertProblem(await get(its.parley, `/v1/roundtable/tasks${query}`), 400, 'invalid-parameter');
    });
  }
});
