// SPDX-License-Identifier: Apache-2.0
// Which agents there are, by the last message on each of their subjects.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { get, ndjson, post } from './lib/http.mjs';
import { natsClient, startNats, streamInfo } from './lib/nats.mjs';
import { parley, parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { assertProblem } from './lib/vlp.mjs';

const beat = (from, payload = {}) => ({
  id: randomUUID(),
  version: '1.0',
  type: 'heartbeat',
  from,
  timestamp: new Date().toISOString(),
  payload: { status: 'healthy', ...payload },
});
const linesOf = (messages) => messages.map((each) => `${JSON.stringify(each)}\n`).join('');

async function sendAll(server, protocol, messages, query = '') {
  const answer = await post(server, `/v1/${protocol}/messages${query}`, linesOf(messages), {
    type: 'application/x-ndjson',
  });
  assert.equal(answer.status, 200, answer.text);
  const { summary } = ndjson(answer.text).at(-1);
  assert.equal(summary.accepted, messages.length, answer.text);
}

async function agents(server, protocol, query = '') {
  const answer = await get(server, `/v1/${protocol}/agents${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}
const namesOf = (list) => list.items.map((item) => item.agent);

for (const [what, args, first, stream] of [
  ['', [], 'roundtable', 'ROUNDTABLE'],
  [' with a subject prefix', ['--subject-prefix', 'roundtable=fleet-a'], 'fleet-a'],
]) {
  describe(`knights${what}`, () => {
    const its = useParley({ args });
    before(async () => {
      await sendAll(its.parley, 'roundtable', [
        beat('galahad', { capabilities: ['old.one'], activeTaskCount: 7 }),
        beat('Sir/Bors', { capabilities: ['finance.audit'] }),
        beat('percival'),
        beat('galahad', {
          capabilities: ['security.briefing', 'security.cve'],
          model: 'm-1',
          activeTaskCount: 1,
          uptime: 12.5,
          version: '1.0.0',
        }),
      ]);
    });

    it('are listed by name, each with what its last heartbeat says', async () => {
      const { items, next } = await agents(its.parley, 'roundtable');
      assert.equal(next, undefined);
      assert.deepEqual(namesOf({ items }), ['Sir/Bors', 'galahad', 'percival']);
      const { last, age, ...galahad } = items[1];
      assert.ok(Math.abs(Date.now() - Date.parse(last)) < 3600_000, last);
      assert.ok(age >= 0 && age < 3600);
      assert.deepEqual(galahad, {
        agent: 'galahad',
        state: 'alive',
        seq: 4,
        status: 'healthy',
        uptime: 12.5,
        capabilities: ['security.briefing', 'security.cve'],
        model: 'm-1',
        activeTaskCount: 1,
        version: '1.0.0',
      });
    });

    for (const [query, names] of [
      ['?capability=security.*', ['galahad']],
      ['?capability=security.cve', ['galahad']],
      ['?capability=security', []],
      ['?capability=old.one', []],
      ['?capability=*', ['Sir/Bors', 'galahad']],
      ['?state=alive', ['Sir/Bors', 'galahad', 'percival']],
      ['?state=late,lost', []],
      ['?state=alive&capability=finance.*', ['Sir/Bors']],
      ['?cursor=galahad', ['percival']],
    ]) {
      it(`are selected by ${query}`, async () => {
        assert.deepEqual(namesOf(await agents(its.parley, 'roundtable', query)), names);
      });
    }

    it('come in pages', async () => {
      const first = await agents(its.parley, 'roundtable', '?limit=2');
      assert.deepEqual([namesOf(first), first.next], [['Sir/Bors', 'galahad'], 'galahad']);
      const second = await agents(its.parley, 'roundtable', `?limit=2&cursor=${first.next}`);
      assert.deepEqual([namesOf(second), second.next], [['percival'], undefined]);
    });

    it('are found by their name', async () => {
      for (const path of ['Sir%2FBors', 'galahad', '%67alahad']) {
        const answer = await get(its.parley, `/v1/roundtable/agents/${path}`);
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.json.agent, decodeURIComponent(path));
      }
      const nobody = await get(its.parley, '/v1/roundtable/agents/mordred');
      assertProblem(nobody, 404, 'not-found');
      assert.match(nobody.json.detail, new RegExp(stream ?? 'FLEET-A'));
    });

    it('are not what others write on their subjects', async () => {
      for (const [subject, payload] of [
        ['galahad', JSON.stringify(beat('mordred'))],
        ['mordred', JSON.stringify(beat('galahad'))],
        ['lancelot', 'no JSON'],
        ['gawain', JSON.stringify({ ...beat('gawain'), version: '9' })],
      ]) {
        await its.nats.jetstream().publish(`${first}.heartbeat.${subject}`, payload);
      }
      const names = namesOf(await agents(its.parley, 'roundtable'));
      // Whoever writes on another's subject hides that knight until its next beat.
      assert.deepEqual(names, ['Sir/Bors', 'percival']);
    });

    it('may have the longest names, which are not each other', async () => {
      const long = '\u{1F600}'.repeat(127);
      const names = [`${long}a`, `${long}b`];
      await sendAll(its.parley, 'roundtable', names.map((name) => beat(name)));
      const listed = namesOf(await agents(its.parley, 'roundtable'));
      assert.deepEqual(listed.filter((name) => name.startsWith(long)), names);
      for (const name of names) {
        const answer = await get(its.parley, `/v1/roundtable/agents/${encodeURIComponent(name)}`);
        assert.equal(answer.json.agent, name);
      }
      const beyond = await get(its.parley, `/v1/roundtable/agents/${encodeURIComponent(`${names[0]}a`)}`);
      assertProblem(beyond, 404, 'not-found');
    });
  });
}

describe('supervised agents', () => {
  const its = useParley();
  const metrics = { avg_latency: 1.5, error_rate: 0, memory_usage: 80, throughput: 3 };
  const snapshot = { agent_state: { id: 'a', name: 'n', version: '1', status: 'idle' } };
  const entry = (sequence) => ({ operation: 'state_update', params: {}, sequence });
  let seconds = 1705392000;
  const say = (type, rest) => ({ type, timestamp: ++seconds, ...rest });

  before(async () => {
    await sendAll(
      its.parley,
      'supervisor',
      [
        say('heartbeat', { version: 2 }),
        say('wal_entry', { data: entry(4) }),
        say('wal_batch', { data: [entry(5), entry(6)] }),
        say('wal_entry', { data: entry(7) }),
        say('checkpoint_ack', { checkpoint_id: randomUUID(), size: 99 }),
        say('shutdown', { reason: 'update', create_checkpoint: true }),
      ],
      '?agent=coder-1',
    );
    await sendAll(
      its.parley,
      'supervisor',
      [
        say('wal_batch', { data: [entry(1), entry(2)] }),
        say('shutdown', { reason: 'r' }),
        say('restore', { checkpoint_id: randomUUID(), snapshot, wal_entries: [] }),
      ],
      '?agent=b',
    );
    await sendAll(its.parley, 'supervisor', [say('heartbeat')]);
  });

  it('are composed of the last messages of each', async () => {
    const { items } = await agents(its.parley, 'supervisor');
    assert.deepEqual(namesOf({ items }), ['b', 'coder-1']);
    const [b, coder] = items;
    assert.deepEqual([b.state, b.last, b.wal.sequence, b.shutdown], ['lost', undefined, 2, undefined]);
    assert.deepEqual([coder.version, coder.wal.sequence, coder.wal.seq], [2, 7, 4]);
    assert.equal(coder.checkpoint_ack.size, 99);
    assert.deepEqual([coder.shutdown.reason, coder.shutdown.create_checkpoint], ['update', true]);
    assert.equal(coder.metrics, undefined);
  });

  it('are found by their name, and bear the size and id of a checkpoint that is not read', async () => {
    const sent = await post(
      its.parley,
      '/v1/supervisor/messages?agent=c',
      JSON.stringify(say('checkpoint', { data: { ...snapshot, memory_blocks: [], tool_registry: { tools: [] }, conversation_history: [], metrics: {} } })),
    );
    assert.equal(sent.status, 200, sent.text);
    await sendAll(its.parley, 'supervisor', [say('metrics', { data: metrics })], '?agent=c');
    const answer = await get(its.parley, '/v1/supervisor/agents/c');
    assert.equal(answer.status, 200, answer.text);
    const { checkpoint } = answer.json;
    assert.deepEqual([checkpoint.seq, checkpoint.overdue], [sent.json.seq, false]);
    assert.ok(checkpoint.size > 100 && checkpoint.age >= 0);
    const events = await get(
      its.parley,
      `/v1/supervisor/stream?since=${sent.json.seq}&limit=1&follow=false`,
    );
    assert.equal(JSON.parse(events.text.split('\n')[0]).id, checkpoint.id);
    assert.deepEqual(answer.json.metrics.data, metrics);
  });

  for (const [path, status, name] of [
    ['/v1/supervisor/agents?capability=x', 400, 'invalid-parameter'],
    ['/v1/supervisor/agents?state=alive,gone', 400, 'invalid-parameter'],
    ['/v1/supervisor/agents?limit=0', 400, 'invalid-parameter'],
    ['/v1/supervisor/agents?limit=1001', 400, 'invalid-parameter'],
    ['/v1/supervisor/agents?limit=1&limit=1', 400, 'invalid-parameter'],
    ['/v1/supervisor/agents?cursor=', 400, 'invalid-parameter'],
    ['/v1/supervisor/agents/_', 404, 'not-found'],
    ['/v1/supervisor/agents/a%2Eb', 404, 'not-found'],
    ['/v1/supervisor/agents/*', 404, 'not-found'],
    ['/v1/supervisor/agents/%3E', 404, 'not-found'],
    [`/v1/supervisor/agents/${'x'.repeat(500)}`, 404, 'not-found'],
    ['/v1/vlp/agents', 404, 'not-found'],
  ]) {
    it(`answers ${status} to ${path.slice(0, 50)}`, async () => {
      assertProblem(await get(its.parley, path), status, name);
    });
  }

  it('leave no consumer behind', async () => {
    const manager = await its.nats.jetstreamManager();
    await agents(its.parley, 'supervisor');
    const before = (await manager.consumers.list('SUPERVISOR').next()).length;
    for (let i = 0; i < 20; i++) await agents(its.parley, 'supervisor');
    const after = (await manager.consumers.list('SUPERVISOR').next()).length;
    assert.ok(after <= before + 8, `${before} became ${after}`);
  });
});

describe('more agents than a page can have', () => {
  const its = useParley();
  it('come in pages of a thousand, whatever is asked for', async () => {
    const name = (i) => `k${String(i).padStart(4, '0')}`;
    const capabilities = (i) => [i % 500 === 0 ? 'rare' : 'usual'];
    const beats = Array.from({ length: 1600 }, (_, i) => beat(name(i), { capabilities: capabilities(i) }));
    await sendAll(its.parley, 'roundtable', beats.reverse());
    const all = await agents(its.parley, 'roundtable', '?limit=1000');
    assert.deepEqual([all.items.length, all.next], [1000, name(999)]);
    const rest = await agents(its.parley, 'roundtable', `?limit=1000&cursor=${all.next}`);
    assert.deepEqual([rest.items.length, rest.next], [600, undefined]);
    const rare = await agents(its.parley, 'roundtable', '?capability=rare');
    assert.deepEqual([namesOf(rare), rare.next], [[name(0), name(500)], name(999)]);
    const last = await agents(its.parley, 'roundtable', `?capability=rare&cursor=${rare.next}`);
    assert.deepEqual([namesOf(last), last.next], [[name(1000), name(1500)], undefined]);
  });
});

describe('agents in an operator\'s stream', () => {
  it('are read where they lie, and not while NATS is away', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const client = await natsClient(t, nats.url);
    const manager = await client.jetstreamManager();
    await manager.streams.add({ name: 'fleet-a_beats', subjects: ['fleet-a.heartbeat.>'] });
    const args = ['--subject-prefix', 'roundtable=fleet-a', '--bus-patience', '0'];
    const server = await parleyFor(t, { nats: nats.url, args });
    await sendAll(server, 'roundtable', [beat('bors'), beat('kay'), beat('bors')]);
    assert.deepEqual(namesOf(await agents(server, 'roundtable')), ['bors', 'kay']);
    assert.equal((await streamInfo(client, 'fleet-a_beats')).state.messages, 3);

    await nats.stop();
    const refused = await until('agents are refused', async () => {
      const answer = await get(server, '/v1/roundtable/agents');
      return answer.status !== 200 && answer;
    });
    assertProblem(refused, 503, 'bus-unavailable');
    const again = await nats.restart();
    atEnd(t, () => again.stop());
    const answer = await until('agents are read again', async () => {
      const each = await get(server, '/v1/roundtable/agents/kay');
      return each.status === 200 && each;
    });
    assert.equal(answer.json.agent, 'kay');
  });
});

// Agents are read for each request, tasks right after the start: lists of them wait only until then.
for (const [what, path, count, isReadAtStart] of [
  ['agents', '/v1/roundtable/agents', 12, false],
  ['lists of tasks', '/v1/roundtable/tasks', 48, true],
]) {
  describe(`requests for ${what}`, () => {
    it(`of one sender are ${count} at the most, and those of others are served`, async (t) => {
      const file = join(temporaryFolder(), 'tokens');
      const as = {};
      for (const name of ['many', 'few']) {
        const args = ['token', 'create', '--tokens', file, '--name', name];
        const { stdout } = await parley([...args, '--allow', 'read:roundtable']);
        as[name] = { headers: { Authorization: `Bearer ${stdout.trim()}` } };
      }
      const nats = await startNats();
      atEnd(t, () => nats.stop());
      const args = ['--tokens', file, '--reactors', '1'];
      if (isReadAtStart) await nats.freeze();
      const server = await parleyFor(t, { nats: nats.url, args, isAway: isReadAtStart });
      const ask = (name) => get(server, path, as[name]);
      const aRefusal = (answers) =>
        Promise.any(answers.map(async (each) => assertProblem(await each, 503, 'overloaded')));
      if (!isReadAtStart) await nats.freeze();
      const answers = Array.from({ length: count + 1 }, () => ask('many'));
      const refused = await aRefusal(answers);
      const detail = `This sender has ${count} requests for ${what} in progress already`;
      assert.ok(refused.detail.startsWith(detail), refused.detail);
      const others = Array.from({ length: count / 3 + 1 }, () => ask('few'));
      await aRefusal(others);
      nats.signal('SIGCONT');
      for (const [expected, all] of [[count, answers], [count / 3, others]]) {
        const taken = (await Promise.all(all)).filter(({ json }) => json.type !== '/problems/overloaded');
        assert.equal(taken.length, expected);
        // Or NATS was frozen for longer than what is taken waits for it.
        for (const answer of taken) if (answer.status !== 200) assertProblem(answer, 503, 'bus-unavailable');
      }
      for (const name of ['many', 'few']) {
        await until('it is served', async () => (await ask(name)).status === 200);
      }
    });
  });
}
